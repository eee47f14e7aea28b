"""Keeps the gauges of the queue and of modes current."""

from __future__ import annotations

import asyncio

from kgsvc.commands.core import Core

_EVERY_S = 1.0


async def sample(core: Core) -> None:
    """Show what was seen of the queue last, until cancelled."""
    while True:
        core.metrics.modes_seen(core.modes.now)
        depth = core.activity.depth
        if not core.activity.answered:
            core.metrics.store_answers.set(0)
        elif depth is not None:
            oldest = depth.oldest_accepted_ms
            age_s = 0.0 if oldest is None else max(0, core.clock.now_ms() - oldest) / 1000
            core.metrics.queue_seen(depth.unfinished, depth.parked, age_s)
        await asyncio.sleep(_EVERY_S)
