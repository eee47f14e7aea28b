"""Reads of group records are shared by who waits for one, and by nobody who came after it began. Pages of
changes are read ahead."""

import asyncio
from collections.abc import Collection

import pytest

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.model.delta import GroupHead
from kgsvc.search.index.facts import GroupIndex
from kgsvc.search.index.feed import GroupHeads, Page, Pages
from kgsvc.stores.search_protocol import Changes
from tests.support.model_store import ModelStore

SOON_S = 5.0


class Gate(ModelStore):
    """A store whose reads of records are answered when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[list[str]] = []
        self.begun = asyncio.Condition()
        self.answers: list[asyncio.Future[int]] = []

    async def heads(self, group_ids: Collection[str]) -> dict[str, GroupHead]:
        """The records of all groups asked for, at the revision that the test answers."""
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        async with self.begun:
            self.asked.append(list(group_ids))
            self.answers.append(answer)
            self.begun.notify_all()
        rev = await answer
        return {group_id: GroupHead(group_id, rev) for group_id in group_ids}

    async def reads(self, count: int) -> None:
        """Wait until so many reads have begun."""
        async with asyncio.timeout(SOON_S), self.begun:
            await self.begun.wait_for(lambda: len(self.asked) >= count)


async def asking(heads: GroupHeads, *group_ids: str) -> asyncio.Task[dict[str, GroupHead]]:
    """Somebody who asks, and has asked when this returns."""
    task = asyncio.create_task(heads.of(group_ids))
    await asyncio.sleep(0)
    return task


async def test_who_waits_shares_the_next_read() -> None:
    store = Gate()
    heads = GroupHeads(store, SOON_S)
    first = await asking(heads, "a")
    await store.reads(1)
    others = [await asking(heads, group_id) for group_id in ("c", "b", "c")]
    store.answers[0].set_result(1)
    assert await first == {"a": GroupHead("a", 1)}
    await store.reads(2)
    late = await asking(heads, "a")
    store.answers[1].set_result(2)
    for other in others:
        assert set((await other).values()) == {GroupHead("b", 2), GroupHead("c", 2)}
    await store.reads(3)
    store.answers[2].set_result(3)
    assert (await late)["a"].rev == 3
    assert store.asked == [["a"], ["b", "c"], ["a"]]
    await heads.close()


async def test_a_read_that_fails_fails_for_all_who_share_it_and_nobody_else() -> None:
    store = Gate()
    heads = GroupHeads(store, SOON_S)
    first = await asking(heads, "a")
    await store.reads(1)
    sharing = [await asking(heads, "b") for _ in range(2)]
    store.answers[0].set_exception(StoreUnavailable("gone"))
    with pytest.raises(StoreUnavailable, match="gone"):
        await first
    await store.reads(2)
    store.answers[1].set_result(7)
    assert [(await each)["b"].rev for each in sharing] == [7, 7]


async def test_who_goes_away_takes_nobody_along() -> None:
    store = Gate()
    heads = GroupHeads(store, SOON_S)
    gone = await asking(heads, "a")
    await store.reads(1)
    gone.cancel()
    stays = await asking(heads, "a")
    store.answers[0].set_exception(StoreUnavailable("nobody asks any more"))
    await store.reads(2)
    store.answers[1].set_result(1)
    assert (await stays)["a"].rev == 1


async def test_a_store_that_does_not_answer_is_unavailable() -> None:
    heads = GroupHeads(Gate(), 0.01)
    with pytest.raises(StoreUnavailable, match="in time"):
        await heads.of(["a"])
    await heads.close()


async def test_of_very_many_groups_everybody_reads_alone() -> None:
    store = Gate()
    heads = GroupHeads(store, SOON_S)
    first = await asking(heads, "a")
    await store.reads(1)
    many = await asking(heads, *(f"g{n}" for n in range(1_000)))
    few = await asking(heads, "b")
    for n in range(3):
        await store.reads(n + 1)
        store.answers[n].set_result(n)
    assert [len(await each) for each in (first, many, few)] == [1, 1_000, 1]


async def test_of_no_groups_nothing_is_read() -> None:
    gate = Gate()
    assert await GroupHeads(gate, SOON_S).of([]) == {}
    assert gate.asked == []


class Shelf(ModelStore):
    """A store of four revisions, a page for each."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[int] = []
        self.fails_at = -1
        self.slow_at = -1

    async def changes(self, group_id: str, after_rev: int, limit: int) -> Changes:
        """The revision after `after_rev`, at once, never or not at all."""
        self.read.append(after_rev)
        if after_rev == self.fails_at:
            raise StoreUnavailable("away")
        if after_rev == self.slow_at:
            await asyncio.get_running_loop().create_future()
        return Changes(HEAD, (), (), after_rev + 1, after_rev + 1 < HEAD.rev)


HEAD = GroupHead("g", 4, epoch=1)


def changes(page: Page) -> Changes:
    """A page of facts."""
    assert isinstance(page, Changes)
    return page


async def settled() -> None:
    """Let tasks that wait for nothing run."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_the_next_page_is_read_while_the_last_is_applied() -> None:
    store, index = Shelf(), GroupIndex("g")
    async with Pages(store, SOON_S) as pages:
        for rev in range(4):
            page = changes(await pages.after(index, 10, HEAD))
            await settled()
            assert page.upto_rev == rev + 1
            assert store.read == list(range(min(rev + 2, 4))), "one ahead, and none behind the last"
            index.apply(page)
    assert index.rev == 4


async def test_nothing_is_read_beyond_the_head_that_is_wanted() -> None:
    store, index = Shelf(), GroupIndex("g")
    async with Pages(store, SOON_S) as pages:
        await pages.after(index, 10, GroupHead("g", 1, epoch=1))
        await settled()
    assert store.read == [0]


async def test_a_part_that_somebody_else_advanced_gets_the_page_that_it_needs() -> None:
    store, index = Shelf(), GroupIndex("g")
    store.slow_at = 1
    async with Pages(store, SOON_S) as pages:
        index.apply(changes(await pages.after(index, 10, HEAD)))
        index.rev = 2
        assert changes(await pages.after(index, 10, HEAD)).upto_rev == 3


async def test_a_page_that_failed_ahead_fails_for_who_needs_it_only() -> None:
    store, index = Shelf(), GroupIndex("g")
    store.fails_at = 1
    async with Pages(store, SOON_S) as pages:
        index.apply(changes(await pages.after(index, 10, HEAD)))
        await settled()
    async with Pages(store, SOON_S) as pages:
        with pytest.raises(StoreUnavailable):
            await pages.after(index, 10, HEAD)


async def test_nothing_is_read_ahead_where_one_page_is_wanted() -> None:
    store, index = Shelf(), GroupIndex("g")
    async with Pages(store, SOON_S, ahead=False) as pages:
        await pages.after(index, 10, HEAD)
        await settled()
    assert store.read == [0]
