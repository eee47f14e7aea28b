"""CandidateStore: entities by tokens of their names, open facts by source and by pair."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from kgsvc.domain.model.delta import GroupHead
from kgsvc.domain.model.graph import Entity, Episode, Fact, Source
from kgsvc.domain.model.items import NewItem
from kgsvc.domain.names.similarity import identities, name_tokens
from kgsvc.domain.resolution.decisions import (
    EXPIRED_READ,
    CandidateQuery,
    NameCandidates,
    VectorPage,
    VectorsAfter,
)
from kgsvc.stores.protocol import Anchor, EpisodeCut
from kgsvc.stores.search_protocol import Changes
from tests.support.samples import NOW, Scratch, batch, fact, present, tombstone


async def test_reads_of_many_groups_at_once_answer_each_its_own(g: Scratch) -> None:
    """Whatever each of them asks for, and however much of it."""
    groups = [g, g.sibling(2), g.sibling(3)]
    for number, each in enumerate(groups):
        ada, bob = each.entity(f"a{number}", "Ada"), each.entity(f"b{number}", "Bob")
        known = fact(f"f{number}", ada, bob)
        await each.write(entities=(ada, bob), names={"ada": ada.uuid, "bob": bob.uuid}, facts=(known,))
        await g.store.accept([batch(each.episode(f"e{number}-{n}", at=n)) for n in range(2)])
    nobody = g.sibling(4).id
    asked: list[Callable[[str, int], Awaitable[object]]] = [
        lambda each, n: g.store.names(each, ["ada"], [f"b{n}"]),
        lambda each, n: g.store.slots(each, [fact("f", g.entity(f"a{n}", ""), g.entity(f"b{n}", "")).slot]),
        lambda each, n: g.store.candidates(
            each, CandidateQuery(tokens=name_tokens("Ada"), sources=[f"a{n}"], entities_per_token=n + 1)
        ),
        lambda each, n: g.store.previous_episodes(each, [Anchor("later", NOW + 9)], n + 1, 100),
        lambda each, _: g.store.relations(each, 10, 10),
    ]
    ids = [*(each.id for each in groups), nobody]
    alone = [await read(each, n) for read in asked for n, each in enumerate(ids)]
    together = await asyncio.gather(*(read(each, n) for read in asked for n, each in enumerate(ids)))
    assert together == alone
    assert len({repr(answer) for answer in alone}) > 3 * len(groups)


async def test_entities_are_found_by_tokens_of_names_and_aliases(g: Scratch) -> None:
    """Each token leads to the entities with it, by uuid; each entity comes whole, with its name keys."""
    bob = g.entity("n2", "Bob Smith", labels=("Person",))
    eva = g.entity("n1", "Eva Smith")
    await g.write(entities=(bob, eva), names={"bob smith": "n2", "eva smith": "n1"})
    await g.write(names={"robert": "n2"})
    (smith,) = name_tokens("Smith")
    (robert,) = name_tokens("Robert")
    found = await g.store.candidates(g.id, CandidateQuery(tokens=[smith, robert, "nothing"]))
    assert dict(found.by_token) == {smith: ("n1", "n2"), robert: ("n2",)}
    assert dict(found.entities) == {"n1": eva, "n2": bob}
    assert dict(found.names) == {"n1": ("eva smith",), "n2": ("bob smith", "robert")}
    few = await g.store.candidates(
        g.id, CandidateQuery(tokens=[smith, robert], entities_per_token=1, names_per_entity=1)
    )
    assert dict(few.by_token) == {smith: ("n1",), robert: ("n2",)}
    assert dict(few.names) == {"n1": ("eva smith",), "n2": ("bob smith",)}


async def test_entities_are_found_by_identities(g: Scratch) -> None:
    """By attributes that tell who it is, and by numbers in names; until those are removed."""
    bob, eva = (
        g.entity("n2", "Bob", attributes={"email": "bob@example.org"}),
        g.entity("n1", "Konto 4711-0815"),
    )
    await g.write(entities=(bob, eva), names={"bob": "n2", "konto 4711-0815": "n1"})
    (mail,), (number,) = identities({"mail": "BOB@example.org"}), identities({"no": 47110815})
    query = CandidateQuery(tokens=[mail, number])
    found = await g.store.candidates(g.id, query)
    assert dict(found.by_token) == {mail: ("n2",), number: ("n1",)}
    assert dict(found.entities) == {"n1": eva, "n2": bob}
    await g.write(entities=(replace(bob, attributes={}),), remove_name_tokens=((mail, "n2"),))
    assert dict((await g.store.candidates(g.id, query)).by_token) == {number: ("n1",)}


async def test_candidates_stay_in_their_group(g: Scratch) -> None:
    """Neither names nor facts of another group or of a deleted one are found."""
    ada, bob = await g.pair()
    await g.write(facts=(fact("f1", ada, bob),))
    query = CandidateQuery(tokens=name_tokens("Ada"), sources=["n-ada"], pairs=[("n-ada", "n-bob")])
    assert await g.store.candidates(g.sibling().id, query) == NameCandidates()
    await g.store.delete_group(g.id, NOW + 9)
    assert await g.store.candidates(g.id, query) == NameCandidates()


async def test_open_facts_are_found_by_source_and_pair(g: Scratch) -> None:
    """The latest that are not expired, each once, latest first; the other direction is another pair."""
    ada, bob = await g.pair()
    eve = g.entity("n-eve", "Eve")
    old, new = fact("f1", ada, bob, valid_ms=NOW - 9), fact("f2", ada, bob)
    tied, back = fact("f3", ada, eve), fact("f4", bob, ada)
    gone = fact("f0", ada, bob, valid_ms=NOW + 5, expired_ms=NOW + 6, expired_reason="superseded")
    await g.write(entities=(eve,), facts=(old, new, tied, back, gone))
    found = await g.store.candidates(g.id, CandidateQuery(sources=["n-ada"], pairs=[("n-ada", "n-bob")]))
    assert found.facts == (tied, new, old)
    few = CandidateQuery(sources=["n-ada"], pairs=[("n-ada", "n-bob")], facts_per_source=1, facts_per_pair=1)
    assert (await g.store.candidates(g.id, few)).facts == (tied, new)
    found = await g.store.candidates(g.id, CandidateQuery(pairs=[("n-bob", "n-ada"), ("n-eve", "n-bob")]))
    assert found.facts == (back,)
    found = await g.store.candidates(g.id, CandidateQuery(targets=["n-bob"], facts_per_target=1))
    assert found.facts == (new,)
    await g.write(facts=(replace(new, expired_ms=NOW + 7),))
    assert (await g.store.candidates(g.id, CandidateQuery(pairs=[("n-ada", "n-bob")]))).facts == (old,)


async def test_facts_that_ended_later_than_a_time_are_found_by_either_end(g: Scratch) -> None:
    """Among those of an end that expired last; what has no end, or an earlier one, is left out."""
    ada, bob = await g.pair()

    def over(uuid: str, invalid_ms: int | None, expired_ms: int = NOW + 6) -> Fact:
        reason = "superseded" if invalid_ms else "updated"
        return fact(uuid, ada, bob, invalid_ms=invalid_ms, expired_ms=expired_ms, expired_reason=reason)

    early, late, updated = over("f1", NOW + 1), over("f2", NOW + 3), over("f3", None)
    await g.write(facts=(early, late, updated))

    async def found(sources: Sequence[str] = (), targets: Sequence[str] = ()) -> tuple[Fact, ...]:
        query = CandidateQuery(sources=sources, targets=targets, held_at_ms=NOW + 1)
        return (await g.store.candidates(g.id, query)).facts

    assert await found(["n-ada"]) == await found(targets=["n-bob"]) == (late,)
    assert await found(["n-bob"], ["n-ada"]) == ()
    more = tuple(over(f"g{n:02}", NOW + 9, NOW + 7) for n in range(EXPIRED_READ))
    await g.write(facts=more)
    assert late not in await found(["n-ada"])


async def test_facts_of_found_entities_come_with_them(g: Scratch) -> None:
    """told_per_token: of each token the first entities count as sources and targets too."""
    ada, bob = await g.pair()
    other = g.entity("n-zoe", "Ada")
    await g.write(entities=(other,), names={"ada z": "n-zoe"})
    first, second, third = fact("f1", ada, bob), fact("f2", other, bob), fact("f3", bob, ada)
    await g.write(facts=(first, second, third))
    query = CandidateQuery(tokens=name_tokens("Ada"), told_per_token=1)
    assert (await g.store.candidates(g.id, query)).facts == (third, first)
    query = replace(query, told_per_token=9)
    assert (await g.store.candidates(g.id, query)).facts == (third, second, first)


async def test_entities_are_found_by_uuid(g: Scratch) -> None:
    """As those found by a token, each once; what is not there is passed over."""
    ada, bob = await g.pair()
    (token,) = name_tokens("Ada")
    found = await g.store.candidates(g.id, CandidateQuery(tokens=[token], uuids=["n-bob", "n-ada", "no"]))
    assert dict(found.by_token) == {token: ("n-ada",)}
    assert dict(found.entities) == {"n-ada": ada, "n-bob": bob}
    assert set(found.names) == {"n-ada", "n-bob"}


async def test_facts_come_with_the_types_of_their_targets(g: Scratch) -> None:
    """Whether found by source or by pair."""
    ada, acme = g.entity("n1", "Ada"), g.entity("n2", "Acme", labels=("Body", "Place"))
    await g.write(entities=(ada, acme), facts=(fact("f1", ada, acme), fact("f2", acme, ada)))
    found = await g.store.candidates(g.id, CandidateQuery(sources=["n1"]))
    assert dict(found.labels) == {"n2": ("Body", "Place")}
    found = await g.store.candidates(g.id, CandidateQuery(pairs=[("n2", "n1")]))
    assert dict(found.labels) == {"n1": ada.labels}


async def test_vectors_of_names_are_followed(g: Scratch) -> None:
    """By revision and uuid, a page at a time, each again when it is written again; of one space."""
    entities = [g.entity(f"n{n}", f"Name {n}") for n in range(3)]
    first = {"n2": b"2222", "n0": b"0000"}
    await g.write(entities=entities, vectors=first, space="s")
    await g.write(vectors={"n1": b"1111"}, space="s")
    await g.write(entities=(g.entity("n9", "Name 9"),), vectors={"n9": b"9"}, space="z")
    pages = [await _vectors(g, VectorsAfter("s", limit=2))]
    while pages[-1].more:
        last = pages[-1]
        pages.append(await _vectors(g, VectorsAfter("s", last.epoch, last.place, 2)))
    assert [row for page in pages for row in page.rows] == [("n0", b"0000"), ("n2", b"2222"), ("n1", b"1111")]
    last = pages[-1]
    assert (await _vectors(g, VectorsAfter("s", last.epoch, last.place))).rows == ()
    await g.write(vectors={"n0": b"AAAA"}, space="s")
    assert (await _vectors(g, VectorsAfter("s", last.epoch, last.place))).rows == (("n0", b"AAAA"),)
    await g.write(remove_entities=("n0",))
    assert [uuid for uuid, _vector in (await _vectors(g, VectorsAfter("s"))).rows] == ["n2", "n1"]


async def test_vectors_of_a_deleted_group_are_gone(g: Scratch) -> None:
    """A place of an older epoch is the beginning of the new one."""
    ada = g.entity("n1", "Ada")
    await g.write(entities=(ada,), vectors={"n1": b"1111"}, space="s")
    old = await _vectors(g, VectorsAfter("s"))
    await g.store.delete_group(g.id, NOW + 9)
    page = await _vectors(g, VectorsAfter("s", old.epoch, old.place))
    assert (page.rows, page.epoch > old.epoch) == ((), True)
    await g.write(entities=(ada,), vectors={"n1": b"2222"}, space="s")
    assert (await _vectors(g, VectorsAfter("s", old.epoch, (10**9, "n9")))).rows == (("n1", b"2222"),)
    nobody = await g.store.candidates(g.sibling().id, CandidateQuery(vectors=VectorsAfter("s")))
    assert nobody.vectors is None or nobody.vectors.rows == ()


async def _vectors(g: Scratch, after: VectorsAfter) -> VectorPage:
    found = await g.store.candidates(g.id, CandidateQuery(vectors=after))
    return present(found.vectors)


async def test_previous_episodes_are_the_latest_before(g: Scratch) -> None:
    """The latest `limit` before the anchor by (reference_ms, uuid), oldest first, whole episodes."""
    made = [g.episode(f"e{n}", at=10 * n, name=f"n{n}", role="Ada") for n in range(6)]
    await g.accepted(*reversed(made))
    assert await _previous(g, Anchor("e4", NOW + 40), limit=3) == made[1:4]
    assert await _previous(g, Anchor("e1", NOW + 10), limit=3) == made[:1]
    assert await _previous(g, Anchor("e0", NOW), limit=3) == []


async def test_ties_are_broken_by_uuid(g: Scratch) -> None:
    """At one reference time those with a smaller uuid come before, the anchor itself never."""
    made = [g.episode(uuid) for uuid in ("A", "a", "b", "c")]
    await g.accepted(*reversed(made))
    assert [e.uuid for e in await _previous(g, Anchor("b", NOW), limit=9)] == ["A", "a"]
    assert [e.uuid for e in await _previous(g, Anchor("bb", NOW), limit=2)] == ["a", "b"]


async def test_every_source_counts(g: Scratch) -> None:
    """Episodes of all sources are context, by time alone; those of another group are none."""
    await g.accepted(g.episode("t", at=1), g.episode("m", at=2, source=Source.MESSAGE))
    await g.accepted(g.episode("j", at=3, source=Source.JSON))
    await g.accepted(g.sibling().episode("other", at=4))
    for limit, wanted in ((9, ["t", "m", "j"]), (2, ["m", "j"])):
        assert [e.uuid for e in await _previous(g, Anchor("x", NOW + 9), limit=limit)] == wanted


async def test_relations_in_use_are_the_most_frequent(g: Scratch) -> None:
    """Of the latest facts, by how many have a name, then by name."""
    ada, bob = await g.pair()
    names = ("OWNS", "KNOWS", "USES", "USES", "KNOWS")
    for number, name in enumerate(names, 1):
        await g.write(facts=(fact(f"f{number}", ada, bob, name=name),))
    most = ["KNOWS", "USES", "OWNS"]
    for latest, limit, wanted in ((99, 9, most), (3, 9, ["USES", "KNOWS"]), (99, 1, most[:1])):
        assert await g.store.relations(g.id, latest, limit) == wanted
    assert await g.store.relations(g.sibling().id, 9, 9) == []


async def test_several_anchors_are_answered_each(g: Scratch) -> None:
    """One call answers for each anchor by its own place and source."""
    await g.accepted(*g.episodes(4, step=1))
    anchors = [Anchor(f"e{n}", NOW + n) for n in (3, 1, 0)]
    found = await g.store.previous_episodes(g.id, anchors, 2, 100)
    shown = {uuid: [e.uuid for e in before] for uuid, before in found.items()}
    assert shown == {"e3": ["e1", "e2"], "e1": ["e0"], "e0": []}
    assert await g.store.previous_episodes(g.id, [], 2, 100) == {}


async def test_bodies_are_cut_by_characters(g: Scratch) -> None:
    """Bodies are cut to max_chars code points, shorter ones are whole."""
    await g.accepted(g.episode("e1", body="😀é𝒳漢" * 50), g.episode("e2", body="ab"))
    found = await g.store.previous_episodes(g.id, [Anchor("e9", NOW)], 5, 6)
    assert [e.body for e in found["e9"]] == ["😀é𝒳漢😀é", "ab"]


async def test_named_episodes_are_the_context_instead(g: Scratch) -> None:
    """An item's `previous` comes back with it; an anchor that names episodes gets those there are, oldest
    first, of any source and time, never itself or another group's; beside it others get the latest."""
    made = [g.episode(f"e{n}", at=n, body=f"{n}" * 9) for n in range(4)]
    await g.accepted(*made, g.episode("m", at=9, source=Source.MESSAGE))
    await g.accepted(g.sibling().episode("other"))
    named = ("m", "other", "x", "e1", "nobody")
    last = g.episode("x", at=3)
    await g.answer(replace(batch(last), items=(NewItem(last, named, "req-1", trace="00-1-2-01"),)))
    lease = await g.leased()
    due = await g.due(lease)
    queued = {i.episode.uuid: i.previous for i in due}
    assert {(i.request_id, i.trace) for i in due} == {("", ""), ("req-1", "00-1-2-01")}
    assert (queued["x"], queued["m"]) == (named, ())
    anchors = [Anchor("x", NOW + 3, named), Anchor("e2", NOW + 2)]
    found = await g.store.previous_episodes(g.id, anchors, 1, 4)
    shown = {uuid: [(e.uuid, e.body) for e in before] for uuid, before in found.items()}
    assert shown == {"x": [("e1", "1111"), ("m", "body")], "e2": [("e1", "1111")]}
    (alone,) = (await g.store.previous_episodes(g.id, anchors[:1], 1, 4)).values()
    assert [e.uuid for e in alone] == ["e1", "m"]


