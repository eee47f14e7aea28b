"""Writing a group that comes from another store, out of sight until it is whole (TransferStore).

Rows get the epoch that follows the group's own, which nobody reads; the end of the import makes it the
group's. KgGroup keeps what is under way: import_id, import_epoch, import_lines and import_seq, the number
before that of the first item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, LiteralString

from kgsvc.domain.errors import Conflict
from kgsvc.domain.model.delta import GroupHead, Guard
from kgsvc.domain.model.moving import (
    ImportEnd,
    ImportPage,
    ImportStart,
    MovedDocument,
    MovedEpisode,
    MovedReceipt,
)
from kgsvc.stores.neo4j.admin import HAS_CONTENT, Admin
from kgsvc.stores.neo4j.apply import Apply
from kgsvc.stores.neo4j.base import Tx
from kgsvc.stores.neo4j.guards import untouched
from kgsvc.stores.neo4j.moving import Moving
from kgsvc.stores.neo4j.quotas import CHARGE, LOCK_USED, charging, counter_rows
from kgsvc.stores.neo4j.rows import column, episode_row
from kgsvc.stores.neo4j.vectors import space_of
from kgsvc.stores.records import document_text, places_text, warnings_text
from kgsvc.stores.transfers import OVER, TAKEN, deltas_of, is_due, kept_by

_STATE: LiteralString = (
    """
    SET g.lock = 0
    WITH g
    RETURN """
    + HAS_CONTENT
    + """, g.epoch, g.rev, g.last_ms, g.facts, g.import_id, g.import_epoch, g.import_lines, g.import_seq
    """
)
_NEW: LiteralString = "<NEW_GROUP>" + _STATE
_KNOWN: LiteralString = "MATCH (g:KgGroup {group_id: $p.group_id})" + _STATE

_BEGIN: LiteralString = """
    MATCH (g:KgGroup {group_id: $p.group_id})
    SET g.epoch = $p.epoch, g.import_id = $p.import_id, g.import_epoch = $p.epoch + 1, g.import_lines = 0,
        g.import_seq = $p.seq, g.facts = 0, g.fact_terms = 0, g.purging = $p.purging
    """
_COUNT_LINES: LiteralString = "MATCH (g:KgGroup {group_id: $p.group_id}) SET g.import_lines = $p.lines"
_FORGET: LiteralString = """
    MATCH (g:KgGroup {group_id: $p.group_id})
    SET g.epoch = g.import_epoch + 1, g.purging = true, g.facts = 0, g.fact_terms = 0, g.import_id = null,
        g.import_epoch = null, g.import_lines = null, g.import_seq = null
    RETURN g.epoch
    """
_END: LiteralString = """
    MATCH (g:KgGroup {group_id: $p.group_id})
    SET g.epoch = g.import_epoch, g.purging = true, g.ontology = $p.ontology,
        g.ontology_rev = coalesce(g.ontology_rev, 0) + 1,
        g.last_ms = CASE WHEN g.last_ms > $p.last_ms THEN g.last_ms ELSE $p.last_ms END,
        g.owner_id = null, g.owner_token = g.owner_token + 1, g.communities = null,
        g.import_id = null, g.import_epoch = null, g.import_lines = null, g.import_seq = null,
        g.space = $p.space, g.tidying = null
    MERGE (w:KgWork {group_id: $p.group_id})
    SET w.due_ms = 0
    WITH g
    <BEGIN_FILL>
    WITH g
    <COUNT_ACTIVITY>
    RETURN g.rev, g.epoch, g.last_ms, coalesce(g.space, '')
    """
# Items are no part of the queue, or of what waits for RetryItems, until the end.
_QUEUE: LiteralString = """
    MATCH (i:KgItem) USING INDEX SEEK i:KgItem(group_id, epoch, state, seq, uuid)
    WHERE i.group_id = $p.group_id AND i.epoch = $p.epoch AND i.state = 'accepted' AND i.seq IS NOT NULL
        AND i.uuid IS NOT NULL AND NOT i:KgPending
    WITH i LIMIT $p.batch
    SET i:KgPending
    RETURN count(*)
    """
_PARK: LiteralString = """
    MATCH (i:KgItem) USING INDEX SEEK i:KgItem(group_id, epoch, state, seq, uuid)
    WHERE i.group_id = $p.group_id AND i.epoch = $p.epoch AND i.state = 'parked' AND i.seq IS NOT NULL
        AND i.uuid IS NOT NULL AND NOT i:KgParked
    WITH i LIMIT $p.batch
    SET i:KgParked
    RETURN count(*)
    """
_DOCUMENT: LiteralString = """
    CREATE (:KgDocument {group_id: $p.group_id, epoch: $p.epoch, document_id: $p.document_id,
        latest: $p.latest, data: $p.data, open: $p.open, places: $p.places})
    WITH 1 AS made
    CALL () {
        UNWIND $p.former AS row
        CREATE (:KgFormerText {group_id: $p.group_id, epoch: $p.epoch, document_id: $p.document_id,
            revision: row.revision, places: row.places})
    }
    UNWIND $p.chunks AS row
    MERGE (c:KgChunk {group_id: $p.group_id, epoch: $p.epoch, uuid: row.uuid})
    SET c.document_id = $p.document_id, c.active = row.active
    """
_OTHERS: LiteralString = """
    UNWIND $p.ids AS id
    MATCH (c:KgReceipt) WHERE c.receipt_id = id AND c.part IS NOT NULL AND c.group_id <> $p.group_id
    RETURN DISTINCT id
    """
_EPISODES: LiteralString = """
    UNWIND $p.rows AS row
    CREATE (:Episodic {
        group_id: $p.group_id, epoch: $p.epoch, <PUT_EPISODE>
    })
    CREATE (i:KgItem {
        group_id: $p.group_id, uuid: row.uuid, epoch: $p.epoch, reference_ms: row.reference_ms,
        content_hash: row.content_hash, name: row.name, bytes: row.bytes
    })
    SET i += row.item
    """
_OLD_RECEIPTS: LiteralString = """
    UNWIND $p.rows AS row
    MATCH (c:KgReceipt) WHERE c.receipt_id = row.receipt_id AND c.part IS NOT NULL
    DELETE c
    """
_RECEIPTS: LiteralString = """
    UNWIND $p.rows AS row
    CALL (row) {
        UNWIND row.items AS item
        OPTIONAL <SEEK i:KgItem item.uuid>
        WITH item, CASE WHEN item.there THEN coalesce(i.seq, -1) ELSE -1 END AS seq
        RETURN collect(item.uuid) AS uuids, collect(item.duplicate) AS duplicates, collect(seq) AS seqs
    }
    CREATE (:KgReceipt {receipt_id: row.receipt_id, part: 0, group_id: $p.group_id, epoch: $p.epoch,
        created_ms: row.created_ms, uuids: uuids, seqs: seqs, duplicates: duplicates})
    """
_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class _State:
    """A group's record, locked."""

    content: bool
    epoch: int
    rev: int
    last_ms: int
    facts: int | None
    import_id: str | None
    import_epoch: int | None
    lines: int | None
    seq: int | None


