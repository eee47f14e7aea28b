"""Work on packed results that would hold up the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_INLINE_BYTES = 256 * 1024


async def beside(size: int, work: Callable[[], T]) -> T:
    """What `work` makes of results of `size` bytes: beside the event loop if they are large."""
    return await asyncio.to_thread(work) if size > _INLINE_BYTES else work()
