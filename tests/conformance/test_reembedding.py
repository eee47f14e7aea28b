"""FillStore: a group goes over to the space of another embedder, beside the vectors in use, in one step."""

import uuid as uuids
from dataclasses import replace

import pytest

from kgsvc.domain.errors import LeaseLost
from kgsvc.domain.model.communities import BuildRequest, Described, Draft
from kgsvc.domain.model.delta import SpaceVectors
from kgsvc.domain.model.fills import Filled, FillLease, Reembedding
from kgsvc.domain.model.graph import Fact
from kgsvc.stores.search_protocol import FactsAsked
from tests.support.samples import MANY, NOW, Scratch, fact, present, tombstone
from tests.support.stores import ON_REAL

pytestmark = ON_REAL

LATER = NOW + 1_000
OLD, NEW = b"\x00\x00\x80?\x00\x00\x00\x00", b"\x00\x00\x00\x00\x00\x00\x80?"  # (1, 0) and (0, 1)
FORMER, NEXT = "former-2", "next-2"


async def _full(g: Scratch) -> Fact:
    """A fact between Ada and Bob that episode e1 told, all with vectors of the former space."""
    await g.accepted(g.episode("e1"))
    ada, bob = await g.pair()
    known = fact("f1", ada, bob)
    vectors = {"n-ada": OLD, "n-bob": OLD, "f1": OLD}
    await g.write(facts=(known,), found=("e1",), vectors=vectors, passages={"e1": OLD + OLD}, space=FORMER)
    return known


async def _leased(g: Scratch, owner_id: str = "worker-a", space: str = NEXT) -> FillLease:
    works = await g.store.open_fills(2 * NOW, MANY, space)
    (work,) = [each for each in works if each.group_id == g.id]
    return present(await g.store.claim_fill(work, owner_id, space))


async def _begun(g: Scratch) -> FillLease:
    await g.store.begin_fills(NEXT, NOW)
    return await _leased(g)


async def _vectors(g: Scratch) -> dict[str, tuple[str, bytes | None]]:
    """Space and vector of each row as indexes are fed."""
    facts = (await g.store.changes(g.id, 0, MANY)).facts
    texts = await g.store.text_changes(g.id, 0, MANY)
    found = {each.fact.uuid: (each.space, each.vector) for each in facts}
    found |= {each.entity.uuid: (each.space, each.vector) for each in texts.entities}
    found |= {each.episode.uuid: (each.space, each.passages) for each in texts.episodes}
    return found | {each.uuid: (each.space, each.vector) for each in texts.communities or ()}


async def _embedded(g: Scratch, lease: FillLease, **vectors: bytes) -> None:
    rev = (await g.head()).rev
    passages = {uuid: data for uuid, data in vectors.items() if uuid.startswith("e")}
    others = {uuid: data for uuid, data in vectors.items() if not uuid.startswith("e")}
    named = {uuid.replace("_", "-"): data for uuid, data in others.items()}
    await g.store.fill(lease, Filled((rev, ""), passages, NEXT, {}, rev, named), LATER)


async def _all(g: Scratch, lease: FillLease) -> None:
    await _embedded(g, lease, f1=NEW, n_ada=NEW, n_bob=NEW, e1=NEW)


async def _switched(g: Scratch, lease: FillLease) -> None:
    assert await g.store.switch_space(lease)
    while await g.store.tidy(lease, 2):
        pass


async def _space(g: Scratch) -> str:
    return (await g.store.heads([g.id]))[g.id].space


async def _near(g: Scratch, space: str, vector: bytes) -> list[str] | None:
    """What the store itself finds by a vector, without an index in memory."""
    asked = FactsAsked((), (), vector, space, 2 * NOW, 5, 0.5)
    found = await g.store.search_candidates(g.id, asked)
    return None if found is None else [each.uuid for each in found.semantic]


