"""SearchStore: heads and changes of facts, entities and episodes, from which search indexes are kept."""

from dataclasses import replace

import pytest

from kgsvc.domain.model.delta import SlotView
from kgsvc.domain.model.graph import Fact
from kgsvc.stores.search_protocol import IndexedEntity, IndexedEpisode, TextChanges
from tests.support.samples import NOW, Scratch, episode, fact, tombstone


async def test_heads_show_the_known_groups(g: Scratch) -> None:
    """One head for each known group asked, unknown ones absent."""
    other = g.sibling().id
    await g.pair()
    await g.accepted(episode(other, "e1"))
    found = await g.store.heads([g.id, other, f"{g.id}-never-written"])
    assert sorted(found) == sorted([g.id, other])
    assert found[g.id] == await g.head()
    assert await g.store.heads([]) == {}


async def test_changes_come_after_a_revision(g: Scratch) -> None:
    """Only facts written after the revision, by ascending rev, and up to the head when there is no more."""
    ada, bob = await g.pair()
    marks = [(await g.head()).rev]
    made = [fact(f"f{n}", ada, bob) for n in (3, 1, 2)]
    for one in made:
        marks.append((await g.write(facts=(one,))).rev)
    for n, mark in enumerate(marks):
        found = await g.store.changes(g.id, mark, 99)
        assert [f.fact for f in found.facts] == made[n:]
        assert (found.more, found.removed) == (False, ())
        assert found.upto_rev == found.head.rev
        assert found.head == await g.head()


async def test_a_rewritten_fact_comes_once(g: Scratch) -> None:
    """A fact written twice comes once, as it is now, at its latest revision."""
    ada, bob = await g.pair()
    first, second = fact("f1", ada, bob), fact("f2", ada, bob)
    await g.write(facts=(first,))
    middle = await g.write(facts=(second,))
    expired = replace(first, expired_ms=first.created_ms + 5, expired_reason="retracted")
    await g.write(facts=(expired,))
    assert [f.fact for f in (await g.store.changes(g.id, 0, 99)).facts] == [second, expired]
    assert [f.fact for f in (await g.store.changes(g.id, middle.rev, 99)).facts] == [expired]


async def test_pages_hold_whole_revisions(g: Scratch) -> None:
    """Pages of about `limit` never cut a revision; joined they hold every fact once, by rev."""
    ada, bob = await g.pair()
    written: list[set[str]] = []
    for n, size in enumerate((1, 3, 2, 5, 1, 1)):
        made = tuple(fact(f"f{n}-{k}", ada, bob) for k in range(size))
        await g.write(facts=made)
        written.append({f.uuid for f in made})
    for limit in (1, 2, 4, 13, 99):
        after, seen = 0, list[str]()
        for _ in range(20):
            page = await g.store.changes(g.id, after, limit)
            uuids = [f.fact.uuid for f in page.facts]
            for group in written:
                assert group <= set(uuids) or not group & set(uuids)
            seen += uuids
            if not page.more:
                break
            assert uuids
            assert after < page.upto_rev <= page.head.rev
            assert len(uuids) < 13 or limit >= 13
            after = page.upto_rev
        order = [next(n for n, group in enumerate(written) if uuid in group) for uuid in seen]
        assert order == sorted(order)
        assert sorted(seen) == sorted(set.union(*written))


async def test_reserved_uuids_are_shown_with_their_slot(g: Scratch) -> None:
    """A fact that went to another slot leaves its uuid; it is not removed, and its first slot counts."""
    ada, bob = await g.pair()
    here = fact("f1", ada, bob)
    await g.write(facts=(here,))
    there, stone = fact("f1", bob, ada), tombstone(here)
    begin = await g.write(facts=(there,), reserve_facts=(stone,))
    await g.write(reserve_facts=(replace(stone, slot=there.slot),))
    assert await g.store.slots(g.id, [here.slot]) == SlotView((), (stone,))
    assert (await g.store.slots(g.id, [there.slot])).facts == (there,)
    found = await g.store.changes(g.id, begin.rev - 1, 99)
    assert (found.removed, [each.fact for each in found.facts]) == ((), [there])


