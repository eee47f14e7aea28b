"""SearchStore.text_changes: entities and episodes, from which a search index is kept."""

from __future__ import annotations

from dataclasses import replace

from kgsvc.stores.conformance.samples import (
    NOW,
    accepted,
    entity,
    episode,
    equal,
    expect,
    fact,
    head,
    mention,
    write,
)
from kgsvc.stores.protocol import Store
from kgsvc.stores.search_protocol import IndexedEntity, IndexedEpisode, TextChanges

Held = dict[tuple[str, str], IndexedEntity | IndexedEpisode]


async def entities_come_with_names_and_vector(store: Store, group_id: str) -> None:
    """An entity comes as it is, with every name key that leads to it and the vector of its name."""
    ada = entity(group_id, "n-ada", "Ada")
    names = {"ada": ada.uuid, "countess": ada.uuid}
    await write(store, group_id, entities=(ada,), names=names, vectors={ada.uuid: b"1234"}, space="s:1")
    found = await store.text_changes(group_id, 0, 99)
    equal(found.entities, (IndexedEntity(ada, ("ada", "countess"), "s:1", b"1234"),), "text_changes: entity")
    equal((found.head, found.more), (await head(store, group_id), False), "text_changes: head")
    renamed = replace(ada, summary="wrote programs")
    after = await write(store, group_id, entities=(renamed,))
    found = await store.text_changes(group_id, after.rev - 1, 99)
    equal([one.entity for one in found.entities], [renamed], "text_changes: an entity written again")
    after = await write(store, group_id, names={"lovelace": ada.uuid})
    (one,) = (await store.text_changes(group_id, after.rev - 1, 99)).entities
    equal(one.names, ("ada", "countess", "lovelace"), "text_changes: a new alias")


async def episodes_come_once_they_are_found(store: Store, group_id: str) -> None:
    """An accepted episode is absent until a delta lets it be found; again when what it names changes."""
    ada, bob = entity(group_id, "n-ada", "Ada"), entity(group_id, "n-bob", "Bob")
    said = [episode(group_id, f"e{n}") for n in range(2)]
    await accepted(store, *said)
    await write(store, group_id, entities=(ada, bob))
    equal((await store.text_changes(group_id, 0, 99)).episodes, (), "text_changes: episodes not found yet")
    await write(store, group_id, found=("e0", "e1"), mentions=(mention(group_id, "e0", ada.uuid),))
    found = await store.text_changes(group_id, 0, 99)
    wanted = [IndexedEpisode(said[0], (ada.uuid,)), IndexedEpisode(said[1])]
    equal(sorted(found.episodes, key=lambda e: e.episode.uuid), wanted, "text_changes: episodes")
    after = await write(store, group_id, mentions=(mention(group_id, "e1", bob.uuid),))
    found = await store.text_changes(group_id, after.rev - 1, 99)
    equal(found.episodes, (IndexedEpisode(said[1], (bob.uuid,)),), "text_changes: what an episode names")


async def removed_texts_are_named(store: Store, group_id: str) -> None:
    """Entities and episodes removed after the revision are named, until they are there again."""
    ada, bob = entity(group_id, "n-ada", "Ada"), entity(group_id, "n-bob", "Bob")
    await accepted(store, episode(group_id, "e0"), episode(group_id, "e1"))
    start = await write(store, group_id, entities=(ada, bob), found=("e0", "e1"))
    await write(store, group_id, remove_entities=(ada.uuid,), remove_episodes=("e0",))
    found = await store.text_changes(group_id, start.rev, 99)
    gone = (found.removed_entities, found.removed_episodes)
    equal(gone, ((ada.uuid,), ("e0",)), "text_changes: removed")
    equal((found.entities, found.episodes), ((), ()), "text_changes: beside removals")
    left = await store.text_changes(group_id, 0, 99)
    equal([one.entity.uuid for one in left.entities], [bob.uuid], "text_changes: entities left")
    equal([one.episode.uuid for one in left.episodes], ["e1"], "text_changes: episodes left")
    await write(store, group_id, entities=(ada,))
    found = await store.text_changes(group_id, start.rev, 99)
    equal(found.removed_entities, (), "text_changes: an entity that is there again")


async def a_follower_of_texts_keeps_up(store: Store, group_id: str) -> None:
    """Whoever applies page after page holds what a fresh reader gets, whatever happens between."""
    held: Held = {}
    after = 0
    entities = [entity(group_id, f"n-{n}", f"Name {n}") for n in range(6)]
    await accepted(store, *(episode(group_id, f"e{n}") for n in range(6)))
    for n in range(6):
        one, other = entities[n], entities[n - 1]
        naming = (mention(group_id, f"e{n}", one.uuid),)
        await write(
            store, group_id, entities=(one,), names={f"name {n}": one.uuid}, found=(f"e{n}",), mentions=naming
        )
        await write(store, group_id, entities=(replace(one, summary=f"round {n}"),))
        if n:
            beside = mention(group_id, f"e{n}", other.uuid)
            await write(store, group_id, facts=(fact(f"f{n}", one, other),), mentions=(beside,))
        if n % 2:
            after = await _follow(store, group_id, after, held, limit=2)
    spare = entity(group_id, "n-spare", "Spare")
    naming = (mention(group_id, "e0", spare.uuid),)
    await write(store, group_id, entities=(spare,), names={"spare": spare.uuid}, mentions=naming)
    after = await _follow(store, group_id, after, held, limit=2)
    moved = {"spare": entities[0].uuid}
    await write(store, group_id, names=moved, remove_entities=(spare.uuid,), remove_episodes=("e5",))
    await write(store, group_id, remove_mentions=(("e4", entities[4].uuid),))
    await _follow(store, group_id, after, held, limit=2)
    fresh: Held = {}
    await _follow(store, group_id, 0, fresh, limit=99)
    equal(held, fresh, "text_changes: what a follower holds")
    equal(len(fresh), 6 + 5, "text_changes: entities and episodes that are left")


