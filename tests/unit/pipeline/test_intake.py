"""Intake and the coalescer: one commit for many, each answered with what is its own."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from kgsvc.commands.items import (
    Acknowledged,
    CoalescerSettings,
    ItemAcceptor,
    ItemInput,
    input_hash,
    message_body,
)
from kgsvc.domain.errors import Conflict, InvalidArgument, Overloaded, StoreRefused, StoreUnavailable
from kgsvc.domain.model.graph import RoleType, Source
from kgsvc.domain.model.items import AcceptBatch, Accepted
from tests.support.core import core_of
from tests.support.model_store import ModelStore


class Held:
    """The model store behind a door, with a record of what came through."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.calls: list[list[AcceptBatch]] = []
        self.error: Exception | None = None
        self._store = ModelStore()

    async def accept(self, batches: Sequence[AcceptBatch]) -> list[Accepted | Exception]:
        self.calls.append(list(batches))
        await self.open.wait()
        if self.error is not None:
            raise self.error
        return await self._store.accept(batches)


def _item(number: int, body: str | None = None, **fields: Any) -> ItemInput:
    text = str(number) if body is None else body
    return ItemInput(text, Source.TEXT, number, **{"uuid": f"u{number}", **fields})


def _intake(store: Any, **settings: Any) -> ItemAcceptor:
    ids = iter(range(1_000_000))
    core = core_of(store, new_id=lambda: f"r{next(ids)}")
    return ItemAcceptor(core, CoalescerSettings(**settings))


async def _start(*calls: Any) -> list[asyncio.Task[Any]]:
    """Begin each call and let it come to where it waits."""
    tasks = []
    for call in calls:
        tasks.append(asyncio.ensure_future(call))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    return tasks


async def test_calls_that_come_during_a_commit_share_the_next_one() -> None:
    store = Held()
    intake = _intake(store, items=3)
    tasks = await _start(*(intake.accept("Op", "g", [_item(n)]) for n in range(6)))
    store.open.set()
    answers = await asyncio.gather(*tasks)
    assert [len(call) for call in store.calls] == [1, 3, 2]
    assert [answer.items[0].uuid for answer in answers] == [f"u{n}" for n in range(6)]


async def test_callers_that_are_answered_together_come_together_again() -> None:
    """Else two halves of them would take turns, each in a commit of its own."""
    store = Held()
    intake = _intake(store)

    async def caller(first: int) -> None:
        for n in range(first, first + 3):
            await intake.accept("Op", "g", [_item(n)])
            await asyncio.sleep(0.001)

    accept = store.accept

    async def slow(batches: Sequence[AcceptBatch]) -> list[Accepted | Exception]:
        await asyncio.sleep(0.05)
        return await accept(batches)

    store.accept = slow  # type: ignore[method-assign]
    store.open.set()
    early = await _start(caller(0))
    await asyncio.gather(*early, *(caller(10 * n) for n in range(1, 4)))
    assert [len(call) for call in store.calls] == [1, 3, 4, 4]


async def test_a_commit_is_bounded_in_bytes_but_takes_one_large_batch() -> None:
    store = Held()
    intake = _intake(store, commit_bytes=10)
    sizes = [1, 4, 4, 4, 50, 1]
    tasks = await _start(*(intake.accept("Op", "g", [_item(n, "x" * size)]) for n, size in enumerate(sizes)))
    store.open.set()
    await asyncio.gather(*tasks)
    assert [[len(b.items[0].episode.body) for b in call] for call in store.calls] == [
        [1], [4, 4], [4], [50], [1],
    ]  # fmt: skip


async def test_too_many_waiting_bytes_are_refused_until_they_are_stored() -> None:
    store = Held()
    intake = _intake(store, waiting_bytes=10)
    tasks = await _start(intake.accept("Op", "g", [_item(1, "x" * 8)]))
    with pytest.raises(Overloaded) as caught:
        await intake.accept("Op", "g", [_item(2, "x" * 3)])
    assert caught.value.retry_after_ms > 0
    store.open.set()
    await asyncio.gather(*tasks)
    assert (await intake.accept("Op", "g", [_item(2, "x" * 3)])).items[0].uuid == "u2"


async def test_a_cancelled_caller_leaves_its_batch_to_be_stored() -> None:
    store = Held()
    intake = _intake(store)
    first, second = await _start(*(intake.accept("Op", "g", [_item(n)]) for n in range(2)))
    second.cancel()
    store.open.set()
    await first
    again = await intake.accept("Op", "g", [_item(1)])
    assert again.items[0].duplicate


async def test_a_failed_commit_fails_all_its_callers_and_none_after() -> None:
    store = Held()
    intake = _intake(store)
    store.error = StoreUnavailable("gone")
    store.open.set()
    results = await asyncio.gather(
        *(intake.accept("Op", "g", [_item(n)]) for n in range(3)), return_exceptions=True
    )
    assert all(isinstance(result, StoreUnavailable) for result in results)
    store.error = None
    assert (await intake.accept("Op", "g", [_item(1)])).items[0].uuid == "u1"


async def test_a_store_that_forgets_a_batch_leaves_nobody_waiting() -> None:
    class Forgetful:
        async def accept(self, _batches: Sequence[AcceptBatch]) -> list[Accepted | Exception]:
            return []

    intake = _intake(Forgetful())
    for number in range(2):
        with pytest.raises(RuntimeError):
            await intake.accept("Op", "g", [_item(number)])


async def test_large_batches_are_accepted_alike() -> None:
    store = Held()
    store.open.set()
    intake = _intake(store)
    large = replace(_item(1, "x" * 200_000), uuid=None)
    first, again = [await intake.accept("Op", "g", [large], "key") for _ in range(2)]
    assert first.receipt_id == again.receipt_id
    assert again.items[0].duplicate


