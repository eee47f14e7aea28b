"""HistoryStore: one thing with what hangs on it."""

from dataclasses import replace

from kgsvc.domain.model.delta import MergeRecord
from kgsvc.domain.model.graph import Citation, Closure, Entity, Source
from kgsvc.domain.names.forgetting import Saying
from kgsvc.domain.resolution.decisions import CandidateQuery
from kgsvc.stores.protocol import LATEST, EntityEpisodes, EpisodeTraces, MergesWhere
from tests.support.samples import MANY, NOW, Scratch, fact, tombstone


async def test_facts_come_by_uuid(g: Scratch) -> None:
    """Only those asked for, each once, whatever state they are in; none of another group."""
    ada, bob = await g.pair()
    made = [fact("f1", ada, bob), fact("f2", ada, bob, expired_ms=NOW), fact("f3", ada, bob)]
    await g.write(facts=tuple(made))
    assert await g.store.facts(g.id, ["f2", "nobody", "f1", "f1"]) == made[:2]
    assert await g.store.facts(g.sibling().id, ["f1"]) == []


async def test_citations_leave_out_what_is_gone(g: Scratch) -> None:
    """Name, source, description and time of acceptance; deleted and unknown episodes are absent."""
    named = g.episode("e1", name="a chat", source=Source.MESSAGE, source_description="by hand")
    bare = g.episode("e2", created_ms=NOW + 7)
    await g.accepted(named, bare, g.episode("e3"))
    await g.write(remove_episodes=("e3",))
    wanted = {
        "e1": Citation("e1", "a chat", Source.MESSAGE, "by hand", NOW),
        "e2": Citation("e2", None, Source.TEXT, None, NOW + 7),
    }
    assert await g.store.citations(g.id, ["e2", "e1", "e3", "e4"]) == wanted
    assert await g.store.citations(g.sibling().id, ["e1"]) == {}


async def test_episode_edges_name_facts_that_are_there(g: Scratch) -> None:
    """Sorted, without facts that were removed; episodes that tell nothing are absent."""
    ada, bob = await g.pair()
    await g.accepted(*g.episodes(3))
    made = [fact(f"f{n}", ada, bob) for n in range(3)]
    told = {"e0": ("f2", "f0"), "e1": ("f1",)}
    await g.write(facts=tuple(made), episode_edges=told)
    await g.write(remove_facts=(tombstone(made[1]),))
    assert await g.store.episode_edges(g.id, ["e0", "e1", "e2", "e9"]) == {"e0": ("f0", "f2")}


async def test_facts_of_an_entity_begin_with_the_latest(g: Scratch) -> None:
    """At either end, a loop once, by start and uuid; current ones alone where a time is given."""
    ada, bob = await g.pair()
    eve = g.entity("n-eve", "Eve")
    made = [
        fact("f1", ada, bob, valid_ms=NOW - 5),
        fact("f2", bob, ada, reference_ms=NOW - 9),
        fact("f3", ada, ada, reference_ms=NOW - 9),
        fact("f4", ada, bob, valid_ms=NOW + 5),
        fact("f5", ada, bob, valid_ms=NOW - 7, invalid_ms=NOW),
        fact("f6", ada, bob, reference_ms=NOW - 6, expired_ms=NOW),
        fact("f7", bob, eve),
    ]
    await g.write(entities=(eve,), facts=tuple(made))

    async def found(limit: int, current_ms: int | None) -> list[str]:
        return [f.uuid for f in await g.store.entity_facts(g.id, ada.uuid, limit, current_ms)]

    assert await found(99, None) == ["f4", "f1", "f6", "f5", "f3", "f2"]
    assert await found(2, None) == ["f4", "f1"]
    assert await found(99, NOW) == ["f1", "f3", "f2"]
    assert await g.store.entity_facts(g.id, ada.uuid, 1) == [made[3]]

    async def between(one: str, other: str, current_ms: int | None = None) -> list[str]:
        return [f.uuid for f in await g.store.entity_facts(g.id, one, 99, current_ms, other)]

    assert await between(ada.uuid, bob.uuid) == ["f4", "f1", "f6", "f5", "f2"]
    assert await between(bob.uuid, ada.uuid, NOW) == ["f1", "f2"]
    assert await between(ada.uuid, ada.uuid) == ["f3"]
    assert await between(ada.uuid, eve.uuid) == []
    assert await g.store.entity_facts(g.id, "nobody", 9) == []


