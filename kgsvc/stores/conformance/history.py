"""HistoryStore: one thing with what hangs on it."""

from __future__ import annotations

from dataclasses import replace

from kgsvc.domain.model.delta import MergeRecord
from kgsvc.domain.model.graph import Citation, Closure, Entity, Source
from kgsvc.domain.names.forgetting import Saying
from kgsvc.domain.resolution.decisions import CandidateQuery
from kgsvc.stores.conformance.samples import (
    MANY,
    NOW,
    accepted,
    entity,
    episode,
    equal,
    expect,
    fact,
    mention,
    pair,
    tombstone,
    write,
)
from kgsvc.stores.protocol import EntityEpisodes, EpisodeTraces, Store


async def facts_come_by_uuid(store: Store, group_id: str) -> None:
    """Only those asked for, each once, whatever state they are in; none of another group."""
    ada, bob = await pair(store, group_id)
    made = [fact("f1", ada, bob), fact("f2", ada, bob, expired_ms=NOW), fact("f3", ada, bob)]
    await write(store, group_id, facts=tuple(made))
    equal(await store.facts(group_id, ["f2", "nobody", "f1", "f1"]), made[:2], "facts")
    equal(await store.facts(f"{group_id}-2", ["f1"]), [], "facts: of a group never written to")


async def citations_leave_out_what_is_gone(store: Store, group_id: str) -> None:
    """Name, source, description and time of acceptance; deleted and unknown episodes are absent."""
    named = episode(group_id, "e1", name="a chat", source=Source.MESSAGE, source_description="by hand")
    bare = episode(group_id, "e2", created_ms=NOW + 7)
    await accepted(store, named, bare, episode(group_id, "e3"))
    await write(store, group_id, remove_episodes=("e3",))
    wanted = {
        "e1": Citation("e1", "a chat", Source.MESSAGE, "by hand", NOW),
        "e2": Citation("e2", None, Source.TEXT, None, NOW + 7),
    }
    equal(await store.citations(group_id, ["e2", "e1", "e3", "e4"]), wanted, "citations")
    equal(await store.citations(f"{group_id}-2", ["e1"]), {}, "citations: of another group")


async def episode_edges_name_facts_that_are_there(store: Store, group_id: str) -> None:
    """Sorted, without facts that were removed; episodes that tell nothing are absent."""
    ada, bob = await pair(store, group_id)
    await accepted(store, *[episode(group_id, f"e{n}") for n in range(3)])
    made = [fact(f"f{n}", ada, bob) for n in range(3)]
    told = {"e0": ("f2", "f0"), "e1": ("f1",)}
    await write(store, group_id, facts=tuple(made), episode_edges=told)
    await write(store, group_id, remove_facts=(tombstone(made[1]),))
    found = await store.episode_edges(group_id, ["e0", "e1", "e2", "e9"])
    equal(found, {"e0": ("f0", "f2")}, "episode_edges")


async def facts_of_an_entity_begin_with_the_latest(store: Store, group_id: str) -> None:
    """At either end, a loop once, by start and uuid; current ones alone where a time is given."""
    ada, bob = await pair(store, group_id)
    eve = entity(group_id, "n-eve", "Eve")
    made = [
        fact("f1", ada, bob, valid_ms=NOW - 5),
        fact("f2", bob, ada, reference_ms=NOW - 9),
        fact("f3", ada, ada, reference_ms=NOW - 9),
        fact("f4", ada, bob, valid_ms=NOW + 5),
        fact("f5", ada, bob, valid_ms=NOW - 7, invalid_ms=NOW),
        fact("f6", ada, bob, reference_ms=NOW - 6, expired_ms=NOW),
        fact("f7", bob, eve),
    ]
    await write(store, group_id, entities=(eve,), facts=tuple(made))

    async def found(limit: int, current_ms: int | None) -> list[str]:
        return [f.uuid for f in await store.entity_facts(group_id, ada.uuid, limit, current_ms)]

    equal(await found(99, None), ["f4", "f1", "f6", "f5", "f3", "f2"], "entity_facts: all")
    equal(await found(2, None), ["f4", "f1"], "entity_facts: the latest two")
    equal(await found(99, NOW), ["f1", "f3", "f2"], "entity_facts: those that are current")
    equal(await store.entity_facts(group_id, ada.uuid, 1), [made[3]], "entity_facts: whole")
    equal(await store.entity_facts(group_id, "nobody", 9), [], "entity_facts: of nobody")


