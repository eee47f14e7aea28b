"""The suite itself notices what is broken."""

from collections.abc import Collection, Sequence
from types import ModuleType

import pytest

from kgsvc.domain.model.delta import GraphDelta, GroupHead, Guard
from kgsvc.domain.model.items import AcceptBatch, Accepted, Lease, Transition
from kgsvc.stores.intake_protocol import Page
from kgsvc.stores.search_protocol import Changes
from tests.conformance import (
    test_accept,
    test_admin,
    test_changes,
    test_guards,
    test_leases,
    test_receipts,
    test_transitions,
)
from tests.support.model_store import ModelStore
from tests.support.samples import Scratch


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
    ("broken", "promises"),
    [
        (Forgetful, test_accept),
        (Unfenced, test_transitions),
        (Torn, test_guards),
        (Silent, test_changes),
        (Half, test_admin),
        (Eager, test_leases),
        (Endless, test_receipts),
    ],
)
async def test_a_broken_store_is_noticed(broken: type[ModelStore], promises: ModuleType) -> None:
    tests = [test for name, test in vars(promises).items() if name.startswith("test_")]
    failed = 0
    for test in tests:
        try:
            await test(Scratch(broken(), "scratch"))
        except (AssertionError, ValueError, pytest.fail.Exception):
            failed += 1
    assert 0 < failed < len(tests)
