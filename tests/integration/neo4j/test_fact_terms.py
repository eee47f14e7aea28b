"""What the database's own indexes find facts by: kept right by every write, counted without drift."""

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, LiteralString

import pytest
from neo4j import AsyncDriver

from kgsvc.domain.model.graph import Entity, Fact, keyword_text
from kgsvc.domain.text import tokens
from kgsvc.stores.neo4j import Neo4jStore
from kgsvc.stores.neo4j.fact_terms import group_keys
from kgsvc.stores.search_protocol import FactsAsked
from tests.support.samples import NOW, delta, entity, fact, guard, tombstone

WORDS = ("tea", "wine", "Ada", "car", "boat", "東京", "京")


async def counted(raw: AsyncDriver, group: str) -> tuple[Counter[str], int, int]:
    """Facts by key, all facts and all terms, as the database counts them."""
    found = await raw.execute_query(
        "MATCH (g:KgGroup {group_id: $group}) CALL (g) { MATCH (k:KgTerm {group_id: $group, epoch: g.epoch})"
        " RETURN collect([k.key, k.facts]) AS terms } RETURN terms, g.facts, g.fact_terms",
        group=group,
    )
    terms, facts, length = found.records[0].values()
    return Counter({key: count for key, count in terms if count}), facts, length


async def recounted(store: Neo4jStore, group: str) -> tuple[Counter[str], int, int]:
    """The same, from the facts as they are."""
    keys, facts = group_keys(group), (await store.dump(group)).facts
    texts = [keys.of_text(keyword_text(each)) for each in facts]
    held = Counter(key for text in texts for key in set(text.keys))
    return held, len(facts), sum(text.length for text in texts)


def told(rng: random.Random, uuid: str, ends: Mapping[str, Entity]) -> Fact:
    """A fact of some words between two entities, or from one to itself; sometimes over."""
    source, target = rng.choices(list(ends.values()), k=2)
    made = fact(uuid, source, target, " ".join(rng.choices(WORDS, k=4)))
    over = replace(made, expired_ms=NOW - 5, expired_reason="superseded")
    return over if rng.random() < 0.3 else made


@pytest.mark.parametrize("seed", range(3))
async def test_counts_stay_exact(store: Neo4jStore, raw: AsyncDriver, group: str, seed: int) -> None:
    """Through new facts, rewritten and moved ones, removed ones, and renames beside all of these."""
    rng = random.Random(seed)
    ends = {f"n{n}": entity(group, f"n{n}", WORDS[n]) for n in range(4)}
    facts: dict[str, Fact] = {}
    await store.apply(delta(group, entities=tuple(ends.values())), await guard(store, group))
    for turn in range(12):
        chosen = rng.sample([*ends], 2)
        renamed = [replace(ends[uuid], name=f"{rng.choice(WORDS)} {turn} {uuid}") for uuid in chosen]
        ends |= {each.uuid: each for each in renamed}
        gone = rng.sample(sorted(facts), min(2, len(facts)))
        removed = tuple(tombstone(facts[uuid]) for uuid in gone)
        left = [uuid for uuid in facts if uuid not in gone]
        again = rng.sample(left, min(3, len(left)))
        new = [told(rng, uuid, ends) for uuid in [*again, f"f{turn}-a", f"f{turn}-b"]]
        facts = {uuid: facts[uuid] for uuid in left} | {each.uuid: each for each in new}
        change = delta(group, entities=tuple(renamed), facts=tuple(new), remove_facts=removed)
        await store.apply(change, await guard(store, group))
        assert await counted(raw, group) == await recounted(store, group)


async def test_keys_survive_a_deleted_group(store: Neo4jStore, raw: AsyncDriver, group: str) -> None:
    """Counts begin anew, and nothing is left of the words before."""
    ada = entity(group, "n-ada", "Ada")
    for text in ("tea", "wine"):
        change = delta(group, entities=(ada,), facts=(fact("f1", ada, ada, text),))
        await store.apply(change, await guard(store, group))
        assert await counted(raw, group) == await recounted(store, group)
        await store.delete_group(group, NOW)
        left = await raw.execute_query("MATCH (k:KgTerm {group_id: $group}) RETURN count(k)", group=group)
        assert left.records[0][0] == 0


