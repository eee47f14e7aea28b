"""CandidateStore: entities by tokens of their names, open facts by source and by pair."""

from __future__ import annotations

from dataclasses import replace

from kgsvc.domain.candidates import CandidateQuery, Candidates
from kgsvc.domain.similarity import name_tokens
from kgsvc.stores.conformance.expect import equal
from kgsvc.stores.conformance.samples import NOW, entity, fact, pair, write
from kgsvc.stores.protocol import Store


async def entities_are_found_by_tokens_of_names_and_aliases(store: Store, group_id: str) -> None:
    """Each token leads to the entities with it, by uuid; each entity comes whole, with its name keys."""
    bob = entity(group_id, "n2", "Bob Smith", labels=("Person",))
    eva = entity(group_id, "n1", "Eva Smith")
    await write(store, group_id, entities=(bob, eva), names={"bob smith": "n2", "eva smith": "n1"})
    await write(store, group_id, names={"robert": "n2"})
    (smith,) = name_tokens("Smith")
    (robert,) = name_tokens("Robert")
    found = await store.candidates(group_id, CandidateQuery(tokens=[smith, robert, "nothing"]))
    equal(dict(found.by_token), {smith: ("n1", "n2"), robert: ("n2",)}, "candidates: by token")
    equal(dict(found.entities), {"n1": eva, "n2": bob}, "candidates: entities")
    names = {"n1": ("eva smith",), "n2": ("bob smith", "robert")}
    equal(dict(found.names), names, "candidates: names")
    few = await store.candidates(
        group_id, CandidateQuery(tokens=[smith, robert], entities_per_token=1, names_per_entity=1)
    )
    equal(dict(few.by_token), {smith: ("n1",), robert: ("n2",)}, "candidates: one a token")
    equal(dict(few.names), {"n1": ("eva smith",), "n2": ("bob smith",)}, "candidates: one name each")


async def candidates_stay_in_their_group(store: Store, group_id: str) -> None:
    """Neither names nor facts of another group or of a deleted one are found."""
    ada, bob = await pair(store, group_id)
    await write(store, group_id, facts=(fact("f1", ada, bob),))
    query = CandidateQuery(tokens=name_tokens("Ada"), sources=["n-ada"], pairs=[("n-ada", "n-bob")])
    equal(await store.candidates(f"{group_id}-2", query), Candidates(), "candidates: of another group")
    await store.delete_group(group_id, NOW + 9)
    equal(await store.candidates(group_id, query), Candidates(), "candidates: of a deleted group")


async def open_facts_are_found_by_source_and_pair(store: Store, group_id: str) -> None:
    """The latest that are not expired, each once, latest first; the other direction is another pair."""
    ada, bob = await pair(store, group_id)
    eve = entity(group_id, "n-eve", "Eve")
    old, new = fact("f1", ada, bob, valid_ms=NOW - 9), fact("f2", ada, bob)
    tied, back = fact("f3", ada, eve), fact("f4", bob, ada)
    gone = fact("f0", ada, bob, valid_ms=NOW + 5, expired_ms=NOW + 6, expired_reason="superseded")
    await write(store, group_id, entities=(eve,), facts=(old, new, tied, back, gone))
    found = await store.candidates(group_id, CandidateQuery(sources=["n-ada"], pairs=[("n-ada", "n-bob")]))
    equal(found.facts, (tied, new, old), "candidates: of a source and a pair")
    few = CandidateQuery(sources=["n-ada"], pairs=[("n-ada", "n-bob")], facts_per_source=1, facts_per_pair=1)
    equal((await store.candidates(group_id, few)).facts, (tied, new), "candidates: the latest of each")
    found = await store.candidates(group_id, CandidateQuery(pairs=[("n-bob", "n-ada"), ("n-eve", "n-bob")]))
    equal(found.facts, (back,), "candidates: of pairs")
    await write(store, group_id, facts=(replace(new, expired_ms=NOW + 7),))
    found = await store.candidates(group_id, CandidateQuery(pairs=[("n-ada", "n-bob")]))
    equal(found.facts, (old,), "candidates: after another expired")


async def facts_of_found_entities_come_with_them(store: Store, group_id: str) -> None:
    """told_per_token: of each token the first entities count as sources too."""
    ada, bob = await pair(store, group_id)
    other = entity(group_id, "n-zoe", "Ada")
    await write(store, group_id, entities=(other,), names={"ada z": "n-zoe"})
    first, second = fact("f1", ada, bob), fact("f2", other, bob)
    await write(store, group_id, facts=(first, second))
    query = CandidateQuery(tokens=name_tokens("Ada"), told_per_token=1)
    equal((await store.candidates(group_id, query)).facts, (first,), "candidates: of the first found")
    query = replace(query, told_per_token=9)
    equal((await store.candidates(group_id, query)).facts, (second, first), "candidates: of all found")
