"""Searching the facts of a group that is not in memory (ColdSearchStore): exact, in bounded memory.

Each fact has a narrow row with its words as numbers (indexes.py). These rows and the group's vectors are read
slice by slice, whole facts only for the candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import apsw
import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.model.graph import Fact
from kgsvc.domain.text import gain, idf, prefix_word, term_word
from kgsvc.stores.embedded.rows import (
    Row,
    all_rows,
    column,
    fact_of,
    first_row,
    group_of,
    id_span,
    json_ids,
)
from kgsvc.stores.embedded.writer import EmbeddedBase, reading
from kgsvc.stores.search_protocol import FactCandidate, FactCandidates, FactsAsked

READ_WORDS = """
    SELECT id, start_ms, until_ms, CAST(own || source || target AS BLOB) FROM fact_words
    WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?
    """
_SLICE = 10_000  # facts read at once: about 5 MB
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Match:
    """A visible fact that holds terms of the query: how many terms it has, which of those asked how often."""

    length: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Slice:
    """Some facts: hits are (row, place of the term, count), row by row."""

    ids: Ints
    lengths: Ints
    visible: NDArray[np.bool_]
    hits: tuple[Ints, Ints, Ints]


class Words:
    """What the rows of a group say about a query."""

    def __init__(self, db: apsw.Connection, gid: int, asked: FactsAsked) -> None:
        self._asked = asked
        self._texts = (*asked.terms, *asked.prefixes)
        made = [*map(term_word, asked.terms), *map(prefix_word, asked.prefixes)]
        keys = np.frombuffer(b"".join(made), "<u8")
        self._order = np.argsort(keys)
        self._keys = keys[self._order]
        self._parts = [self._sliced(rows) for rows in _slices(db, gid)]
        self.facts = sum(len(part.ids) for part in self._parts)
        self.total_length = sum(int(part.lengths.sum()) for part in self._parts)
        held = np.zeros(len(keys), np.int64)
        for part in self._parts:
            held += np.bincount(part.hits[1], minlength=len(keys))
        self._held = held

    @property
    def frequencies(self) -> dict[str, int]:
        """Facts that hold each term, where any does."""
        return {text: n for text, n in zip(self._texts, self._held.tolist(), strict=True) if n}

    @property
    def visible(self) -> Ints:
        """The ids of all visible facts, ascending."""
        return _joined([part.ids[part.visible] for part in self._parts])

    def scored(self) -> tuple[Ints, NDArray[np.float64]]:
        """Visible facts that hold any of the terms, with their scores by BM25."""
        worth = np.array(
            [
                self._asked.weights.get(text, 1.0) * idf(held, self.facts)
                for text, held in zip(self._texts, self._held.tolist(), strict=True)
            ]
        )
        scored = [self._scored(part, worth) for part in self._parts]
        scores = np.concatenate([scores for _, scores in scored]) if scored else np.empty(0)
        return _joined([ids for ids, _ in scored]), scores

    def matches(self, ids: Ints) -> dict[int, Match]:
        """What of the query these facts hold, by id."""
        wanted = np.sort(ids)
        found: dict[int, Match] = {}
        for part in self._parts:
            for row in np.flatnonzero(among(part.ids, wanted)).tolist():
                first, last = np.searchsorted(part.hits[0], (row, row + 1))
                places, counts = (column[first:last].tolist() for column in part.hits[1:])
                held = {self._texts[place]: count for place, count in zip(places, counts, strict=True)}
                found[int(part.ids[row])] = Match(int(part.lengths[row]), held)
        return found

    def _scored(self, part: _Slice, worth: NDArray[np.float64]) -> tuple[Ints, NDArray[np.float64]]:
        kept = part.visible[part.hits[0]]
        rows, places, counts = (column[kept] for column in part.hits)
        lengths = part.lengths[rows] * (self.facts / max(self.total_length, 1))
        gains = worth[places] * gain(counts, lengths)
        scores: NDArray[np.float64] = np.bincount(rows, weights=gains, minlength=len(part.ids)).astype(float)
        hit = np.flatnonzero(scores > 0)
        return part.ids[hit], scores[hit]

    def _sliced(self, rows: list[Row]) -> _Slice:
        ids, starts, untils, texts = zip(*rows, strict=True)
        sizes = np.fromiter(map(len, texts), np.int64, len(texts)) // 8
        ends = np.cumsum(sizes)
        words = np.frombuffer(b"".join(texts), "<u8")
        now_ms = self._asked.now_ms
        visible = (np.array(starts, np.int64) <= now_ms) & (now_ms < np.array(untils, np.int64))
        lengths = sizes - _prefixes(words, ends, sizes)
        return _Slice(np.array(ids, np.int64), lengths, visible, self._hits(words, ends))

    def _hits(self, words: NDArray[np.uint64], ends: Ints) -> tuple[Ints, Ints, Ints]:
        at = np.flatnonzero(np.isin(words, self._keys))
        places = self._order[np.searchsorted(self._keys, words[at])]
        many = max(len(self._keys), 1)
        pairs, counts = np.unique(np.searchsorted(ends, at, "right") * many + places, return_counts=True)
        return pairs // many, pairs % many, counts.astype(np.int64)


def _prefixes(words: NDArray[np.uint64], ends: Ints, sizes: Ints) -> Ints | int:
    """How many words of each text stand for what CJK terms begin with; few texts have any."""
    odd = words & np.uint64(1)
    if not odd.any():
        return 0
    before = np.zeros(len(odd) + 1, np.int64)
    np.cumsum(odd, out=before[1:])
    prefixes: Ints = before[ends] - before[ends - sizes]
    return prefixes


def _slices(db: apsw.Connection, gid: int) -> Iterator[list[Row]]:
    first, last = id_span(gid)
    while rows := all_rows(db, READ_WORDS, (first, last, _SLICE)):
        yield rows
        last_id, *_words = rows[-1]
        first = last_id + 1


def among(ids: Ints, wanted: Ints) -> NDArray[np.bool_]:
    """Which of `ids` are in `wanted`, which is sorted."""
    if not len(wanted):
        return np.zeros(len(ids), np.bool_)
    found: NDArray[np.bool_] = wanted[np.minimum(np.searchsorted(wanted, ids), len(wanted) - 1)] == ids
    return found


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


READ_VECTORS = """
    SELECT id, vector FROM fact_vectors
    WHERE id BETWEEN ? AND ? AND space = ? AND length(vector) = ? ORDER BY id LIMIT ?
    """
_VECTORS = 2_000  # read at once: 3 MB of 384 dimensions
_NOISE = 4e-6  # twice what a float32 product of unit vectors is off by
_LEVEL = 2e-9  # scores nearer than this may be equal once they are rounded


def _search(db: apsw.Connection, group_id: str, asked: FactsAsked) -> FactCandidates | None:
    group = group_of(db, group_id)
    if not group.gid or first_row(db, "SELECT 1 FROM groups WHERE gid = ? AND has_words = 0", (group.gid,)):
        return None
    if group.tidying and asked.vector is not None:
        return None
    words = Words(db, group.gid, asked)
    keyword = _best(db, *words.scored(), asked.count, _LEVEL)
    semantic = _nearest(db, group.gid, words.visible, asked)
    wanted = keyword if asked.all_vectors else keyword[:0]
    facts = _facts(db, np.union1d(keyword, semantic))
    vectors = _vectors(db, np.union1d(wanted, semantic), asked)
    matches = words.matches(keyword)
    return FactCandidates(
        group.head,
        words.facts,
        words.total_length,
        words.frequencies,
        tuple(
            _candidate(facts[i], m.counts, m.length, vectors.get(i) if asked.all_vectors else None)
            for i, m in matches.items()
        ),
        tuple(_candidate(facts[i], {}, 0, vectors[i]) for i in semantic.tolist()),
    )


def _candidate(fact: Fact, counts: Mapping[str, int], length: int, vector: bytes | None) -> FactCandidate:
    return FactCandidate(fact.uuid, lambda: fact, counts, length, vector)


def _best(db: apsw.Connection, ids: Ints, scores: NDArray[np.float64], count: int, level: float) -> Ints:
    """The `count` best; of those that may be level with the last one the first by uuid."""
    if len(ids) <= count:
        return ids
    edge = np.partition(scores, -count)[-count]
    above = ids[scores > edge + level]
    even = ids[np.abs(scores - edge) <= level]
    return np.concatenate((above, _first(db, even, count)))


def _first(db: apsw.Connection, ids: Ints, count: int) -> Ints:
    """The `count` facts that come first by uuid."""
    if len(ids) <= count:
        return ids
    by_uuid = "SELECT id FROM facts WHERE id IN (SELECT value FROM json_each(?)) ORDER BY uuid LIMIT ?"
    return np.array(column(db, by_uuid, (json_ids(ids.tolist()), count)), np.int64)


def _nearest(db: apsw.Connection, gid: int, visible: Ints, asked: FactsAsked) -> Ints:
    """The visible facts that can be among the `count` nearest."""
    near, cosines = np.empty(0, np.int64), np.empty(0)
    if asked.vector is None or not len(visible):
        return near
    query = np.frombuffer(asked.vector, "<f4")
    first, last = id_span(gid)
    while rows := _page(db, asked, first, last):
        numbers, read = zip(*rows, strict=True)
        ids = np.array(numbers, np.int64)
        vectors = np.frombuffer(b"".join(read), "<f4").reshape(len(rows), -1)
        rough = np.einsum("ij,j->i", vectors, query)  # BLAS would begin threads for each page
        kept = among(ids, visible) & (rough > asked.min_cosine - _NOISE)
        near, cosines = np.concatenate((near, ids[kept])), np.concatenate((cosines, rough[kept]))
        if len(near) > asked.count:
            kept = cosines >= np.partition(cosines, -asked.count)[-asked.count] - _NOISE
            near, cosines = near[kept], cosines[kept]
        first = max(numbers) + 1
    return _best(db, near, cosines, asked.count, _NOISE)


def _page(db: apsw.Connection, asked: FactsAsked, first: int, last: int) -> list[Row]:
    return all_rows(db, READ_VECTORS, (first, last, asked.space, len(asked.vector or b""), _VECTORS))


def _facts(db: apsw.Connection, ids: Iterable[int]) -> dict[int, Fact]:
    rows = all_rows(
        db, "SELECT id, * FROM live_facts WHERE id IN (SELECT value FROM json_each(?))", (json_ids(ids),)
    )
    return {row_id: fact_of(fact) for row_id, *fact in rows}


def _vectors(db: apsw.Connection, ids: Iterable[int], asked: FactsAsked) -> dict[int, bytes]:
    rows = all_rows(
        db,
        "SELECT id, vector FROM fact_vectors WHERE id IN (SELECT value FROM json_each(?)) AND space = ?",
        (json_ids(ids), asked.space),
    )
    return dict(rows)


class EmbeddedColdSearch(EmbeddedBase):
    """ColdSearchStore. The time grows with the group's own facts, by word and by vector."""

    search_candidates = reading(_search)
