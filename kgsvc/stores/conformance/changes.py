"""SearchStore: heads and changes, from which a search index is kept."""

from __future__ import annotations

from dataclasses import replace

from kgsvc.domain.model.delta import SlotView
from kgsvc.domain.model.graph import Fact
from kgsvc.stores.conformance.expectations import ConformanceError, equal, expect
from kgsvc.stores.conformance.samples import Scratch, episode, fact, tombstone


async def heads_show_the_known_groups(g: Scratch) -> None:
    """One head for each known group asked, unknown ones absent."""
    other = g.sibling().id
    await g.pair()
    await g.accepted(episode(other, "e1"))
    found = await g.store.heads([g.id, other, f"{g.id}-never-written"])
    equal(sorted(found), sorted([g.id, other]), "heads: known groups")
    equal(found[g.id], await g.head(), "heads: of one of several")
    equal(await g.store.heads([]), {}, "heads: none asked")


async def changes_come_after_a_revision(g: Scratch) -> None:
    """Only facts written after the revision, by ascending rev, and up to the head when there is no more."""
    ada, bob = await g.pair()
    marks = [(await g.head()).rev]
    made = [fact(f"f{n}", ada, bob) for n in (3, 1, 2)]
    for one in made:
        marks.append((await g.write(facts=(one,))).rev)
    for n, mark in enumerate(marks):
        found = await g.store.changes(g.id, mark, 99)
        equal([f.fact for f in found.facts], made[n:], f"changes: after the {n}th write")
        equal((found.more, found.removed), (False, ()), "changes: all of it, nothing removed")
        equal(found.upto_rev, found.head.rev, "changes: upto_rev without more")
        equal(found.head, await g.head(), "changes: head")


async def a_rewritten_fact_comes_once(g: Scratch) -> None:
    """A fact written twice comes once, as it is now, at its latest revision."""
    ada, bob = await g.pair()
    first, second = fact("f1", ada, bob), fact("f2", ada, bob)
    await g.write(facts=(first,))
    middle = await g.write(facts=(second,))
    expired = replace(first, expired_ms=first.created_ms + 5, expired_reason="retracted")
    await g.write(facts=(expired,))
    found = await g.store.changes(g.id, 0, 99)
    equal([f.fact for f in found.facts], [second, expired], "changes: a fact written twice")
    found = await g.store.changes(g.id, middle.rev, 99)
    equal([f.fact for f in found.facts], [expired], "changes: expired facts come too")


async def pages_hold_whole_revisions(g: Scratch) -> None:
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
                whole = group <= set(uuids) or not group & set(uuids)
                expect(whole, f"changes: limit {limit} cut a revision")
            seen += uuids
            if not page.more:
                break
            expect(bool(uuids), "changes: an empty page with more to come")
            expect(after < page.upto_rev <= page.head.rev, f"changes: upto_rev {page.upto_rev} after {after}")
            expect(len(uuids) < 13 or limit >= 13, f"changes: {len(uuids)} facts for limit {limit}")
            after = page.upto_rev
        order = [next(n for n, group in enumerate(written) if uuid in group) for uuid in seen]
        equal(order, sorted(order), f"changes: order of revisions with limit {limit}")
        equal(sorted(seen), sorted(set.union(*written)), f"changes: all facts with limit {limit}")


async def reserved_uuids_are_shown_with_their_slot(g: Scratch) -> None:
    """A fact that went to another slot leaves its uuid; it is not removed, and its first slot counts."""
    ada, bob = await g.pair()
    here = fact("f1", ada, bob)
    await g.write(facts=(here,))
    there, stone = fact("f1", bob, ada), tombstone(here)
    begin = await g.write(facts=(there,), reserve_facts=(stone,))
    await g.write(reserve_facts=(replace(stone, slot=there.slot),))
    view = await g.store.slots(g.id, [here.slot])
    equal(view, SlotView((), (stone,)), "slots: a reserved uuid")
    equal((await g.store.slots(g.id, [there.slot])).facts, (there,), "slots: where the fact went")
    found = await g.store.changes(g.id, begin.rev - 1, 99)
    equal((found.removed, [each.fact for each in found.facts]), ((), [there]), "changes: nothing is removed")


async def removed_facts_are_named(g: Scratch) -> None:
    """Facts removed after the revision are named, removed ones before it not again."""
    ada, bob = await g.pair()
    made = [fact(f"f{n}", ada, bob) for n in range(3)]
    start = await g.write(facts=tuple(made))
    middle = await g.write(remove_facts=(tombstone(made[0]),))
    end = await g.write(remove_facts=(tombstone(made[1]),))
    for after, removed in ((start.rev, ["f0", "f1"]), (middle.rev, ["f1"]), (end.rev, [])):
        found = await g.store.changes(g.id, after, 99)
        equal(sorted(found.removed), removed, "changes: removed")
        equal(found.facts, (), "changes: facts beside removals")
    equal([f.fact.uuid for f in (await g.store.changes(g.id, 0, 99)).facts], ["f2"], "changes: what is left")


async def removals_behind_a_full_page_are_not_lost(g: Scratch) -> None:
    """A page that ends with the last written fact tells what was removed after it, or that there is more."""
    ada, bob = await g.pair()
    made = [fact(f"f{n}", ada, bob) for n in range(4)]
    start = await g.write(facts=tuple(made[:2]))
    await g.write(facts=tuple(made[2:]))
    await g.write(remove_facts=(tombstone(made[0]),))
    for limit in (1, 2, 3):
        held = {f.uuid: f for f in made[:2]}
        await _follow(g, start.rev, held, limit)
        equal(sorted(held), ["f1", "f2", "f3"], f"changes: what a follower holds with limit {limit}")


async def a_follower_keeps_up(g: Scratch) -> None:
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
        wanted = {f.uuid: f for f in (await g.store.dump(g.id)).facts}
        equal(held, wanted, f"changes: what a follower holds after round {n}")


async def a_new_epoch_begins_at_zero(g: Scratch) -> None:
    """After delete_group the epoch tells followers to begin anew; from 0 they see only what is there."""
    ada, bob = await g.pair()
    old = await g.write(facts=(fact("f-old", ada, bob),))
    await g.store.delete_group(g.id, ada.created_ms)
    found = await g.store.changes(g.id, 0, 99)
    equal(found.facts, (), "changes: facts of a deleted group")
    expect(found.head.epoch > old.epoch, f"changes: epoch {found.head.epoch} after {old.epoch}")
    eve = g.entity("n-eve", "Eve")
    made = fact("f-new", eve, eve)
    await g.write(entities=(eve,), facts=(made,))
    found = await g.store.changes(g.id, 0, 99)
    equal([f.fact for f in found.facts], [made], "changes: facts of the new epoch")
    expect("f-new" not in found.removed, "changes: a new fact is named as removed")


async def _follow(g: Scratch, after: int, held: dict[str, Fact], limit: int) -> int:
    for _ in range(99):
        page = await g.store.changes(g.id, after, limit)
        for uuid in page.removed:
            held.pop(uuid, None)
        held.update({f.fact.uuid: f.fact for f in page.facts})
        after = page.upto_rev
        if not page.more:
            return after
    raise ConformanceError(f"changes: no end after 99 pages, upto_rev {after}")
