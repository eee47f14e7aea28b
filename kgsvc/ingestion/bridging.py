"""Known entities that a new name shows to be one merge before the batch is planned (design §3).

A merge is a commit of its own under the batch's lease: whoever does the batch again finds one entity where
there were two, and goes on from there.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from kgsvc.domain.bridging import MOST, Bridge, bridges, names_allow
from kgsvc.domain.clock import Clock
from kgsvc.domain.decisions import NameDecision
from kgsvc.domain.delta import Guard, NameView
from kgsvc.domain.entities import BatchItem
from kgsvc.domain.errors import LimitExceeded, StoreRefused
from kgsvc.domain.identity import digest, mint
from kgsvc.domain.items import Lease
from kgsvc.ingestion.joining import Joining
from kgsvc.ingestion.summarising import SummaryStore

log = logging.getLogger(__name__)

_NAMES = 256  # of an entity, looked at for figures


class Bridging:
    """Merges on behalf of one batch. Kept for all its plans, so that its bound counts for them together."""

    def __init__(self, store: SummaryStore, joining: Joining, clock: Clock) -> None:
        self._store = store
        self._joining = joining
        self._clock = clock
        self._left = MOST
        self._apart: set[tuple[str, str]] = set()  # pairs that stay two

    async def merged_one(
        self,
        lease: Lease,
        items: Sequence[BatchItem],
        view: NameView,
        decided: Mapping[str, NameDecision],
    ) -> bool:
        """Whether two entities of `view` were merged: then it is out of date. Raises LeaseLost,
        RevisionChanged, StepError, StoreUnavailable."""
        for bridge in bridges(items, view, decided) if self._left else ():
            if bridge.pair in self._apart:
                continue
            if await self._merge(lease, view, bridge):
                self._left -= 1
                return True
            self._apart.add(bridge.pair)
        return False

    async def _merge(self, lease: Lease, view: NameView, bridge: Bridge) -> bool:
        """False: they stay two."""
        kept, gone, group_id = bridge.kept, bridge.gone, lease.group_id
        names = [await self._store.entity_names(group_id, each.uuid, _NAMES) for each in (kept, gone)]
        if not names_allow([kept.name, *names[0]], [gone.name, *names[1]]):
            return False
        system_ms = max(self._clock.now_ms(), view.head.last_ms + 1)
        merge_id = mint("merge", group_id, digest(kept.uuid, gone.uuid, system_ms))
        try:
            joined = await self._joining.joined(kept, gone, merge_id, system_ms, bridge.by_episode)
            await self._store.apply(joined.delta, Guard(view.head.rev, view.head.epoch, lease.token))
        except (LimitExceeded, StoreRefused) as error:  # either is no fault of the items
            log.warning("entities that are one stay two", extra={"group_id": group_id, "reason": str(error)})
            return False
        log.info("entities merged", extra={"group_id": group_id, "item": bridge.by_episode})
        return True