async def _state(tx: Tx, statement: LiteralString, group_id: str) -> _State:
    rows = await tx.run(statement, group_id=group_id)
    if not rows:
        raise Conflict(OVER)
    (row,) = rows
    return _State(*row)


class Transfers(Moving, Apply, Admin):
    """TransferStore."""

    async def begin_import(self, start: ImportStart) -> int:
        async def begin(tx: Tx) -> tuple[int, int | None]:
            state = await _state(tx, _NEW, start.group_id)
            if state.content:
                raise Conflict(TAKEN)
            if state.import_id == start.import_id:
                return state.lines or 0, None
            epoch = state.import_epoch or state.epoch  # of another import, of which nothing stays
            abandoned = state.import_epoch is not None
            seq = start.now_ms * 1_000_000
            begun = {"import_id": start.import_id, "seq": seq, "purging": abandoned or None}
            await tx.run(_BEGIN, group_id=start.group_id, epoch=epoch + int(abandoned), **begun)
            return 0, epoch + 1 if abandoned else None

        lines, purged = await self._transact(begin)
        if purged is not None:
            await self._purge(start.group_id, purged, start.now_ms)
        return lines

    async def write_import(self, page: ImportPage) -> None:
        await self._transact(partial(self._write_page, page))

    async def _write_page(self, page: ImportPage, tx: Tx) -> None:
        state = await _state(tx, _KNOWN, page.group_id)
        if state.import_id != page.import_id or state.import_epoch is None or state.content:
            raise Conflict(OVER)
        if state.lines != page.after:
            if (state.lines or 0) >= page.upto:
                return
            raise Conflict(OVER)
        if charges := kept_by(page):
            await tx.run(LOCK_USED, counters=counter_rows(sorted(charges)))
            await tx.run(CHARGE, **charging(charges))
        scope = {"group_id": page.group_id, "epoch": state.import_epoch}
        for row in page.rows:
            if isinstance(row, MovedDocument):
                await tx.run(_DOCUMENT, **scope, **_document_values(row))
        episodes = [row for row in page.rows if isinstance(row, MovedEpisode)]
        if episodes:
            homes = await self._homes(tx, page, episodes)
            values = [
                _episode_row(row, homes, (state.seq or 0) + 1 + page.ranks[row.key], page.keepers)
                for row in episodes
            ]
            await tx.run(_EPISODES, **scope, rows=values)
        await self._write_receipts(tx, page, scope)
        await self._write_graph(tx, page, state)
        await tx.run(_COUNT_LINES, group_id=page.group_id, lines=page.upto)

    async def _homes(self, tx: Tx, page: ImportPage, rows: Sequence[MovedEpisode]) -> dict[str, str]:
        """Under which receipts items are: one whose id another group has stays that one's."""
        ids = sorted({row.item.receipt_id for row in rows} - {""})
        others = set(column(await tx.run(_OTHERS, ids=ids, group_id=page.group_id)))
        return {each: page.import_id if each in others else each for each in ids}

    async def _write_receipts(self, tx: Tx, page: ImportPage, scope: dict[str, Any]) -> None:
        found = [row for row in page.rows if isinstance(row, MovedReceipt)]
        if not found:
            return
        ids = [row.receipt_id for row in found]
        others = set(column(await tx.run(_OTHERS, ids=ids, group_id=page.group_id)))
        rows = [
            {
                "receipt_id": row.receipt_id,
                "created_ms": row.created_ms,
                "items": [asdict(each) for each in row.items],
            }
            for row in found
            if row.receipt_id not in others
        ]
        await tx.run(_OLD_RECEIPTS, rows=rows)  # of a deleted group of this name
        await tx.run(_RECEIPTS, **scope, rows=rows)

    async def _write_graph(self, tx: Tx, page: ImportPage, state: _State) -> None:
        """As changes of a group in which nothing is yet that they could meet."""
        assert state.import_epoch is not None
        guard = Guard(state.rev, state.import_epoch)
        for delta in deltas_of(page.group_id, page.rows):
            ((facts,),) = await tx.run(_FACT_COUNT, group_id=page.group_id)
            there = untouched(page.group_id, facts or 0)
            values = self.written(there, replace(delta, system_ms=state.last_ms), guard)
            await self.write_rows(tx, [values | {"shard": self._shard()}])

    async def end_import(self, end: ImportEnd) -> GroupHead:
        async def close(tx: Tx) -> tuple[GroupHead | None, int]:
            state = await _state(tx, _KNOWN, end.group_id)
            if state.import_id != end.import_id or state.import_epoch is None:
                raise Conflict(OVER)
            if state.content:
                ((epoch,),) = await tx.run(_FORGET, group_id=end.group_id)
                return None, epoch
            space = await space_of(tx, end.group_id, state.import_epoch)
            values = {"ontology": end.ontology, "last_ms": end.last_ms, "now_ms": end.now_ms}
            ((rev, epoch, last_ms, space),) = await tx.run(
                _END, group_id=end.group_id, **values, space=space, shard=self._shard()
            )
            return GroupHead(end.group_id, rev, epoch, last_ms, space), epoch

        await self._queue_items(end)
        head, epoch = await self._transact(close)
        await self._purge(end.group_id, epoch, end.now_ms)
        if head is None:
            raise Conflict(TAKEN)
        return head

    async def _queue_items(self, end: ImportEnd) -> None:
        rows = await self._run(_IMPORTED, group_id=end.group_id, import_id=end.import_id)
        for (epoch,) in rows:
            for statement in (_QUEUE, _PARK):
                await self._run_in_batches(statement, _BATCH, group_id=end.group_id, epoch=epoch)


