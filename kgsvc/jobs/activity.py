"""What wakes whoever waits for changes: of this process at once, of others when they tell or by one poll."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable

from kgsvc.domain.errors import ServiceError
from kgsvc.jobs.modes import ModeWatch
from kgsvc.stores.intake_protocol import Activity, IntakeStore, OpenWork, QueueDepth

log = logging.getLogger(__name__)
_PAUSES = 5  # between two polls, where something has happened between the two before
_REST = 10  # times as long as a poll took does the next one wait besides
_LONGEST_S = 0.25


class Signal:
    """Counts how often something has happened, for those who wait until it happens again."""

    def __init__(self) -> None:
        self._version = 0
        self._again = asyncio.Event()

    @property
    def version(self) -> int:
        """Read it before what may have changed, then `wait` for it to grow."""
        return self._version

    def set(self) -> None:
        """It has happened."""
        self._version += 1
        self._again.set()
        self._again = asyncio.Event()

    async def wait(self, seen: int, timeout_s: float) -> int:
        """The version once it differs from `seen`, at the latest after `timeout_s`."""
        if self._version == seen:
            try:
                async with asyncio.timeout(timeout_s):
                    await self._again.wait()
            except TimeoutError:
                pass
        return self._version


class ActivityWatch:
    """Counts changes: this process's own at once (`poke`), others' when they tell of them (`heard`), else by
    one poll per process."""

    def __init__(
        self,
        store: IntakeStore,
        poll_s: float,
        rng: random.Random,
        modes: ModeWatch | None = None,
        first: Activity | None = None,
    ) -> None:
        """`first`: what was read before the first poll."""
        self.tell: Callable[[], None] = lambda: None  # other processes of a change in this one
        self._store = store
        self._poll_s = poll_s
        self._rng = rng
        self.modes = modes or ModeWatch()
        self._last = first
        self.answered = True  # by the store, at the last poll
        self.work = Signal()  # there may be more to begin
        self.changes = Signal()  # that, or items have changed state

    @property
    def depth(self) -> QueueDepth | None:
        """Of the queue, as of the last poll; None: there was none yet."""
        return None if self._last is None else self._last.depth

    @property
    def open(self) -> OpenWork:
        """What is to be done besides items, as of the last poll."""
        return OpenWork() if self._last is None else self._last.open

    def poke(self) -> None:
        """There may be more to begin, by a change in this process."""
        self.heard()
        self.tell()

    def heard(self) -> None:
        """There may be more to begin, by a change in another process."""
        self.work.set()
        self.changes.set()

    async def run(self) -> None:
        """Poll until cancelled."""
        loop, seen = asyncio.get_running_loop(), self.changes.version
        while True:
            began, happened = loop.time(), self.changes.version != seen
            await self._look()
            seen = self.changes.version
            # A store that takes long to answer has enough to do.
            await asyncio.sleep(min(_REST * (loop.time() - began), _LONGEST_S))
            # While something keeps happening here, whoever waits looks at the store anyway.
            for _ in range(_PAUSES if happened else 1):
                await asyncio.sleep(self._poll_s * (0.5 + self._rng.random()))

    async def _look(self) -> None:
        taken, last = self.modes.taken, self._last
        try:
            now = await self._store.activity()
        except ServiceError as error:
            log.warning("cannot look for changes: %s", type(error).__name__)
            self.answered = False
            return
        self._last, self.answered = now, True
        # Modes that were switched here meanwhile are newer than those that were read.
        switched = self.modes.taken == taken and self.modes.take(now.modes)
        if switched or (last is not None and (now.work, now.open) != (last.work, last.open)):
            self.heard()
        elif last is not None and now.changes != last.changes:
            self.changes.set()
