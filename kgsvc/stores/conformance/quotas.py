"""Quotas: what new items use is counted as they are accepted, settled as they end, and given back."""

from __future__ import annotations

import asyncio
import uuid as uuids
from dataclasses import replace

from kgsvc.domain.errors import QuotaExceeded
from kgsvc.domain.limits import DAY_MS, Allowance, Counted
from kgsvc.domain.model.graph import Usage
from kgsvc.domain.model.items import AcceptBatch, Accepted, ItemState, NewItem
from kgsvc.stores.conformance.expectations import equal, expect, refused
from kgsvc.stores.conformance.samples import NOW, Scratch, batch


def _allowance(counted: Counted, limit: int, subject: str | None = None) -> Allowance:
    """Of a subject of which nothing was counted yet."""
    return Allowance(subject or f"group {uuids.uuid4()}", counted, limit, f"quotas.{counted}")


async def _counted(g: Scratch, allowance: Allowance, now_ms: int = NOW) -> int:
    counter = allowance.counter(now_ms)
    return (await g.store.used([counter])).get(counter, 0)


async def _refused(g: Scratch, what: str, call: AcceptBatch) -> QuotaExceeded:
    return await refused(QuotaExceeded, g.answer(call), f"accept: {what}")


def _costly(g: Scratch, name: str, tokens: int, *allowances: Allowance) -> AcceptBatch:
    """A call with one item for which tokens are set aside."""
    made = g.episode(name)
    return replace(batch(made, allowances=allowances), items=(NewItem(made, tokens=tokens),))


async def new_items_are_counted_up_to_the_limit(g: Scratch) -> None:
    """What goes beyond is refused whole, with the name of the limit and when there is room again."""
    allowed = _allowance(Counted.ITEMS, 3)
    await g.accepted(*g.episodes(2), allowances=(allowed,))
    two = batch(g.episode("x"), g.episode("y"), allowances=(allowed,))
    error = await _refused(g, "two items where there is room for one", two)
    equal(error.limit, allowed.name, "QuotaExceeded: limit")
    equal(error.retry_after_ms, DAY_MS - NOW % DAY_MS, "QuotaExceeded: retry_after_ms")
    equal(len(await g.items()), 2, "accept: nothing of a refused call is stored")
    await g.accepted(g.episode("x"), allowances=(allowed,))
    equal(await _counted(g, allowed), 3, "used: of the day")
    tomorrow = batch(g.episode("z"), allowances=(allowed,), now_ms=NOW + DAY_MS)
    await g.answer(tomorrow)
    equal(await _counted(g, allowed, NOW + DAY_MS), 1, "used: of the next day")


async def tokens_that_no_item_stands_for_are_counted_too(g: Scratch) -> None:
    """Within every limit or not at all; what is settled is counted whatever is left."""
    wide, narrow = _allowance(Counted.MODEL_TOKENS, 100), _allowance(Counted.MODEL_TOKENS, 50)
    await g.store.spend([wide, narrow], 40, NOW)
    error = await refused(QuotaExceeded, g.store.spend([wide, narrow], 11, NOW), "spend: beyond a limit")
    equal(error.limit, narrow.name, "spend: beyond a limit")
    equal((await _counted(g, wide), await _counted(g, narrow)), (40, 40), "spend: nothing of what is refused")
    await g.store.spend([wide, narrow], 30, NOW, within=False)
    equal(await _counted(g, narrow), 70, "spend: what is settled")
    await g.store.spend([wide, narrow], -60, NOW, within=False)
    equal(await _counted(g, wide), 10, "spend: given back")


async def duplicates_are_free(g: Scratch) -> None:
    """What is there already, or known by its key, is answered though nothing is left."""
    allowed = _allowance(Counted.ITEMS, 1)
    call = batch(g.episode("e0"), allowances=(allowed,), idempotency_key="k")
    first = await g.answer(call)
    equal((await g.answer(call)).receipt_id, first.receipt_id, "accept: a replay")
    equal((await g.accepted(g.episode("e0"), allowances=(allowed,))).items[0].duplicate, True, "a duplicate")
    equal(await _counted(g, allowed), 1, "used: each item once")


async def calls_at_the_same_time_keep_to_the_limit(g: Scratch) -> None:
    """However many come at once, together or apart, what is accepted is exactly what was allowed."""
    allowed = _allowance(Counted.ITEMS, 7)
    calls = [batch(g.episode(f"e{n}"), allowances=(allowed,)) for n in range(20)]
    groups = [calls[:10], *([call] for call in calls[10:])]
    results = await asyncio.gather(*map(g.store.accept, groups))
    outcomes = [outcome for each in results for outcome in each]
    equal(sum(isinstance(each, Accepted) for each in outcomes), 7, "accept: of twenty calls at once")
    expect(all(isinstance(each, Accepted | QuotaExceeded) for each in outcomes), f"accept: {outcomes}")
    equal(len(await g.items()), 7, "list_items: those that were accepted")
    equal(await _counted(g, allowed), 7, "used")


async def tokens_set_aside_become_tokens_spent(g: Scratch) -> None:
    """Until an item ends what was set aside counts, or its cost if that is more; then its cost."""
    group, token = _allowance(Counted.MODEL_TOKENS, 150), _allowance(Counted.MODEL_TOKENS, 1_000)
    await g.answer(_costly(g, "e0", 100, group, token))
    await _refused(g, "tokens that are set aside count", _costly(g, "e1", 100, group, token))
    lease = await g.working()
    await g.move(lease, ItemState.EXTRACTED, "e0", usage=Usage(1, 10, 5))
    equal(await _counted(g, group), 100, "used: while less is spent than was set aside")
    await g.move(lease, ItemState.EMBEDDED, "e0", usage=Usage(1, 100, 5))
    equal(await _counted(g, group), 120, "used: once more is spent")
    await g.move(lease, ItemState.COMPLETED, "e0", usage=Usage(1, 1, 1))
    equal([await _counted(g, each) for each in (group, token)], [122, 122], "used: of an item that ended")
    await g.write(spent={"e0": Usage(1, 3, 0)})
    equal(await _counted(g, group), 125, "used: what is spent later")
    await g.store.release(lease)


async def an_item_that_ends_gives_back_what_it_did_not_spend(g: Scratch) -> None:
    """Parked or deleted before it cost anything, it counts no tokens."""
    allowed = _allowance(Counted.MODEL_TOKENS, 1_000)
    await g.answer(_costly(g, "e0", 100, allowed))
    await g.answer(_costly(g, "e1", 100, allowed))
    lease = await g.working()
    await g.move(lease, ItemState.PARKED, "e0", reason="cannot be read")
    equal(await _counted(g, allowed), 100, "used: an item was parked")
    await g.store.release(lease)
    await g.write(remove_episodes=("e1",))
    equal(await _counted(g, allowed), 0, "used: the other was deleted")


async def bytes_are_given_back(g: Scratch) -> None:
    """Bytes count as long as their episode is there, be it removed alone or with its group."""
    allowed = _allowance(Counted.BYTES, 10)
    await g.accepted(g.episode("e0", body="12345"), g.episode("e1", body="é4"), allowances=(allowed,))
    equal(await _counted(g, allowed), 8, "used: bytes, not characters")
    more = batch(g.episode("e2", body="123"), allowances=(allowed,))
    await _refused(g, "more bytes than are left", more)
    await g.write(remove_episodes=("e0",))
    equal(await _counted(g, allowed), 3, "used: an episode was removed")
    await g.store.delete_group(g.id, NOW + 10)
    equal(await _counted(g, allowed), 0, "used: its group was deleted")
