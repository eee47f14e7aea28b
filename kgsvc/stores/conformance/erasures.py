"""ErasureStore: erasures are written down, carried out and completed, and their receipts stay."""

from __future__ import annotations

from dataclasses import replace

from kgsvc.domain.model.delta import Erased, GraphDelta, Guard
from kgsvc.domain.model.erasures import GROUP_COUNTS, Erasure, ErasureKind
from kgsvc.stores.conformance.expectations import equal, expect
from kgsvc.stores.conformance.samples import NOW, Scratch, fact
from kgsvc.stores.search_protocol import PROOFS

_ALL = 100_000


def _asked(g: Scratch, name: str, kind: ErasureKind = ErasureKind.GROUP, uuid: str = "") -> Erasure:
    return Erasure(f"{g.id}/{name}", g.id, kind, NOW, uuid)


async def _free(g: Scratch, name: str) -> str:
    """A name under which nothing was erased yet: receipts stay, and checks may run again."""
    count = 0
    while await g.store.erasure(f"{g.id}/{name}{count}"):
        count += 1
    return f"{name}{count}"


async def _one(g: Scratch, erasure: Erasure) -> Erasure:
    (part,) = await g.store.erasure(erasure.erasure_id)
    return part


async def an_erasure_is_open_until_it_is_completed(g: Scratch) -> None:
    """It is found by its id and among the open ones; written down again it stays as it is."""
    name = await _free(g, "open")
    erasure, other = _asked(g, name), _asked(g.sibling(2), name)
    await g.store.begin_erasures([erasure, other])
    parts = await g.store.erasure(erasure.erasure_id)
    equal([part.group_id for part in parts], [g.id], "erasure: its parts")
    waiting = [part for part in await g.store.open_erasures(_ALL) if part.group_id == g.id]
    expect(erasure.erasure_id in {part.erasure_id for part in waiting}, "open_erasures: what is written down")
    await g.store.removed(erasure.erasure_id, g.id, {"episodes": 2})
    await g.store.removed(erasure.erasure_id, g.id, {"episodes": 9})
    await g.store.begin_erasures([erasure])
    equal((await _one(g, erasure)).removed, {"episodes": 2}, "removed: the first counts stay")
    since = {part.erasure_id for part in await g.store.erasures_since(NOW)}
    expect(erasure.erasure_id in since, "erasures_since: what was removed")
    expect(await g.store.free_erased(NOW + 5) > 0, "free_erased: how many")
    done = await _one(g, erasure)
    equal((done.completed_ms, done.uuid), (NOW + 5, ""), "erasure: completed")
    await g.store.free_erased(NOW + 9)
    equal((await _one(g, erasure)).completed_ms, NOW + 5, "free_erased: completed once")
    equal(await g.store.erasure(f"{g.id}/unknown"), [], "erasure: unknown")
    await g.store.removed(other.erasure_id, other.group_id, {})
    await g.store.free_erased(NOW + 9)


async def deleting_a_group_counts_what_goes(g: Scratch) -> None:
    """Its part tells every kind of rows; of a group that is gone already nothing."""
    await g.accepted(*g.episodes(3))
    first, again = _asked(g, await _free(g, "group")), _asked(g, await _free(g, "again"))
    await g.store.begin_erasures([first, again])
    await g.store.delete_group(g.id, NOW + 1, first.erasure_id)
    removed = (await _one(g, first)).removed or {}
    equal(sorted(removed), sorted(GROUP_COUNTS), "delete_group: kinds that are counted")
    equal((removed["episodes"], removed["items"]), (3, 3), "delete_group: episodes and items")
    await g.store.delete_group(g.id, NOW + 2, again.erasure_id)
    once_more = (await _one(g, again)).removed
    expect(once_more is not None and not any(once_more.values()), f"delete_group again: {once_more}")
    await g.store.free_erased(NOW + 3)


async def facts_that_ended_are_found_by_their_end(g: Scratch) -> None:
    """The longest ago first, without those that still hold or end later; of this group alone."""
    ada, bob = await g.pair()
    ends = (NOW - 5, None, NOW, NOW - 9)
    await g.write(facts=tuple(fact(f"f{n}", ada, bob, invalid_ms=end) for n, end in enumerate(ends)))
    equal(await g.store.ended_facts(g.id, NOW, 10), ["f3", "f0"], "ended_facts: before a time")
    equal(await g.store.ended_facts(g.id, NOW + 1, 1), ["f3"], "ended_facts: at most")
    equal(await g.store.ended_facts(g.sibling(2).id, NOW + 1, 10), [], "ended_facts: of another group")


