"""Groups of doctor's checks, however many were left behind, hide no other group."""

import asyncio
from dataclasses import replace

from kgsvc.domain.model.items import SCRATCH, ItemState
from kgsvc.stores.embedded import EmbeddedStore
from tests.integration.jobs.support import (
    DEADLINE_S,
    SETTINGS,
    ScriptedHandler,
    accept,
    dispatcher,
    states,
    until,
)


async def test_many_groups_of_doctor_do_not_starve_the_others(
    store: EmbeddedStore, handler: ScriptedHandler
) -> None:
    for number in range(12):
        await accept(store, f"{SCRATCH}{number}", ["a"])
    await accept(store, "other", ["b"])
    one = dispatcher(store, handler, settings=replace(SETTINGS, lease_s=600.0, groups_at_once=1))
    task = asyncio.create_task(one.run())

    async def done() -> bool:
        return await states(store, "other") == {"b": ItemState.COMPLETED}

    await until(done)
    async with asyncio.timeout(DEADLINE_S):
        await one.drain()
        await task