async def test_recent_episodes_are_the_latest(g: Scratch) -> None:
    """The latest `limit` by (reference_ms, uuid), oldest first, parked ones too, deleted ones not."""
    made = [g.episode(uuid, at=at) for uuid, at in (("z", -9), ("A", 0), ("a", 0), ("b", 5), ("c", 6))]
    await g.parked(made[3])
    await g.accepted(made[4], made[2], made[0], made[1])
    assert await g.store.recent_episodes(g.id, 99) == made
    assert await g.store.recent_episodes(g.id, 3) == made[2:]
    await g.write(remove_episodes=("b",))
    assert await g.store.recent_episodes(g.id, 2) == [made[2], made[4]]
    assert await g.store.recent_episodes(g.sibling(3).id, 9) == []


async def test_recent_episodes_are_cut(g: Scratch) -> None:
    """`upto` counts the latest back from a key, `after` leaves out those up to a key; keys may be gone."""
    made = [g.episode(f"e{n}", at=10 * (n // 2)) for n in range(8)]
    await g.accepted(*reversed(made))
    cuts: list[tuple[int, EpisodeCut, list[int]]] = [
        (3, EpisodeCut(upto=(NOW + 20, "e5")), [3, 4, 5]),
        (3, EpisodeCut(upto=(NOW + 20, "e4x")), [2, 3, 4]),
        (9, EpisodeCut(upto=(NOW, "e0")), [0]),
        (9, EpisodeCut(upto=(NOW - 1, "z")), []),
        (4, EpisodeCut(after=(NOW + 20, "e5")), [6, 7]),
        (1, EpisodeCut(after=(NOW + 20, "e5")), [7]),
        (4, EpisodeCut(after=(NOW, "e1")), [4, 5, 6, 7]),
        (4, EpisodeCut(upto=(NOW + 20, "e5"), after=(NOW + 10, "e2x")), [3, 4, 5]),
        (4, EpisodeCut(after=(NOW + 99, "")), []),
    ]
    for limit, cut, wanted in cuts:
        assert await g.store.recent_episodes(g.id, limit, cut) == [made[n] for n in wanted]


async def test_recent_episodes_stop_at_bytes(g: Scratch) -> None:
    """Reading stops after the episode with which the bodies exceed max_bytes; one comes at least."""
    made = g.episodes(6, step=1, body="x" * 1_000)
    await g.accepted(*made)
    for max_bytes, count in ((10**6, 5), (2_500, 3), (1_500, 2), (1, 1)):
        assert await g.store.recent_episodes(g.id, 5, EpisodeCut(max_bytes=max_bytes)) == made[1 : 1 + count]
    cut = EpisodeCut(after=(NOW + 2, "e2"), max_bytes=1_500)
    assert await g.store.recent_episodes(g.id, 5, cut) == made[3:5]


async def test_names_find_owners_of_keys(g: Scratch) -> None:
    """Entities by the name keys they own, aliases too, with the group's head; unknown keys are absent."""
    ada, bob = g.entity("n1", "Ada Lovelace"), g.entity("n2", "Bob")
    keys = {"ada lovelace": "n1", "ada": "n1", "bob": "n2"}
    await g.write(entities=(ada, bob), names=keys, system_ms=NOW + 3)
    view = await g.store.names(g.id, ["ada", "ada lovelace", "bob", "nobody"])
    assert dict(view.by_key) == {"ada": ada, "ada lovelace": ada, "bob": bob}
    assert view.head == await g.head()
    assert view.head.last_ms == NOW + 3
    assert dict((await g.store.names(g.id, [])).by_key) == {}
    assert dict((await g.store.names(g.sibling().id, ["ada"])).by_key) == {}
    await g.accepted(g.sibling().episode("e1"))
    assert (await g.store.names(g.sibling().id, ["ada"], ["n1"])).by_uuid == {}


async def test_names_find_uuids(g: Scratch) -> None:
    """Entities by uuid where asked, and only those."""
    ada, bob = await g.pair()
    view = await g.store.names(g.id, ["bob"], [ada.uuid, "nobody"])
    assert dict(view.by_uuid) == {ada.uuid: ada}
    assert dict(view.by_key) == {"bob": bob}


async def test_slots_show_everything_of_a_key(g: Scratch) -> None:
    """All facts of the asked conflict keys, open and expired, and their tombstones; of no other key."""
    ada, bob = await g.pair()
    opened = fact("f1", ada, bob)
    closed = fact("f2", ada, bob, expired_ms=NOW, invalid_ms=NOW, expired_reason="superseded")
    gone = fact("f3", ada, bob)
    elsewhere = fact("f4", bob, ada)
    await g.write(facts=(opened, closed, gone, elsewhere))
    await g.write(remove_facts=(tombstone(gone),))
    view = await g.store.slots(g.id, [opened.slot])
    assert sorted(view.facts, key=lambda f: f.uuid) == [opened, closed]
    assert list(view.tombstones) == [tombstone(gone)]
    both = await g.store.slots(g.id, [opened.slot, elsewhere.slot, "none"])
    assert sorted(f.uuid for f in both.facts) == ["f1", "f2", "f4"]
    empty = await g.store.slots(g.id, [])
    assert (tuple(empty.facts), tuple(empty.tombstones)) == ((), ())
    other = await g.store.slots(g.sibling().id, [opened.slot])
    assert (tuple(other.facts), tuple(other.tombstones)) == ((), ())


async def test_objects_are_found_by_uuid(g: Scratch) -> None:
    """By uuid in the group or, for None, in every group; nothing for an unknown uuid."""
    other, same = g.sibling().id, f"same-{g.id}"
    for each in (g.sibling(3), g.sibling(), g):
        await each.accepted(each.episode(same))
        ada = each.entity(same, f"Ada of {each.id[-1]}")
        await each.write(entities=(ada,), facts=(fact(same, ada, ada),))
    lookups: tuple[Callable[[str, str | None], Awaitable[Sequence[Entity | Fact | Episode]]], ...] = (
        g.store.entity, g.store.fact, g.store.episode,
    )  # fmt: skip
    for lookup in lookups:
        assert [x.group_id for x in await lookup(same, other)] == [other]
        assert [x.group_id for x in await lookup(same, None)] == [g.id, other, g.sibling(3).id]
        assert await lookup("nobody", g.id) == []
        assert await lookup(same, f"{g.id}-4") == []


async def test_unknown_groups_read_as_empty(g: Scratch) -> None:
    """A group that was never written to: no head, zeros in views, empty dump and changes."""
    unknown = f"{g.id}-never-written"
    assert await g.store.heads([unknown]) == {}
    zero = GroupHead(unknown)
    assert (await g.store.names(unknown, ["ada"])).head == zero
    assert (await g.store.dump(unknown)).head == zero
    assert await g.store.changes(unknown, 0, 10) == Changes(zero, (), (), 0)


async def _previous(g: Scratch, anchor: Anchor, limit: int) -> list[Episode]:
    found = await g.store.previous_episodes(g.id, [anchor], limit, 10_000)
    assert list(found) == [anchor.uuid]
    return list(found[anchor.uuid])