async def episodes_of_an_entity_end_with_the_latest(store: Store, group_id: str) -> None:
    """The first of all is named; the latest come oldest first, within the limit and the bytes."""
    ada, bob = await pair(store, group_id)
    made = [episode(group_id, f"e{n}", at=n, body="é" * 50) for n in range(5)]
    await accepted(store, *made, episode(group_id, "other", at=9))
    spoken = [mention(group_id, e.uuid, ada.uuid) for e in made]
    await write(store, group_id, mentions=(*spoken, mention(group_id, "other", bob.uuid)))

    async def found(limit: int, max_bytes: int) -> EntityEpisodes:
        return await store.entity_episodes(group_id, ada.uuid, limit, max_bytes)

    equal(await found(99, MANY), EntityEpisodes("e0", tuple(made)), "entity_episodes: all")
    equal(await found(2, MANY), EntityEpisodes("e0", tuple(made[3:])), "entity_episodes: the latest two")
    equal(await found(99, 150), EntityEpisodes("e0", tuple(made[3:])), "entity_episodes: about 150 bytes")
    equal(await found(99, 0), EntityEpisodes("e0", tuple(made[4:])), "entity_episodes: one at least")
    await write(store, group_id, remove_episodes=("e0", "e4"))
    equal(await found(99, MANY), EntityEpisodes("e1", tuple(made[1:4])), "entity_episodes: without deleted")
    nobody = await store.entity_episodes(group_id, "nobody", 9, MANY)
    equal(nobody, EntityEpisodes(None, ()), "entity_episodes: of nobody")


async def names_of_an_entity_come_sorted(store: Store, group_id: str) -> None:
    """Names and aliases, those of nobody else."""
    ada, _bob = await pair(store, group_id)
    await write(store, group_id, names={"countess": ada.uuid, "ada lovelace": ada.uuid})
    found = await store.entity_names(group_id, ada.uuid, 9)
    equal(found, ["ada", "ada lovelace", "countess"], "entity_names")
    equal(await store.entity_names(group_id, ada.uuid, 2), found[:2], "entity_names: the first two")
    equal(await store.entity_names(group_id, "nobody", 9), [], "entity_names: of nobody")


async def traces_lead_to_slots_and_entities(store: Store, group_id: str) -> None:
    """Slots of the facts an episode tells, of those removed since, and of those it closed; what it names."""
    ada, bob = await pair(store, group_id)
    await accepted(store, episode(group_id, "e1"), episode(group_id, "e2"))
    closed = (Closure(NOW, NOW, "f1", "e1"), Closure(NOW, NOW, "f9", "e8"))
    made = [
        fact("f1", ada, bob),
        fact("f2", ada, bob, name="LIKES"),
        fact("f3", ada, bob, name="HATES", closures=closed),
        fact("f4", ada, bob, name="MET", expired_by_episode="e1"),
    ]
    told = {"e1": ("f1", "f2")}
    await write(
        store, group_id, facts=tuple(made), episode_edges=told, mentions=(mention(group_id, "e1", bob.uuid),)
    )
    await write(store, group_id, remove_facts=(tombstone(made[1]),))
    wanted = EpisodeTraces(tuple(sorted(f.slot for f in made[:3])), (bob,))
    equal(await store.traces(group_id, "e1"), wanted, "traces")
    equal(await store.traces(group_id, "e2"), EpisodeTraces((), ()), "traces: of an episode without")
    by_other = await store.traces(group_id, "e8")
    equal(by_other, EpisodeTraces((made[2].slot,), ()), "traces: of a closure by an episode that is gone")
    await write(store, group_id, facts=(replace(made[2], closures=()),))
    found = await store.traces(group_id, "e8")
    expect(set(found.slots) <= {made[2].slot}, "traces: a closure taken back may cost a look, no more")


