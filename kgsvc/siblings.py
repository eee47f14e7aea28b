"""How processes that serve as one tell one another at once that the queue has changed.

Each writes a byte to its parent, which passes it on to the others (processes.py). A byte that gets lost costs
time alone: every process also looks for itself, again and again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable

BYTE = b"."
_REST_S = 0.005  # between two bytes of one process
_READ = 4_096


def nothing() -> None:
    """What is done until somebody is interested."""


class Siblings:
    """The pipes from and to the parent, as a child has them, in the loop in which it is made. `heard` is
    called when another process tells of a change."""

    def __init__(self, incoming: int, outgoing: int, ended: Callable[[], None]) -> None:
        """File descriptors; `ended` is called when `incoming` ends, as it does when the parent dies."""
        self.heard: Callable[[], None] = nothing
        self._incoming, self._outgoing, self._ended = incoming, outgoing, ended
        self._loop = asyncio.get_running_loop()
        self._rests = self._more = False
        for pipe in (incoming, outgoing):
            os.set_blocking(pipe, False)
        self._loop.add_reader(incoming, self._read)

    def _read(self) -> None:
        if os.read(self._incoming, _READ):
            self.heard()
        else:
            self._loop.remove_reader(self._incoming)
            self._ended()

    def tell(self) -> None:
        """Tell the others of a change: now, or with those that come within the next few milliseconds."""
        if self._rests:
            self._more = True
            return
        self._rests = True
        self._loop.call_later(_REST_S, self._rested)
        # A parent that is gone, or has more to read than it can, needs not be told.
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            os.write(self._outgoing, BYTE)

    def _rested(self) -> None:
        self._rests = False
        if self._more:
            self._more = False
            self.tell()
