import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgsvc.search.index.facts import MAX_HOPS, distances
from tests.unit.search.feed import patient

FAR = MAX_HOPS + 1  # what is not reached


def plain(edges: list[tuple[int, int]], nodes: int, center: int) -> list[int]:
    reached = {center: 0}
    front = [center]
    for hops in range(1, MAX_HOPS + 1):
        near = {b for a, b in edges if a in front} | {a for a, b in edges if b in front}
        front = [node for node in near if node not in reached]
        reached |= dict.fromkeys(front, hops)
    return [reached.get(node, FAR) for node in range(nodes)]


@patient
@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=30), st.integers(0, 11))
def test_distances_are_those_of_a_plain_search(edges: list[tuple[int, int]], center: int) -> None:
    sources = np.array([a for a, _ in edges], np.int32)
    targets = np.array([b for _, b in edges], np.int32)
    assert distances(sources, targets, 12, center).tolist() == plain(edges, 12, center)


def test_nothing_beyond_three_hops() -> None:
    chain = np.arange(5, dtype=np.int32)
    assert distances(chain, chain + 1, 6, 0).tolist() == [0, 1, 2, 3, FAR, FAR]
