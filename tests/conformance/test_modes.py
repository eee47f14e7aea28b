"""ModeStore: modes of the service, and groups whose items wait."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from kgsvc.access.scopes import next_after
from kgsvc.domain.model.communities import BuildRequest
from kgsvc.domain.model.items import ItemState
from kgsvc.domain.model.modes import ModeChange, ServiceModes
from kgsvc.stores.protocol import GroupSize, Store
from tests.support.samples import HUGE, MANY, NOW, Scratch, claim, present
from tests.support.stores import ON_REAL

LATER = NOW + 1_000
OFF = ModeChange(read_only=False, model_off=False)


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def normal(g: Scratch) -> AsyncIterator[None]:
    """No mode is left on for other tests on the store."""
    yield
    await g.store.set_modes(OFF, NOW)


async def of_service(store: Store) -> ServiceModes:
    """The modes without what other groups do."""
    return replace((await store.activity()).modes, paused_groups=0)


async def size(g: Scratch) -> GroupSize | None:
    """What ListGroups shows of the group."""
    found = await g.store.group_sizes(g.id, next_after(g.id), 1)
    return found[0] if found else None


async def test_modes_are_switched_apart_and_keep_their_time(g: Scratch) -> None:
    """One is left as it is by a change of the other; one that is on stays on since when it was."""
    assert await of_service(g.store) == ServiceModes()
    await g.store.set_modes(ModeChange(read_only=True), NOW)
    both = await g.store.set_modes(ModeChange(model_off=True), NOW + 5)
    assert replace(both, paused_groups=0) == ServiceModes(NOW, NOW + 5)
    await g.store.set_modes(ModeChange(read_only=True, model_off=True), NOW + 9)
    assert await of_service(g.store) == ServiceModes(NOW, NOW + 5)
    await g.store.set_modes(ModeChange(read_only=False), NOW + 9)
    assert await of_service(g.store) == ServiceModes(None, NOW + 5)
    await g.store.set_modes(OFF, NOW + 9)
    assert await of_service(g.store) == ServiceModes()


@pytest.mark.parametrize("what", ["modes", "pause", "resume"])
async def test_what_is_switched_counts_as_activity(what: str, g: Scratch) -> None:
    """Processes that look for changes see it."""
    await g.store.pause_group(g.id, True, NOW)
    before = await g.store.activity()
    if what == "modes":
        await g.store.set_modes(ModeChange(model_off=True), NOW)
    else:
        await g.store.pause_group(g.id, what == "pause", NOW)
    assert (await g.store.activity()).work != before.work


async def test_a_paused_group_is_not_ready(g: Scratch) -> None:
    """It is neither offered nor due, and offered again once it is resumed; others are all the while."""
    other = g.sibling()
    await g.accepted(*g.episodes(2))
    await other.accepted(other.episode("e9"))
    await g.store.pause_group(g.id, True, LATER)
    assert await g.store.paused_since(g.id) == LATER
    assert await g.work() is None
    assert present(await other.work()).group_id == other.id
    await g.store.pause_group(g.id, False, NOW)
    assert await g.store.paused_since(g.id) is None
    assert present(await g.work()).group_id == g.id


async def test_a_paused_group_is_not_due(g: Scratch) -> None:
    """When to look again is not told by what waits."""
    due_ms = NOW + 10**12  # after all that others left
    lease = await g.begun(g.episode("e1"))
    await g.move(lease, ItemState.EXTRACT_FAILED, "e1", next_ms=due_ms)
    await g.store.release(lease)
    assert await g.work() is None
    assert await g.store.next_due_ms(due_ms - 1) == due_ms
    assert await g.store.next_due_ms(due_ms) is None
    await g.store.pause_group(g.id, True, NOW)
    assert await g.store.next_due_ms(due_ms - 1) is None
    await g.store.pause_group(g.id, False, NOW)
    assert await g.store.next_due_ms(due_ms - 1) == due_ms


@pytest.mark.parametrize("how", ["claim", "begin"])
async def test_who_saw_a_group_before_its_pause_does_not_get_it(how: str, g: Scratch) -> None:
    """Neither alone nor among others, which are taken."""
    other = g.sibling()
    await g.accepted(g.episode("e1"))
    await other.accepted(other.episode("e2"))
    seen = [present(await each.work()) for each in (g, other)]
    await g.store.pause_group(g.id, True, NOW)
    if how == "claim":
        assert await claim(g.store, seen[0], "worker-a") is None
        return
    mine, theirs = await g.store.begin(seen, "worker-a", NOW, MANY, HUGE)
    assert mine is None
    assert [item.episode.uuid for item in present(theirs).items] == ["e2"]


async def test_what_had_begun_is_finished_and_nothing_more_begun(g: Scratch) -> None:
    """Under the lease that is held, states are saved and no item is started, a suspect neither; after the
    pause the rest comes."""
    await g.accepted(*g.episodes(3))
    lease = await g.leased()
    (first,) = await g.store.start_items(lease, NOW, 1, HUGE, ())
    await g.store.pause_group(g.id, True, NOW)
    assert await g.store.renew([lease]) == [g.id]
    await g.move(lease, ItemState.COMPLETED, first.episode.uuid)
    assert await g.due(lease) == []
    assert await g.store.start_items(lease, NOW, MANY, HUGE, (first.episode.uuid,)) == []
    await g.store.release(lease)
    await g.store.pause_group(g.id, False, NOW)
    assert await g.started(await g.leased()) == ["e1", "e2"]


async def test_items_are_accepted_read_retried_and_deleted_all_the_same(g: Scratch) -> None:
    """A pause is of the work alone, and the group's size tells it."""
    await g.store.pause_group(g.id, True, NOW)
    await g.store.pause_group(g.id, True, NOW + 5)
    await g.accepted(*g.episodes(2))
    assert [item.state for item in await g.items()] == [ItemState.ACCEPTED] * 2
    shown = present(await size(g))
    assert (shown.episodes, shown.waiting, shown.paused_ms) == (2, 2, NOW)
    assert await g.store.retry_items(g.id, None, NOW) == []
    await g.store.delete_group(g.id, LATER)
    assert (await g.store.dump(g.id)).episodes == ()