async def test_episodes_of_an_entity_end_with_the_latest(g: Scratch) -> None:
    """The first of all is named; the latest come oldest first, within the limit and the bytes."""
    ada, bob = await g.pair()
    made = g.episodes(5, step=1, body="é" * 50)
    await g.accepted(*made, g.episode("other", at=9))
    spoken = [g.mention(e.uuid, ada.uuid) for e in made]
    await g.write(mentions=(*spoken, g.mention("other", bob.uuid)))

    async def found(limit: int, max_bytes: int) -> EntityEpisodes:
        return await g.store.entity_episodes(g.id, ada.uuid, limit, max_bytes)

    assert await found(99, MANY) == EntityEpisodes("e0", tuple(made))
    assert await found(2, MANY) == EntityEpisodes("e0", tuple(made[3:]))
    assert await found(99, 150) == EntityEpisodes("e0", tuple(made[3:]))
    assert await found(99, 0) == EntityEpisodes("e0", tuple(made[4:]))
    await g.write(remove_episodes=("e0", "e4"))
    assert await found(99, MANY) == EntityEpisodes("e1", tuple(made[1:4]))
    assert await g.store.entity_episodes(g.id, "nobody", 9, MANY) == EntityEpisodes(None, ())


async def test_names_of_an_entity_come_sorted(g: Scratch) -> None:
    """Names and aliases, those of nobody else."""
    ada, _bob = await g.pair()
    await g.write(names={"countess": ada.uuid, "ada lovelace": ada.uuid})
    found = await g.store.entity_names(g.id, ada.uuid, 9)
    assert found == ["ada", "ada lovelace", "countess"]
    assert await g.store.entity_names(g.id, ada.uuid, 2) == found[:2]
    assert await g.store.entity_names(g.id, "nobody", 9) == []


async def test_traces_lead_to_slots_and_entities(g: Scratch) -> None:
    """Slots of the facts an episode tells, of those removed since, and of those it closed; what it names."""
    ada, bob = await g.pair()
    await g.accepted(g.episode("e1"), g.episode("e2"))
    closed = (Closure(NOW, NOW, "f1", "e1"), Closure(NOW, NOW, "f9", "e8"))
    made = [
        fact("f1", ada, bob),
        fact("f2", ada, bob, name="LIKES"),
        fact("f3", ada, bob, name="HATES", closures=closed),
        fact("f4", ada, bob, name="MET", expired_by_episode="e1"),
    ]
    told = {"e1": ("f1", "f2")}
    await g.write(facts=tuple(made), episode_edges=told, mentions=(g.mention("e1", bob.uuid),))
    await g.write(remove_facts=(tombstone(made[1]),))
    wanted = EpisodeTraces(tuple(sorted(f.slot for f in made[:3])), (bob,))
    assert await g.store.traces(g.id, "e1") == wanted
    assert await g.store.traces(g.id, "e2") == EpisodeTraces((), ())
    assert await g.store.traces(g.id, "e8") == EpisodeTraces((made[2].slot,), ())
    await g.write(facts=(replace(made[2], closures=()),))
    assert set((await g.store.traces(g.id, "e8")).slots) <= {made[2].slot}


