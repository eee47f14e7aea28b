"""Work in the background of a service, for as long as a block."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any

_log = logging.getLogger(__name__)


def background(stack: AsyncExitStack, work: Coroutine[Any, Any, None], name: str) -> None:
    """Run a coroutine in the background until the block ends. If it fails, that is logged at once."""
    task = asyncio.create_task(work, name=name)
    task.add_done_callback(_complain)

    async def end() -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    stack.push_async_callback(end)


def _complain(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.critical("%s stopped", task.get_name(), exc_info=error)