async def test_removed_facts_are_named(g: Scratch) -> None:
    """Facts removed after the revision are named, removed ones before it not again."""
    ada, bob = await g.pair()
    made = [fact(f"f{n}", ada, bob) for n in range(3)]
    start = await g.write(facts=tuple(made))
    middle = await g.write(remove_facts=(tombstone(made[0]),))
    end = await g.write(remove_facts=(tombstone(made[1]),))
    for after, removed in ((start.rev, ["f0", "f1"]), (middle.rev, ["f1"]), (end.rev, [])):
        found = await g.store.changes(g.id, after, 99)
        assert sorted(found.removed) == removed
        assert found.facts == ()
    assert [f.fact.uuid for f in (await g.store.changes(g.id, 0, 99)).facts] == ["f2"]


async def test_removals_behind_a_full_page_are_not_lost(g: Scratch) -> None:
    """A page that ends with the last written fact tells what was removed after it, or that there is more."""
    ada, bob = await g.pair()
    made = [fact(f"f{n}", ada, bob) for n in range(4)]
    start = await g.write(facts=tuple(made[:2]))
    await g.write(facts=tuple(made[2:]))
    await g.write(remove_facts=(tombstone(made[0]),))
    for limit in (1, 2, 3):
        held = {f.uuid: f for f in made[:2]}
        await _follow(g, start.rev, held, limit)
        assert sorted(held) == ["f1", "f2", "f3"]


async def test_a_follower_keeps_up(g: Scratch) -> None:
    """Whoever applies page after page holds exactly the group's facts, whatever happens between."""
    ada, bob = await g.pair()
    held: dict[str, Fact] = {}
    after = await _follow(g, 0, held, limit=2)
    for n in range(5):
        made = tuple(fact(f"f{n}-{k}", ada, bob) for k in range(3))
        await g.write(facts=made)
        await g.write(remove_facts=(tombstone(made[0]),))
        if n % 2:
            after = await _follow(g, after, held, limit=2)
        await g.write(facts=(replace(made[1], keywords=("again",)), made[0]))
        ada = replace(ada, name=f"Ada the {n}th")
        await g.write(entities=(ada,))
        after = await _follow(g, after, held, limit=2)
        assert held == {f.uuid: f for f in (await g.store.dump(g.id)).facts}


async def test_a_new_epoch_begins_at_zero(g: Scratch) -> None:
    """After delete_group the epoch tells followers to begin anew; from 0 they see only what is there."""
    ada, bob = await g.pair()
    old = await g.write(facts=(fact("f-old", ada, bob),))
    await g.store.delete_group(g.id, ada.created_ms)
    found = await g.store.changes(g.id, 0, 99)
    assert found.facts == ()
    assert found.head.epoch > old.epoch
    eve = g.entity("n-eve", "Eve")
    made = fact("f-new", eve, eve)
    await g.write(entities=(eve,), facts=(made,))
    found = await g.store.changes(g.id, 0, 99)
    assert [f.fact for f in found.facts] == [made]
    assert "f-new" not in found.removed


async def _follow(g: Scratch, after: int, held: dict[str, Fact], limit: int) -> int:
    for _ in range(99):
        page = await g.store.changes(g.id, after, limit)
        for uuid in page.removed:
            held.pop(uuid, None)
        held.update({f.fact.uuid: f.fact for f in page.facts})
        after = page.upto_rev
        if not page.more:
            return after
    pytest.fail(f"no end after 99 pages, upto_rev {after}")


Held = dict[tuple[str, str], IndexedEntity | IndexedEpisode]


async def test_entities_come_with_names_and_vector(g: Scratch) -> None:
    """An entity comes as it is, with every name key that leads to it and the vector of its name."""
    ada = g.entity("n-ada", "Ada")
    names = {"ada": ada.uuid, "countess": ada.uuid}
    await g.write(entities=(ada,), names=names, vectors={ada.uuid: b"1234"}, space="s:1")
    found = await g.store.text_changes(g.id, 0, 99)
    assert found.entities == (IndexedEntity(ada, ("ada", "countess"), "s:1", b"1234"),)
    assert (found.head, found.more) == (await g.head(), False)
    renamed = replace(ada, summary="wrote programs")
    after = await g.write(entities=(renamed,))
    assert [one.entity for one in (await g.store.text_changes(g.id, after.rev - 1, 99)).entities] == [renamed]
    after = await g.write(names={"lovelace": ada.uuid})
    (one,) = (await g.store.text_changes(g.id, after.rev - 1, 99)).entities
    assert one.names == ("ada", "countess", "lovelace")


