"""Searching facts by the database's own indexes (ColdSearchStore); fact_terms.py says what they hold.

The full-text index finds by keys that are the group's own, so its postings are too. How it weighs words
depends a little on all groups, and that can move which facts come last among the candidates, no scores.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import LiteralString

from kgsvc.domain.model.delta import GroupHead
from kgsvc.stores.neo4j.base import Base, Row
from kgsvc.stores.neo4j.fact_terms import MOST_NUMBERS, group_keys, numbers, scope
from kgsvc.stores.neo4j.rows import shown_fact, visible_at
from kgsvc.stores.search_protocol import FactCandidate, FactCandidates, FactsAsked

_MOST = 10_000  # candidates looked at for one list, however many of them are not visible

HEAD: LiteralString = """
    MATCH (g:KgGroup {group_id: $p.group_id}) WHERE g.facts IS NOT NULL
    CALL (g) {
        UNWIND $p.keys AS key
        MATCH (k:KgTerm {group_id: $p.group_id, epoch: g.epoch, key: key})
        RETURN collect([key, k.facts]) AS frequencies
    }
    CALL (g) {
        CALL (g) {
    """

BY_WORDS: LiteralString = """
            WITH g WHERE $p.query <> ''
            CALL db.index.fulltext.queryRelationships('kgsvc_fact_terms', $p.query, {limit: $p.words})
            YIELD relationship AS r
            RETURN r, 1 AS list, null AS score
            UNION ALL
    """

# One index entry for each open fact: what is not visible yet, or no more, is passed over afterwards.
NEAREST: LiteralString = """
            MATCH ()-[r:RELATES_TO]->()
            SEARCH r IN (VECTOR INDEX kgsvc_fact_embedding FOR $p.vector WHERE r.scope = $p.scope
                LIMIT $p.near) SCORE AS score
            WITH r, score WHERE score > $p.least
            RETURN r, 2 AS list, score
    """
NEAREST_OF_ALL: LiteralString = """
            MATCH ()-[r:RELATES_TO]->() USING INDEX SEEK r:RELATES_TO(group_id, epoch, rev)
            WHERE r.group_id = $p.group_id AND r.epoch = g.epoch AND r.rev >= 0 AND r.scope = $p.scope
                AND r.valid_ms <= $p.now_ms AND r.invalid_ms > $p.now_ms AND r.expired_ms > $p.now_ms
                AND size(r.fact_embedding) = size($p.vector)
            WITH r, vector.similarity.cosine(r.fact_embedding, $p.vector) AS score WHERE score > $p.least
            WITH r, score ORDER BY score DESC LIMIT $p.near
            RETURN r, 2 AS list, score
    """
NONE_NEAR: LiteralString = """
            MATCH ()-[r:RELATES_TO]->() WHERE false
            RETURN r, 2 AS list, 0.0 AS score
    """

# A fact in both lists comes once: `lists` is 3 then.
TAIL: LiteralString = """
        }
        WITH r, sum(list) AS lists, max(score) AS score
        RETURN collect([lists, r.shown, r.source_name, r.target_name,
            CASE WHEN lists <> 2 THEN r.terms END, CASE WHEN lists <> 2 THEN r.term_count END,
            score, CASE WHEN $p.all_vectors AND r.space = $p.space THEN r.vector END]) AS found
    }
    RETURN [g.rev, g.epoch, g.last_ms], g.facts, g.fact_terms, frequencies, found
    """

_WORDS_ALONE: LiteralString = HEAD + BY_WORDS + NONE_NEAR + TAIL
_EXACT: LiteralString = HEAD + BY_WORDS + NEAREST_OF_ALL + TAIL
_INDEXED: LiteralString = "CYPHER 25" + HEAD + BY_WORDS + NEAREST + TAIL


class ColdSearch(Base):
    """ColdSearchStore."""

    async def search_candidates(self, group_id: str, asked: FactsAsked) -> FactCandidates | None:
        """See ColdSearchStore. One round trip, again only where many facts found are not visible (yet, or
        no more though nothing was written since)."""
        if asked.vector is not None and len(asked.vector) > 4 * MOST_NUMBERS:
            return None
        words = _Words(group_id, asked)
        values = numbers(asked.vector, packed=self._vectors_indexed)
        statement = _WORDS_ALONE if values is None else _INDEXED if self._vectors_indexed else _EXACT
        parameters = {
            "group_id": group_id,
            "keys": list(words.asked),
            "query": words.query,
            "vector": values,
            "scope": scope(group_id, asked.space),
            "space": asked.space,
            "all_vectors": asked.all_vectors,
            "least": (1 + asked.min_cosine) / 2 - 1e-6,
            "now_ms": asked.now_ms,
        }
        limits = [asked.count, asked.count]
        while True:
            rows = await self._run(statement, **parameters, words=limits[0], near=limits[1])
            if not rows:
                return None
            found = await _found(GroupHead(group_id, *rows[0][0]), rows[0], words.asked, asked.now_ms)
            wider = _wider(limits, rows[0][4], (found.keyword, found.semantic), asked.count)
            if wider == limits:
                return found
            limits = wider


class _Words:
    """The words of a search as the index knows them."""

    def __init__(self, group_id: str, asked: FactsAsked) -> None:
        keys = group_keys(group_id)
        self.asked = {keys.of_term(term): term for term in asked.terms}
        self.asked.update((keys.of_prefix(char), char) for char in asked.prefixes)
        weights = ((key, asked.weights.get(word, 1.0)) for key, word in self.asked.items())
        self.query = " ".join(key if weight == 1 else f"{key}^{weight:f}" for key, weight in weights)


def _wider(
    limits: list[int], found: list[Row], visible: tuple[Sequence[FactCandidate], ...], count: int
) -> list[int]:
    """How far to look: farther where a list was cut off with fewer than `count` visible facts in it."""
    seen = sum(row[0] % 2 for row in found), sum(row[0] // 2 for row in found)
    return [
        min(8 * limit, _MOST) if many >= limit and len(shown) < count else limit
        for limit, many, shown in zip(limits, seen, visible, strict=True)
    ]


async def _found(head: GroupHead, row: Row, words: Mapping[str, str], now_ms: int) -> FactCandidates:
    keyword: list[FactCandidate] = []
    semantic: list[FactCandidate] = []
    keys = frozenset(words)
    for number, (lists, shown, source_name, target_name, terms, length, score, vector) in enumerate(row[4]):
        if shown is None:
            continue  # removed or over since it was found
        uuid = visible_at(shown, head.epoch, now_ms)
        if uuid is None:
            continue
        show = partial(shown_fact, shown, head.group_id, (source_name, target_name))
        if lists % 2 and terms:
            held = terms.split()
            counts = {words[key]: held.count(key) for key in keys.intersection(held)}
            keyword.append(FactCandidate(uuid, show, counts, length, vector))
        if lists > 1:
            semantic.append(FactCandidate(uuid, show, vector=vector, cosine=2 * score - 1))
        if number % 250 == 249:
            await asyncio.sleep(0)
    return FactCandidates(
        head=head,
        facts=row[1],
        total_length=row[2],
        frequencies={words[key]: facts for key, facts in row[3] if facts > 0},
        keyword=tuple(keyword),
        semantic=tuple(semantic),
    )