async def test_searches_see_the_former_vectors_until_all_are_there(g: Scratch) -> None:
    await _full(g)
    before, head = await _vectors(g), await g.head()
    assert set(before.values()) == {(FORMER, OLD), (FORMER, OLD + OLD)}
    lease = await _begun(g)
    assert (lease.space, lease.former) == (NEXT, FORMER)
    await _embedded(g, lease, f1=NEW, n_ada=NEW)
    assert await g.store.lacking(lease, before) == {"n-bob", "e1"}
    await _all(g, lease)
    assert await g.store.lacking(lease, before) == set()
    assert await _vectors(g) == before
    assert await g.head() == head, "indexes have nothing to read anew"
    assert await _near(g, FORMER, OLD) == ["f1"]
    assert await g.store.switch_space(lease)
    assert await _space(g) == NEXT
    assert await _vectors(g) == dict.fromkeys(before, (NEXT, NEW))
    assert await _near(g, NEXT, NEW) is None, "its own indexes do not have them all yet"
    while await g.store.tidy(lease, 2):
        assert await _vectors(g) == dict.fromkeys(before, (NEXT, NEW))
    assert await _vectors(g) == dict.fromkeys(before, (NEXT, NEW))
    assert await _near(g, NEXT, NEW) == ["f1"]
    assert await _near(g, FORMER, OLD) == []


async def test_how_far_a_group_is_can_be_asked(g: Scratch) -> None:
    await _full(g)
    assert await g.store.reembeddings([g.id]) == []
    lease = await _begun(g)
    assert await g.store.reembeddings([g.id]) == [Reembedding(g.id, FORMER, NEXT, 0, 0.0)]
    await _all(g, lease)
    (far,) = await g.store.reembeddings([g.id])
    assert (far.embedded, far.share) == (4, 1.0)
    assert g.id in {each.group_id for each in await g.store.reembeddings()}
    await _switched(g, lease)
    assert await g.store.reembeddings([g.id]) == []


async def test_groups_of_the_space_are_left_alone(g: Scratch) -> None:
    await _full(g)
    await g.store.begin_fills(FORMER, NOW)
    assert not [each for each in await g.store.open_fills(2 * NOW, MANY) if each.group_id == g.id]
    lease = await _begun(g)
    await _all(g, lease)
    await g.store.begin_fills(NEXT, NOW)
    assert await g.store.renew_fill(lease), "one under way goes on"
    assert await g.store.lacking(lease, ["f1"]) == set()


async def test_only_who_has_the_embedder_embeds_a_group(g: Scratch) -> None:
    await _full(g)
    await g.store.begin_fills(NEXT, NOW)
    works = {space: await g.store.open_fills(2 * NOW, MANY, space) for space in (FORMER, NEXT)}
    ours = {space for space, found in works.items() if g.id in {each.group_id for each in found}}
    assert ours == {NEXT}


async def test_what_is_written_meanwhile_has_both_vectors(g: Scratch) -> None:
    known = await _full(g)
    lease = await _begun(g)
    ada, bob = (await g.store.names(g.id, (), ["n-ada", "n-bob"])).by_uuid.values()
    beside = SpaceVectors(FORMER, {"f2": OLD, "n-cy": OLD}, {"e2": OLD})
    await g.accepted(g.episode("e2"))
    await g.write(
        facts=(fact("f2", ada, bob),),
        entities=(g.entity("n-cy", "Cy"),),
        found=("e2",),
        vectors={"f2": NEW, "n-cy": NEW},
        passages={"e2": NEW},
        space=NEXT,
        beside=beside,
    )
    seen = await _vectors(g)
    assert {uuid: seen[uuid] for uuid in ("f2", "n-cy", "e2")} == dict.fromkeys(
        ("f2", "n-cy", "e2"), (FORMER, OLD)
    )
    assert await _near(g, FORMER, OLD) == ["f1", "f2"] or set(await _near(g, FORMER, OLD) or ()) == {
        "f1",
        "f2",
    }
    await _all(g, lease)
    assert await g.store.lacking(lease, seen) == set()
    await _switched(g, lease)
    assert await _vectors(g) == dict.fromkeys([known.uuid, *seen], (NEXT, NEW))


