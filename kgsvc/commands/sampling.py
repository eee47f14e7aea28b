"""Keeps the gauges of the queue and of modes current."""

from __future__ import annotations

import asyncio
import logging

from kgsvc.commands.core import Core
from kgsvc.domain.errors import ServiceError

log = logging.getLogger(__name__)
_EVERY_S = 1.0


async def sample(core: Core) -> None:
    """Look at the queue until cancelled."""
    while True:
        core.metrics.modes_seen(core.modes.now)
        try:
            depth = await core.store.depth()
        except ServiceError as error:
            core.metrics.store_answers.set(0)
            log.warning("cannot read the queue's depth: %s", type(error).__name__)
        else:
            oldest = depth.oldest_accepted_ms
            age_s = 0.0 if oldest is None else max(0, core.clock.now_ms() - oldest) / 1000
            core.metrics.queue_seen(depth.unfinished, depth.parked, age_s)
        await asyncio.sleep(_EVERY_S)
