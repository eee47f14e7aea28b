"""Detection: the same for the same facts, an end on any graph, and what it is for."""

import asyncio
import random
from itertools import combinations
from typing import Any

import pytest

from kgsvc.communities import detection
from kgsvc.communities.detection import Ends, Louvain
from kgsvc.communities.louvain import partition
from kgsvc.domain.errors import StepError


def clique(name: str, size: int) -> list[Ends]:
    return list(combinations([f"{name}{n}" for n in range(size)], 2))


STAR: list[Ends] = [("hub", f"s{n}") for n in range(50)]
ODD: dict[str, list[Ends]] = {
    "empty": [],
    "a pair": [("a", "b")],
    "one entity alone": [("a", "a")],
    "parallel facts": [("a", "b")] * 5 + [("b", "a")] * 3,
    "star": STAR,
    "complete": clique("k", 30),
    "a ring": [(f"r{n:02}", f"r{(n + 1) % 40:02}") for n in range(40)],
    "disconnected": [(f"d{n}", f"d{n}'") for n in range(40)],
    "two cliques and a bridge": [*clique("a", 6), *clique("b", 6), ("a0", "b0")],
}


async def found(facts: list[Ends]) -> list[list[str]]:
    return await Louvain(timeout_s=60).detect(facts)


@pytest.mark.parametrize("facts", ODD.values(), ids=ODD)
async def test_every_entity_with_a_fact_is_in_one_community(facts: list[Ends]) -> None:
    members = [member for community in await found(facts) for member in community]
    assert sorted(members) == sorted({end for ends in facts for end in ends})


async def test_cliques_are_told_apart() -> None:
    assert await found(ODD["two cliques and a bridge"]) == [[f"{name}{n}" for n in range(6)] for name in "ab"]


async def test_weights_count() -> None:
    """Four in a ring: those with more facts between them belong together."""
    ring: list[Ends] = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    assert await found([*ring, *[("a", "b")] * 5, *[("c", "d")] * 5]) == [["a", "b"], ["c", "d"]]
    assert await found([*ring, *[("b", "c")] * 5, *[("d", "a")] * 5]) == [["a", "d"], ["b", "c"]]


async def test_neither_order_nor_direction_matters() -> None:
    rng = random.Random(5)
    facts = [(f"n{rng.randrange(60):02}", f"n{rng.randrange(60):02}") for _ in range(200)]
    first = await found(facts)
    assert len(first) > 1
    for seed in range(3):
        random.Random(seed).shuffle(facts)
        assert await found([ends[::-1] for ends in facts]) == first


def test_labels_are_numbered_by_the_smallest_node() -> None:
    assert partition(4, [[2, 3, 9], [1, 0, 9]]) == [0, 0, 1, 1]


async def test_a_process_that_takes_too_long_is_ended() -> None:
    with pytest.raises(StepError, match="took longer"):
        await Louvain(timeout_s=0.01).detect(STAR)


async def test_a_process_that_fails_is_a_failed_step(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setattr(detection, "_PROGRAM", f"{tmp_path}/no-such-program.py")
    with pytest.raises(StepError, match="process that finds communities failed"):
        await found(STAR)


async def test_a_detection_that_is_cancelled_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[asyncio.subprocess.Process] = []
    real = asyncio.create_subprocess_exec
    running = asyncio.Event()

    async def noted(*args: str, **options: Any) -> asyncio.subprocess.Process:
        started.append(await real(*args, **options))
        running.set()
        return started[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    task = asyncio.create_task(found(STAR))
    await running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert started[0].returncode is not None
