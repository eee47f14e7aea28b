"""How many transactions an accepted call takes: one, unless it repeats something."""

from collections.abc import Awaitable, Callable
from typing import Any, LiteralString

import pytest

from kgsvc.domain.errors import Overloaded
from kgsvc.domain.model.items import AcceptBatch, Accepted
from kgsvc.stores.neo4j import Neo4jStore
from kgsvc.stores.neo4j.base import Row
from tests.support.samples import batch, episode

Accept = Callable[[AcceptBatch], Awaitable[tuple[Accepted | Exception, int]]]


class Counting(Neo4jStore):
    """Counts transactions of one statement."""

    begun = 0

    async def _once(self, statement: LiteralString, **values: Any) -> list[Row]:
        self.begun += 1
        return await super()._once(statement, **values)


@pytest.fixture
def accept(store: Neo4jStore) -> Accept:
    """Accept a call; its answer, and how many transactions it took."""
    counting = Counting(store._driver, "neo4j", 30.0, 5.0)

    async def accept(call: AcceptBatch) -> tuple[Accepted | Exception, int]:
        counting.begun = 0
        (answer,) = await counting.accept([call])
        return answer, counting.begun

    return accept


def _items(answer: Accepted | Exception) -> list[tuple[str, bool]]:
    assert isinstance(answer, Accepted)
    return [(item.uuid, item.duplicate) for item in answer.items]


async def test_what_is_new_takes_one(accept: Accept, store: Neo4jStore, group: str) -> None:
    """In a new group and in a known one, with items that the call itself repeats."""
    for round_ in range(2):
        one, two = (episode(group, f"{round_}-{n}") for n in range(2))
        answer, begun = await accept(batch(one, two, one))
        assert _items(answer) == [(one.uuid, False), (two.uuid, False), (one.uuid, True)]
        assert begun == 1
        assert isinstance(answer, Accepted)
        receipt = await store.receipt(answer.receipt_id)
        assert receipt is not None
        assert [item.uuid for item in receipt.items] == [one.uuid, two.uuid, one.uuid]


async def test_what_is_known_takes_a_write_of_its_own(accept: Accept, group: str) -> None:
    known, new = episode(group, "e1"), episode(group, "e2")
    await accept(batch(known))
    answer, begun = await accept(batch(known, new))
    assert (_items(answer), begun) == ([("e1", True), ("e2", False)], 2)


async def test_a_key_that_is_sent_again_takes_a_look(accept: Accept, group: str) -> None:
    call = batch(episode(group, "e1"), idempotency_key="k")
    first, begun = await accept(call)
    assert (_items(first), begun) == ([("e1", False)], 1 + 1)  # and answers that lapsed are removed
    again, begun = await accept(call)
    assert (_items(again), begun) == ([("e1", True)], 1)


async def test_a_full_queue_is_told_and_nothing_is_written(
    accept: Accept, store: Neo4jStore, group: str
) -> None:
    await accept(batch(episode(group, "e1")))
    unfinished = (await store.activity()).depth.unfinished
    refused, begun = await accept(batch(episode(group, "e2"), queue_items=unfinished))
    assert (type(refused), begun) == (Overloaded, 1)
    assert await store.episode("e2", group) == []
    answer, begun = await accept(batch(episode(group, "e2"), queue_items=unfinished + 1))
    assert (_items(answer), begun) == ([("e2", False)], 1)