async def test_deleting_a_group_ends_its_pause(g: Scratch) -> None:
    """What comes under its name afterwards is worked on."""
    await g.accepted(g.episode("e1"))
    await g.store.pause_group(g.id, True, NOW)
    before = (await g.store.activity()).modes.paused_groups
    await g.store.delete_group(g.id, LATER)
    assert await g.store.paused_since(g.id) is None
    assert (await g.store.activity()).modes.paused_groups == before - 1
    await g.accepted(g.episode("e2"))
    assert present(await g.work()).group_id == g.id


async def test_a_group_to_come_can_be_paused(g: Scratch) -> None:
    """It is listed and counted though it is empty, is not forgotten, and what comes waits."""
    before = (await g.store.activity()).modes.paused_groups
    assert (await g.store.pause_group(g.id, True, NOW)).paused_groups == before + 1
    assert present(await size(g)).paused_ms == NOW
    assert (await g.store.activity()).modes.paused_groups == before + 1
    await g.store.forget_group(g.id)
    assert await g.store.paused_since(g.id) == NOW
    assert g.id not in await g.store.group_ids()
    await g.accepted(g.episode("e1"))
    assert await g.work() is None
    await g.store.pause_group(g.id, False, NOW)
    assert present(await g.work()).group_id == g.id


async def test_a_group_that_is_not_paused_is_resumed_without_a_trace(g: Scratch) -> None:
    """Also an unknown one, of which no record is made."""
    now = await g.store.pause_group(g.id, False, NOW)
    assert now == (await g.store.activity()).modes
    assert await g.store.heads([g.id]) == {}
    assert await size(g) is None
    assert await g.store.paused_since(g.id) is None


@ON_REAL
async def test_builds_and_fills_of_a_paused_group_wait(g: Scratch) -> None:
    """They are offered again once it is resumed."""
    await g.pair()
    await g.store.request_builds([BuildRequest(g.id, f"{g.id}-build", NOW)])
    await g.store.begin_fill(g.id, NOW)

    async def offered() -> list[bool]:
        builds = await g.store.open_builds(LATER, MANY)
        fills = await g.store.open_fills(LATER, MANY)
        return [any(each.group_id == g.id for each in some) for some in (builds, fills)]

    assert await offered() == [True, True]
    await g.store.pause_group(g.id, True, NOW)
    assert await offered() == [False, False]
    await g.store.pause_group(g.id, False, NOW)
    assert await offered() == [True, True]