async def test_entities_are_held_by_others(g: Scratch) -> None:
    """By a fact at either end or a mention, except those named."""
    ada, bob = await g.pair()
    more = [g.entity(f"n-{n}", f"Name {n}") for n in range(3)]
    await g.accepted(g.episode("e1"), g.episode("e2"))
    facts = (fact("f1", ada, bob), fact("f2", bob, more[0]))
    spoken = [("e1", ada), ("e1", more[1]), ("e2", more[1]), ("e1", more[2])]
    mentions = tuple(g.mention(uuid, named.uuid) for uuid, named in spoken)
    await g.write(entities=tuple(more), facts=facts, mentions=mentions)
    every = [ada.uuid, bob.uuid, *(e.uuid for e in more), "nobody"]
    assert await g.store.unheld(g.id, every, "e1", ["f1"]) == {ada.uuid, more[2].uuid}
    assert await g.store.unheld(g.id, every, "e1", []) == {more[2].uuid}
    assert await g.store.unheld(g.id, [more[0].uuid], "e1", ["f2"]) == {more[0].uuid}


async def test_removed_entities_leave_nothing(g: Scratch) -> None:
    """With names, mentions and vector; their names are free for others, their uuid too."""
    ada, bob = await g.pair()
    await g.accepted(g.episode("e1"))
    spoken = g.mention("e1", ada.uuid)
    made = fact("f1", ada, bob)
    await g.write(facts=(made,), mentions=(spoken,), names={"countess": ada.uuid})
    await g.write(remove_facts=(tombstone(made),), remove_entities=(ada.uuid, "nobody"))
    dump = await g.store.dump(g.id)
    assert (dump.entities, dump.names, dump.mentions) == ((bob,), {"bob": bob.uuid}, ())
    assert await g.store.entity(ada.uuid, g.id) == []
    await g.write(entities=(ada,), names={"ada": ada.uuid, "countess": bob.uuid})
    assert (await g.store.dump(g.id)).names == {"ada": ada.uuid, "bob": bob.uuid, "countess": bob.uuid}
    assert (await g.store.entity_episodes(g.id, ada.uuid, 9, MANY)).first_uuid is None


async def test_merges_are_found_by_either_name(g: Scratch) -> None:
    """By merge_id, and the latest by the uuid that went; taken back they are gone, with DeleteGroup too."""
    ada, _bob = await g.pair()
    first = MergeRecord("m1", g.id, "n-x", ada.uuid, NOW, '{"é": 1}')
    later = MergeRecord("m2", g.id, "n-x", "n-bob", NOW + 1, "{}")
    await g.write(merges=(first, later))
    assert await g.store.merges(g.id, MergesWhere("m1")) == [first]
    assert await g.store.merged("n-x", g.id) == [later]
    assert await g.store.merged(ada.uuid, g.id) == []
    await g.write(remove_merges=("m2", "m9"))
    assert await g.store.merged("n-x", None) == [first]
    assert await g.store.merges(g.id, MergesWhere("m2")) == []
    await g.store.delete_group(g.id, NOW + 9)
    assert await g.store.merges(g.id, MergesWhere("m1")) == await g.store.merged("n-x", None) == []


async def test_merges_are_listed_the_latest_first(g: Scratch) -> None:
    """Of the group or of an entity on either side; in pages by number and by size; without those undone."""
    ada, bob = await g.pair()
    made = [(5, "b"), (5, "a"), (7, "c"), (3, "d")]
    sides = {"a": ("x", ada.uuid), "b": ("y", bob.uuid), "c": (ada.uuid, bob.uuid), "d": ("z", "w")}
    records = {
        name: MergeRecord(name, g.id, *sides[name], NOW + at, f'{{"é": {at}}}', "e1") for at, name in made
    }
    await g.write(merges=tuple(records.values()))

    async def listed(uuid: str | None = None, limit: int = 9, size: int = MANY, behind: str = "") -> str:
        key = (records[behind].created_ms, behind) if behind else LATEST
        where = MergesWhere(entity_uuid=uuid, limit=limit, max_bytes=size, behind=key)
        found = await g.store.merges(g.id, where)
        assert all(record == records[record.merge_id] for record in found)
        return "".join(record.merge_id for record in found)

    assert await listed() == "cabd"
    assert (await listed(limit=2), await listed(limit=2, behind="a")) == ("ca", "bd")
    assert (await listed(size=0), await listed(size=10)) == ("c", "ca")
    assert (await listed(ada.uuid), await listed("z"), await listed("nobody")) == ("ca", "d", "")
    assert (await listed(bob.uuid, limit=1), await listed(bob.uuid, behind="c")) == ("c", "b")
    assert await g.store.merges(g.sibling().id, MergesWhere()) == []
    assert await g.store.merges(g.id, MergesWhere(text='"é": 5')) == [records["a"], records["b"]]
    await g.write(remove_merges=("a",))
    assert (await listed(), await listed(ada.uuid)) == ("cbd", "c")
    await g.store.delete_group(g.id, NOW + 9)
    assert await listed() == ""