async def entities_are_held_by_others(store: Store, group_id: str) -> None:
    """By a fact at either end or a mention, except those named."""
    ada, bob = await pair(store, group_id)
    more = [entity(group_id, f"n-{n}", f"Name {n}") for n in range(3)]
    await accepted(store, episode(group_id, "e1"), episode(group_id, "e2"))
    facts = (fact("f1", ada, bob), fact("f2", bob, more[0]))
    spoken = [("e1", ada), ("e1", more[1]), ("e2", more[1]), ("e1", more[2])]
    mentions = tuple(mention(group_id, uuid, named.uuid) for uuid, named in spoken)
    await write(store, group_id, entities=tuple(more), facts=facts, mentions=mentions)
    every = [ada.uuid, bob.uuid, *(e.uuid for e in more), "nobody"]
    found = await store.unheld(group_id, every, "e1", ["f1"])
    equal(found, {ada.uuid, more[2].uuid}, "unheld: but for e1 and f1")
    equal(await store.unheld(group_id, every, "e1", []), {more[2].uuid}, "unheld: but for e1")
    found = await store.unheld(group_id, [more[0].uuid], "e1", ["f2"])
    equal(found, {more[0].uuid}, "unheld: of those asked for alone")


async def removed_entities_leave_nothing(store: Store, group_id: str) -> None:
    """With names, mentions and vector; their names are free for others, their uuid too."""
    ada, bob = await pair(store, group_id)
    await accepted(store, episode(group_id, "e1"))
    spoken = mention(group_id, "e1", ada.uuid)
    made = fact("f1", ada, bob)
    await write(store, group_id, facts=(made,), mentions=(spoken,), names={"countess": ada.uuid})
    await write(store, group_id, remove_facts=(tombstone(made),), remove_entities=(ada.uuid, "nobody"))
    dump = await store.dump(group_id)
    equal((dump.entities, dump.names, dump.mentions), ((bob,), {"bob": bob.uuid}, ()), "dump: after removal")
    equal(await store.entity(ada.uuid, group_id), [], "entity: removed")
    await write(store, group_id, entities=(ada,), names={"ada": ada.uuid, "countess": bob.uuid})
    found = (await store.dump(group_id)).names
    equal(found, {"ada": ada.uuid, "bob": bob.uuid, "countess": bob.uuid}, "dump: names given anew")
    equal((await store.entity_episodes(group_id, ada.uuid, 9, MANY)).first_uuid, None, "a removed mention")


async def merges_are_found_by_either_name(store: Store, group_id: str) -> None:
    """By merge_id, and the latest by the uuid that went; taken back they are gone, with DeleteGroup too."""
    ada, _bob = await pair(store, group_id)
    first = MergeRecord("m1", group_id, "n-x", ada.uuid, NOW, '{"é": 1}')
    later = MergeRecord("m2", group_id, "n-x", "n-bob", NOW + 1, "{}")
    await write(store, group_id, merges=(first, later))
    equal(await store.merge(group_id, "m1"), first, "merge: by its id")
    equal(await store.merged("n-x", group_id), [later], "merged: the latest")
    equal(await store.merged(ada.uuid, group_id), [], "merged: of an entity that stayed")
    await write(store, group_id, remove_merges=("m2", "m9"))
    equal(await store.merged("n-x", None), [first], "merged: once the latest is taken back")
    equal(await store.merge(group_id, "m2"), None, "merge: taken back")
    await store.delete_group(group_id, NOW + 9)
    equal((await store.merge(group_id, "m1"), await store.merged("n-x", None)), (None, []), "merges: deleted")