async def test_a_vector_of_a_former_text_goes(g: Scratch) -> None:
    """Where a text changes and only one space gets its vector, in either direction."""
    known = await _full(g)
    lease = await _begun(g)
    await _all(g, lease)
    await g.write(facts=(replace(known, fact="New words"),), vectors={"f1": NEW}, space=NEXT)
    assert (await _vectors(g))["f1"][1] is None
    assert await _near(g, FORMER, OLD) == []
    assert await g.store.lacking(lease, ["f1"]) == set()
    await g.write(facts=(replace(known, fact="Newer words"),), vectors={"f1": OLD}, space=FORMER)
    assert (await _vectors(g))["f1"] == (FORMER, OLD)
    assert await g.store.lacking(lease, ["f1"]) == {"f1"}


async def test_what_changed_since_it_was_read_gets_no_vector_of_what_it_was(g: Scratch) -> None:
    known = await _full(g)
    lease, read = await _begun(g), await g.head()
    await g.write(facts=(replace(known, fact="New words"),), vectors={"f1": OLD}, space=FORMER)
    page = Filled((read.rev, ""), {"e1": NEW}, NEXT, {}, read.rev, {"f1": NEW, "n-ada": NEW, "n-bob": NEW})
    await g.store.fill(lease, page, LATER)
    assert await g.store.lacking(lease, ["f1", "n-ada", "n-bob", "e1"]) == {"f1"}


async def test_it_does_not_switch_while_something_lacks_a_vector(g: Scratch) -> None:
    known = await _full(g)
    lease = await _begun(g)
    assert not await g.store.switch_space(lease)
    await _all(g, lease)
    for change in (
        {"facts": (replace(known, fact="New words"),), "vectors": {"f1": OLD}},
        {"entities": (g.entity("n-cy", "Cy"),), "vectors": {"n-cy": OLD}},
    ):
        await g.write(**change, space=FORMER)
        assert not await g.store.switch_space(lease)
        assert await _space(g) == FORMER
        await _embedded(g, lease, f1=NEW, n_cy=NEW)
    await _switched(g, lease)
    assert {space for space, _ in (await _vectors(g)).values()} == {NEXT}


async def test_what_cannot_be_embedded_does_not_hold_it_up(g: Scratch) -> None:
    await _full(g)
    lease = await _begun(g)
    await _embedded(g, lease, n_ada=NEW)
    await _switched(g, lease)
    seen = await _vectors(g)
    assert seen["n-ada"] == (NEXT, NEW)
    assert seen["f1"] == (FORMER, OLD), "of a space that is not in use: no search compares it"


async def test_it_goes_back(g: Scratch) -> None:
    """Naming the former embedder again removes what was made and keeps what is in use."""
    await _full(g)
    before = await _vectors(g)
    lease = await _begun(g)
    await _all(g, lease)
    await g.store.begin_fills(FORMER, LATER)
    with pytest.raises(LeaseLost):
        await g.store.switch_space(lease)
    back = await _leased(g, space=FORMER)
    assert (back.space, back.former, back.place, back.facts_rev) == (FORMER, "", (0, ""), 0)
    while await g.store.tidy(back, 2):
        pass
    assert await _vectors(g) == before
    assert (await _space(g), await g.store.reembeddings([g.id])) == (FORMER, [])
    again = await _begun(g)
    assert await g.store.lacking(again, before) == set(before), "nothing is left of the first time"


async def test_there_and_back(g: Scratch) -> None:
    await _full(g)
    before = await _vectors(g)
    lease = await _begun(g)
    await _all(g, lease)
    await _switched(g, lease)
    await g.store.begin_fills(FORMER, LATER)
    back = await _leased(g, space=FORMER)
    assert (back.space, back.former) == (FORMER, NEXT)
    rev = (await g.head()).rev
    page = Filled((rev, ""), {"e1": OLD + OLD}, FORMER, {}, rev, {"f1": OLD, "n-ada": OLD, "n-bob": OLD})
    await g.store.fill(back, page, LATER)
    await _switched(g, back)
    assert await _vectors(g) == before