async def test_merges_are_found_by_the_episode_that_told_them(g: Scratch) -> None:
    """The latest first; those of callers by none."""
    ada, _bob = await g.pair()
    told = [MergeRecord(f"m{n}", g.id, f"n-{n}", ada.uuid, NOW + n, "{}", "e1") for n in (2, 3, 1)]
    by_caller = MergeRecord("m4", g.id, "n-4", ada.uuid, NOW + 4, "{}")
    await g.write(merges=(*told, by_caller))
    of_e1 = MergesWhere(by_episode="e1")
    assert await g.store.merges(g.id, of_e1) == [told[1], told[0], told[2]]
    assert await g.store.merges(g.id, MergesWhere(by_episode="")) == []
    assert await g.store.merges(g.id, MergesWhere("m2")) == [told[0]]
    await g.write(remove_merges=("m3",))
    assert await g.store.merges(g.id, of_e1) == [told[0], told[2]]


async def test_mentions_can_be_removed_one_by_one(g: Scratch) -> None:
    """Those named, if they are there; the others of the episode and of the entity stay."""
    ada, bob = await g.pair()
    await g.accepted(g.episode("e1"), g.episode("e2"))
    spoken = [("e1", ada), ("e1", bob), ("e2", ada)]
    await g.write(mentions=tuple(g.mention(e, n.uuid) for e, n in spoken))
    assert await g.store.entity_mentions(g.id, ada.uuid, 9) == ["e1", "e2"]
    assert await g.store.entity_mentions(g.id, ada.uuid, 1) == ["e1"]
    assert await g.store.entity_mentions(g.id, ada.uuid, 9, ["e2", "e9"]) == ["e2"]
    await g.write(remove_mentions=(("e1", ada.uuid), ("e2", bob.uuid), ("e9", ada.uuid)))
    assert (await g.store.dump(g.id)).mentions == (("e1", bob.uuid), ("e2", ada.uuid))


async def test_mentions_have_fields_of_their_own(g: Scratch) -> None:
    """As they were written first; of the episodes asked for, with the one entity."""
    ada, bob = await g.pair()
    await g.accepted(*g.episodes(3))
    spoken = [g.mention("e0", ada.uuid), g.mention("e1", ada.uuid)]
    await g.write(mentions=(*spoken, g.mention("e2", bob.uuid)))
    again = replace(spoken[0], uuid="m-again", created_ms=NOW + 7)
    await g.write(mentions=(again,))
    assert await g.store.mentions(g.id, ada.uuid, ["e0", "e2", "e9"]) == {"e0": spoken[0]}
    assert await g.store.mentions(g.id, ada.uuid, []) == {}
    await g.write(remove_episodes=("e0",))
    assert await g.store.mentions(g.id, ada.uuid, ["e0", "e1"]) == {"e1": spoken[1]}


