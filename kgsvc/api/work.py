"""Running operations: at most so many at once, and each to its end even if its caller hangs up.

A cancelled store call may have committed or not (design §4), so no operation is ever cancelled with its RPC;
what it holds is bounded by the stores' own deadlines.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from kgsvc.api.errors import ShuttingDown
from kgsvc.domain.errors import KgError, Overloaded

T = TypeVar("T")
log = logging.getLogger(__name__)
_RETRY_AFTER_MS = 200


class Work:
    """Counts what is under way and refuses what is too much."""

    def __init__(self, max_calls: int, max_bytes: int, max_streams: int) -> None:
        self._max_calls = max_calls
        self._max_bytes = max_bytes
        self._max_streams = max_streams
        self._bytes = 0
        self._streams = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self.stopping = asyncio.Event()

    async def run(self, size: int, operation: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of `operation` for a request of `size` bytes. Raises Overloaded, ShuttingDown."""
        if self.stopping.is_set():
            raise ShuttingDown
        if len(self._tasks) >= self._max_calls or self._bytes + size > self._max_bytes:
            raise Overloaded("too many calls are under way", _RETRY_AFTER_MS)
        task = asyncio.create_task(operation())
        self._tasks.add(task)
        self._bytes += size

        def done(finished: asyncio.Task[Any]) -> None:
            self._tasks.discard(finished)
            self._bytes -= size

        task.add_done_callback(done)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_complain)  # nobody waits for its outcome any more
            raise

    @contextmanager
    def stream(self) -> Iterator[None]:
        """The time of one stream. Raises Overloaded, ShuttingDown."""
        if self.stopping.is_set():
            raise ShuttingDown
        if self._streams >= self._max_streams:
            raise Overloaded("too many streams are open", _RETRY_AFTER_MS)
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1

    async def drain(self, timeout_s: float) -> int:
        """Wait for operations left behind; how many did not end in time."""
        if not self._tasks:
            return 0
        _, late = await asyncio.wait(self._tasks, timeout=timeout_s)
        return len(late)


def _complain(task: asyncio.Task[Any]) -> None:
    """Log a defect of an operation whose caller has gone."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, KgError):
        log.error("an operation without a caller failed", exc_info=error)
