"""Which rows are near, and how near; with codes it is found as without."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kgsvc.search.index import vectors as module
from kgsvc.search.index.topk import edge
from kgsvc.search.index.vectors import COSINE_FLOOR, CodeColumn, VectorColumn
from tests.unit.search.feed import patient


def unit(array: NDArray[np.float64]) -> NDArray[np.float32]:
    made: NDArray[np.float32] = (array / np.linalg.norm(array, axis=-1, keepdims=True)).astype(np.float32)
    return made


def column(vectors: NDArray[np.float32]) -> VectorColumn:
    filled = VectorColumn(vectors.shape[1])
    for row, vector in enumerate(vectors):
        filled.reserve(row + 1)
        filled.put([row], [vector.tobytes()])
    return filled


def every(rows: int) -> NDArray[np.bool_]:
    return np.ones(rows, np.bool_)


def test_cosines_are_exact_and_the_same_in_every_row() -> None:
    rng = np.random.default_rng(7)
    vectors, query = unit(rng.normal(size=(333, 96))), unit(rng.normal(size=96))
    order = rng.permutation(333)
    straight_rows, straight = column(vectors).nearest(query, every(333), 333)
    mixed_rows, mixed = column(vectors[order]).nearest(query, every(333), 333)
    by_vector = dict(zip(order[mixed_rows].tolist(), mixed.tolist(), strict=True))
    assert dict(zip(straight_rows.tolist(), straight.tolist(), strict=True)) == by_vector
    expected = vectors.astype(np.float64) @ query.astype(np.float64)
    assert straight == pytest.approx(expected[straight_rows], abs=1e-9)
    assert sorted(straight_rows) == np.flatnonzero(expected > COSINE_FLOOR).tolist()


def test_preselection_never_loses_one_of_the_nearest() -> None:
    rng = np.random.default_rng(8)
    vectors, query = unit(rng.normal(size=(500, 32))), unit(rng.normal(size=32))
    rows, _ = column(vectors).nearest(query, every(500), 20)
    nearest = np.argsort(-(vectors.astype(np.float64) @ query))[:20]
    assert set(nearest.tolist()) <= set(rows.tolist())
    assert len(rows) < 30


@pytest.mark.parametrize("seed", [2, 13, 14])  # products by BLAS that differ from row to row
def test_equal_vectors_at_the_edge_all_stay(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = np.tile(unit(rng.normal(size=384)), (1001, 1))
    query = unit(vectors[0] + 0.1 * rng.normal(size=384))
    rows, cosines = column(vectors).nearest(query, every(1001), 3)
    assert len(rows) == 1001
    assert len(set(cosines.tolist())) == 1


def test_only_rows_asked_for_and_only_positive_cosines() -> None:
    vectors = np.array([[1, 0], [0, 1], [-1, 0], [0.6, 0.8]], np.float32)
    rows, cosines = column(vectors).nearest(np.array([1, 0], np.float32), every(4) & (np.arange(4) > 0), 10)
    assert rows.tolist() == [3]
    assert cosines.tolist() == pytest.approx([0.6])


@pytest.mark.parametrize("bad", [None, b"", bytes(12), np.ones(3, np.float32).tobytes()])
def test_a_vector_of_another_length_is_none(bad: bytes | None) -> None:
    held = column(np.array([[1, 0]], np.float32))
    held.put([0], [bad])
    rows, _ = held.nearest(np.array([1, 0], np.float32), every(1), 10)
    assert rows.tolist() == []


def test_what_is_not_nearer_than_the_floor_is_no_candidate() -> None:
    vectors = np.array([[1, 0], [0.8, 0.6], [0.6, 0.8]], np.float32)
    column = VectorColumn(2)
    column.reserve(3)
    for row, vector in enumerate(vectors):
        column.put([row], [vector.tobytes()])
    query = np.array([1, 0], np.float32)
    rows, cosines = column.nearest(query, every(3), 2, min_cosine=0.7)
    assert sorted(zip(rows.tolist(), np.round(cosines, 6).tolist(), strict=True)) == [(0, 1.0), (1, 0.8)]
    rows, _ = column.nearest(query, every(3), 3, min_cosine=0.9)
    assert rows.tolist() == [0]


SHAPES = ("spread", "alike", "zero", "tiny", "long", "one", "flat")


def shaped(shape: str, rng: np.random.Generator, base: NDArray[np.float64]) -> NDArray[np.float64]:
    """Vectors that codes say well, badly or not at all."""
    rare = np.where(np.arange(len(base)) == rng.integers(len(base)), 1.0, 0.0)
    made: NDArray[np.float64] = {
        "spread": rng.normal(size=len(base)),
        "alike": base + 10.0 ** -rng.integers(1, 9) * rng.normal(size=len(base)),
        "zero": np.zeros(len(base)),
        "tiny": 1e-20 * rng.normal(size=len(base)),
        "long": 3.0 * base,
        "one": rare + 1e-4 * rng.normal(size=len(base)),
        "flat": np.ones(len(base)) * rng.choice([-1.0, 1.0]),
    }[shape]
    unscaled = shape in ("zero", "tiny", "long")
    return made if unscaled else made / np.linalg.norm(made)


def best(found: tuple[NDArray[np.intp], NDArray[np.float64]], count: int) -> list[tuple[float, int]]:
    rows, cosines = found
    return sorted(zip((-cosines).tolist(), rows.tolist(), strict=True))[:count]


@patient
@given(st.data(), st.integers(0, 2**32 - 1), st.sampled_from([3, 16, 130]), st.integers(1, 12))
def test_with_codes_it_is_found_as_without(data: st.DataObject, seed: int, size: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    base = rng.normal(size=size)
    base /= np.linalg.norm(base)
    shapes = data.draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=60))
    vectors = np.array([shaped(shape, rng, base) for shape in shapes]).astype(np.float32)
    query = shaped(data.draw(st.sampled_from(["spread", "alike", "one", "flat"])), rng, base)
    seen = rng.random(len(shapes)) < data.draw(st.sampled_from([1.0, 0.5]))
    least = data.draw(st.sampled_from([0.0, 0.5]))
    found = []
    for rows in (len(shapes) + 1, 0):  # from how many rows on there are codes
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(module, "_CODED_ROWS", rows)
            found.append(best(column(vectors).nearest(query.astype(np.float32), seen, count, least), count))
    assert found[0] == found[1]


@patient
@given(st.data(), st.integers(0, 2**32 - 1))
def test_products_are_within_what_codes_promise(data: st.DataObject, seed: int) -> None:
    rng = np.random.default_rng(seed)
    base = rng.normal(size=24)
    shapes = data.draw(st.lists(st.sampled_from(SHAPES), min_size=2, max_size=30))
    vectors = np.array([shaped(shape, rng, base) for shape in shapes]).astype(np.float32)
    codes = CodeColumn(24)
    codes.reserve(len(vectors))
    codes.put(np.arange(len(vectors)), vectors)
    for query in vectors:
        about, off, same = codes.products(query, len(vectors))
        exact = vectors.astype(np.float64) @ query.astype(np.float64)
        assert (np.abs(exact - about) <= off.astype(np.float64) + same).all()


def test_codes_follow_what_is_written() -> None:
    rng = np.random.default_rng(3)
    vectors, query = unit(rng.normal(size=(4100, 8))), unit(rng.normal(size=8))
    held = column(vectors)
    first = best(held.nearest(query, every(4100), 5), 1)[0][1]
    size = held.nbytes
    held.put([first], [None])
    assert first not in held.nearest(query, every(4100), 5)[0]
    held.put([17], [query.tobytes()])
    assert best(held.nearest(query, every(4100), 5), 1)[0][1] == 17
    assert held.nbytes == size > 4100 * 8 * 5


@pytest.mark.parametrize("rows", [3, 5000])
def test_what_is_no_number_is_near_to_nothing(rows: int) -> None:
    rng = np.random.default_rng(4)
    vectors, query = unit(rng.normal(size=(rows, 8))), unit(rng.normal(size=8))
    expected = best(column(vectors[1:]).nearest(query, every(rows - 1), 4), 4)
    vectors[0, 3] = np.nan
    found = best(column(vectors).nearest(query, every(rows), 4), 4)
    assert [(low, row - 1) for low, row in found] == expected
    assert len(column(vectors).nearest(vectors[0], every(rows), 4)[0]) == 0
    assert len(column(vectors).nearest(np.zeros(8, np.float32), every(rows), 4)[0]) == 0


@given(st.integers(0, 2000), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_the_edge_is_the_lowest_of_the_highest(rows: int, count: int, seed: int) -> None:
    scores = np.random.default_rng(seed).integers(0, 50, rows).astype(np.float32)
    expected = sorted(scores.tolist())[-count] if rows > count else -np.inf
    assert edge(scores, count) == expected
