"""Searching facts by the database's own indexes, without one in memory (ColdSearchStore), and what they hold:
keys of terms, vectors as lists, and counts (part of apply).

On RELATES_TO, of groups whose record counts its `facts` (those begun since there are these properties):

terms         keys of the words of an open fact: its own, those of its source and of its target, each on a
              line; in the full-text index
past_terms    the same of a fact that was over when it was written; in no index, so that the past does not
              crowd out the present
term_count    how many of the keys are terms
shown         of an open fact: what a search shows (rows.shown_text)
scope         of an open fact with a vector: group and space; in the vector index beside the vector

On every RELATES_TO:

words         the words of its keyword text, behind a checksum of that; an index in memory is made of them

KgTerm counts by key the facts that hold it, open or past; KgGroup all `facts` and their `fact_terms`.

The full-text index finds by keys that are the group's own, so its postings are too. How it weighs words
depends a little on all groups, and that can move which facts come last among the candidates, no scores.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, LiteralString
from zlib import crc32

import numpy as np
from neo4j.vector import Vector

from kgsvc.domain.model.delta import GraphDelta, GroupHead
from kgsvc.domain.model.graph import Entity, Fact, keyword_text, own_text
from kgsvc.domain.text import TOKENISER_VERSION, GroupKeys, words
from kgsvc.stores.neo4j.base import Base, Row
from kgsvc.stores.neo4j.rows import shown_fact, shown_text, visible_at
from kgsvc.stores.search_protocol import FactCandidate, FactCandidates, FactsAsked

# Beside SET_FACT, of the same row. A new vector comes later.
SET_TERMS: LiteralString = """
    SET r.words = row.words, r.terms = row.terms, r.past_terms = row.past_terms,
        r.term_count = row.term_count, r.shown = row.shown,
        r.scope = CASE WHEN row.terms IS NOT NULL THEN $p.scope + r.space END
    """

SET_VECTOR: LiteralString = """
    SET r.vector = row.vector, r.space = $p.space, r.fact_embedding = toFloatList(row.numbers),
        r.scope = CASE WHEN r.terms IS NOT NULL AND row.numbers IS NOT NULL THEN $p.scope + $p.space END
    """

# For facts of renamed entities but those that the delta writes: they are in `frequencies`.
RENAME_TERMS: LiteralString = """
    MATCH (g:KgGroup {group_id: $p.group_id})
    UNWIND $p.renamed AS row
    CALL (g, row) {
        <SEEK n:Entity row.uuid>
        MATCH (n)-[r:RELATES_TO]-()
        WHERE r.term_count IS NOT NULL AND NOT r.uuid IN $p.rewritten
        WITH r, startNode(r) = n AS source, endNode(r) = n AS target, r.term_count AS length,
            split(coalesce(r.terms, r.past_terms), '\\n') AS lines
        WITH r, length, source, target, lines[0] AS own, lines[1] AS of_source, lines[2] AS of_target
        WITH r, length, own, own + ' ' + of_source + ' ' + of_target AS before,
            CASE WHEN source THEN of_source ELSE '' END + ' '
                + CASE WHEN target THEN of_target ELSE '' END AS gone,
            CASE WHEN source THEN row.keys ELSE of_source END AS of_source,
            CASE WHEN target THEN row.keys ELSE of_target END AS of_target
        WITH r, length, split(before, ' ') AS before, split(gone, ' ') AS gone,
            own + '\\n' + of_source + '\\n' + of_target AS terms,
            split(own + ' ' + of_source + ' ' + of_target, ' ') AS after
        SET r.terms = CASE WHEN r.terms IS NOT NULL THEN terms END,
            r.past_terms = CASE WHEN r.past_terms IS NOT NULL THEN terms END
        SET r.term_count = size([key IN after WHERE key STARTS WITH 't'])
        WITH r.term_count - length AS longer,
            [at IN range(0, size(gone) - 1)
                WHERE NOT gone[at] IN after AND NOT gone[at] IN gone[0..at] | {key: gone[at], more: -1}]
            + [key IN row.distinct WHERE NOT key IN before | {key: key, more: 1}] AS changes
        WITH sum(longer) AS longer, collect(changes) AS changed
        SET g.fact_terms = g.fact_terms + longer
        WITH changed
        UNWIND changed AS changes
        UNWIND changes AS change
        WITH change.key AS key, sum(change.more) AS facts WHERE key <> ''
        MERGE (k:KgTerm {group_id: $p.group_id, epoch: $p.epoch, key: key})
        SET k.facts = coalesce(k.facts, 0) + facts
    }
    """

COUNT_TERMS: LiteralString = """
    CALL (g) {
        WITH g WHERE $p.indexed
        SET g.facts = coalesce(g.facts, 0) + $p.more_facts,
            g.fact_terms = coalesce(g.fact_terms, 0) + $p.more_terms
    }
    CALL () {
        UNWIND $p.frequencies AS row
        UNWIND split(row.keys, ' ') AS key
        MERGE (k:KgTerm {group_id: $p.group_id, epoch: $p.epoch, key: key})
        SET k.facts = coalesce(k.facts, 0) + row.more
    }
    """

# What `keyed` needs of a fact as it stands.
HELD_TERMS: LiteralString = "coalesce(r.terms, r.past_terms), r.term_count"

MOST_NUMBERS = 4_096  # of a vector that Neo4j can compare

Held = tuple[str, int]  # the keys, how many of them are terms


def scope(group_id: str, space: str) -> str:
    """What the vector index filters by: a group and the space of its vectors. Without the group's epoch, so
    that a search need not read that first."""
    return f"{group_id}\n{space}"


def group_keys(group_id: str) -> GroupKeys:
    """What a group's words are known by, in any epoch."""
    return GroupKeys(group_id, 0)