async def test_episodes_come_once_they_are_found(g: Scratch) -> None:
    """An accepted episode is absent until a delta lets it be found; again when what it names changes."""
    ada, bob = g.entity("n-ada", "Ada"), g.entity("n-bob", "Bob")
    said = g.episodes(2)
    await g.accepted(*said)
    await g.write(entities=(ada, bob))
    assert (await g.store.text_changes(g.id, 0, 99)).episodes == ()
    await g.write(found=("e0", "e1"), mentions=(g.mention("e0", ada.uuid),))
    found = await g.store.text_changes(g.id, 0, 99)
    wanted = [IndexedEpisode(said[0], (ada.uuid,)), IndexedEpisode(said[1])]
    assert sorted(found.episodes, key=lambda e: e.episode.uuid) == wanted
    after = await g.write(mentions=(g.mention("e1", bob.uuid),))
    found = await g.store.text_changes(g.id, after.rev - 1, 99)
    assert found.episodes == (IndexedEpisode(said[1], (bob.uuid,)),)


async def test_passages_come_with_their_episode(g: Scratch) -> None:
    """The vectors of passages come with their episode and its space, are replaced, and go with it."""
    (said,) = g.episodes(1)
    await g.accepted(said)
    await g.write(found=("e0",), passages={"e0": b"12345678"}, space="s:1")
    (found,) = (await g.store.text_changes(g.id, 0, 99)).episodes
    assert found == IndexedEpisode(said, (), "s:1", b"12345678")
    await g.write(found=("e0",), passages={"e0": b"ABCD"}, space="s:2")
    (found,) = (await g.store.text_changes(g.id, 0, 99)).episodes
    assert (found.space, found.passages) == ("s:2", b"ABCD")
    await g.write(remove_episodes=("e0",))
    await g.accepted(said)
    await g.write(found=("e0",))
    (found,) = (await g.store.text_changes(g.id, 0, 99)).episodes
    assert (found.space, found.passages) == ("", None)


async def test_removed_texts_are_named(g: Scratch) -> None:
    """Entities and episodes removed after the revision are named, until they are there again."""
    ada, bob = g.entity("n-ada", "Ada"), g.entity("n-bob", "Bob")
    await g.accepted(g.episode("e0"), g.episode("e1"))
    start = await g.write(entities=(ada, bob), found=("e0", "e1"))
    await g.write(remove_entities=(ada.uuid,), remove_episodes=("e0",))
    found = await g.store.text_changes(g.id, start.rev, 99)
    assert (found.removed_entities, found.removed_episodes) == ((ada.uuid,), ("e0",))
    assert (found.entities, found.episodes) == ((), ())
    left = await g.store.text_changes(g.id, 0, 99)
    assert [one.entity.uuid for one in left.entities] == [bob.uuid]
    assert [one.episode.uuid for one in left.episodes] == ["e1"]
    await g.write(entities=(ada,))
    assert (await g.store.text_changes(g.id, start.rev, 99)).removed_entities == ()


async def test_a_follower_of_texts_keeps_up(g: Scratch) -> None:
    """Whoever applies page after page holds what a fresh reader gets, whatever happens between."""
    held: Held = {}
    after = 0
    entities = [g.entity(f"n-{n}", f"Name {n}") for n in range(6)]
    await g.accepted(*g.episodes(6))
    for n in range(6):
        one, other = entities[n], entities[n - 1]
        naming = (g.mention(f"e{n}", one.uuid),)
        await g.write(entities=(one,), names={f"name {n}": one.uuid}, found=(f"e{n}",), mentions=naming)
        await g.write(entities=(replace(one, summary=f"round {n}"),))
        if n:
            beside = g.mention(f"e{n}", other.uuid)
            await g.write(facts=(fact(f"f{n}", one, other),), mentions=(beside,))
        if n % 2:
            after = await _follow_texts(g, after, held, limit=2)
    spare = g.entity("n-spare", "Spare")
    naming = (g.mention("e0", spare.uuid),)
    await g.write(entities=(spare,), names={"spare": spare.uuid}, mentions=naming)
    after = await _follow_texts(g, after, held, limit=2)
    moved = {"spare": entities[0].uuid}
    await g.write(names=moved, remove_entities=(spare.uuid,), remove_episodes=("e5",))
    await g.write(remove_mentions=(("e4", entities[4].uuid),))
    await _follow_texts(g, after, held, limit=2)
    fresh: Held = {}
    await _follow_texts(g, 0, fresh, limit=99)
    assert held == fresh
    assert len(fresh) == 6 + 5


