"""Searching facts on disk: the same whatever is read at once, exact to the last tie, where it can be."""

import random
from dataclasses import replace

import apsw
import numpy as np
import pytest

from kgsvc.domain.model.graph import Entity, Fact
from kgsvc.search.filters import NONE
from kgsvc.search.plans import Method, Scope, ScopePlan
from kgsvc.search.query import parse
from kgsvc.search.ranking.pool import ScopeQuery
from kgsvc.search.ranking.stored import found_in_store
from kgsvc.stores.embedded import EmbeddedStore, cold_search
from kgsvc.stores.embedded.rows import all_rows
from kgsvc.stores.search_protocol import FactCandidates, FactsAsked, IndexedFact
from tests.support.cold_search import candidates_among
from tests.support.samples import NOW, fact, pair, tombstone, write

WORDS = ("red", "tea", "wine", "東京", "京都", "京", "alpha", "of")
QUERY = "red tea of 京"
COUNT = 15
ASKED = FactsAsked(
    ("red", "tea", "of"),
    ("京",),
    np.array([0.6, 0.8, 0], "<f4").tobytes(),
    "s",
    NOW,
    COUNT,
    weights={"of": 0.25},
    all_vectors=True,
)


@pytest.mark.parametrize("at_once", [1, 7, 1_000])
async def test_the_best_are_found_whatever_is_read_at_once(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(cold_search, "_SLICE", at_once)
    monkeypatch.setattr(cold_search, "_VECTORS", at_once)
    rng = random.Random(at_once)
    ada, bob = await pair(store, "g")
    await pair(store, "h")
    made = [_some(rng, n, ada, bob) for n in range(120)]
    vectors = {each.uuid: _near(rng) for each in made[:90]}
    for begin in range(0, len(made), 40):
        some = made[begin : begin + 40]
        theirs = {each.uuid: vectors[each.uuid] for each in some if each.uuid in vectors}
        await write(store, "g", facts=tuple(some), vectors=theirs, space="s")
    found = await store.search_candidates("g", ASKED)
    assert found is not None
    rows = [IndexedFact(each, "s" if each.uuid in vectors else "", vectors.get(each.uuid)) for each in made]
    expected = candidates_among(found.head, rows, ASKED)
    assert (found.facts, found.total_length) == (expected.facts, expected.total_length)
    assert found.frequencies == expected.frequencies
    assert _words(found) == _words(expected)
    assert _nearest(found) == _nearest(expected)


def _some(rng: random.Random, n: int, ada: Entity, bob: Entity) -> Fact:
    words = " ".join(rng.choices(WORDS, k=rng.randrange(1, 5)))
    made = fact(f"f{n:03}", ada, bob, words, invalid_ms=rng.choice((None, NOW, NOW + 1)))
    return replace(made, expired_ms=NOW + 5 if rng.random() < 0.4 else None)


def _near(rng: random.Random) -> bytes:
    """One of few directions: many facts are as near as others."""
    vector = np.array([rng.randrange(-2, 3), rng.randrange(-2, 3), 1], np.float64)
    packed: bytes = (vector / np.linalg.norm(vector)).astype("<f4").tobytes()
    return packed


def _words(found: FactCandidates) -> list[tuple[object, ...]]:
    by_uuid = {each.uuid: each for each in found.keyword}
    plan = ScopePlan(Scope.FACTS, (Method.BM25,))
    asked = ScopeQuery(plan, parse(QUERY), None, 0.0, NONE, ASKED.now_ms, COUNT, COUNT)
    ranked = found_in_store(found, asked).lists[Method.BM25]
    candidates = ((low, by_uuid[uuid]) for low, (uuid, _) in ranked)
    return [(low, each.uuid, dict(each.counts), each.length, each.vector) for low, each in candidates]


def _nearest(found: FactCandidates) -> list[tuple[float, str]]:
    query = np.frombuffer(ASKED.vector or b"", "<f4").astype(float)
    cosines = (
        (-round(float(np.frombuffer(each.vector or b"", "<f4").astype(float) @ query), 9), each.uuid)
        for each in found.semantic
    )
    return sorted(entry for entry in cosines if entry[0] < 0)[:COUNT]


async def test_an_older_group_is_not_searched_until_it_begins_anew(
    store: EmbeddedStore, beside: apsw.Connection
) -> None:
    await pair(store, "g")
    beside.execute("UPDATE groups SET has_words = 0")
    assert await store.search_candidates("g", ASKED) is None
    await store.delete_group("g", NOW + 9)
    found = await store.search_candidates("g", ASKED)
    assert found is not None
    assert found.facts == 0


async def test_removed_facts_leave_no_words(store: EmbeddedStore, beside: apsw.Connection) -> None:
    ada, bob = await pair(store, "g")
    made = fact("f1", ada, bob)
    await write(store, "g", facts=(made, fact("f2", ada, bob)))
    await write(store, "g", remove_facts=(tombstone(made),))
    assert all_rows(beside, "SELECT f.uuid FROM fact_words w LEFT JOIN facts f ON f.id = w.id") == [("f2",)]


async def test_only_rows_of_the_group_are_read(store: EmbeddedStore, beside: apsw.Connection) -> None:
    for text in (cold_search.READ_WORDS, cold_search.READ_VECTORS):
        plan = [row[3] for row in all_rows(beside, f"EXPLAIN QUERY PLAN {text}", [0] * text.count("?"))]
        assert len(plan) == 1
        assert "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)" in plan[0]
