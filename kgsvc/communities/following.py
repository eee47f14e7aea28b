"""Communities that follow the graph: entities new to it join that of their neighbours (spec 003)."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Protocol

from kgsvc.communities.detection import Ends
from kgsvc.domain.clock import Clock
from kgsvc.domain.errors import ServiceError, StepError
from kgsvc.domain.model.communities import Behind
from kgsvc.domain.model.items import SCRATCH
from kgsvc.stores.community_protocol import CommunityStore

log = logging.getLogger(__name__)
_GROUPS_AT_ONCE = 64
_LINKS_A_PAGE = 2_000
_IDLE_S = 2.0
_PAUSE_S = 0.25  # between two looks, however much happens


class Changes(Protocol):
    """Tells that something happened (see jobs.activity.ActivityWatch)."""

    @property
    def version(self) -> int:
        """Grows with every change seen."""

    async def wait(self, seen: int, timeout_s: float) -> int:
        """The version once it differs from `seen`, at the latest after `timeout_s`."""


class Follower:
    """Looks after the communities of every group. Names and summaries stay as the last build made them."""

    def __init__(self, store: CommunityStore, changes: Changes, clock: Clock) -> None:
        self._store = store
        self._changes = changes
        self._clock = clock

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            seen = self._changes.version
            try:
                await self.catch_up()
            except (ServiceError, StepError) as error:
                log.warning("communities cannot follow: %s", type(error).__name__)
            await self._changes.wait(seen, _IDLE_S)
            await asyncio.sleep(_PAUSE_S)

    async def catch_up(self) -> None:
        """Follow every group that is behind to its present revision. Raises StoreUnavailable."""
        for behind in await self._store.behind(_GROUPS_AT_ONCE):
            if not behind.group_id.startswith(SCRATCH):
                await self._follow(behind)

    async def _follow(self, behind: Behind) -> None:
        """Page by page; another process that follows the same group, or a new build, ends it here."""
        while True:
            now_ms = self._clock.now_ms()
            page = await self._store.links(behind.group_id, now_ms, behind.rev, _LINKS_A_PAGE)
            facts = [(row.source_uuid, row.target_uuid) for row in page.rows if row.current]
            ends = {end for each in facts for end in each}
            placed = await self._store.placements(behind.group_id, ends) if ends else {}
            if not await self._store.join(behind, page.upto_rev, newcomers(facts, placed)) or not page.more:
                return
            behind = Behind(behind.group_id, behind.build_id, page.upto_rev)


def newcomers(facts: Sequence[Ends], placed: Mapping[str, str]) -> dict[str, str]:
    """The communities that entities without one join: that of most of their neighbours, counted by facts; of
    equal ones the first by uuid. Whoever knows only newcomers comes after them."""
    home = dict(placed)
    near: dict[str, Counter[str]] = defaultdict(Counter)
    for source, target in facts:
        if source != target:
            near[source][target] += 1
            near[target][source] += 1
    waiting = sorted(end for end in near if end not in home)
    joined: dict[str, str] = {}
    while found := {uuid: best for uuid in waiting if (best := _best(near[uuid], home)) is not None}:
        home |= found
        joined |= found
        waiting = [uuid for uuid in waiting if uuid not in found]
    return joined


def _best(near: Mapping[str, int], home: Mapping[str, str]) -> str | None:
    votes: Counter[str] = Counter()
    for neighbour, weight in near.items():
        if neighbour in home:
            votes[home[neighbour]] += weight
    return min(votes, key=lambda community: (-votes[community], community)) if votes else None