async def facts_that_were_replaced_have_ended(g: Scratch) -> None:
    """What comes first counts: the end of its validity, or that it was replaced or withdrawn."""
    ada, bob = await g.pair()
    ends = ((None, NOW - 4), (NOW - 1, NOW - 5), (NOW - 3, NOW), (None, None), (NOW, NOW + 1))
    await g.write(
        facts=tuple(
            fact(f"f{n}", ada, bob, invalid_ms=invalid_ms, expired_ms=expired_ms)
            for n, (invalid_ms, expired_ms) in enumerate(ends)
        )
    )
    equal(await g.store.ended_facts(g.id, NOW, 10), ["f1", "f0", "f2"], "ended_facts: replaced")
    equal(await g.store.ended_facts(g.id, NOW, 2), ["f1", "f0"], "ended_facts: replaced, at most")


async def what_an_erasure_removes_bit_by_bit_adds_up(g: Scratch) -> None:
    """Changes that say that the erasure goes on are counted with the last; none is counted twice."""
    await g.accepted(*g.episodes(2))
    erasure = _asked(g, await _free(g, "bits"), ErasureKind.RETENTION, "1:")
    await g.store.begin_erasures([erasure])
    for n in range(2):
        head = await g.head()
        erased = Erased(erasure.erasure_id, {"episodes": 1, "facts": n}, over=False)
        delta = GraphDelta(g.id, NOW + 1 + n, remove_episodes=(f"e{n}",), erased=erased)
        await g.store.apply(delta, Guard(head.rev, head.epoch))
        part = await _one(g, erasure)
        equal((part.removed, part.uuid), (None, "1:"), "apply: an erasure that goes on")
    for _repeated in range(2):
        await g.store.removed(erasure.erasure_id, g.id, {"documents": 1})
        removed = (await _one(g, erasure)).removed
        equal(removed, {"episodes": 2, "facts": 1, "documents": 1}, "removed: all counts")
    await g.store.free_erased(NOW + 3)


async def a_change_notes_what_it_erases(g: Scratch) -> None:
    """`apply` notes the counts with the change, and forgets the uuid."""
    await g.accepted(*g.episodes(1))
    erasure = _asked(g, await _free(g, "change"), ErasureKind.EPISODE, "e0")
    await g.store.begin_erasures([erasure])
    equal((await _one(g, erasure)).uuid, "e0", "erasure: what is to go")
    head = await g.head()
    erased = Erased(erasure.erasure_id, {"episodes": 1})
    delta = GraphDelta(g.id, NOW + 1, remove_episodes=("e0",), erased=erased)
    await g.store.apply(delta, Guard(head.rev, head.epoch))
    part = await _one(g, erasure)
    equal((part.removed, part.uuid), ({"episodes": 1}, ""), "apply: erased")
    await g.store.free_erased(NOW + 3)


async def proofs_last_until_an_erasure(g: Scratch) -> None:
    """A proof is noted for the group as it is, and known until something is erased or many came after it."""
    ada, bob = await g.pair()
    before = await g.head()
    await g.write(facts=(fact("f1", ada, bob),))
    now = await g.head()
    expect(not await g.store.note_proof(before, "old"), "note_proof: of a revision before")
    other = replace(now, epoch=now.epoch + 1)
    expect(not await g.store.note_proof(other, "other"), "note_proof: of another epoch")
    expect(await g.store.note_proof(now, "one"), "note_proof: of what is there")
    expect(await g.store.proven(g.id, "one"), "proven: what was noted")
    for wrong in ("old", "other", "never"):
        expect(not await g.store.proven(g.id, wrong), f"proven: {wrong}")
    expect(not await g.store.proven(g.sibling(2).id, "one"), "proven: of another group")
    await g.write(facts=(fact("f2", ada, bob),))
    expect(await g.store.proven(g.id, "one"), "proven: after more was written")
    latest = await g.head()
    for number in range(PROOFS):
        await g.store.note_proof(latest, f"later{number}")
    expect(not await g.store.proven(g.id, "one"), "proven: after many more")
    expect(await g.store.proven(g.id, "later0"), "proven: the oldest that is kept")
    erasure = _asked(g, await _free(g, "proofs"), ErasureKind.EPISODE, "e1")
    await g.store.begin_erasures([erasure])
    expect(await g.store.proven(g.id, "later0"), "proven: nothing was removed yet")
    await g.store.removed(erasure.erasure_id, g.id, {"facts": 1})
    expect(not await g.store.proven(g.id, "later0"), "proven: after an erasure")
    await g.store.free_erased(NOW + 3)