async def merges_are_found_by_the_episode_that_told_them(store: Store, group_id: str) -> None:
    """The latest first; those of callers by none."""
    ada, _bob = await pair(store, group_id)
    told = [MergeRecord(f"m{n}", group_id, f"n-{n}", ada.uuid, NOW + n, "{}", "e1") for n in (2, 3, 1)]
    by_caller = MergeRecord("m4", group_id, "n-4", ada.uuid, NOW + 4, "{}")
    await write(store, group_id, merges=(*told, by_caller))
    equal(await store.merges_by(group_id, "e1"), [told[1], told[0], told[2]], "merges_by: an episode")
    equal(await store.merges_by(group_id, ""), [], "merges_by: of nobody")
    equal(await store.merge(group_id, "m2"), told[0], "merge: with the episode that told it")
    await write(store, group_id, remove_merges=("m3",))
    equal(await store.merges_by(group_id, "e1"), [told[0], told[2]], "merges_by: once one is taken back")


async def mentions_can_be_removed_one_by_one(store: Store, group_id: str) -> None:
    """Those named, if they are there; the others of the episode and of the entity stay."""
    ada, bob = await pair(store, group_id)
    await accepted(store, episode(group_id, "e1"), episode(group_id, "e2"))
    spoken = [("e1", ada), ("e1", bob), ("e2", ada)]
    await write(store, group_id, mentions=tuple(mention(group_id, e, n.uuid) for e, n in spoken))
    equal(await store.entity_mentions(group_id, ada.uuid, 9), ["e1", "e2"], "entity_mentions")
    equal(await store.entity_mentions(group_id, ada.uuid, 1), ["e1"], "entity_mentions: one")
    equal(await store.entity_mentions(group_id, ada.uuid, 9, ["e2", "e9"]), ["e2"], "entity_mentions: among")
    await write(store, group_id, remove_mentions=(("e1", ada.uuid), ("e2", bob.uuid), ("e9", ada.uuid)))
    left = (await store.dump(group_id)).mentions
    equal(left, (("e1", bob.uuid), ("e2", ada.uuid)), "dump: mentions left")


async def mentions_have_fields_of_their_own(store: Store, group_id: str) -> None:
    """As they were written first; of the episodes asked for, with the one entity."""
    ada, bob = await pair(store, group_id)
    await accepted(store, *(episode(group_id, f"e{n}") for n in range(3)))
    spoken = [mention(group_id, "e0", ada.uuid), mention(group_id, "e1", ada.uuid)]
    await write(store, group_id, mentions=(*spoken, mention(group_id, "e2", bob.uuid)))
    again = replace(spoken[0], uuid="m-again", created_ms=NOW + 7)
    await write(store, group_id, mentions=(again,))
    found = await store.mentions(group_id, ada.uuid, ["e0", "e2", "e9"])
    equal(found, {"e0": spoken[0]}, "mentions: of those asked for")
    equal(await store.mentions(group_id, ada.uuid, []), {}, "mentions: of none")
    await write(store, group_id, remove_episodes=("e0",))
    equal(await store.mentions(group_id, ada.uuid, ["e0", "e1"]), {"e1": spoken[1]}, "mentions: left")


async def mentions_tell_names_and_types(store: Store, group_id: str) -> None:
    """Written again they tell what they are given then; `sayings` tells them beside those of others."""
    ada, bob = await pair(store, group_id)
    await accepted(store, *(episode(group_id, f"e{n}", at=9 - n) for n in range(4)))
    told = [
        replace(mention(group_id, uuid, ada.uuid), names=names, types=types)
        for uuid, names, types in (
            ("e0", ("Ada", "Åda"), ("Person",)),
            ("e1", ("Ada", "Countess"), ("Person", "Noble")),
            ("e2", ("Ada", "Countess"), ("Person", "Noble")),
        )
    ]
    await write(store, group_id, mentions=(*told, mention(group_id, "e3", bob.uuid)))
    others = (("Ada", "Countess"), ("Noble", "Person"), True, (NOW + 7, "e2"))
    wanted = Saying(told[0].names, told[0].types, *others)
    equal(await store.sayings(group_id, "e0"), {ada.uuid: wanted}, "sayings")
    equal(await store.sayings(group_id, "e3"), {bob.uuid: Saying((), ())}, "sayings: alone")
    equal(await store.sayings(group_id, "e9"), {}, "sayings: of nobody")
    again = replace(told[1], uuid="m-again", created_ms=NOW + 7, names=("Ada",), types=())
    await write(store, group_id, mentions=(again, mention(group_id, "e2", ada.uuid)))
    found = await store.mentions(group_id, ada.uuid, ["e1"])
    equal(found, {"e1": replace(told[1], names=("Ada",), types=())}, "mentions: told anew")
    wanted = replace(wanted, other_names=("Ada",), other_types=(), known=False)
    equal((await store.sayings(group_id, "e0")).get(ada.uuid), wanted, "sayings: one does not tell")


