"""The modes of the service as one process knows them, and who waits for one to end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from kgsvc.domain.errors import ReadOnly, ServiceError
from kgsvc.domain.model.modes import ServiceModes
from kgsvc.jobs.activity import ActivityWatch
from kgsvc.stores.mode_protocol import ModeStore

log = logging.getLogger(__name__)
_IDLE_S = 5.0  # the longest pause between two looks, where no change was told
_REST_S = 0.25  # the shortest one, however much happens


class ModeWatch:
    """Keeps them current: at once where they are switched here, within half a second where another process
    switches them."""

    def __init__(self) -> None:
        self.now = ServiceModes()
        self._taken = 0
        self._changed = asyncio.Event()

    def require_writable(self) -> None:
        """Raises ReadOnly while writes are refused."""
        if self.now.read_only:
            raise ReadOnly

    def may_begin(self, needs_model: bool) -> Callable[[], bool]:
        """Whether work may be begun that writes and, if so, needs a model server."""
        return lambda: not (self.now.read_only or (needs_model and self.now.model_off))

    async def writable(self) -> None:
        """Wait until writes are taken."""
        while self.now.read_only:
            await self._changed.wait()

    async def writable_by_model(self) -> None:
        """Wait until writes are taken and models are called."""
        while self.now.read_only or self.now.model_off:
            await self._changed.wait()

    def take(self, modes: ServiceModes) -> bool:
        """The store has these now; whether they differ from those before."""
        differs = modes != self.now
        self.now = modes
        self._taken += 1
        if differs:
            self._changed.set()
            self._changed = asyncio.Event()
        return differs

    async def run(self, store: ModeStore, activity: ActivityWatch) -> None:
        """Look until cancelled. A store that does not answer leaves them as they are."""
        while True:
            seen, taken = activity.work.version, self._taken
            try:
                found = await store.modes()
            except ServiceError as error:
                log.warning("cannot read the modes: %s", type(error).__name__)
            else:
                # What was switched here meanwhile is newer than what was read.
                if self._taken == taken and self.take(found):
                    activity.heard()  # for who looked at the queue before this
            await activity.work.wait(seen, _IDLE_S)
            await asyncio.sleep(_REST_S)
