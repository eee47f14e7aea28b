"""Quotas: what new items use is counted as they are accepted, settled as they end, and given back."""

import asyncio
import uuid as uuids
from dataclasses import replace

import pytest

from kgsvc.domain.errors import QuotaExceeded
from kgsvc.domain.limits import DAY_MS, Allowance, Counted
from kgsvc.domain.model.graph import Usage
from kgsvc.domain.model.items import AcceptBatch, Accepted, ItemState, NewItem
from tests.support.samples import NOW, Scratch, batch
from tests.support.stores import ON_REAL

pytestmark = ON_REAL


def _allowance(counted: Counted, limit: int, subject: str | None = None) -> Allowance:
    """Of a subject of which nothing was counted yet."""
    return Allowance(subject or f"group {uuids.uuid4()}", counted, limit, f"quotas.{counted}")


async def _counted(g: Scratch, allowance: Allowance, now_ms: int = NOW) -> int:
    counter = allowance.counter(now_ms)
    return (await g.store.used([counter])).get(counter, 0)


def _costly(g: Scratch, name: str, tokens: int, *allowances: Allowance) -> AcceptBatch:
    """A call with one item for which tokens are set aside."""
    made = g.episode(name)
    return replace(batch(made, allowances=allowances), items=(NewItem(made, tokens=tokens),))


async def test_new_items_are_counted_up_to_the_limit(g: Scratch) -> None:
    """What goes beyond is refused whole, with the name of the limit and when there is room again."""
    allowed = _allowance(Counted.ITEMS, 3)
    await g.accepted(*g.episodes(2), allowances=(allowed,))
    two = batch(g.episode("x"), g.episode("y"), allowances=(allowed,))
    with pytest.raises(QuotaExceeded) as refused:
        await g.answer(two)
    error = refused.value
    assert error.limit == allowed.name
    assert error.retry_after_ms == DAY_MS - NOW % DAY_MS
    assert len(await g.items()) == 2
    await g.accepted(g.episode("x"), allowances=(allowed,))
    assert await _counted(g, allowed) == 3
    tomorrow = batch(g.episode("z"), allowances=(allowed,), now_ms=NOW + DAY_MS)
    await g.answer(tomorrow)
    assert await _counted(g, allowed, NOW + DAY_MS) == 1


async def test_tokens_that_no_item_stands_for_are_counted_too(g: Scratch) -> None:
    """Within every limit or not at all; what is settled is counted whatever is left."""
    wide, narrow = _allowance(Counted.MODEL_TOKENS, 100), _allowance(Counted.MODEL_TOKENS, 50)
    await g.store.spend([wide, narrow], 40, NOW)
    with pytest.raises(QuotaExceeded) as refused:
        await g.store.spend([wide, narrow], 11, NOW)
    assert refused.value.limit == narrow.name
    assert (await _counted(g, wide), await _counted(g, narrow)) == (40, 40)
    await g.store.spend([wide, narrow], 30, NOW, within=False)
    assert await _counted(g, narrow) == 70
    await g.store.spend([wide, narrow], -60, NOW, within=False)
    assert await _counted(g, wide) == 10


async def test_duplicates_are_free(g: Scratch) -> None:
    """What is there already, or known by its key, is answered though nothing is left."""
    allowed = _allowance(Counted.ITEMS, 1)
    call = batch(g.episode("e0"), allowances=(allowed,), idempotency_key="k")
    first = await g.answer(call)
    assert (await g.answer(call)).receipt_id == first.receipt_id
    assert (await g.accepted(g.episode("e0"), allowances=(allowed,))).items[0].duplicate is True
    assert await _counted(g, allowed) == 1


async def test_calls_at_the_same_time_keep_to_the_limit(g: Scratch) -> None:
    """However many come at once, together or apart, what is accepted is exactly what was allowed."""
    allowed = _allowance(Counted.ITEMS, 7)
    calls = [batch(g.episode(f"e{n}"), allowances=(allowed,)) for n in range(20)]
    groups = [calls[:10], *([call] for call in calls[10:])]
    results = await asyncio.gather(*map(g.store.accept, groups))
    outcomes = [outcome for each in results for outcome in each]
    assert sum(isinstance(each, Accepted) for each in outcomes) == 7
    assert all(isinstance(each, Accepted | QuotaExceeded) for each in outcomes)
    assert len(await g.items()) == 7
    assert await _counted(g, allowed) == 7


async def test_tokens_set_aside_become_tokens_spent(g: Scratch) -> None:
    """Until an item ends what was set aside counts, or its cost if that is more; then its cost."""
    group, token = _allowance(Counted.MODEL_TOKENS, 150), _allowance(Counted.MODEL_TOKENS, 1_000)
    await g.answer(_costly(g, "e0", 100, group, token))
    with pytest.raises(QuotaExceeded):
        await g.answer(_costly(g, "e1", 100, group, token))
    lease = await g.working()
    await g.move(lease, ItemState.EXTRACTED, "e0", usage=Usage(1, 10, 5))
    assert await _counted(g, group) == 100
    await g.move(lease, ItemState.EMBEDDED, "e0", usage=Usage(1, 100, 5))
    assert await _counted(g, group) == 120
    await g.move(lease, ItemState.COMPLETED, "e0", usage=Usage(1, 1, 1))
    assert [await _counted(g, each) for each in (group, token)] == [122, 122]
    await g.write(spent={"e0": Usage(1, 3, 0)})
    assert await _counted(g, group) == 125
    await g.store.release(lease)


async def test_an_item_that_ends_gives_back_what_it_did_not_spend(g: Scratch) -> None:
    """Parked or deleted before it cost anything, it counts no tokens."""
    allowed = _allowance(Counted.MODEL_TOKENS, 1_000)
    await g.answer(_costly(g, "e0", 100, allowed))
    await g.answer(_costly(g, "e1", 100, allowed))
    lease = await g.working()
    await g.move(lease, ItemState.PARKED, "e0", reason="cannot be read")
    assert await _counted(g, allowed) == 100
    await g.store.release(lease)
    await g.write(remove_episodes=("e1",))
    assert await _counted(g, allowed) == 0


async def test_bytes_are_given_back(g: Scratch) -> None:
    """Bytes count as long as their episode is there, be it removed alone or with its group."""
    allowed = _allowance(Counted.BYTES, 10)
    await g.accepted(g.episode("e0", body="12345"), g.episode("e1", body="é4"), allowances=(allowed,))
    assert await _counted(g, allowed) == 8
    more = batch(g.episode("e2", body="123"), allowances=(allowed,))
    with pytest.raises(QuotaExceeded):
        await g.answer(more)
    await g.write(remove_episodes=("e0",))
    assert await _counted(g, allowed) == 3
    await g.store.delete_group(g.id, NOW + 10)
    assert await _counted(g, allowed) == 0
