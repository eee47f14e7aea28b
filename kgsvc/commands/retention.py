"""What a group's retention no longer keeps is erased, a part at a time, each with a receipt; old receipts of
items, what would undo old merges and splits, and the records of old builds are collected."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Sequence

from kgsvc.access.audit import Audit
from kgsvc.access.retention import Retention, retention_of
from kgsvc.commands.cascades import erase_part
from kgsvc.commands.core import Core, until_applied
from kgsvc.commands.documents import erase_chunks_of
from kgsvc.commands.facts import delete_fact
from kgsvc.domain.errors import KgError
from kgsvc.domain.limits import DAY_MS
from kgsvc.domain.model.delta import Erased, GraphDelta
from kgsvc.domain.model.erasures import Erasure, ErasureKind
from kgsvc.domain.names.forgetting import WHOLE, collected
from kgsvc.stores.protocol import EpisodeCut, MergesWhere

log = logging.getLogger(__name__)

_PAUSE_S = 3_600.0
_LOOK_S = 1.0
_PARTS = 1_000
_HOUR_MS = 3_600_000
_AT_ONCE = 50  # episodes, documents and facts of one erasure, so that each is over soon
_RECEIPTS = 500  # that are looked at in one transaction
_DOCUMENTS = 200  # that are looked at in one read
_LAST = "\U0010ffff"
_BODY_BYTES = 1 << 20  # of the episodes of one erasure


class RetentionJob:
    """Looks every hour. Several processes may: one that finds another at work on a group waits for it."""

    def __init__(
        self, core: Core, policies: Sequence[Retention], undo_days: int = 0, audit: Audit | None = None
    ) -> None:
        self._core = core
        self._policies = policies
        self._undo_days = undo_days
        self._audit = audit

    async def run(self) -> None:
        """Until cancelled. Nothing is begun while the service is read-only."""
        while True:
            await self._core.modes.writable()
            await self._tried(self.erase())
            await asyncio.sleep(_PAUSE_S)
            await self._core.modes.writable()
            await self._tried(self.collect())
            await self._tried(self.collect_receipts())

    async def _tried(self, work: Awaitable[None]) -> None:
        try:
            await work
        except KgError as error:
            log.warning("retention cannot go on: %s", type(error).__name__)

    async def erase(self) -> None:
        """Erase what is due. A group that fails holds up no other. Raises StoreUnavailable."""
        group_ids = await self._core.store.group_ids() if self._policies else ()
        left = {each: policy for each in group_ids if (policy := retention_of(self._policies, each))}
        while left:
            busy = await self._busy()
            for group_id in [each for each in left if each not in busy]:
                await self._tried(self._group(group_id, left.pop(group_id)))
            if left:
                await asyncio.sleep(_LOOK_S)

    async def _busy(self) -> set[str]:
        """Groups of which a part is under way, or was when a process died; that is carried on."""
        parts = await self._core.store.erasures(_PARTS)
        return {
            each.group_id for each in parts if each.kind is ErasureKind.RETENTION and each.removed is None
        }

    async def collect(self) -> None:
        """Remove what would undo old merges, and records of old builds. Raises StoreUnavailable."""
        before_ms = self._core.clock.now_ms() - self._undo_days * DAY_MS
        for group_id in await self._core.store.group_ids() if self._undo_days else ():
            await self._core.store.remove_builds(group_id, before_ms)
            await _collect_records(self._core, group_id, before_ms)

    async def collect_receipts(self) -> None:
        """Remove those whose window is over (docs/ingestion.md). Raises StoreUnavailable."""
        before_ms = self._core.clock.now_ms() - self._core.limits.receipt_window_ms
        place: str | None = ""
        while place is not None:
            place = await self._core.store.remove_receipts(before_ms, place, _RECEIPTS)

    async def _group(self, group_id: str, policy: Retention) -> None:
        """One erasure after the other, until nothing is due."""
        began_ms = self._core.clock.now_ms()
        horizons = policy.horizons(began_ms - began_ms % _HOUR_MS)
        what = ":".join("" if each is None else str(each) for each in horizons)
        due = await _due(self._core, group_id, *horizons)
        while any(due):
            await self._core.modes.writable()
            erasure_id = self._core.new_id()
            asked_ms = self._core.clock.now_ms()  # of this part: other processes drop what is recent
            erasure = Erasure(erasure_id, group_id, ErasureKind.RETENTION, asked_ms, what)
            if self._audit is not None:  # first: whoever carries it on after a crash tells no id
                told = {"who": "retention", "operation": "Retention", "groups": [group_id]}
                self._audit.note(told | {"uuids": [erasure_id], "outcome": "begun"})
            await self._core.begin_erasures([erasure])
            await erase_retained(self._core, erasure)
            log.info("retention", extra={"group_id": group_id})
            left = await _due(self._core, group_id, *horizons)
            if left == due:
                break  # sent anew while this went on
            due = left


@until_applied
async def _collect_records(core: Core, group_id: str, before_ms: int) -> None:
    """Take out of old records what would undo the merge or split."""
    head = (await core.store.names(group_id, ())).head
    whole = await core.store.merges(group_id, MergesWhere(text=WHOLE))
    old = [record for record in whole if record.created_ms < before_ms]
    for first in range(0, len(old), _AT_ONCE):
        part = old[first : first + _AT_ONCE]
        delta = GraphDelta(
            group_id,
            core.system_ms(head),
            bumps_rev=False,  # so that one read and one guard do for all parts
            remove_merges=tuple(record.merge_id for record in part),
            merges=tuple(map(collected, part)),
        )
        head = await core.apply(delta, head)


async def erase_retained(core: Core, erasure: Erasure) -> None:
    """Carry out one part. May be repeated."""
    group_id = erasure.group_id
    before, ended = (int(each) if each else None for each in erasure.uuid.split(":"))
    episodes, documents, facts = await _due(core, group_id, before, ended)
    for uuid in episodes:
        await erase_part(core, erasure, uuid)
    for document_id in documents:
        await erase_chunks_of(core, erasure, document_id)
    for uuid in facts:
        await delete_fact(core, uuid, group_id, Erased(erasure.erasure_id, {"facts": 1}, over=False))
    await core.store.removed(erasure.erasure_id, group_id, {})
    core.activity.poke()


Due = tuple[list[str], list[str], list[str]]


async def _due(core: Core, group_id: str, before: int | None, ended: int | None) -> Due:
    """Some episodes, documents and facts whose time is over."""
    store = core.store
    episodes, documents = [], []
    if before is not None:
        cut = EpisodeCut(upto=(before - 1, _LAST), max_bytes=_BODY_BYTES)
        episodes = [each.uuid for each in await store.recent_episodes(group_id, _AT_ONCE, cut)]
        documents = await _due_documents(core, group_id, before)
    facts = [] if ended is None else await store.ended_facts(group_id, ended, _AT_ONCE)
    return episodes, documents, facts


async def _due_documents(core: Core, group_id: str, before: int) -> list[str]:
    after = ""
    while page := await core.store.documents(group_id, _DOCUMENTS, after):
        if due := [each.document_id for each in page if each.revision.reference_ms < before]:
            return due[:1]
        after = page[-1].document_id
    return []
