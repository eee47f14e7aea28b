"""Followers of groups: told of changes by one look for all of them, whatever ends that look."""

import asyncio
from collections.abc import Collection

from kgsvc.commands.following import FollowedChange, FollowedPlace, Movements, follow
from kgsvc.domain.errors import StoreRefused
from kgsvc.domain.model.delta import GroupHead
from kgsvc.domain.model.graph import Episode, Source
from kgsvc.stores.search_protocol import Changes, IndexedEpisode, TextChanges
from tests.support.core import core_of
from tests.support.model_store import ModelStore

EPISODES = 1_000


class Refusing(ModelStore):
    """Refuses to tell revisions, until it is well again."""

    ill = True

    async def heads(self, group_ids: Collection[str]) -> dict[str, GroupHead]:
        if self.ill:
            raise StoreRefused("out of memory")
        return {group_id: GroupHead(group_id, rev=5) for group_id in group_ids}


class Wide(ModelStore):
    """One revision that touches many episodes."""

    async def heads(self, group_ids: Collection[str]) -> dict[str, GroupHead]:
        return {group_id: GroupHead(group_id, rev=1) for group_id in group_ids}

    async def changes(self, group_id: str, after_rev: int, limit: int) -> Changes:
        return Changes(GroupHead(group_id, rev=1), (), (), 1)

    async def text_changes(
        self, group_id: str, after_rev: int, limit: int, max_bytes: int = 0, after_uuid: str = ""
    ) -> TextChanges:
        first = int(after_uuid or 0)
        last = min(first + limit, EPISODES)
        told = tuple(_episode(group_id, n) for n in range(first, last))
        more = last < EPISODES
        head = GroupHead(group_id, rev=1)
        upto = f"{last:05}" if more else ""
        return TextChanges(head, (), told, (), (), 0 if more else 1, more, upto_uuid=upto)


class Crowded(Wide):
    """Counts the pages that are read at the same time."""

    def __init__(self) -> None:
        super().__init__()
        self.reading = self.most = 0

    async def text_changes(
        self, group_id: str, after_rev: int, limit: int, max_bytes: int = 0, after_uuid: str = ""
    ) -> TextChanges:
        self.reading += 1
        self.most = max(self.most, self.reading)
        await asyncio.sleep(0)
        self.reading -= 1
        return await super().text_changes(group_id, after_rev, limit, max_bytes, after_uuid)


def _episode(group_id: str, n: int) -> IndexedEpisode:
    return IndexedEpisode(Episode(f"{n:05}", group_id, f"text {n}", Source.TEXT, 1, created_ms=1))


async def test_a_look_that_fails_is_told_to_all_and_the_next_looks_again() -> None:
    store = Refusing()
    movements = Movements(core_of(store))
    told = await asyncio.gather(
        *(movements.after(GroupHead(group_id)) for group_id in "ab"), return_exceptions=True
    )
    assert [type(each) for each in told] == [StoreRefused] * 2
    store.ill = False
    await asyncio.wait_for(movements.after(GroupHead("c")), 5)


async def test_a_revision_is_told_in_parts() -> None:
    parts: list[FollowedChange] = []
    core = core_of(Wide())
    async for told in follow(core, Movements(core), "g", None):
        parts.append(told)
        if told.current:
            break
    sizes = [len(part.episodes) for part in parts]
    assert sum(sizes) == EPISODES
    assert max(sizes) <= 200
    assert {part.place for part in parts[:-1]} == {FollowedPlace(0, 0)}
    assert parts[-1].place == FollowedPlace(0, 1)


async def test_many_who_begin_at_once_take_one_reader_of_the_store() -> None:
    store = Crowded()
    core = core_of(store)
    movements = Movements(core)

    async def all_of(group_id: str) -> int:
        count = 0
        async for told in follow(core, movements, group_id, None):
            count += len(told.episodes)
            if told.current:
                break
        return count

    async with asyncio.timeout(30):
        counts = await asyncio.gather(*(all_of(f"g{n}") for n in range(20)))
    assert counts == [EPISODES] * 20
    assert store.most == 1
