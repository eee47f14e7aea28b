"""Leases of groups, and the items behind them (QueueStore)."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import LiteralString

from kgsvc.domain.errors import LeaseLost
from kgsvc.domain.model.graph import TOLD, Episode
from kgsvc.domain.model.items import Claimed, GroupWork, Lease, QueuedItem
from kgsvc.stores.neo4j.base import Row
from kgsvc.stores.neo4j.quotas import RELEASE_GROUP
from kgsvc.stores.neo4j.reading import GroupRead, Reading
from kgsvc.stores.neo4j.rows import EPISODE_OPTIONAL, NEVER, column, episode_of, first_value, queued_of, whole
from kgsvc.stores.neo4j.saving import LOST, Saving
from kgsvc.stores.protocol import Anchor

_RELEASED = 1_000  # items at a time

# Groups that may have due work, as accepting items noted in KgWork; the notes of those without are corrected.
# Accepting items locks the same record, so that no note of it is lost.
_READY: LiteralString = """
    MATCH (w:KgWork) USING INDEX SEEK w:KgWork(due_ms) WHERE w.due_ms <= $p.now_ms
    MATCH (g:KgGroup {group_id: w.group_id}) USING INDEX SEEK g:KgGroup(group_id)
    WHERE NOT g:KgPaused
    WITH g, EXISTS {
        MATCH (i:KgPending) WHERE i.group_id = g.group_id AND i.next_ms <= $p.now_ms
    } AS due, [g.group_id, g.owner_token, g.owner_id, g.renewals, g.served_ms] AS row
    ORDER BY g.served_ms, g.group_id
    WITH
        collect(CASE WHEN due AND g.owner_id IS NOT NULL THEN row END)[..$p.limit]
            + collect(CASE WHEN due AND g.owner_id IS NULL THEN row END)[..$p.limit] AS ready,
        collect(CASE WHEN NOT due THEN g.group_id END)[..1000] AS idle
    CALL (idle) {
        UNWIND idle AS group_id
        WITH group_id ORDER BY group_id
        MATCH (w:KgWork {group_id: group_id})
        SET w.lock = 0
        WITH w
        CALL (w) {
            OPTIONAL MATCH (i:KgPending) WHERE i.group_id = w.group_id AND i.next_ms IS NOT NULL
            RETURN i.next_ms AS due_ms ORDER BY i.group_id, i.next_ms LIMIT 1
        }
        SET w.due_ms = coalesce(due_ms, $p.never)
    }
    RETURN ready
    """

# A note is never late: what was accepted since it was made has set it to 0.
_NEXT_DUE: LiteralString = """
    MATCH (w:KgWork) USING INDEX SEEK w:KgWork(due_ms)
    WHERE w.due_ms > $p.after_ms AND w.due_ms < $p.never
    MATCH (g:KgGroup {group_id: w.group_id}) USING INDEX SEEK g:KgGroup(group_id)
    WHERE NOT g:KgPaused
    RETURN w.due_ms ORDER BY w.due_ms LIMIT 1
    """

# `claim` is new with every call: run again after its answer was lost, this recognises its own lease, and what
# it has started itself is not that of another. Starts as _START does, but not where a suspect is due.
_BEGIN: LiteralString = """
    UNWIND $p.works AS work
    MATCH (g:KgGroup {group_id: work.group_id})
    SET g.lock = 0
    WITH work, g
    WHERE g.claim = $p.claim OR (NOT g:KgPaused
        AND g.owner_token = work.owner_token AND g.renewals = work.renewals
        AND (g.owner_id = work.owner_id OR (g.owner_id IS NULL AND work.owner_id IS NULL)))
    SET g.owner_token = work.owner_token + 1, g.owner_id = $p.by, g.served_ms = $p.now_ms, g.claim = $p.claim
    WITH work, g
    CALL (work, g) {
        WITH work, g WHERE work.owner_id <> $p.by
        MATCH (i:KgPending)
        WHERE i.group_id = g.group_id AND i.started IS NOT NULL AND i.started <> work.owner_token + 1
        SET i.suspect = true, i.started = null
    }
    CALL (work, g) {
        WITH g WHERE work.owner_id = $p.by
        <UNMARK>
    }
    WITH g
    CALL (g) {
        MATCH (i:KgPending) USING INDEX SEEK i:KgPending(group_id, suspect)
        WHERE i.group_id = g.group_id AND i.suspect = true AND i.epoch = g.epoch AND i.next_ms <= $p.now_ms
        RETURN count(i) AS suspects
    }
    CALL (g, suspects) {
        WITH g, suspects WHERE suspects = 0
        MATCH (i:KgPending) USING INDEX SEEK i:KgPending(group_id, epoch, reference_ms, uuid)
        WHERE i.group_id = g.group_id AND i.epoch = g.epoch AND i.reference_ms IS NOT NULL
            AND i.uuid IS NOT NULL AND i.next_ms <= $p.now_ms AND i.suspect IS NULL
        WITH i ORDER BY i.group_id, i.epoch, i.reference_ms, i.uuid LIMIT $p.limit
        RETURN collect(i) AS due
    }
    WITH g, due, <FITTING> AS fitting
    WITH g, due[..fitting] AS due, fitting < size(due) AS more
    CALL (g, due) {
        UNWIND due AS i
        MATCH (e:Episodic {uuid: i.uuid, group_id: g.group_id, epoch: g.epoch})
            USING INDEX SEEK e:Episodic(uuid, group_id, epoch)
        SET i.started = g.owner_token
        WITH i, e
        RETURN collect([<QUEUED>, <EPISODE>]) AS items
    }
    RETURN g.group_id, g.epoch, coalesce(g.ontology_rev, 0), items, more, EXISTS {
        MATCH (i:KgPending)
        WHERE i.group_id = g.group_id AND i.epoch < g.epoch AND i.reference_ms IS NOT NULL
            AND i.uuid IS NOT NULL
    }
    """

# Items that were accepted while their group was being deleted.
_PARK_STALE: LiteralString = """
    <LOCKED_GROUP>
    WITH g.epoch AS epoch
    MATCH (i:KgPending)
    WHERE i.group_id = $p.group_id AND i.epoch < epoch AND i.reference_ms IS NOT NULL AND i.uuid IS NOT NULL
    OPTIONAL MATCH (e:Episodic {uuid: i.uuid, group_id: i.group_id, epoch: i.epoch})
        USING INDEX SEEK e:Episodic(uuid, group_id, epoch)
    <PARK_STALE>
    DETACH DELETE e
    """

_RENEW: LiteralString = """
    UNWIND $p.leases AS lease
    MATCH (g:KgGroup {group_id: lease.group_id})
    SET g.lock = 0
    WITH lease, g
    WHERE g.owner_token = lease.token AND g.owner_id = lease.owner_id AND g.epoch = lease.epoch
    SET g.renewals = g.renewals + 1
    RETURN g.group_id
    """

_RELEASE: LiteralString = """
    <LEASED_GROUP>
    SET g.owner_id = null
    WITH g
    <UNMARK>
    """

# A suspect's crash is counted once for each `call`, even if that runs again after its answer was lost.
_START: LiteralString = """
    <LEASED_GROUP>
    CALL (g) {
        UNWIND CASE WHEN size($p.exclude) = 0 AND NOT g:KgPaused THEN [1] ELSE [] END AS alone
        MATCH (i:KgPending) USING INDEX SEEK i:KgPending(group_id, suspect)
        WHERE i.group_id = $p.group_id AND i.suspect = true AND i.epoch = $p.epoch AND i.next_ms <= $p.now_ms
        WITH i ORDER BY i.reference_ms, i.uuid LIMIT 1
        SET i.crash_attempts = i.crash_attempts + CASE WHEN i.begun = $p.call THEN 0 ELSE 1 END,
            i.begun = $p.call
        RETURN collect(i) AS suspects
    }
    CALL (g, suspects) {
        WITH g, suspects WHERE size(suspects) = 0 AND NOT g:KgPaused
        MATCH (i:KgPending) USING INDEX SEEK i:KgPending(group_id, epoch, reference_ms, uuid)
        WHERE i.group_id = $p.group_id AND i.epoch = $p.epoch AND i.reference_ms IS NOT NULL
            AND i.uuid IS NOT NULL AND i.next_ms <= $p.now_ms AND i.suspect IS NULL
            AND NOT i.uuid IN $p.exclude
        WITH i ORDER BY i.group_id, i.epoch, i.reference_ms, i.uuid LIMIT $p.limit
        RETURN collect(i) AS others
    }
    WITH g, suspects + others AS due
    WITH coalesce(g.ontology_rev, 0) AS ontology, due[..<FITTING>] AS due
    CALL (due) {
        UNWIND due AS i
        <SEEK e:Episodic i.uuid>
        SET i.started = $p.token
        WITH i, e
        RETURN collect([<QUEUED>, <EPISODE>]) AS items
    }
    RETURN items, ontology, EXISTS {
        MATCH (i:KgPending)
        WHERE i.group_id = $p.group_id AND i.epoch < $p.epoch AND i.reference_ms IS NOT NULL
            AND i.uuid IS NOT NULL
    }
    """

# Cypher's left() counts UTF-16 units: twice as many hold at least as many code points.
_PREVIOUS = GroupRead.of(
    """
    <GROUP>
    UNWIND $p.anchors AS anchor
    CALL (epoch, anchor) {
        UNWIND $p.sources AS source
        CALL (epoch, anchor, source) {
            MATCH (e:Episodic) USING INDEX SEEK e:Episodic(group_id, epoch, source, reference_ms, uuid)
            WHERE e.group_id = $p.group_id AND e.epoch = epoch AND e.source = source
                AND e.reference_ms <= anchor.reference_ms AND e.uuid IS NOT NULL
                AND (e.reference_ms < anchor.reference_ms OR e.uuid < anchor.uuid)
            WITH e
            ORDER BY e.group_id DESC, e.epoch DESC, e.source DESC, e.reference_ms DESC, e.uuid DESC
            LIMIT $p.limit
            RETURN e
        }
        WITH e ORDER BY e.reference_ms DESC, e.uuid DESC LIMIT $p.limit
        RETURN collect([<EPISODE_CUT>]) AS before
    }
    RETURN anchor.uuid AS uuid, before
    """,
    "uuid, before",
    ("limit",),
)


_NAMED = GroupRead.of(
    """
    <GROUP>
    UNWIND $p.anchors AS anchor
    CALL (epoch, anchor) {
        UNWIND anchor.named AS uuid
        <SEEK e:Episodic uuid IN epoch>
        WHERE uuid <> anchor.uuid
        WITH e ORDER BY e.reference_ms DESC, e.uuid DESC
        RETURN collect([<EPISODE_CUT>]) AS before
    }
    RETURN anchor.uuid AS uuid, before
    """,
    "uuid, before",
)


_RELATIONS = GroupRead.of(
    """
    <GROUP>
    MATCH ()-[r:RELATES_TO]->() USING INDEX SEEK r:RELATES_TO(group_id, epoch, rev)
    WHERE r.group_id = $p.group_id AND r.epoch = epoch AND r.rev IS NOT NULL
    WITH r ORDER BY r.group_id DESC, r.epoch DESC, r.rev DESC, r.uuid DESC LIMIT $p.latest
    WITH r.name AS name, count(*) AS uses ORDER BY uses DESC, name LIMIT $p.limit
    RETURN collect(name) AS names
    """,
    "names",
    ("latest", "limit"),
)


class Queue(Saving, Reading):
    """QueueStore."""

    async def ready_groups(self, now_ms: int, limit: int) -> list[GroupWork]:
        ((ready,),) = await self._run(_READY, now_ms=now_ms, limit=limit, never=NEVER)
        return [GroupWork(*work) for work in ready]

    async def next_due_ms(self, after_ms: int) -> int | None:
        due_ms: int | None = first_value(await self._run(_NEXT_DUE, after_ms=after_ms, never=NEVER))
        return due_ms

    async def begin(
        self, seen: Sequence[GroupWork], owner_id: str, now_ms: int, limit: int, max_bytes: int
    ) -> list[Claimed | None]:
        ordered = sorted(seen, key=lambda each: each.group_id)
        rows = await self._run(
            _BEGIN,
            works=[asdict(each) for each in ordered],
            by=owner_id,
            now_ms=now_ms,
            claim=str(uuids.uuid4()),
            limit=limit,
            max_bytes=max_bytes // len(ordered),
        )
        tokens = {each.group_id: each.owner_token + 1 for each in seen}
        taken: dict[str, Claimed] = {}
        for group_id, epoch, ontology, items, more, stale in rows:
            if stale:
                await self._end_stale(group_id, epoch, now_ms)
            lease = Lease(group_id, owner_id, tokens[group_id], epoch)
            taken[group_id] = Claimed(lease, _readable(items, ontology), more)
        return [taken.get(each.group_id) for each in seen]

    async def renew(self, leases: Sequence[Lease]) -> list[str]:
        ordered = sorted(leases, key=lambda lease: lease.group_id)
        rows = await self._run(_RENEW, leases=[asdict(lease) for lease in ordered])
        return column(rows)

    async def release(self, lease: Lease) -> None:
        await self._run(_RELEASE, **asdict(lease))

    async def start_items(
        self, lease: Lease, now_ms: int, limit: int, max_bytes: int, exclude: Collection[str]
    ) -> list[QueuedItem]:
        rows = await self._run(
            _START,
            **asdict(lease),
            now_ms=now_ms,
            limit=limit,
            max_bytes=max_bytes,
            exclude=list(exclude),
            call=str(uuids.uuid4()),
        )
        if not rows:
            raise LeaseLost(LOST)
        ((items, ontology, stale),) = rows
        if stale:
            await self._end_stale(lease.group_id, lease.epoch, now_ms)
        return [queued_of(item, ontology) for item in items]

    async def _end_stale(self, group_id: str, epoch: int, now_ms: int) -> None:
        await self._run(_PARK_STALE, group_id=group_id, now_ms=now_ms)
        await self._run_in_batches(RELEASE_GROUP, _RELEASED, group_id=group_id, epoch=epoch)

    async def previous_episodes(
        self, group_id: str, anchors: Sequence[Anchor], limit: int, max_chars: int
    ) -> dict[str, tuple[Episode, ...]]:
        named = [{"uuid": a.uuid, "named": list(a.named)} for a in anchors if a.named]
        latest = [{"uuid": a.uuid, "reference_ms": a.reference_ms} for a in anchors if not a.named]
        asked = {"group_id": group_id, "max_chars": max_chars}
        rows: list[Row] = []
        if latest:
            sources = [str(source) for source in TOLD]
            rows += await self._read(_PREVIOUS, **asked, anchors=latest, sources=sources, limit=limit)
        if named:
            rows += await self._read(_NAMED, **asked, anchors=named)
        before = {uuid: tuple(_cut(latest_first, max_chars)) for uuid, latest_first in rows}
        return {anchor.uuid: before.get(anchor.uuid, ()) for anchor in anchors}

    async def relations(self, group_id: str, latest: int, limit: int) -> list[str]:
        rows = await self._read(_RELATIONS, group_id=group_id, latest=latest, limit=limit)
        return list(first_value(rows) or ())


def _cut(latest_first: list[Row], max_chars: int) -> list[Episode]:
    episodes = [episode_of(row, max_chars) for row in whole(latest_first, EPISODE_OPTIONAL)]
    return episodes[::-1]


def _readable(items: Sequence[Row], ontology: int) -> tuple[QueuedItem, ...]:
    """The items of a group that was claimed with others; none if one of them cannot be read: then
    `start_items` says so for this group alone."""
    try:
        return tuple(queued_of(item, ontology) for item in items)
    except (ValueError, TypeError):
        return ()