def numbers(vector: bytes | None, *, packed: bool) -> Vector | list[float] | None:
    """A vector (float32 little-endian) as a parameter; none for one of zeros, which has no direction, and for
    one of more than MOST_NUMBERS: no index takes these. `packed`: as servers take it in CYPHER 25, at a
    fraction of the cost of a list."""
    values = np.frombuffer(vector or b"", "<f4")
    if not values.any() or len(values) > MOST_NUMBERS:
        return None
    return Vector(values.astype(">f4").tobytes(), "f32") if packed else values.tolist()


def checked_words(fact: Fact) -> bytes:
    """What is stored as a fact's words. The checksum tells them from those of another text: when an entity is
    renamed, the texts of its facts change and their words stay."""
    text = keyword_text(fact)
    return _checksum(text) + words(text)


def words_of(fact: Fact, stored: bytes | None) -> bytes | None:
    """The words that are stored with a fact, if they are those of its text."""
    if stored is None or stored[:_CHECKSUM_BYTES] != _checksum(keyword_text(fact)):
        return None
    return stored[_CHECKSUM_BYTES:]


_CHECKSUM_BYTES = 4


def _checksum(text: str) -> bytes:
    return crc32(text.encode("utf-8", "surrogatepass"), TOKENISER_VERSION).to_bytes(_CHECKSUM_BYTES, "little")


def renamed_row(keys: GroupKeys, entity: Entity) -> dict[str, Any]:
    """A renamed entity, and what its facts are found by from now on."""
    named = keys.of_text(entity.name).keys
    return {
        "uuid": entity.uuid,
        "name": entity.name,
        "keys": " ".join(named),
        "distinct": list(dict.fromkeys(named)),
    }


class TermChanges:
    """What a delta changes in the words that facts are found by."""

    def __init__(self, delta: GraphDelta, epoch: int, held: Mapping[str, Held], *, indexed: bool) -> None:
        """`held`: of those facts that the delta writes or removes and that are there."""
        self.keys = group_keys(delta.group_id)
        self._indexed = indexed
        self._epoch = epoch
        self._now_ms = delta.system_ms
        self._held = held if indexed else {}
        self._written = {fact.uuid: self._of(fact) for fact in delta.facts} if indexed else {}

    def row(self, fact: Fact) -> dict[str, Any]:
        """Parameters of SET_TERMS."""
        return {"words": checked_words(fact), **self._terms(fact)}

    def _terms(self, fact: Fact) -> dict[str, Any]:
        if not self._indexed:
            return {}
        text, length = self._written[fact.uuid]
        if not _open(fact, self._now_ms):
            return {"past_terms": text, "term_count": length}
        return {"terms": text, "term_count": length, "shown": shown_text(fact, self._epoch)}

    def counts(self) -> dict[str, Any]:
        """Parameters of COUNT_TERMS. Facts whose words are the same change nothing."""
        more: Counter[str] = Counter()
        by_change: dict[int, list[str]] = {}
        for uuid in self._held.keys() | self._written.keys():
            before, _ = self._held.get(uuid, _NOTHING)
            after, _ = self._written.get(uuid, _NOTHING)
            if before != after:
                more.update(set(after.split()))
                more.subtract(set(before.split()))
        for key, change in sorted(more.items()):
            if change:
                by_change.setdefault(change, []).append(key)
        return {
            "indexed": self._indexed,
            "more_facts": len(self._written) - len(self._held),
            "more_terms": _length(self._written) - _length(self._held),
            "frequencies": [{"more": more, "keys": " ".join(keys)} for more, keys in by_change.items()],
        }

    def _of(self, fact: Fact) -> Held:
        lines = [self.keys.of_text(text) for text in (own_text(fact), fact.source_name, fact.target_name)]
        return "\n".join(" ".join(line.keys) for line in lines), sum(line.length for line in lines)


