"""Which batches of a process may begin: how many beside one another, and which must run alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_BYTES_AHEAD = 64 * 1024 * 1024  # of bodies in one process; beyond, no group has more than one batch begun
_SLOWNESS = 8  # groups claimed at once count as much as all before


class BatchStarts:
    """Shared by the runners of a process. Used on one event loop; only `begin` and `alone` wait."""

    def __init__(self) -> None:
        self._each: float | None = None  # items that a group brings when it is claimed, on average
        self._groups = 0  # that are worked on
        self._running = 0
        self._bytes = 0  # of bodies in the batches that have begun
        self._starting = False
        self._exclusive = False
        self._changed = asyncio.Event()

    @contextmanager
    def group(self) -> Iterator[None]:
        """While a group is worked on."""
        self._groups += 1
        try:
            yield
        finally:
            self._groups -= 1

    def ahead(self, most: int) -> int:
        """How many batches a group may have under way: all where it is alone, one beside as many others."""
        return max(1, most + 1 - self._groups)

    def items(self, most: int, beside_others: int, joining: int = 0) -> int:
        """How many a batch may have: fewer where other groups are worked on, which wait for it. `joining`:
        groups that are about to be."""
        return most if self._groups + joining <= 1 else min(most, beside_others)

    def claimed(self, items: Sequence[int]) -> None:
        """So many items came with groups that were claimed at once."""
        if items:
            mean, weight = sum(items) / len(items), len(items) / (len(items) + _SLOWNESS)
            before = mean if self._each is None else self._each
            self._each = before + weight * (mean - before)

    def places(self, groups: int, items: int, first: int) -> int:
        """How many groups may be worked on, `groups` at most, so that about `items` are under way. `first`:
        what one brings, before any was claimed."""
        each = first if self._each is None else self._each
        return max(1, min(groups, int(items / max(1.0, each))))

    @property
    def exclusive(self) -> bool:
        """Whether a batch runs alone: items that are started meanwhile would be blamed for its crash."""
        return self._exclusive

    async def begin(self, *, may_wait: bool, started: bool = False) -> bool:
        """Take the turn to start items. A caller with batches under way (`may_wait` False) gets False at
        once while another waits for these to end, or while much is under way already; one whose items are
        `started`, while a batch runs alone."""
        if not may_wait and self._bytes >= _BYTES_AHEAD:
            return False
        while self._starting or self._exclusive:
            if self._exclusive and (started or not may_wait):
                return False
            await self._changed.wait()
        self._starting = True
        return True

    def started(self, *, alone: bool, nbytes: int = 0) -> None:
        """A batch has begun and ends the turn; `alone`: nothing else may begin until it has ended."""
        self._running += 1
        self._bytes += nbytes
        self._exclusive = alone
        self._end_turn()

    def found_nothing(self) -> None:
        """The turn ends without a batch."""
        self._end_turn()

    async def alone(self) -> None:
        """Wait until the batch that has begun last is the only one."""
        while self._running > 1:
            await self._changed.wait()

    def ended(self, *, alone: bool, nbytes: int = 0) -> None:
        """A batch is committed, failed or given up."""
        self._running -= 1
        self._bytes -= nbytes
        if alone:
            self._exclusive = False
        self._notify()

    def _end_turn(self) -> None:
        self._starting = False
        self._notify()

    def _notify(self) -> None:
        before, self._changed = self._changed, asyncio.Event()
        before.set()
