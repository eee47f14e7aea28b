"""Clock, ids and threads of a process. The clock and the ids are handed in, so that tests choose them.

Handing work to a thread costs some 0.3 ms with all that waits for it, and most of the work here holds the
interpreter's lock anyway. So each constant below says how much of one kind of work is done on the event loop:
up to it, the work takes a few milliseconds at most. The values are measured; change one alone.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import time
import uuid
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_IDS_AT_ONCE = 256  # one read of the kernel's generator costs as much as making dozens of uuids

REQUEST_BYTES = 64 * 1024  # of a request that is parsed and checked
ACCEPTED_CHARS = 128 * 1024  # of bodies that are hashed when they are accepted
EMBEDDED_CHARS = 2_000  # of texts that are embedded by hashing
STATEMENTS = 200  # names, edges and known facts that are compared or planned
MULTIPLICATIONS = 2_000_000  # of numbers of vectors
QUERY_CHARS = 1_000  # of a query that is tokenised
INDEX_ROWS = 12_000  # of a group's index that is ranked
INDEX_CHANGES = 16  # rows that are written to an index
INDEX_CHARS = 16 * 1024  # of bodies whose words are written to an index
RANKED = 2_000  # candidates that are put in order
CONTEXT_CHARS = 2_000  # of a context that is composed; some times as much is read for it
RESULT_BYTES = 256 * 1024  # of packed results that are unpacked


_M_ARENA_MAX, _M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD = -8, -3, -1  # <malloc.h> of glibc
_LARGE_BYTES = 4 * 1024 * 1024  # more than searches take and free again and again: fresh pages cost them time


def free_early() -> None:
    """Have the C allocator, where it is glibc's, give back what is freed: threads share two arenas instead
    of keeping one each, and large blocks always have pages of their own. Otherwise a service that has read a
    book holds some 120 MB more."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 2)
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
        mallopt(_M_TRIM_THRESHOLD, 2 * _LARGE_BYTES)


class Clock(Protocol):
    """Wall time for records, monotonic time for waiting."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Seconds that never go back."""


class SystemClock:
    """The machine's clocks."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()


class RandomIds:
    """Makes version 4 uuids, unpredictable ones: whoever knows the id of a receipt may read it."""

    def __init__(self, random_bytes: Callable[[int], bytes] = os.urandom) -> None:
        self._random_bytes = random_bytes
        self._left = b""

    def __call__(self) -> str:
        """The next uuid."""
        if not self._left:
            self._left = self._random_bytes(16 * _IDS_AT_ONCE)
        taken, self._left = self._left[:16], self._left[16:]
        return str(uuid.UUID(bytes=taken, version=4))


async def offload(cost: float, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `function` returns for the arguments: called here if `cost` is at most 1, else in a thread.

    `cost` is the amount of work divided by the constant of its kind, as in `len(raw) / REQUEST_BYTES`.
    """
    if cost <= 1:
        return function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)


async def together(jobs: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """What these give, in order; they run at the same time. One alone needs no task of its own."""
    return [await jobs[0]] if len(jobs) == 1 else await asyncio.gather(*jobs)
