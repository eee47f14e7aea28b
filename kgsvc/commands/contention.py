"""A caller's own write among the pipeline's: read, plan, apply, and again when the group moved on."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from kgsvc.domain.errors import LeaseLost, Overloaded, RevisionChanged

T = TypeVar("T")
_TRIES = 20
_PAUSE_CAP_S = 0.1
_RETRY_AFTER_MS = 500


class Contention:
    """Repeats a write that lost a race, with jittered pauses."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    async def settle(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """The result of the first attempt that is not overtaken. Raises Overloaded when all were."""
        for number in range(_TRIES):
            try:
                return await attempt()
            except (RevisionChanged, LeaseLost):  # the epoch moved on: the group was deleted meanwhile
                await asyncio.sleep(self._rng.uniform(0, min(_PAUSE_CAP_S, 0.001 * 2**number)))
        raise Overloaded("the group is being written to without a pause", _RETRY_AFTER_MS)