async def test_mentions_tell_names_and_types(g: Scratch) -> None:
    """Written again they tell what they are given then; `sayings` tells them beside those of others."""
    ada, bob = await g.pair()
    await g.accepted(*(g.episode(f"e{n}", at=9 - n) for n in range(4)))
    told = [
        replace(g.mention(uuid, ada.uuid), names=names, types=types)
        for uuid, names, types in (
            ("e0", ("Ada", "Åda"), ("Person",)),
            ("e1", ("Ada", "Countess"), ("Person", "Noble")),
            ("e2", ("Ada", "Countess"), ("Person", "Noble")),
        )
    ]
    await g.write(mentions=(*told, g.mention("e3", bob.uuid)))
    others = (("Ada", "Countess"), ("Noble", "Person"), True, (NOW + 7, "e2"))
    wanted = Saying(told[0].names, told[0].types, *others)
    assert await g.store.sayings(g.id, "e0") == {ada.uuid: wanted}
    assert await g.store.sayings(g.id, "e3") == {bob.uuid: Saying((), ())}
    assert await g.store.sayings(g.id, "e9") == {}
    again = replace(told[1], uuid="m-again", created_ms=NOW + 7, names=("Ada",), types=())
    await g.write(mentions=(again, g.mention("e2", ada.uuid)))
    found = await g.store.mentions(g.id, ada.uuid, ["e1"])
    assert found == {"e1": replace(told[1], names=("Ada",), types=())}
    wanted = replace(wanted, other_names=("Ada",), other_types=(), known=False)
    assert (await g.store.sayings(g.id, "e0")).get(ada.uuid) == wanted


async def test_names_can_be_removed_with_their_tokens(g: Scratch) -> None:
    """They lead nowhere, are found by nothing, and may be given to others."""
    ada, bob = await g.pair()
    await g.write(names={"countess": ada.uuid, "ada lovelace": ada.uuid})
    gone = {"remove_names": ("countess", "nobody"), "remove_name_tokens": (("countess", ada.uuid),)}
    await g.write(entities=(ada,), names={}, **gone)
    assert await g.store.entity_names(g.id, ada.uuid, 9) == ["ada", "ada lovelace"]
    found = await g.store.candidates(g.id, CandidateQuery(tokens={"countess", "ada", "lovelac"}))
    assert found.by_token == {"ada": (ada.uuid,), "lovelac": (ada.uuid,)}
    await g.write(entities=(bob,), names={"countess": bob.uuid})
    found = await g.store.candidates(g.id, CandidateQuery(tokens={"countess"}))
    assert found.by_token == {"countess": (bob.uuid,)}


async def test_names_may_leave_an_entity_that_goes(g: Scratch) -> None:
    """In the delta that removes it; facts move to the one that stays and are found there."""
    ada, bob = await g.pair()
    eve = g.entity("n-eve", "Eve")
    made = fact("f1", eve, bob)
    await g.write(entities=(eve,), facts=(made,), names={"eve": eve.uuid, "e": eve.uuid})
    moved = replace(made, source_uuid=ada.uuid, source_name=ada.name)
    await g.write(facts=(moved,), names={"eve": ada.uuid, "e": ada.uuid}, remove_entities=(eve.uuid,))
    assert await g.store.entity_names(g.id, ada.uuid, 9) == ["ada", "e", "eve"]
    assert await g.store.entity_facts(g.id, ada.uuid, 9) == [moved]


async def test_a_deleted_group_has_no_history(g: Scratch) -> None:
    """Every read is empty after delete_group, and of what is written anew finds only that."""
    ada, bob = await g.pair()
    await g.accepted(g.episode("e1"))
    made = fact("f1", ada, bob)
    spoken = g.mention("e1", ada.uuid)
    await g.write(facts=(made,), mentions=(spoken,), episode_edges={"e1": ("f1",)})
    await g.store.delete_group(g.id, NOW + 9)
    assert await _everything(g, ada) == ([], {}, {}, [], None, [])
    anew = replace(ada, name="Ada again")
    await g.write(entities=(anew,))
    assert await _everything(g, ada) == ([], {}, {}, [], None, ["ada again"])


async def _everything(g: Scratch, ada: Entity) -> tuple[object, ...]:
    return (
        await g.store.facts(g.id, ["f1"]),
        await g.store.citations(g.id, ["e1"]),
        await g.store.episode_edges(g.id, ["e1"]),
        await g.store.entity_facts(g.id, ada.uuid, 9),
        (await g.store.entity_episodes(g.id, ada.uuid, 9, MANY)).first_uuid,
        await g.store.entity_names(g.id, ada.uuid, 9),
    )