async def test_a_group_of_an_older_version_is_not_searched(
    store: Neo4jStore, raw: AsyncDriver, group: str
) -> None:
    """It has facts that are in no index; once deleted it begins anew."""
    ada = entity(group, "n-ada", "Ada")
    asked = FactsAsked(tuple(tokens("tea")), (), None, "", NOW + 10, 200)
    change = delta(group, entities=(ada,), facts=(fact("f1", ada, ada, "tea"),))
    await store.apply(change, await guard(store, group))
    await raw.execute_query(
        "MATCH (g:KgGroup {group_id: $group}) REMOVE g.facts, g.fact_terms WITH g"
        " MATCH ()-[r:RELATES_TO {group_id: $group}]->() REMOVE r.terms, r.term_count",
        group=group,
    )
    assert await store.search_candidates(group, asked) is None
    await store.apply(delta(group, facts=(fact("f2", ada, ada, "tea"),)), await guard(store, group))
    assert await store.search_candidates(group, asked) is None
    await store.delete_group(group, NOW)
    await store.apply(change, await guard(store, group))
    found = await store.search_candidates(group, asked)
    assert found is not None
    assert [each.uuid for each in found.keyword] == ["f1"]


async def test_facts_not_yet_valid_hide_no_others(store: Neo4jStore, group: str) -> None:
    """They are in the indexes: where they fill what was asked for, more is asked for."""
    ada = entity(group, "n-ada", "Ada")
    future = [replace(fact(f"x{n}", ada, ada, "tea tea"), valid_ms=NOW + 1_000_000) for n in range(40)]
    now = [fact(f"f{n}", ada, ada, f"tea at a long table {n}") for n in range(5)]
    change = delta(group, entities=(ada,), facts=(*future, *now))
    await store.apply(change, await guard(store, group))
    asked = FactsAsked(tuple(tokens("tea")), (), None, "", NOW + 10, 5)
    found = await store.search_candidates(group, asked)
    assert found is not None
    assert {each.uuid for each in found.keyword} == {each.uuid for each in now}


async def test_a_list_that_is_full_is_not_looked_for_again(
    store: Neo4jStore, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = entity(group, "n-ada", "Ada")
    facts = tuple(fact(f"f{n}", ada, ada, f"tea at a long table {n}") for n in range(8))
    await store.apply(delta(group, entities=(ada,), facts=facts), await guard(store, group))
    run, looks = store._run, []

    async def counting(statement: LiteralString, **values: Any) -> list[list[Any]]:
        looks.append(statement)
        return await run(statement, **values)

    monkeypatch.setattr(store, "_run", counting)
    found = await store.search_candidates(group, FactsAsked(("tea",), (), None, "", NOW + 10, 4))
    assert found is not None
    assert (len(found.keyword), len(looks)) == (4, 1)


async def test_vectors_longer_than_neo4j_compares_are_kept_and_searched_in_memory(
    store: Neo4jStore, group: str
) -> None:
    long = b"\x00\x00\x80\x3f" * 5_000
    ada, bob = entity(group, "n1", "Ada"), entity(group, "n2", "Bob")
    made = fact("f1", ada, bob, "Ada knows tea")
    change = delta(group, entities=(ada, bob), facts=(made,), vectors={"f1": long}, space="long")
    await store.apply(change, await guard(store, group))
    assert [each.vector for each in (await store.changes(group, 0, 10)).facts] == [long]
    asked = FactsAsked(("tea",), (), long, "long", NOW + 1, 10)
    assert await store.search_candidates(group, asked) is None
    words = await store.search_candidates(group, replace(asked, vector=None))
    assert words is not None
    assert [each.uuid for each in words.keyword] == ["f1"]
