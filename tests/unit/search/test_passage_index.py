"""The vectors of passages: a chunk is as near as its nearest passage, whatever was written before."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgsvc.search.index.episodes import PassageIndex
from tests.unit.search.feed import patient, vector

QUERY = np.frombuffer(vector(1, 2, 0, 0), "<f4")
passage = st.tuples(*[st.integers(-3, 3)] * 4).filter(any)
EPISODES = 6


@patient
@given(st.lists(st.tuples(st.integers(0, EPISODES - 1), st.lists(passage, max_size=5)), max_size=30))
def test_the_nearest_passage_counts(written: list[tuple[int, list[tuple[int, ...]]]]) -> None:
    index = PassageIndex(4)
    held: dict[int, list[bytes]] = {}
    for episode, vectors in written:
        held[episode] = [vector(*each) for each in vectors]
        index.put(episode, b"".join(held[episode]))
    visible = np.ones(EPISODES, np.bool_)
    visible[0] = False
    wanted = {
        episode: max(float(np.frombuffer(each, "<f4").astype(np.float64) @ QUERY) for each in vectors)
        for episode, vectors in held.items()
        if vectors and visible[episode]
    }
    rows, cosines = index.nearest(QUERY, visible, EPISODES, 0.0)
    found = dict(zip(rows.tolist(), np.round(cosines, 5).tolist(), strict=True))
    assert found == {episode: round(best, 5) for episode, best in wanted.items() if best > 1e-5}


def test_vectors_of_another_length_are_none() -> None:
    index = PassageIndex(4)
    index.put(0, vector(1, 2, 0, 0)[:-4])
    assert index.nearest(QUERY, np.ones(1, np.bool_), 1, 0.0)[0].tolist() == []


def test_many_passages_of_one_chunk_do_not_hide_another() -> None:
    index = PassageIndex(4)
    index.put(0, vector(1, 2, 0, 0) * 50)
    index.put(1, vector(1, 1, 0, 0))
    assert index.nearest(QUERY, np.ones(2, np.bool_), 2, 0.0)[0].tolist() == [0, 1]
