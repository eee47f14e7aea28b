"""Computing beside the event loop where there is much to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

INLINE = 200  # names, nodes, edges and known statements of which the work is done on the event loop
T = TypeVar("T")


async def computed(size: int, work: Callable[[], T]) -> T:
    """What `work` returns: at once if there is little to do, else from a thread."""
    return work() if size <= INLINE else await asyncio.to_thread(work)