async def test_a_run_with_a_conflict_stores_the_others() -> None:
    store = Held()
    store.open.set()
    intake = _intake(store)
    await intake.accept("Op", "g", [_item(2, "first words")])
    results = await intake.accept_each([("g", _item(n)) for n in range(4)])
    assert [type(result) for result in results] == [Acknowledged, Acknowledged, Conflict, Acknowledged]
    assert [len(call) for call in store.calls] == [1, 1, 4]


async def test_a_run_of_one_conflict_is_not_tried_again() -> None:
    store = Held()
    store.open.set()
    intake = _intake(store)
    await intake.accept("Op", "g", [_item(2, "first words")])
    assert [type(result) for result in await intake.accept_each([("g", _item(2))])] == [Conflict]
    assert len(store.calls) == 2


async def test_items_of_many_groups_share_a_commit_and_each_group_has_its_receipt() -> None:
    store = Held()
    store.open.set()
    intake = _intake(store)
    results = await intake.accept_each([(f"g{n % 3}", _item(n)) for n in range(9)])
    assert [[len(batch.items) for batch in call] for call in store.calls] == [[3, 3, 3]]
    found = [result for result in results if isinstance(result, Acknowledged)]
    assert [each.item.uuid for each in found] == [f"u{n}" for n in range(9)]
    assert len({each.receipt_id for each in found}) == 3
    assert all(each.receipt_id == found[n % 3].receipt_id for n, each in enumerate(found))


async def test_a_conflict_in_one_group_leaves_the_others_whole() -> None:
    store = Held()
    store.open.set()
    intake = _intake(store)
    await intake.accept("Op", "g0", [_item(2, "first words")])
    results = await intake.accept_each([(f"g{n % 2}", _item(n)) for n in range(6)])
    assert [n for n, result in enumerate(results) if isinstance(result, Conflict)] == [2]
    assert [[len(batch.items) for batch in call] for call in store.calls] == [[1], [3, 3], [1, 1, 1]]


async def test_what_a_store_refuses_is_not_held_against_the_others() -> None:
    class Picky(Held):
        async def accept(self, batches: Sequence[AcceptBatch]) -> list[Accepted | Exception]:
            if any(item.episode.uuid == "u4" for batch in batches for item in batch.items):
                raise StoreRefused("too large")
            return await super().accept(batches)

    store = Picky()
    store.open.set()
    intake = _intake(store)
    results = await intake.accept_each([(f"g{n % 4}", _item(n)) for n in range(8)])
    assert [n for n, result in enumerate(results) if isinstance(result, InvalidArgument)] == [4]
    assert sum(isinstance(result, Acknowledged) for result in results) == 7
    with pytest.raises(InvalidArgument, match="cannot hold one"):
        await intake.accept("Op", "g", [_item(3), _item(4)])
    with pytest.raises(InvalidArgument) as refused:
        await intake.accept("Op", "g", [_item(4)])
    assert [violation.field for violation in refused.value.violations] == ["items[0]"]


async def test_a_group_over_its_quota_is_told_in_its_place() -> None:
    class Full(Held):
        async def accept(self, batches: Sequence[AcceptBatch]) -> list[Accepted | Exception]:
            accepted = await super().accept(batches)
            full = Overloaded("the queue is full", 1)
            return [full if b.group_id == "g1" else a for b, a in zip(batches, accepted, strict=True)]

    store = Full()
    store.open.set()
    results = await _intake(store).accept_each([(f"g{n}", _item(n)) for n in range(3)])
    assert [type(result) for result in results] == [Acknowledged, Overloaded, Acknowledged]


async def test_items_without_a_uuid_get_one_that_follows_from_their_content() -> None:
    store = Held()
    store.open.set()
    intake = _intake(store)
    one = replace(_item(1, "text"), uuid=None)
    first = await intake.accept("Op", "g", [one])
    again = await intake.accept("Op", "g", [replace(one, name="other name")])
    other = await intake.accept("Op", "g", [replace(one, reference_ms=2), replace(one, role="Ann")])
    elsewhere = await intake.accept("Op", "h", [one])
    assert again.items[0].duplicate
    assert again.items[0].uuid == first.items[0].uuid
    uuids = {item.uuid for accepted in (first, other, elsewhere) for item in accepted.items}
    assert len(uuids) == 4


@pytest.mark.parametrize(
    "change",
    [
        {"body": "b"},
        {"source": Source.JSON},
        {"reference_ms": 2},
        {"uuid": None},
        {"name": "n"},
        {"source_description": "d"},
        {"role_type": RoleType.USER},
        {"role": "r"},
    ],
)
def test_every_mapped_value_counts_for_an_idempotency_key(change: dict[str, Any]) -> None:
    item = _item(1)
    assert input_hash("Op", "g", [item]) == input_hash("Op", "g", [_item(1)])
    assert input_hash("Op", "g", [item]) != input_hash("Op", "g", [replace(item, **change)])


def test_message_body_with_and_without_a_role() -> None:
    assert message_body(RoleType.ASSISTANT, "Bot", "hi") == "Bot(assistant): hi"
    assert message_body(RoleType.SYSTEM, None, "") == "(system): "


async def test_behind_a_conflict_items_keep_their_order_however_long_they_are() -> None:
    store = Held()
    store.open.set()
    intake = _intake(store)
    await intake.accept("Op", "g", [_item(0, "first words")])
    await intake.accept_each([("g", _item(0)), ("g", _item(1, "x" * 200_000)), ("g", _item(2))])
    stored = [item.episode.uuid for call in store.calls[2:] for batch in call for item in batch.items]
    assert stored == ["u0", "u1", "u2"]
