"""Texts with words, vectors and display fields, by row: what the indexes of every scope have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.text import words
from kgsvc.search.index.arrays import (
    Arrays,
    Column,
    Frozen,
    PackedRows,
    named,
    of_strings,
    part_of,
    room_for,
    strings,
    united,
)
from kgsvc.search.index.bm25 import Corpus, strongest
from kgsvc.search.index.postings import Postings, keyword_counts
from kgsvc.search.index.topk import Key, Ranked, RankList, best, tie_key
from kgsvc.search.index.vectors import VectorColumn
from kgsvc.search.query import Term

Mask = NDArray[np.bool_]
MANY = 64  # new rows of a page whose words are sorted together
_ROW_BYTES = 330  # measured: uuid, its dict entry, list slots, bytes header, share of entity ids


class TextIndex:
    """Rows of one group by uuid. A subclass keeps its own columns in step: `_make_room`, `_clear`.

    Rows are reused, and nothing that is ranked depends on them: scores come from the texts alone, ties go
    by uuid.
    """

    def __init__(self, group_id: str, space: str = "", dimension: int = 0) -> None:
        self.group_id = group_id
        self._space = space
        self._vectors = VectorColumn(dimension) if dimension else None
        self._row_of: dict[str, int] = {}
        self._free: list[int] = []
        self._uuids: list[str] = []
        self._packed = PackedRows()
        self._postings = Postings()
        self._total_length = 0
        self._length = Column(np.uint32)
        self._tie = Column(np.uint64)

    @property
    def space(self) -> str:
        """Of its vectors."""
        return self._space

    def __len__(self) -> int:
        return len(self._row_of)

    def __contains__(self, uuid: str) -> bool:
        return uuid in self._row_of

    def row(self, uuid: str) -> int | None:
        """The row of what is there."""
        return self._row_of.get(uuid)

    def rows_of(self, uuids: Collection[str]) -> NDArray[np.intp]:
        """The rows of some uuids, -1 for what is not there."""
        return np.fromiter(map(self._row_of.get, uuids, repeat(-1)), np.intp, len(uuids))

    @property
    def rows(self) -> int:
        """How many rows there are, free ones included."""
        return len(self._uuids)

    @property
    def nbytes(self) -> int:
        """About the memory held, in bytes."""
        arrays = self._length.nbytes + self._tie.nbytes
        vectors = self._vectors.nbytes if self._vectors else 0
        return arrays + vectors + len(self._uuids) * _ROW_BYTES + self._packed.nbytes + self._postings.nbytes

    # -- following the store ---------------------------------------------------------------------------

    def freeze(self) -> Frozen:
        """See kgsvc.search.index.arrays. A subclass adds its own columns."""
        rows, uuids = self.rows, list(self._uuids)
        own = {
            "free": np.array(self._free, np.int64),
            "length": self._length.data[:rows].copy(),
            "tie": self._tie.data[:rows].copy(),
        }
        vectors = (lambda: {}) if self._vectors is None else self._vectors.freeze(rows)
        return united(
            lambda: {**own, **of_strings("uuids", uuids)},
            self._packed.freeze(),
            named("words", self._postings.freeze()),
            named("vectors", vectors),
        )

    def take(self, arrays: Arrays) -> None:
        """What was frozen, in the place of what there is. Raises LookupError, TypeError, ValueError: the
        arrays are no such index."""
        self._uuids = strings(arrays, "uuids")
        self._free = arrays["free"].tolist()
        self._row_of = {uuid: row for row, uuid in enumerate(self._uuids)}
        for row in self._free:
            self._row_of.pop(self._uuids[row], None)
        self._length.take(arrays["length"])
        self._tie.take(arrays["tie"])
        self._total_length = int(self._length.data.sum())
        self._packed.take(arrays)
        self._postings.take(part_of(arrays, "words"))
        if self._vectors is not None:
            self._vectors.take(part_of(arrays, "vectors"))

    def _text(self, packed: bytes) -> str:
        """The words that a row is found by, from its display fields."""
        return packed.decode()

    def _make_room(self, rows: int) -> None:
        """Make room in the subclass's columns."""

    def _clear(self, row: int) -> None:
        """Free a row in the subclass's columns."""

    def _write(
        self,
        uuids: Sequence[str],
        texts: Sequence[str],
        packed: Sequence[bytes],
        vectors: Sequence[tuple[str, bytes | None]],
    ) -> list[int]:
        """Write rows, new or known, each uuid once; which. Vectors come with their spaces."""
        rows = self._find_by(uuids, texts)
        self._show(rows, packed, vectors)
        return rows

    def _find_by(self, uuids: Sequence[str], texts: Sequence[str]) -> list[int]:
        """Let rows be found by the words of texts; which. What they show is written afterwards."""
        fresh = len(set(uuids)) == len(uuids) >= MANY and self._row_of.keys().isdisjoint(uuids)
        if fresh:
            return self._add_many(uuids, list(map(words, texts)))
        return list(map(self._find_one_by, uuids, texts))

    def _find_one_by(self, uuid: str, text: str) -> int:
        row = self._row_of.get(uuid)
        if row is None:
            row = self._new_row(uuid)
            self._enter(row, keyword_counts(text))
        elif (known := self._text(self._packed[row])) != text:
            self._leave(row, keyword_counts(known))
            self._enter(row, keyword_counts(text))
        return row

    def _add_many(self, uuids: Sequence[str], many: Sequence[bytes]) -> list[int]:
        """New rows with their words (kgsvc.domain.text); which."""
        rows = [self._new_row(uuid) for uuid in uuids]
        lengths = self._postings.add_words(np.array(rows, np.intp), many)
        self._length.data[rows] = lengths
        self._total_length += int(lengths.sum())
        return rows

    def _show(
        self, rows: Sequence[int], packed: Sequence[bytes], vectors: Sequence[tuple[str, bytes | None]]
    ) -> None:
        """Write what rows show and their vectors, each with its space."""
        for row, shown in zip(rows, packed, strict=True):
            self._packed[row] = shown
        if self._vectors is not None:
            own = [vector if space == self._space else None for space, vector in vectors]
            self._vectors.put(rows, own)

    def settle(self) -> None:
        """Make what was written ready for searching; otherwise the next search does."""
        if self._vectors is not None:
            self._vectors.settle(self.rows)

    def _remove(self, uuid: str) -> None:
        """Free the row of what is there."""
        row = self._row_of.pop(uuid)
        self._leave(row, keyword_counts(self._text(self._packed[row])))
        self._clear(row)
        self._packed[row], self._uuids[row] = b"", ""
        if self._vectors is not None:
            self._vectors.put([row], [None])
        self._free.append(row)

    def _new_row(self, uuid: str) -> int:
        if self._free:
            row = self._free.pop()
        else:
            row = len(self._uuids)
            self._uuids.append("")
            self._packed.append()
            if row >= len(self._length.data):
                self._reserve(room_for(row + 1))
        self._row_of[uuid] = row
        self._uuids[row] = uuid
        self._tie.data[row] = tie_key(uuid)
        return row

    def _reserve(self, rows: int) -> None:
        self._length.reserve(rows)
        self._tie.reserve(rows)
        if self._vectors is not None:
            self._vectors.reserve(rows)
        self._make_room(rows)

    def _enter(self, row: int, counts: Counter[str]) -> None:
        self._postings.add(row, counts)
        self._length.data[row] = counts.total()
        self._total_length += counts.total()

    def _leave(self, row: int, counts: Counter[str]) -> None:
        self._postings.remove(row, counts)
        self._length.data[row] = 0
        self._total_length -= counts.total()

    # -- searching -------------------------------------------------------------------------------------

    def rank_list(self, found: list[Ranked]) -> RankList:
        """What was found, by keys."""
        return [(low, (uuid, self.group_id)) for low, uuid, _ in found]

    def keys(self, rows: Iterable[int]) -> list[Key]:
        """The keys of rows."""
        return [(self._uuids[row], self.group_id) for row in rows]

    def uuids(self, rows: Iterable[int]) -> list[str]:
        """What is in rows."""
        return [self._uuids[row] for row in rows]

    def uuid(self, row: int) -> str:
        """What is in a row."""
        return self._uuids[row]

    def ties(self, rows: Sequence[int]) -> NDArray[np.uint64]:
        """The tie keys of rows."""
        keys: NDArray[np.uint64] = self._tie.data[list(rows)]
        return keys

    def packed(self, rows: Sequence[int]) -> list[bytes | memoryview]:
        """Display fields of rows."""
        return self._packed.views(rows)

    def by_keyword(self, terms: Sequence[Term], visible: Mask, count: int) -> list[Ranked]:
        """The best of the visible rows by BM25."""
        matches = ((self._postings.find(term.text, term.by_prefix), term.weight) for term in terms)
        corpus = Corpus(self._length.data[: len(visible)], len(self), self._total_length)
        rows, scores = strongest(matches, corpus, visible, count)
        return self.best(rows, np.round(scores, 9), count)

    def by_vector(
        self, vector: NDArray[np.float32] | None, visible: Mask, count: int, min_cosine: float
    ) -> list[Ranked]:
        """The nearest of the visible rows by cosine."""
        if vector is None or self._vectors is None:
            return []
        rows, cosines = self._vectors.nearest(vector, visible, count, min_cosine)
        return self.best(rows, cosines, count)

    def best(self, rows: NDArray[np.intp], scores: NDArray[np.float64], count: int) -> list[Ranked]:
        """The `count` best of `rows` by their scores, ties by uuid."""
        return best(rows, scores, count, self._uuids, self._tie.data)

    def vectors(self, rows: Sequence[int]) -> NDArray[np.float32] | None:
        """Unit vectors of rows, zeros where one has none; None without an embedding space."""
        return None if self._vectors is None else self._vectors.of(rows)


def mask_of(rows: int, *chosen: Iterable[int]) -> Mask:
    """True where any of `chosen` names the row."""
    mask: Mask = np.zeros(rows, np.bool_)
    for each in chosen:
        mask[list(each)] = True
    return mask
