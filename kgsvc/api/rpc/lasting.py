"""How streams end that may last: with the process, or after their longest time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from kgsvc.api.errors import ShuttingDown
from kgsvc.runtime import Clock

T = TypeVar("T")


class Lasting:
    """One stream, from now on for so many seconds."""

    def __init__(self, clock: Clock, stopping: asyncio.Event, longest_s: float) -> None:
        self._clock = clock
        self._stopping = stopping
        self._until = clock.monotonic() + longest_s

    async def unless_over(self, coming: Awaitable[T]) -> T:
        """What comes. Raises ShuttingDown, TimeoutError; then it is cancelled."""
        told: asyncio.Future[T] = asyncio.ensure_future(coming)
        stop: asyncio.Future[bool] = asyncio.ensure_future(self._stopping.wait())
        try:
            both: set[asyncio.Future[Any]] = {told, stop}
            left = self._until - self._clock.monotonic()
            await asyncio.wait(both, timeout=max(left, 0.0), return_when=asyncio.FIRST_COMPLETED)
            if told.done():
                return told.result()
            if self._stopping.is_set():
                raise ShuttingDown
            raise TimeoutError
        finally:
            stop.cancel()
            if not told.done():
                told.cancel()
                await asyncio.wait([told])

    def expect_more(self) -> None:
        """Raises ShuttingDown, TimeoutError."""
        if self._stopping.is_set():
            raise ShuttingDown
        if self._clock.monotonic() >= self._until:
            raise TimeoutError
