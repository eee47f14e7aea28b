"""One poll for changes per process, however many wait for them (design §4)."""

from __future__ import annotations

import asyncio
import logging
import random

from kgsvc.domain.errors import ServiceError
from kgsvc.stores.protocol import IntakeStore

log = logging.getLogger(__name__)


class ActivityWatch:
    """Counts changes of the queue: this process's own at once (`poke`), others' by polling."""

    def __init__(self, store: IntakeStore, poll_s: float, rng: random.Random) -> None:
        self._store = store
        self._poll_s = poll_s
        self._rng = rng
        self._version = 0
        self._changed = asyncio.Event()

    @property
    def version(self) -> int:
        """Grows with every change seen. Read it before reading the store, then wait for it to change."""
        return self._version

    def poke(self) -> None:
        """Something changed in this process."""
        self._version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait(self, seen: int, timeout_s: float) -> int:
        """The version once it differs from `seen`, at the latest after `timeout_s`."""
        if self._version == seen:
            try:
                async with asyncio.timeout(timeout_s):
                    await self._changed.wait()
            except TimeoutError:
                pass
        return self._version

    async def run(self) -> None:
        """Poll until cancelled."""
        last: int | None = None
        while True:
            try:
                now = await self._store.activity()
            except ServiceError as error:
                log.warning("cannot look for changes: %s", type(error).__name__)
                now = last if last is not None else 0
            if last is not None and now != last:
                self.poke()
            last = now
            await asyncio.sleep(self._poll_s * (0.5 + self._rng.random()))
