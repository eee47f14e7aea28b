"""DeleteGroup and ClearAll."""

from __future__ import annotations

from kgsvc.commands.core import Core


async def delete_group(core: Core, group_id: str) -> None:
    """Delete everything of a group; one that does not exist is deleted already. Raises StoreUnavailable."""
    await core.store.delete_group(group_id, core.clock.now_ms())
    core.activity.poke()


async def clear_all(core: Core) -> int:
    """Delete every group; how many there were. Raises StoreUnavailable: then some may be left."""
    group_ids = await core.store.group_ids()
    for group_id in group_ids:
        await core.store.delete_group(group_id, core.clock.now_ms())
    core.activity.poke()
    return len(group_ids)
