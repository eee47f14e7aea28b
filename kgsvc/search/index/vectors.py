"""Unit vectors by row and the nearest of them; many are first looked through at one byte a number."""

from __future__ import annotations

from collections.abc import Sequence

import numkong
import numpy as np
from numpy.typing import NDArray

from kgsvc.search.index.arrays import Arrays, Column, Frozen, Live
from kgsvc.search.index.topk import edge

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

    def freeze(self, rows: int) -> Frozen:
        """See kgsvc.search.index.arrays."""
        longest = np.array([self._longest])
        return lambda: {
            "codes": Live(self._codes, rows),
            "level": Live(self._level, rows),
            "off": Live(self._off, rows),
            "longest": longest,
        }

    def take(self, arrays: Arrays) -> None:
        """What was frozen, in the place of what there is. Raises LookupError, ValueError."""
        self._codes.take(arrays["codes"])
        self._level.take(arrays["level"])
        self._off.take(arrays["off"])
        self._longest = float(arrays["longest"][0])

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


# A cosine below this is the noise of float32 and counts as 0; only larger ones make a candidate.
COSINE_FLOOR = 1e-5
_NOISE = 2e-6  # generous bound on what a float32 product of unit vectors is off by
_CODED_ROWS = 4_000  # from here on codes are scanned; below, scanning all vectors is as fast

Rows = NDArray[np.intp]


class VectorColumn:
    """Unit vectors of one embedding space by row; a row of zeros has none.

    Many rows have codes too: scanning those takes a quarter of the time, and which rows they leave over
    depends on bounds, not on luck.
    """

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._column = Column(np.float32, dimension)
        self._codes: CodeColumn | None = None
        self._uncoded: set[int] = set()  # rows written since they were coded; none while there are no codes

    def reserve(self, rows: int) -> None:
        """Make room for `rows` rows."""
        self._column.reserve(rows)

    def put(self, rows: Sequence[int], vectors: Sequence[bytes | None]) -> None:
        """Set rows from little-endian float32; without a vector of the right length a row has none."""
        none = bytes(4 * self._dimension)
        right = [none if each is None or len(each) != len(none) else each for each in vectors]
        numbers = np.frombuffer(b"".join(right), "<f4")
        self._column.data[list(rows)] = numbers.reshape(len(rows), self._dimension)
        if self._codes is not None:
            self._uncoded.update(rows)

    def settle(self, rows: int) -> None:
        """Code what was written, if there are rows enough; the next search would do it too."""
        if self._codes is None:
            if rows < _CODED_ROWS:
                return
            self._codes = CodeColumn(self._dimension)
            self._uncoded = set(range(rows))
        if self._uncoded:
            self._codes.reserve(len(self._column.data))
            self._codes.put(np.array(sorted(self._uncoded), np.intp), self._column.data)
            self._uncoded = set()

    def freeze(self, rows: int) -> Frozen:
        """See kgsvc.search.index.arrays."""
        self.settle(rows)
        column = {"vectors": Live(self._column, rows)}
        if self._codes is None:
            return lambda: column
        codes = self._codes.freeze(rows)
        return lambda: {**column, **codes()}

    def take(self, arrays: Arrays) -> None:
        """What was frozen, in the place of what there is. Raises LookupError, ValueError."""
        self._column.take(arrays["vectors"])
        if "codes" in arrays:
            self._codes = CodeColumn(self._dimension)
            self._codes.take(arrays)

    def nearest(
        self, query: Floats, visible: NDArray[np.bool_], count: int, min_cosine: float = 0.0
    ) -> tuple[Rows, NDArray[np.float64]]:
        """Those of the visible rows that can be among the `count` nearest, with their cosines, all above
        `min_cosine`.

        A product in float32 is off in its last bits. So it only preselects, with a margin; the cosines that
        count are sums in double precision, row by row.
        """
        floor = max(min_cosine, COSINE_FLOOR)
        if not np.isfinite(query).all() or not query.any():
            return np.empty(0, np.intp), np.empty(0)
        self.settle(len(visible))
        if self._codes is not None and len(visible) >= _CODED_ROWS:
            rows = _near_by_codes(self._codes, query, visible, count, floor)
        else:
            rows = np.flatnonzero(visible)
        rough = self._rough(rows, query, len(visible))
        kept = rough > floor - _NOISE
        rows, rough = rows[kept], rough[kept]
        rows = rows[rough >= edge(rough, count) - 2 * _NOISE]
        exact = self._exact(rows, query)
        kept = exact > floor
        return rows[kept], exact[kept]

    def _rough(self, rows: Rows, query: Floats, every: int) -> Floats:
        """Products in float32; of many rows by going through all."""
        if len(rows) < every // 4:
            return _products(self._column.data[rows], query)
        return _products(self._column.data[:every], query)[rows]

    def _exact(self, rows: Rows, query: Floats) -> NDArray[np.float64]:
        exact = np.empty(len(rows))
        for begin in range(0, len(rows), _CHUNK):
            some = slice(begin, begin + _CHUNK)
            exact[some] = exact_cosines(self._column.data[rows[some]], query)
        return exact

    def of(self, rows: Sequence[int]) -> Floats:
        """The vectors of some rows."""
        taken: Floats = self._column.data[list(rows)]
        return taken

    @property
    def nbytes(self) -> int:
        """Memory held."""
        codes = 0 if self._codes is None else self._codes.nbytes
        return self._column.nbytes + codes


def exact_cosines(vectors: Floats, query: Floats) -> NDArray[np.float64]:
    """Of unit vectors with a query, to nine digits: in double precision, row by row."""
    if not len(vectors):
        return np.empty(0)
    products: NDArray[np.float64] = (vectors.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    return np.round(products, 9)


def _products(vectors: Floats, query: Floats) -> Floats:
    """Row by row in this thread: the threads of BLAS cost more than so few rows, most on busy cores."""
    products: Floats = np.einsum("ij,j->i", vectors, query)
    return products


def _near_by_codes(
    codes: CodeColumn, query: Floats, visible: NDArray[np.bool_], count: int, floor: float
) -> Rows:
    """The visible rows that can be above `floor` and among the `count` nearest, by the bounds of codes."""
    about, off, same = codes.products(query, len(visible))
    about[np.flatnonzero(~visible)] = -np.inf
    least = max(floor, edge(about - off, count) - same)
    about += off
    return np.flatnonzero(about >= np.float32(least - same - _NOISE))