async def pages_of_bodies_are_bounded_in_bytes(store: Store, group_id: str) -> None:
    """A page ends with the episode with which the bodies in it exceed the bound."""
    for n, size in enumerate((10, 10, 500, 10, 10)):
        await accepted(store, episode(group_id, f"e{n}", body="x" * size))
        await write(store, group_id, found=(f"e{n}",))
    pages = [page.episodes for page in await _pages(store, group_id, limit=99, max_bytes=25)]
    uuids = [[one.episode.uuid for one in page] for page in pages]
    equal(uuids, [["e0", "e1", "e2"], ["e3", "e4"]], "text_changes: pages of 25 bytes")


async def a_revision_comes_in_pages_too(store: Store, group_id: str) -> None:
    """One revision that touches more than a page holds is cut, by number and by bytes, and comes whole."""
    said = [episode(group_id, f"e{n}", body="x" * 10) for n in range(6)]
    names = [entity(group_id, f"n{n}", f"Name {n}") for n in range(5)]
    await accepted(store, *said)
    await write(store, group_id, entities=names[:1])
    await write(store, group_id, entities=names, found=[one.uuid for one in said])
    await write(store, group_id, entities=names[:1], remove_entities=(names[4].uuid,))
    for limit, max_bytes, least in ((2, 10**6, 3), (99, 25, 2), (1, 10**6, 6), (99, 1, 6)):
        pages = await _pages(store, group_id, limit, max_bytes)
        for page in pages:
            expect(max(len(page.entities), len(page.episodes)) <= limit, f"text_changes: limit {limit}")
            bodies = sum(len(one.episode.body) for one in page.episodes[:-1])
            expect(bodies <= max_bytes, f"text_changes: {bodies} bytes before the last body")
        expect(len(pages) >= least, f"text_changes: {len(pages)} pages, limit {limit}, {max_bytes} bytes")
        named = [one.entity.uuid for page in pages for one in page.entities]
        equal(named, ["n1", "n2", "n3", "n0"], "text_changes: entities by revision and uuid")
        told = [one.episode.uuid for page in pages for one in page.episodes]
        equal(told, [one.uuid for one in said], "text_changes: episodes by revision and uuid")
        gone = [uuid for page in pages for uuid in page.removed_entities]
        equal(gone, ["n4"], "text_changes: an entity removed later")


async def what_changes_between_two_pages_of_a_revision_comes_once_more(store: Store, group_id: str) -> None:
    """In the middle of a revision: what was read and what was not is written again or removed."""
    names = [entity(group_id, f"n{n}", f"Name {n}") for n in range(6)]
    wrote = await write(store, group_id, entities=names)
    first = await store.text_changes(group_id, 0, 3)
    equal([one.entity.uuid for one in first.entities], ["n0", "n1", "n2"], "text_changes: the first page")
    equal((first.upto_rev, first.upto_uuid, first.more), (wrote.rev - 1, "n2", True), "text_changes: a cut")
    again = [replace(names[n], summary="again") for n in (1, 4)]
    await write(store, group_id, entities=again, remove_entities=("n2", "n5"))
    rest = await _pages(store, group_id, 3, 10**6, (first.upto_rev, first.upto_uuid))
    named = [one.entity for page in rest for one in page.entities]
    equal(named, [names[3], *again], "text_changes: the rest of the revision, then what changed")
    gone = [uuid for page in rest for uuid in page.removed_entities]
    equal(gone, ["n2", "n5"], "text_changes: removed between two pages")


async def texts_of_a_new_epoch_begin_at_zero(store: Store, group_id: str) -> None:
    """After delete_group only what was written since is there."""
    await accepted(store, episode(group_id, "e0"))
    await write(store, group_id, entities=(entity(group_id, "n-old", "Old"),), found=("e0",))
    await store.delete_group(group_id, NOW)
    found = await store.text_changes(group_id, 0, 99)
    equal((found.entities, found.episodes), ((), ()), "text_changes: of a deleted group")
    made = entity(group_id, "n-new", "New")
    await write(store, group_id, entities=(made,))
    found = await store.text_changes(group_id, 0, 99)
    equal([one.entity for one in found.entities], [made], "text_changes: of the new epoch")


async def _follow(store: Store, group_id: str, after: int, held: Held, limit: int) -> int:
    for page in await _pages(store, group_id, limit, after=(after, "")):
        for uuid in page.removed_entities:
            held.pop(("entity", uuid), None)
        for uuid in page.removed_episodes:
            held.pop(("episode", uuid), None)
        held.update({("entity", one.entity.uuid): one for one in page.entities})
        held.update({("episode", one.episode.uuid): one for one in page.episodes})
        expect(page.upto_rev <= page.head.rev, "text_changes: beyond the head")
        after = page.upto_rev
    return after


async def _pages(
    store: Store, group_id: str, limit: int, max_bytes: int = 10**6, after: tuple[int, str] = (0, "")
) -> list[TextChanges]:
    """All pages after a place."""
    pages: list[TextChanges] = []
    while not pages or pages[-1].more:
        page = await store.text_changes(group_id, after[0], limit, max_bytes, after[1])
        upto = (page.upto_rev, page.upto_uuid)
        expect(upto > after or not page.more, f"text_changes: a page that leads nowhere, {upto}")
        pages.append(page)
        after = upto
        expect(len(pages) < 99, "text_changes: no end after 99 pages")
    return pages