async def test_pages_of_bodies_are_bounded_in_bytes(g: Scratch) -> None:
    """A page ends with the episode with which the bodies in it exceed the bound."""
    for n, size in enumerate((10, 10, 500, 10, 10)):
        await g.accepted(g.episode(f"e{n}", body="x" * size))
        await g.write(found=(f"e{n}",))
    pages = [page.episodes for page in await _pages(g, limit=99, max_bytes=25)]
    assert [[one.episode.uuid for one in page] for page in pages] == [["e0", "e1", "e2"], ["e3", "e4"]]


async def test_a_revision_comes_in_pages_too(g: Scratch) -> None:
    """One revision that touches more than a page holds is cut, by number and by bytes, and comes whole."""
    said = [g.episode(f"e{n}", body="x" * 10) for n in range(6)]
    names = [g.entity(f"n{n}", f"Name {n}") for n in range(5)]
    await g.accepted(*said)
    await g.write(entities=names[:1])
    await g.write(entities=names, found=[one.uuid for one in said])
    await g.write(entities=names[:1], remove_entities=(names[4].uuid,))
    for limit, max_bytes, least in ((2, 10**6, 3), (99, 25, 2), (1, 10**6, 6), (99, 1, 6)):
        pages = await _pages(g, limit, max_bytes)
        for page in pages:
            assert max(len(page.entities), len(page.episodes)) <= limit
            assert sum(len(one.episode.body) for one in page.episodes[:-1]) <= max_bytes
        assert len(pages) >= least
        assert [one.entity.uuid for page in pages for one in page.entities] == ["n1", "n2", "n3", "n0"]
        assert [one.episode.uuid for page in pages for one in page.episodes] == [one.uuid for one in said]
        assert [uuid for page in pages for uuid in page.removed_entities] == ["n4"]


async def test_what_changes_between_two_pages_of_a_revision_comes_once_more(g: Scratch) -> None:
    """In the middle of a revision: what was read and what was not is written again or removed."""
    names = [g.entity(f"n{n}", f"Name {n}") for n in range(6)]
    wrote = await g.write(entities=names)
    first = await g.store.text_changes(g.id, 0, 3)
    assert [one.entity.uuid for one in first.entities] == ["n0", "n1", "n2"]
    assert (first.upto_rev, first.upto_uuid, first.more) == (wrote.rev - 1, "n2", True)
    again = [replace(names[n], summary="again") for n in (1, 4)]
    await g.write(entities=again, remove_entities=("n2", "n5"))
    rest = await _pages(g, 3, 10**6, (first.upto_rev, first.upto_uuid))
    assert [one.entity for page in rest for one in page.entities] == [names[3], *again]
    assert [uuid for page in rest for uuid in page.removed_entities] == ["n2", "n5"]


async def test_texts_of_a_new_epoch_begin_at_zero(g: Scratch) -> None:
    """After delete_group only what was written since is there."""
    await g.accepted(g.episode("e0"))
    await g.write(entities=(g.entity("n-old", "Old"),), found=("e0",))
    await g.store.delete_group(g.id, NOW)
    found = await g.store.text_changes(g.id, 0, 99)
    assert (found.entities, found.episodes) == ((), ())
    made = g.entity("n-new", "New")
    await g.write(entities=(made,))
    assert [one.entity for one in (await g.store.text_changes(g.id, 0, 99)).entities] == [made]


async def _follow_texts(g: Scratch, after: int, held: Held, limit: int) -> int:
    for page in await _pages(g, limit, after=(after, "")):
        for uuid in page.removed_entities:
            held.pop(("entity", uuid), None)
        for uuid in page.removed_episodes:
            held.pop(("episode", uuid), None)
        held.update({("entity", one.entity.uuid): one for one in page.entities})
        held.update({("episode", one.episode.uuid): one for one in page.episodes})
        assert page.upto_rev <= page.head.rev
        after = page.upto_rev
    return after


async def _pages(
    g: Scratch, limit: int, max_bytes: int = 10**6, after: tuple[int, str] = (0, "")
) -> list[TextChanges]:
    """All pages after a place."""
    pages: list[TextChanges] = []
    while not pages or pages[-1].more:
        page = await g.store.text_changes(g.id, after[0], limit, max_bytes, after[1])
        upto = (page.upto_rev, page.upto_uuid)
        assert upto > after or not page.more
        pages.append(page)
        after = upto
        assert len(pages) < 99
    return pages
