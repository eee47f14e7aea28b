"""One build of a group's communities, from wherever an earlier attempt left it (spec 002)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from kgsvc.domain.clock import Clock
from kgsvc.domain.communities import BuildLease, Draft
from kgsvc.ingestion.communities.describing import CALLS_A_DRAFT, Describer
from kgsvc.ingestion.communities.detection import Detector
from kgsvc.ingestion.communities.drafting import Graph, drafts_of, give_to_model
from kgsvc.ingestion.communities.settings import CommunitySettings
from kgsvc.stores.community_protocol import DraftStore

_LINKS_A_PAGE = 2_000
_MEMBERS_A_WRITE = 1_000
_DRAFTS_A_WRITE = 200
_DESCRIBED_AT_ONCE = 25


class CommunityBuilder:
    """Carries builds out under their leases; what a step has stored is not done again."""

    def __init__(
        self,
        store: DraftStore,
        detector: Detector,
        describer: Describer,
        settings: CommunitySettings,
        clock: Clock,
    ) -> None:
        self._store = store
        self._detector = detector
        self._describer = describer
        self._settings = settings
        self._clock = clock

    async def build(self, lease: BuildLease) -> None:
        """Detect, draft, describe, publish. Raises StepError, StoreUnavailable, LeaseLost; then the next
        attempt goes on from what is stored."""
        if not lease.drafted:
            await self._draft(lease)
        while drafts := await self._store.drafts(lease, _DESCRIBED_AT_ONCE):
            # Summaries that cost model calls are stored one by one.
            run = list(takewhile(lambda draft: not draft.by_model, drafts)) or drafts[:1]
            described = await self._describer.describe(lease.group_id, run)
            await self._store.describe(lease, described, self._clock.now_ms())
        await self._store.publish(lease, self._clock.now_ms())

    async def _draft(self, lease: BuildLease) -> None:
        """Detection is the same when it is repeated: facts count as they did when the build was asked for."""
        graph = await self._read(lease)
        found = await self._detector.detect(list(graph.facts.values()))
        drafts = await asyncio.to_thread(drafts_of, lease.group_id, lease.build_id, graph.facts, found)
        if self._describer.asks_model:
            drafts = give_to_model(drafts, CALLS_A_DRAFT, self._settings.model_calls)
        await self._store.clear_drafts(lease)
        for some in writes_of(drafts):
            await self._store.put_drafts(lease, some)
        await self._store.end_drafts(lease, len(drafts), self._clock.now_ms())

    async def _read(self, lease: BuildLease) -> Graph:
        graph, after_rev, more = Graph(), 0, True
        while more:
            page = await self._store.links(lease.group_id, lease.created_ms, after_rev, _LINKS_A_PAGE)
            graph.add(page.rows)
            after_rev, more = page.upto_rev, page.more
        return graph


def writes_of(drafts: Sequence[Draft]) -> Iterator[list[Draft]]:
    """The drafts in runs that fit into a transaction each; a large one comes in pieces."""
    run: list[Draft] = []
    members = 0
    for piece in _pieces(drafts):
        if run and (len(run) >= _DRAFTS_A_WRITE or members + len(piece.members) > _MEMBERS_A_WRITE):
            yield run
            run, members = [], 0
        run.append(piece)
        members += len(piece.members)
    if run:
        yield run


def _pieces(drafts: Sequence[Draft]) -> Iterator[Draft]:
    for draft in drafts:
        for start in range(0, len(draft.members), _MEMBERS_A_WRITE):
            yield replace(draft, members=draft.members[start : start + _MEMBERS_A_WRITE])