async def test_what_a_process_with_another_embedder_writes_is_looked_through(g: Scratch) -> None:
    known = await _full(g)
    await g.write(facts=(replace(known, fact="New words"),), vectors={"f1": NEW}, space=NEXT)
    lease = await _leased(g, space=FORMER)
    assert (lease.space, lease.former) == (FORMER, "")
    assert await g.store.lacking(lease, await _vectors(g)) == {"f1"}
    rev = (await g.head()).rev
    await g.store.fill(lease, Filled((rev, ""), {}, FORMER, {}, rev, {"f1": OLD}), LATER)
    changed = await g.store.changes(g.id, rev, MANY)
    assert [(each.fact.uuid, each.space, each.vector) for each in changed.facts] == [("f1", FORMER, OLD)]


async def test_a_group_without_vectors_stays_as_it_is(g: Scratch) -> None:
    """It was told while there was no embedder, and is found by its words."""
    await g.accepted(g.episode("e1"))
    ada, bob = await g.pair()
    await g.write(facts=(fact("f1", ada, bob),), found=("e1",))
    await g.store.begin_fills(NEXT, NOW)
    assert g.id not in {work.group_id for work in await g.store.open_fills(2 * NOW, MANY, NEXT)}
    assert await _space(g) == ""


async def test_what_is_deleted_meanwhile_stays_away(g: Scratch) -> None:
    known = await _full(g)
    lease = await _begun(g)
    await _all(g, lease)
    await g.write(remove_facts=(tombstone(known),))
    await g.write(remove_entities=("n-bob",), remove_names=("bob",), remove_episodes=("e1",))
    await _switched(g, lease)
    assert await _vectors(g) == {"n-ada": (NEXT, NEW)}


async def test_a_group_deleted_meanwhile_begins_anew(g: Scratch) -> None:
    await _full(g)
    lease = await _begun(g)
    await _all(g, lease)
    await g.store.delete_group(g.id, LATER)
    for work in (g.store.switch_space(lease), g.store.tidy(lease, 9)):
        with pytest.raises(LeaseLost):
            await work
    assert await _space(g) == ""
    await g.write(entities=(g.entity("n-ada", "Ada"),), vectors={"n-ada": OLD}, space=FORMER)
    assert await _space(g) == FORMER


async def test_communities_go_over_too(g: Scratch) -> None:
    await _full(g)
    await g.store.request_builds([BuildRequest(g.id, str(uuids.uuid4()), NOW)], None)
    (work,) = [each for each in await g.store.open_builds(2 * NOW, MANY) if each.group_id == g.id]
    builder = present(await g.store.claim_build(work, "builder", NOW))
    await g.store.put_drafts(builder, [Draft("c1", ("n-ada", "n-bob"), ("n-ada",), ("f1",), False)])
    await g.store.end_drafts(builder, 1, NOW)
    await g.store.describe(
        builder, [Described("c1", "Ada and Bob", "They know each other", OLD, FORMER)], NOW
    )
    await g.store.publish(builder, NOW)
    assert (await _vectors(g))["c1"] == (FORMER, OLD)
    lease = await _begun(g)
    assert await g.store.lacking(lease, ["c1"]) == {"c1"}
    await _all(g, lease)
    await _embedded(g, lease, c1=NEW)
    assert (await _vectors(g))["c1"] == (FORMER, OLD)
    await _switched(g, lease)
    assert (await _vectors(g))["c1"] == (NEXT, NEW)


async def test_one_cannot_end_what_another_took_over(g: Scratch) -> None:
    await _full(g)
    first = await _begun(g)
    second = await _leased(g, "worker-b")
    await _all(g, second)
    for work in (g.store.switch_space(first), g.store.tidy(first, 9)):
        with pytest.raises(LeaseLost):
            await work
    await _switched(g, second)
