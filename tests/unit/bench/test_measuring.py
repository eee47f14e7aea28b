"""What benchmarks count with counts right."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from itertools import count, islice

import numpy as np
import pytest

from bench.measuring import Clocked, family, flooded, interleaved, one_by_one, quantile, ratio, spread
from bench.neighbours import corrected
from bench.plots import merged
from bench.recall import K, Truth


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1.0), (0.5, 51.0), (0.95, 96.0), (1.0, 100.0)])
def test_a_quantile_is_one_of_the_values(share: float, expected: float) -> None:
    assert quantile([float(n) for n in range(100, 0, -1)], share) == expected


def test_a_quantile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing"):
        quantile([], 0.5)


def test_a_spread_says_how_many_calls_it_is_of() -> None:
    assert spread([3.0, 1.0, 2.0]) == {"p50_ms": 2.0, "p95_ms": 3.0, "p99_ms": 3.0, "calls": 3}


def test_a_ratio_to_nothing_is_infinite() -> None:
    assert ratio(6.0, 2.0) == 3.0
    assert ratio(6.0, 0.0) == float("inf")


def test_a_budget_ends_by_calls_or_by_time_but_not_before_the_least() -> None:
    assert Clocked(2, 100.0, times_ms=[1.0, 1.0]).spent
    assert not Clocked(9, 1.0, least=3, times_ms=[5_000.0, 5_000.0]).spent
    assert Clocked(9, 1.0, least=3, times_ms=[500.0, 400.0, 200.0]).spent
    assert Clocked(1, 100.0, least=3, times_ms=[1.0]).spent


async def test_sides_take_turns_until_each_has_its_calls() -> None:
    order: list[str] = []

    def side(name: str) -> tuple[object, ...]:
        async def run(number: int) -> Sequence[float]:
            order.append(f"{name}{number}")
            return [1.0] * number

        return run, Clocked(5 if name == "a" else 3, 100.0)

    await interleaved([side("a"), side("b")], 2)  # type: ignore[list-item]
    assert order == ["a2", "b2", "a2", "b1", "a1"]


async def test_calls_are_made_one_by_one_with_what_comes_before_each() -> None:
    seen: list[str] = []

    async def call(query: str) -> None:
        seen.append(query)

    async def before() -> None:
        seen.append("before")

    assert len(await one_by_one(call, iter(["x", "y", "z"]), before)(2)) == 2
    assert seen == ["before", "x", "before", "y"]


async def test_a_flood_uses_every_input_once_and_keeps_every_caller_busy() -> None:
    seen: list[tuple[str, int]] = []
    busy = asyncio.Barrier(4)  # passed only where all four are in flight

    def caller(name: str) -> Callable[[int], Awaitable[None]]:
        async def call(number: int) -> None:
            await busy.wait()
            seen.append((name, number))

        return call

    answered, seconds = await flooded([caller(name) for name in "abcd"], islice(count(), 12), 60.0)
    assert answered == len(seen) == 12
    assert {number for _, number in seen} == set(range(12))
    assert {name for name, _ in seen} == set("abcd")
    assert seconds > 0


async def test_a_flood_ends_when_its_time_is_over() -> None:
    async def call(number: int) -> None:
        raise AssertionError(f"call {number} is late")

    assert (await flooded([call, call], count(), 0.0))[0] == 0


def test_the_family_of_a_process_are_those_it_has_started() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in family(os.getpid())
        assert family(child.pid) == [child.pid]


def test_a_neighbour_is_not_blamed_for_the_pace_of_the_machine() -> None:
    alone, slow = [[2.0], [1.0]], [[6.0], [3.0]]  # everything takes three times as long: the machine
    row = corrected(alone, [[9.0], [3.0]], slow, [[12.0], [3.0]], alone)
    assert (row["ratio_loading"], row["ratio_idle"], row["ratio_searched"]) == (1.5, 1.0, 2.0)
    assert (row["alone"]["p50_ms"], row["alone"]["calls"]) == (2.0, 2)


def test_recall_counts_what_is_as_near_as_the_last_that_was_wanted() -> None:
    cosines = np.linspace(1.0, 0.0, 2 * K, dtype=np.float32)
    cosines[K] = cosines[K - 1]  # either may be the last of the nearest
    truth = Truth({str(n): n for n in range(2 * K)}, cosines[:, None])
    query = np.ones(1, np.float32)
    nearest = [str(n) for n in range(K)]
    assert truth.recall(query, nearest) == 1.0
    assert truth.recall(query, [*nearest[:-1], str(K)]) == 1.0
    assert truth.recall(query, [*nearest[:-1], str(2 * K - 1)]) == 1 - 1 / K
    assert truth.recall(query, nearest[: K // 2]) == 0.5


def test_results_of_several_runs_become_one() -> None:
    first = {"sizes": [1], "throughput": {"ratio": 2}, "search": []}
    assert merged([first, {"sizes": [2], "throughput": None}]) == {
        "sizes": [1, 2],
        "throughput": {"ratio": 2},
        "search": [],
    }
