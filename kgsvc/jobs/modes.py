"""The modes of the service as one process knows them, and who waits for one to end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kgsvc.domain.errors import ReadOnly
from kgsvc.domain.model.modes import ServiceModes


class ModeWatch:
    """Has them as they are: at once where they are switched here, else since the last look at what other
    processes did (ActivityWatch)."""

    def __init__(self) -> None:
        self.now = ServiceModes()
        self._leaving = self._hurried = False
        self.taken = 0  # how often
        self._changed = asyncio.Event()

    def require_writable(self) -> None:
        """Raises ReadOnly while writes are refused."""
        if self.now.read_only:
            raise ReadOnly

    def may_begin(self, needs_model: bool) -> Callable[[], bool]:
        """Whether work may be begun that writes and, if so, needs a model server."""
        return lambda: not (self.now.read_only or (needs_model and self.now.model_off))

    def leave(self) -> None:
        """The process ends: models are asked about no item that they were not asked about before."""
        self._leaving = True

    def hurry(self) -> None:
        """No call of a model begins; what was asked is answered."""
        self._hurried = True

    def models_off(self, begins: bool) -> bool:
        """Whether no model is called now: to begin an item (`begins`), or for what has begun."""
        return self.now.model_off or self._hurried or (begins and self._leaving)

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
        self.taken += 1
        if differs:
            self._changed.set()
            self._changed = asyncio.Event()
        return differs
