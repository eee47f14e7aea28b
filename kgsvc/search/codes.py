"""Vectors in one byte a number, for finding those that can be near before measuring them."""

from __future__ import annotations

import numkong
import numpy as np
from numpy.typing import NDArray

from kgsvc.search.columns import Column

Floats = NDArray[np.float32]
_LEVELS = 127
_CHUNK = 4_096  # rows coded at once
# Products of codes are whole numbers, but become float32 and are scaled as such; errors are kept as float32.
_ROUNDING = 4e-6
_UNKNOWN = np.float32(1e30)


class CodeColumn:
    """By row: codes, what one level is worth, and how far the vector is from what its codes say.

    With x = x' + e and q = q' + f, where x' and q' are what codes say, x·q differs from x'·q' by at most
    |e|·|q'| + |x|·|f|. So what `bounds` says holds for any vectors, be they coded well or badly.
    """

    def __init__(self, dimension: int) -> None:
        self._codes = Column(np.int8, dimension)
        self._level = Column(np.float32)
        self._off = Column(np.float32)
        self._longest = 0.0  # of all vectors that ever were here

    def reserve(self, rows: int) -> None:
        """Make room for `rows` rows; new ones are zero."""
        for column in (self._codes, self._level, self._off):
            column.reserve(rows)

    def put(self, rows: NDArray[np.intp], vectors: Floats) -> None:
        """Set rows."""
        for begin in range(0, len(rows), _CHUNK):
            self._put(rows[begin : begin + _CHUNK], vectors[rows[begin : begin + _CHUNK]])

    def _put(self, rows: NDArray[np.intp], vectors: Floats) -> None:
        codes, levels, off, longest = _coded(vectors)
        self._longest = max(self._longest, longest)
        self._codes.data[rows], self._level.data[rows], self._off.data[rows] = codes, levels, off

    def products(self, query: Floats, rows: int) -> tuple[Floats, Floats, float]:
        """Of the first `rows` rows about the products with `query`; and what they are off by at most, one
        part by row and one that is the same for all."""
        codes, levels, off, _ = _coded(query[None])
        products = np.empty((1, rows), np.float32)
        numkong.cdist(codes, self._codes.data[:rows], metric="dot", out=products)
        about = products[0]
        about *= self._level.data[:rows]
        about *= levels[0]
        told = float(np.linalg.norm(codes.astype(np.float64))) * float(levels[0])
        same = self._longest * float(off[0]) + _ROUNDING * max(1.0, told) * max(1.0, self._longest)
        return about, self._off.data[:rows] * np.float32(told), same

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return self._codes.nbytes + self._level.nbytes + self._off.nbytes


def _coded(vectors: Floats) -> tuple[NDArray[np.int8], Floats, Floats, float]:
    """Codes, levels and errors of vectors, and how long the longest is; the last two rounded up.

    What is no number has codes of 0 and errs by more than anything else.
    """
    broken = np.logical_not(np.isfinite(vectors).all(axis=1))
    if broken.any():
        vectors = np.where(broken[:, None], np.float32(0), vectors)
    levels = (np.abs(vectors).max(axis=1, initial=0.0) / _LEVELS).astype(np.float32)
    divisors = np.where(levels > 0, levels, np.float32(1.0))[:, None]
    codes = np.clip(np.rint(vectors / divisors), -_LEVELS, _LEVELS).astype(np.int8)
    lengths = _lengths(vectors)
    off = _lengths(vectors - codes * levels[:, None]) + np.float32(1e-6) * lengths
    off = np.where(broken, _UNKNOWN, off)
    return codes, levels, off, float(lengths.max(initial=0.0))


def _lengths(vectors: Floats) -> Floats:
    """Lengths of vectors, or a little more: sums in float32 may be off by a share of 2**-24 a number."""
    lengths: Floats = np.sqrt(np.einsum("ij,ij->i", vectors, vectors)) * np.float32(1.001)
    return lengths
