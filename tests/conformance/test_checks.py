"""The suite itself: it can be run twice in one group, leaves nothing behind, and notices what is broken."""

from collections.abc import Collection, Sequence

import pytest

from kgsvc.domain.model.delta import GraphDelta, GroupHead, Guard
from kgsvc.domain.model.items import AcceptBatch, Accepted, Lease, Transition
from kgsvc.stores.conformance import ConformanceError
from kgsvc.stores.intake_protocol import Page
from kgsvc.stores.search_protocol import Changes
from tests.support.model_store import ModelStore
from tests.support.stores import checks_of


async def test_checks_can_run_again_and_leave_nothing() -> None:
    store = ModelStore()
    for _ in range(2):
        for check in checks_of("model"):
            await check.run(store, "scratch")
    assert await store.group_ids() == []
    assert all(name.startswith("scratch") for name in store._groups)


class Forgetful(ModelStore):
    """Accepts only the first batch of a call for real."""

    async def accept(self, batches: Sequence[AcceptBatch]) -> list[Accepted | Exception]:
        results = await super().accept(batches[:1])
        return results * len(batches)


class Unfenced(ModelStore):
    """Lets a stale lease write."""

    async def save_transitions(self, lease: Lease, transitions: Sequence[Transition]) -> None:
        self.peek(lease.group_id).move(tuple(transitions), leased=False)


class Torn(ModelStore):
    """Writes entities before it looks at the guard."""

    async def apply(self, delta: GraphDelta, guard: Guard) -> GroupHead:
        self._group(delta.group_id).entities.update({e.uuid: e for e in delta.entities})
        return await super().apply(delta, guard)


class Silent(ModelStore):
    """Forgets to tell what was removed."""

    async def changes(self, group_id: str, after_rev: int, limit: int) -> Changes:
        found = await super().changes(group_id, after_rev, limit)
        return Changes(found.head, found.facts, (), found.upto_rev, found.more)


class Half(ModelStore):
    """Deletes a group only once it has entities."""

    async def delete_group(self, group_id: str, now_ms: int, erasure_id: str = "") -> None:
        if self.peek(group_id).entities:
            await super().delete_group(group_id, now_ms, erasure_id)


class Eager(ModelStore):
    """Starts excluded items too."""

    async def start_items(  # type: ignore[no-untyped-def]
        self, lease: Lease, now_ms: int, limit: int, max_bytes: int, exclude: Collection[str]
    ):
        return await super().start_items(lease, now_ms, limit, max_bytes, ())


class Endless(ModelStore):
    """Pages never end."""

    async def list_items(self, group_id, states, limit, token):  # type: ignore[no-untyped-def]
        page = await super().list_items(group_id, states, limit, token)
        return Page(page.rows, page.next_token or "0")


@pytest.mark.parametrize(
    ("broken", "area"),
    [
        (Forgetful, "accept"),
        (Unfenced, "transitions"),
        (Torn, "guards"),
        (Silent, "changes"),
        (Half, "admin"),
        (Eager, "leases"),
        (Endless, "receipts"),
    ],
)
async def test_a_broken_store_is_noticed(broken: type[ModelStore], area: str) -> None:
    failed: set[str] = set()
    for check in checks_of("model"):
        try:
            await check.run(broken(), "scratch")
        except (ConformanceError, ValueError):
            failed.add(check.name.partition(".")[0])
    assert area in failed
