"""Searching the facts of a group that is not in memory (ColdSearchStore): exact, in bounded memory.

The rows of the group's words and its vectors are read slice by slice; whole facts only for the candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import apsw
import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.model.graph import Fact
from kgsvc.stores.embedded.base import Base
from kgsvc.stores.embedded.groups import find_group, id_span
from kgsvc.stores.embedded.rows import Row, all_rows, fact_of, first_row, json_ids
from kgsvc.stores.embedded.words import Ints, Words, among
from kgsvc.stores.search_protocol import FactCandidate, FactCandidates, FactsAsked

READ = """
    SELECT id, vector FROM fact_vectors
    WHERE id BETWEEN ? AND ? AND space = ? AND length(vector) = ? ORDER BY id LIMIT ?
    """
_VECTORS = 2_000  # read at once: 3 MB of 384 dimensions
_NOISE = 4e-6  # twice what a float32 product of unit vectors is off by
_LEVEL = 2e-9  # scores nearer than this may be equal once they are rounded


class ColdSearch(Base):
    """ColdSearchStore."""

    async def search_candidates(self, group_id: str, asked: FactsAsked) -> FactCandidates | None:
        """See ColdSearchStore. The time grows with the group's own facts, by word and by vector."""
        return await self._read(_search, group_id, asked)


def _search(db: apsw.Connection, group_id: str, asked: FactsAsked) -> FactCandidates | None:
    group = find_group(db, group_id)
    if group is None or first_row(db, "SELECT 1 FROM groups WHERE gid = ? AND has_words = 0", (group.gid,)):
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
    rows = all_rows(
        db,
        "SELECT id FROM facts WHERE id IN (SELECT value FROM json_each(?)) ORDER BY uuid LIMIT ?",
        (json_ids(ids.tolist()), count),
    )
    return np.array([row[0] for row in rows], np.int64)


def _nearest(db: apsw.Connection, gid: int, visible: Ints, asked: FactsAsked) -> Ints:
    """The visible facts that can be among the `count` nearest."""
    near, cosines = np.empty(0, np.int64), np.empty(0)
    if asked.vector is None or not len(visible):
        return near
    query = np.frombuffer(asked.vector, "<f4")
    first, last = id_span(gid)
    while rows := _page(db, asked, first, last):
        ids = np.array([row[0] for row in rows], np.int64)
        rough = np.frombuffer(b"".join(row[1] for row in rows), "<f4").reshape(len(rows), -1) @ query
        kept = among(ids, visible) & (rough > asked.min_cosine - _NOISE)
        near, cosines = np.concatenate((near, ids[kept])), np.concatenate((cosines, rough[kept]))
        if len(near) > asked.count:
            kept = cosines >= np.partition(cosines, -asked.count)[-asked.count] - _NOISE
            near, cosines = near[kept], cosines[kept]
        first = rows[-1][0] + 1
    return _best(db, near, cosines, asked.count, _NOISE)


def _page(db: apsw.Connection, asked: FactsAsked, first: int, last: int) -> list[Row]:
    return all_rows(db, READ, (first, last, asked.space, len(asked.vector or b""), _VECTORS))


def _facts(db: apsw.Connection, ids: Iterable[int]) -> dict[int, Fact]:
    rows = all_rows(
        db, "SELECT * FROM live_facts WHERE id IN (SELECT value FROM json_each(?))", (json_ids(ids),)
    )
    return {row[0]: fact_of(row) for row in rows}


def _vectors(db: apsw.Connection, ids: Iterable[int], asked: FactsAsked) -> dict[int, bytes]:
    rows = all_rows(
        db,
        "SELECT id, vector FROM fact_vectors WHERE id IN (SELECT value FROM json_each(?)) AND space = ?",
        (json_ids(ids), asked.space),
    )
    return dict(rows)