_NOTHING: Held = ("", 0)


def _length(facts: Mapping[str, Held]) -> int:
    return sum(length for _text, length in facts.values())


def _open(fact: Fact, now_ms: int) -> bool:
    """Whether there can be a time from `now_ms` on at which the fact is visible."""
    ends: Sequence[int | None] = (fact.expired_ms, fact.invalid_ms)
    return all(end is None or end > now_ms for end in ends)


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
    RETURN [g.rev, g.epoch, g.last_ms, coalesce(g.space, '')], coalesce(g.tidying, false), found,
        g.facts, g.fact_terms, frequencies
    """

_WORDS_ALONE: LiteralString = HEAD + BY_WORDS + NONE_NEAR + TAIL
_EXACT: LiteralString = HEAD + BY_WORDS + NEAREST_OF_ALL + TAIL
_INDEXED: LiteralString = "CYPHER 25" + HEAD + BY_WORDS + NEAREST + TAIL


class ColdSearch(Base):
    """ColdSearchStore."""

    async def search_candidates(self, group_id: str, asked: FactsAsked) -> FactCandidates | None:
        """One round trip; more only where many candidates are not visible (yet, or no more)."""
        if asked.vector is not None and len(asked.vector) > 4 * MOST_NUMBERS:
            return None
        asked_words = _Words(group_id, asked)
        values = numbers(asked.vector, packed=self._vectors_indexed)
        statement = _WORDS_ALONE if values is None else _INDEXED if self._vectors_indexed else _EXACT
        parameters = {
            "group_id": group_id,
            "keys": list(asked_words.asked),
            "query": asked_words.query,
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
            ((head, tidying, candidates, *counts),) = rows
            if tidying and values is not None:
                return None
            place = (GroupHead(group_id, *head), asked.now_ms)
            found = await _found(*place, candidates, counts, asked_words.asked)
            wider = _wider(limits, candidates, (found.keyword, found.semantic), asked.count)
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
    in_lists = [lists for lists, *_ in found]
    seen = sum(lists % 2 for lists in in_lists), sum(lists // 2 for lists in in_lists)
    return [
        min(8 * limit, _MOST) if many >= limit and len(shown) < count else limit
        for limit, many, shown in zip(limits, seen, visible, strict=True)
    ]


async def _found(
    head: GroupHead, now_ms: int, found: Sequence[Row], counts: Row, by_key: Mapping[str, str]
) -> FactCandidates:
    keyword: list[FactCandidate] = []
    semantic: list[FactCandidate] = []
    keys = frozenset(by_key)
    for number, (lists, shown, source_name, target_name, terms, length, score, vector) in enumerate(found):
        if shown is None:
            continue  # removed or closed meanwhile
        uuid = visible_at(shown, head.epoch, now_ms)
        if uuid is None:
            continue
        show = partial(shown_fact, shown, head.group_id, (source_name, target_name))
        if lists % 2 and terms:
            held = terms.split()
            times = {by_key[key]: held.count(key) for key in keys.intersection(held)}
            keyword.append(FactCandidate(uuid, show, times, length, vector))
        if lists > 1:
            semantic.append(FactCandidate(uuid, show, vector=vector, cosine=2 * score - 1))
        if number % 250 == 249:
            await asyncio.sleep(0)
    facts, total_length, frequencies = counts
    return FactCandidates(
        head=head,
        facts=facts,
        total_length=total_length,
        frequencies={by_key[key]: holding for key, holding in frequencies if holding > 0},
        keyword=tuple(keyword),
        semantic=tuple(semantic),
    )
