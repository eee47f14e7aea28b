import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgsvc.search.index.topk import best, tie_key
from tests.unit.search.feed import patient

uuids = st.lists(st.text("ab東🎉", max_size=12), unique=True, min_size=1, max_size=20)


@patient
@given(uuids, st.data())
def test_the_best_are_those_of_a_plain_sort(names: list[str], data: st.DataObject) -> None:
    scores = np.array([data.draw(st.sampled_from([0.5, 1.0, 2.0])) for _ in names])
    rows = np.array(data.draw(st.lists(st.sampled_from(range(len(names))), unique=True)), np.intp)
    count = data.draw(st.integers(1, 20))
    keys = np.array([tie_key(name) for name in names], np.uint64)
    plain = sorted((-float(scores[row]), names[row], row) for row in rows.tolist())[:count]
    assert best(rows, scores[rows], count, names, keys) == plain


@patient
@given(st.text(), st.text())
def test_tie_keys_never_contradict_the_order(one: str, other: str) -> None:
    if one < other:
        assert tie_key(one) <= tie_key(other)
