from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kgsvc.retrieval.vectors import COSINE_FLOOR, VectorColumn


def unit(array: NDArray[np.float64]) -> NDArray[np.float32]:
    made: NDArray[np.float32] = (array / np.linalg.norm(array, axis=-1, keepdims=True)).astype(np.float32)
    return made


def column(vectors: NDArray[np.float32]) -> VectorColumn:
    filled = VectorColumn(vectors.shape[1])
    for row, vector in enumerate(vectors):
        filled.reserve(row + 1)
        filled.put(row, vector.tobytes())
    return filled


def test_cosines_are_exact_and_the_same_in_every_row() -> None:
    rng = np.random.default_rng(7)
    vectors, query = unit(rng.normal(size=(333, 96))), unit(rng.normal(size=96))
    order = rng.permutation(333)
    rows = np.arange(333)
    straight_rows, straight = column(vectors).nearest(query, rows, 333)
    mixed_rows, mixed = column(vectors[order]).nearest(query, rows, 333)
    by_vector = dict(zip(order[mixed_rows].tolist(), mixed.tolist(), strict=True))
    assert dict(zip(straight_rows.tolist(), straight.tolist(), strict=True)) == by_vector
    expected = vectors.astype(np.float64) @ query.astype(np.float64)
    assert straight == pytest.approx(expected[straight_rows], abs=1e-9)
    assert sorted(straight_rows) == np.flatnonzero(expected > COSINE_FLOOR).tolist()


def test_preselection_never_loses_one_of_the_nearest() -> None:
    rng = np.random.default_rng(8)
    vectors, query = unit(rng.normal(size=(500, 32))), unit(rng.normal(size=32))
    rows, _ = column(vectors).nearest(query, np.arange(500), 20)
    nearest = np.argsort(-(vectors.astype(np.float64) @ query))[:20]
    assert set(nearest.tolist()) <= set(rows.tolist())
    assert len(rows) < 30


@pytest.mark.parametrize("seed", [2, 13, 14])  # products by BLAS that differ from row to row
def test_equal_vectors_at_the_edge_all_stay(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = np.tile(unit(rng.normal(size=384)), (1001, 1))
    query = unit(vectors[0] + 0.1 * rng.normal(size=384))
    rows, cosines = column(vectors).nearest(query, np.arange(1001), 3)
    assert len(rows) == 1001
    assert len(set(cosines.tolist())) == 1


def test_only_rows_asked_for_and_only_positive_cosines() -> None:
    vectors = np.array([[1, 0], [0, 1], [-1, 0], [0.6, 0.8]], np.float32)
    rows, cosines = column(vectors).nearest(np.array([1, 0], np.float32), np.array([1, 2, 3]), 10)
    assert rows.tolist() == [3]
    assert cosines.tolist() == pytest.approx([0.6])


@pytest.mark.parametrize("bad", [None, b"", bytes(12), np.ones(3, np.float32).tobytes()])
def test_a_vector_of_another_length_is_none(bad: bytes | None) -> None:
    held = column(np.array([[1, 0]], np.float32))
    held.put(0, bad)
    rows, _ = held.nearest(np.array([1, 0], np.float32), np.array([0]), 10)
    assert rows.tolist() == []


def test_what_is_not_nearer_than_the_floor_is_no_candidate() -> None:
    vectors = np.array([[1, 0], [0.8, 0.6], [0.6, 0.8]], np.float32)
    column = VectorColumn(2)
    column.reserve(3)
    for row, vector in enumerate(vectors):
        column.put(row, vector.tobytes())
    query = np.array([1, 0], np.float32)
    rows, cosines = column.nearest(query, np.arange(3), 2, min_cosine=0.7)
    assert sorted(zip(rows.tolist(), np.round(cosines, 6).tolist(), strict=True)) == [(0, 1.0), (1, 0.8)]
    rows, _ = column.nearest(query, np.arange(3), 3, min_cosine=0.9)
    assert rows.tolist() == [0]