_FACT_COUNT: LiteralString = "MATCH (g:KgGroup {group_id: $p.group_id}) RETURN g.facts"
_IMPORTED: LiteralString = """
    MATCH (g:KgGroup {group_id: $p.group_id}) WHERE g.import_id = $p.import_id
    RETURN g.import_epoch
    """


def _document_values(row: MovedDocument) -> dict[str, Any]:
    known = row.document
    return {
        "document_id": known.document_id,
        "latest": known.latest,
        "data": document_text(known),
        "open": None if known.settled else True,
        "places": places_text(row.places),
        "former": [{"revision": number, "places": places_text(each)} for number, each in row.former.items()],
        "chunks": [{"uuid": uuid, "active": active} for uuid, active in row.chunks.items()],
    }


def _episode_row(
    row: MovedEpisode, homes: dict[str, str], seq: int, keepers: tuple[str, ...]
) -> dict[str, Any]:
    item = _item_values(row, homes, seq) | {"keeps": list(keepers) or None}
    return episode_row(row.episode) | {"item": item}


def _item_values(row: MovedEpisode, homes: dict[str, str], seq: int) -> dict[str, Any]:
    """Properties of an item beside those that it shares with its episode."""
    item, due = row.item, is_due(row)
    counts = {} if due else item.attempts
    usage = item.usage
    return {
        "seq": seq,
        "receipt_id": homes.get(item.receipt_id, ""),
        "state": "accepted" if due else str(item.state),
        "accepted_ms": item.accepted_ms,
        "updated_ms": item.updated_ms,
        "next_ms": 0 if due else None,
        "attempts": counts.get(str(item.step), 0) if item.step else 0,
        **{f"{name}_attempts": counts.get(name, 0) for name in ("extract", "embed", "upsert", "crash")},
        "step": None if due or item.step is None else str(item.step),
        "reason": None if due else item.reason,
        "model_calls": usage.calls,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "previous": list(item.previous) or None,
        "warnings": warnings_text(item.warnings),
    }
