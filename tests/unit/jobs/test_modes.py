"""The modes as a process knows them: who may begin, who waits, and which of two readings counts."""

import asyncio
import random

import pytest

from kgsvc.domain.errors import ModelOff, ReadOnly, StoreUnavailable
from kgsvc.domain.model.graph import Episode, Source, Usage
from kgsvc.domain.model.items import FailedItem, ItemState, QueuedItem, Step
from kgsvc.domain.model.modes import ModeChange, ServiceModes
from kgsvc.jobs.activity import ActivityWatch
from kgsvc.jobs.dispatcher import QueueSettings, RetryPolicy
from kgsvc.jobs.modes import ModeWatch
from kgsvc.stores.intake_protocol import Activity
from tests.support.model_store import ModelStore

WAIT_S = 30.0
READ_ONLY, MODEL_OFF = ServiceModes(read_only_ms=1), ServiceModes(model_off_ms=1)


def watching(now: ServiceModes) -> ModeWatch:
    modes = ModeWatch()
    modes.take(now)
    return modes


@pytest.mark.parametrize(
    ("now", "by_model", "without"),
    [(ServiceModes(), True, True), (READ_ONLY, False, False), (MODEL_OFF, False, True)],
)
def test_what_may_begin(now: ServiceModes, by_model: bool, without: bool) -> None:
    modes = watching(now)
    assert (modes.may_begin(True)(), modes.may_begin(False)()) == (by_model, without)


def test_which_calls_of_models_begin_while_a_process_ends() -> None:
    modes = watching(ServiceModes())
    assert _refused(modes) == (False, False)
    modes.leave()
    assert _refused(modes) == (True, False), "what was extracted is still embedded and compared"
    modes.hurry()
    assert _refused(modes) == (True, True)
    assert _refused(watching(MODEL_OFF)) == (True, True)


def _refused(modes: ModeWatch) -> tuple[bool, bool]:
    """To begin an item, and for what has begun."""
    return modes.models_off(begins=True), modes.models_off(begins=False)


def test_only_read_only_refuses_writes() -> None:
    watching(MODEL_OFF).require_writable()
    with pytest.raises(ReadOnly, match="read-only"):
        watching(READ_ONLY).require_writable()


@pytest.mark.parametrize("by_model", [False, True])
async def test_who_waits_goes_on_when_the_mode_ends(by_model: bool) -> None:
    modes = watching(ServiceModes(1, 1))
    waiting = asyncio.create_task(modes.writable_by_model() if by_model else modes.writable())
    await asyncio.sleep(0)
    modes.take(MODEL_OFF)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert waiting.done() != by_model
    modes.take(ServiceModes())
    async with asyncio.timeout(WAIT_S):
        await waiting


class Answering(ModelStore):
    """A store whose first answer about what has changed comes late, or never."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.goes_on = asyncio.Event(), asyncio.Event()
        self.away = 0

    async def activity(self) -> Activity:
        found = await super().activity()
        if self.away:
            self.away -= 1
            raise StoreUnavailable("away")
        self.asked.set()
        await self.goes_on.wait()
        return found


@pytest.fixture
async def store() -> Answering:
    return Answering()


def polled(modes: ModeWatch, store: Answering) -> tuple[ActivityWatch, asyncio.Task[None]]:
    activity = ActivityWatch(store, 0.01, random.Random(1), modes)
    return activity, asyncio.create_task(activity.run())


async def test_what_another_process_switched_is_seen_and_told(store: Answering) -> None:
    store.goes_on.set()
    modes = ModeWatch()
    activity, task = polled(modes, store)
    await store.asked.wait()
    seen = activity.work.version
    await store.set_modes(ModeChange(read_only=True), 7)
    async with asyncio.timeout(WAIT_S):
        while not modes.now.read_only:
            seen = await activity.work.wait(seen, WAIT_S)
    task.cancel()


async def test_a_late_reading_does_not_undo_what_was_switched_here(store: Answering) -> None:
    modes = ModeWatch()
    _activity, task = polled(modes, store)
    await store.asked.wait()
    modes.take(READ_ONLY)
    store.goes_on.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert modes.now == READ_ONLY
    task.cancel()


async def test_a_store_that_is_away_changes_nothing(store: Answering) -> None:
    store.away = 1
    modes = watching(READ_ONLY)
    _activity, task = polled(modes, store)
    for _ in range(5):
        await asyncio.sleep(0)
    assert store.away == 0
    assert modes.now == READ_ONLY
    task.cancel()


def test_an_item_whose_model_is_off_is_put_back_without_an_attempt() -> None:
    item = QueuedItem(Episode("u", "g", "b", Source.TEXT, 0, 0), ItemState.EXTRACTED, 0, {"embed": 4})
    policy = RetryPolicy(QueueSettings(attempts_per_step=5), random.Random(1))
    failed = FailedItem(item, Step.EMBED, ModelOff(), b"stage", Usage(calls=1))
    after = policy.after(failed, 1_000)
    assert (after.state, after.step, after.reason) == (ItemState.ACCEPTED, None, None)
    assert (after.stage, after.keep_stage, after.usage) == (b"stage", False, Usage(calls=1))
    assert after.next_ms > 1_000
    assert policy.after(FailedItem(item, Step.UPSERT, ModelOff()), 1_000).keep_stage