async def names_can_be_removed_with_their_tokens(store: Store, group_id: str) -> None:
    """They lead nowhere, are found by nothing, and may be given to others."""
    ada, bob = await pair(store, group_id)
    await write(store, group_id, names={"countess": ada.uuid, "ada lovelace": ada.uuid})
    gone = {"remove_names": ("countess", "nobody"), "remove_name_tokens": (("countess", ada.uuid),)}
    await write(store, group_id, entities=(ada,), names={}, **gone)
    equal(await store.entity_names(group_id, ada.uuid, 9), ["ada", "ada lovelace"], "entity_names: left")
    found = await store.candidates(group_id, CandidateQuery(tokens={"countess", "ada", "lovelac"}))
    equal(found.by_token, {"ada": (ada.uuid,), "lovelac": (ada.uuid,)}, "candidates: by what is left")
    await write(store, group_id, entities=(bob,), names={"countess": bob.uuid})
    found = await store.candidates(group_id, CandidateQuery(tokens={"countess"}))
    equal(found.by_token, {"countess": (bob.uuid,)}, "candidates: given anew")


async def names_may_leave_an_entity_that_goes(store: Store, group_id: str) -> None:
    """In the delta that removes it; facts move to the one that stays and are found there."""
    ada, bob = await pair(store, group_id)
    eve = entity(group_id, "n-eve", "Eve")
    made = fact("f1", eve, bob)
    await write(store, group_id, entities=(eve,), facts=(made,), names={"eve": eve.uuid, "e": eve.uuid})
    moved = replace(made, source_uuid=ada.uuid, source_name=ada.name)
    await write(
        store, group_id, facts=(moved,), names={"eve": ada.uuid, "e": ada.uuid}, remove_entities=(eve.uuid,)
    )
    equal(await store.entity_names(group_id, ada.uuid, 9), ["ada", "e", "eve"], "entity_names: gone over")
    equal(await store.entity_facts(group_id, ada.uuid, 9), [moved], "entity_facts: gone over")


async def a_deleted_group_has_no_history(store: Store, group_id: str) -> None:
    """Every read is empty after delete_group, and of what is written anew finds only that."""
    ada, bob = await pair(store, group_id)
    await accepted(store, episode(group_id, "e1"))
    made = fact("f1", ada, bob)
    spoken = mention(group_id, "e1", ada.uuid)
    await write(store, group_id, facts=(made,), mentions=(spoken,), episode_edges={"e1": ("f1",)})
    await store.delete_group(group_id, NOW + 9)
    equal(await _everything(store, group_id, ada), ([], {}, {}, [], None, []), "history: of a deleted group")
    anew = replace(ada, name="Ada again")
    await write(store, group_id, entities=(anew,))
    found = await _everything(store, group_id, ada)
    equal(found, ([], {}, {}, [], None, ["ada again"]), "history: of a group begun anew")


async def _everything(store: Store, group_id: str, ada: Entity) -> tuple[object, ...]:
    return (
        await store.facts(group_id, ["f1"]),
        await store.citations(group_id, ["e1"]),
        await store.episode_edges(group_id, ["e1"]),
        await store.entity_facts(group_id, ada.uuid, 9),
        (await store.entity_episodes(group_id, ada.uuid, 9, MANY)).first_uuid,
        await store.entity_names(group_id, ada.uuid, 9),
    )
