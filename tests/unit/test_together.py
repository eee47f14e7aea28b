"""Calls that share a transaction: which ones, and what each is told."""

import asyncio
from collections.abc import Sequence

import pytest

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.together import Together, by_halves


class Held:
    """Transactions behind a door."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.calls: list[list[int]] = []
        self.error: Exception | None = None

    async def work(self, calls: Sequence[int]) -> list[int | Exception]:
        self.calls.append(list(calls))
        await self.open.wait()
        if self.error is not None:
            raise self.error
        return [ValueError(str(call)) if call < 0 else call * 10 for call in calls]


def _together(held: Held, most: int = 8, weight: int = 100, at_once: int = 1) -> Together[int, int]:
    return Together(held.work, abs, most, weight, at_once)


async def _started(*calls: "asyncio.Future[int | Exception]") -> None:
    for _ in range(3 * len(calls)):
        await asyncio.sleep(0)


async def _answers(
    held: Held, together: Together[int, int], calls: Sequence[tuple[str, int]]
) -> list[int | Exception]:
    tasks = [asyncio.ensure_future(together.run(key, call)) for key, call in calls]
    await _started(*tasks)
    held.open.set()
    return await asyncio.wait_for(asyncio.gather(*tasks), 5)


async def test_what_comes_during_a_transaction_shares_the_next() -> None:
    held = Held()
    answers = await _answers(held, _together(held, most=3), [(f"k{n}", n) for n in range(1, 7)])
    assert answers == [10, 20, 30, 40, 50, 60]
    assert held.calls == [[1, 2, 3], [4, 5, 6]]


async def test_two_of_one_key_go_one_after_the_other_in_order() -> None:
    held = Held()
    calls = [("a", 1), ("b", 2), ("b", 3), ("c", 4), ("b", 5)]
    assert await _answers(held, _together(held), calls) == [10, 20, 30, 40, 50]
    assert held.calls == [[1, 2, 4], [3], [5]]


async def test_a_transaction_is_bounded_by_weight_but_takes_one_heavy_call() -> None:
    held = Held()
    calls = [("a", 1), ("b", 60), ("c", 50), ("d", 500), ("e", 2)]
    await _answers(held, _together(held), calls)
    assert held.calls == [[1, 60], [50], [500], [2]]


async def test_each_is_told_its_own_and_a_failure_is_told_to_all() -> None:
    held = Held()
    refused, done = (await _answers(held, _together(held), [("a", -1), ("b", 2)]))[:2]
    assert isinstance(refused, ValueError)
    assert done == 20
    held.error = StoreUnavailable("gone")
    told = await _answers(held, _together(held), [("a", 1), ("b", 2), ("c", 3)])
    assert [each is held.error for each in told] == [True] * 3


async def test_a_caller_that_gave_up_is_passed_over() -> None:
    held = Held()
    together = _together(held)
    tasks = [asyncio.ensure_future(together.run("k1", 1))]
    await _started(*tasks)
    tasks += [asyncio.ensure_future(together.run(f"k{n}", n)) for n in (2, 3)]
    await _started(*tasks)
    tasks[1].cancel()
    await asyncio.sleep(0)
    held.open.set()
    assert await asyncio.wait_for(tasks[0], 5) == 10
    assert await asyncio.wait_for(tasks[2], 5) == 30
    assert held.calls == [[1], [3]]


async def test_so_many_transactions_run_at_once() -> None:
    held = Held()
    await _answers(held, _together(held, most=2, at_once=2), [(f"k{n}", n) for n in range(1, 7)])
    assert held.calls == [[1, 2], [3, 4], [5, 6]]
    held.open.clear()
    together = _together(held, most=2, at_once=2)
    tasks = [asyncio.ensure_future(together.run(f"k{n}", n)) for n in range(1, 7)]
    await _started(*tasks)
    assert held.calls[3:] == [[1, 2], [3, 4]]
    held.open.set()
    assert len(await asyncio.wait_for(asyncio.gather(*tasks), 5)) == 6


async def test_who_comes_as_the_last_transactions_end_is_served() -> None:
    """In whatever turn of the loop it comes."""
    for turns in range(12):
        held = Held()
        together = _together(held, most=1, at_once=2)
        first = [asyncio.ensure_future(together.run(key, n)) for n, key in enumerate("ab")]
        await _started(*first)

        async def late(held: Held, together: Together[int, int], turns: int) -> int | Exception:
            await held.open.wait()
            for _ in range(turns):
                await asyncio.sleep(0)
            return await together.run("c", 3)

        last = asyncio.ensure_future(late(held, together, turns))
        await _started(last)
        held.open.set()
        done, _ = await asyncio.wait([*first, last], timeout=5)
        assert len(done) == 3, f"after {turns} turns"


async def test_a_call_that_is_refused_for_all_is_found_by_halves() -> None:
    asked: list[list[int]] = []

    async def work(calls: Sequence[int]) -> list[int | Exception]:
        asked.append(list(calls))
        if 6 in calls:
            raise ValueError("six")
        return [call * 10 for call in calls]

    *found, six, last = await by_halves([1, 2, 3, 4, 5, 6, 7], work, ValueError)
    assert (found, last) == ([10, 20, 30, 40, 50], 70)
    assert isinstance(six, ValueError)
    assert len(asked) <= 7


async def test_another_error_is_raised_for_all() -> None:
    async def work(calls: Sequence[int]) -> list[int | Exception]:
        raise KeyError(*calls)

    with pytest.raises(KeyError):
        await by_halves([1, 2], work, ValueError)
