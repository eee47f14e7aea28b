"""CandidateStore: entities by tokens of their names, open facts by source and by pair."""

from __future__ import annotations

from dataclasses import replace

from kgsvc.domain.candidates import CandidateQuery, Candidates, VectorPage, VectorsAfter
from kgsvc.domain.similarity import name_tokens
from kgsvc.stores.conformance.expect import equal, expect, present
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


async def entities_are_found_by_uuid(store: Store, group_id: str) -> None:
    """As those found by a token, each once; what is not there is passed over."""
    ada, bob = await pair(store, group_id)
    (token,) = name_tokens("Ada")
    found = await store.candidates(group_id, CandidateQuery(tokens=[token], uuids=["n-bob", "n-ada", "no"]))
    equal(dict(found.by_token), {token: ("n-ada",)}, "candidates: by token")
    equal(dict(found.entities), {"n-ada": ada, "n-bob": bob}, "candidates: by uuid")
    equal(set(found.names), {"n-ada", "n-bob"}, "candidates: names of what is found by uuid")


async def facts_come_with_the_types_of_their_targets(store: Store, group_id: str) -> None:
    """Whether found by source or by pair."""
    ada, acme = entity(group_id, "n1", "Ada"), entity(group_id, "n2", "Acme", labels=("Body", "Place"))
    await write(store, group_id, entities=(ada, acme), facts=(fact("f1", ada, acme), fact("f2", acme, ada)))
    found = await store.candidates(group_id, CandidateQuery(sources=["n1"]))
    equal(dict(found.labels), {"n2": ("Body", "Place")}, "candidates: labels of targets")
    found = await store.candidates(group_id, CandidateQuery(pairs=[("n2", "n1")]))
    equal(dict(found.labels), {"n1": ada.labels}, "candidates: labels of targets of pairs")


async def vectors_of_names_are_followed(store: Store, group_id: str) -> None:
    """By revision and uuid, a page at a time, each again when it is written again; of one space."""
    entities = [entity(group_id, f"n{n}", f"Name {n}") for n in range(3)]
    first = {"n2": b"2222", "n0": b"0000"}
    await write(store, group_id, entities=entities, vectors=first, space="s")
    await write(store, group_id, vectors={"n1": b"1111"}, space="s")
    await write(
        store, group_id, entities=(entity(group_id, "n9", "Name 9"),), vectors={"n9": b"9"}, space="z"
    )
    pages = [await _vectors(store, group_id, VectorsAfter("s", limit=2))]
    while pages[-1].more:
        last = pages[-1]
        pages.append(await _vectors(store, group_id, VectorsAfter("s", last.epoch, last.place, 2)))
    rows = [row for page in pages for row in page.rows]
    equal(rows, [("n0", b"0000"), ("n2", b"2222"), ("n1", b"1111")], "vectors: of all pages")
    last = pages[-1]
    equal((await _vectors(store, group_id, VectorsAfter("s", last.epoch, last.place))).rows, (), "the rest")
    await write(store, group_id, vectors={"n0": b"AAAA"}, space="s")
    page = await _vectors(store, group_id, VectorsAfter("s", last.epoch, last.place))
    equal(page.rows, (("n0", b"AAAA"),), "vectors: what was written again")
    await write(store, group_id, remove_entities=("n0",))
    again = await _vectors(store, group_id, VectorsAfter("s"))
    equal([uuid for uuid, _vector in again.rows], ["n2", "n1"], "vectors: without what was removed")


async def vectors_of_a_deleted_group_are_gone(store: Store, group_id: str) -> None:
    """A place of an older epoch is the beginning of the new one."""
    ada = entity(group_id, "n1", "Ada")
    await write(store, group_id, entities=(ada,), vectors={"n1": b"1111"}, space="s")
    old = await _vectors(store, group_id, VectorsAfter("s"))
    await store.delete_group(group_id, NOW + 9)
    page = await _vectors(store, group_id, VectorsAfter("s", old.epoch, old.place))
    equal((page.rows, page.epoch > old.epoch), ((), True), "vectors: of a deleted group")
    await write(store, group_id, entities=(ada,), vectors={"n1": b"2222"}, space="s")
    page = await _vectors(store, group_id, VectorsAfter("s", old.epoch, (10**9, "n9")))
    equal(page.rows, (("n1", b"2222"),), "vectors: of the next epoch")
    nobody = await store.candidates(f"{group_id}-2", CandidateQuery(vectors=VectorsAfter("s")))
    expect(nobody.vectors is None or nobody.vectors.rows == (), "vectors: of no other group")


async def _vectors(store: Store, group_id: str, after: VectorsAfter) -> VectorPage:
    found = await store.candidates(group_id, CandidateQuery(vectors=after))
    return present(found.vectors, "vectors: a page of a group that is there")
