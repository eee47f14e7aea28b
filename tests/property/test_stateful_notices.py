"""The stateful comparison itself: some seed notices each of these faults in a store."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest

from kgsvc.domain.model.delta import GraphDelta, GroupHead, Guard, SlotView
from kgsvc.domain.model.items import AcceptBatch, Accepted, Lease, QueuedItem
from kgsvc.stores.search_protocol import Changes
from tests.support.model_store import ModelStore
from tests.support.stateful import run


class WithoutVectors(ModelStore):
    async def apply(self, delta: GraphDelta, guard: Guard) -> GroupHead:
        return await super().apply(replace(delta, vectors={}), guard)


class LosesAMention(ModelStore):
    async def apply(self, delta: GraphDelta, guard: Guard) -> GroupHead:
        return await super().apply(replace(delta, mentions=delta.mentions[1:]), guard)


class CommitsFinishedItems(ModelStore):
    async def apply(self, delta: GraphDelta, guard: Guard) -> GroupHead:
        return await super().apply(replace(delta, requires_items=()), guard)


class Unfenced(ModelStore):
    async def apply(self, delta: GraphDelta, guard: Guard) -> GroupHead:
        return await super().apply(delta, replace(guard, token=None))


class SuspectsNobody(ModelStore):
    async def start_items(
        self, lease: Lease, now_ms: int, limit: int, max_bytes: int, exclude: Collection[str]
    ) -> list[QueuedItem]:
        items = await super().start_items(lease, now_ms, limit, max_bytes, exclude)
        return [replace(item, suspect=False) for item in items]


class CutsRevisions(ModelStore):
    async def changes(self, group_id: str, after_rev: int, limit: int) -> Changes:
        found = await super().changes(group_id, after_rev, limit)
        return replace(found, facts=found.facts[:limit])


class ForgetsKeys(ModelStore):
    async def accept(self, batches: Sequence[AcceptBatch]) -> list[Accepted | Exception]:
        return await super().accept([replace(batch, idempotency_key=None) for batch in batches])


class ForgetsTombstones(ModelStore):
    async def slots(self, group_id: str, slots: Collection[str]) -> SlotView:
        return replace(await super().slots(group_id, slots), tombstones=())


class RetriesEverything(ModelStore):
    async def retry_items(self, group_id: str, uuids: Collection[str] | None, now_ms: int) -> list[str]:
        return await super().retry_items(group_id, None, now_ms)


@pytest.mark.parametrize(
    "faulty",
    [
        WithoutVectors,
        LosesAMention,
        CommitsFinishedItems,
        Unfenced,
        SuspectsNobody,
        CutsRevisions,
        ForgetsKeys,
        ForgetsTombstones,
        RetriesEverything,
    ],
)
async def test_a_faulty_store_is_noticed(faulty: type[ModelStore]) -> None:
    for seed in range(200):
        try:
            await run(seed, faulty(), "faulty")
        except AssertionError:
            return
    pytest.fail("no seed noticed")
