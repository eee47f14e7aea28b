"""DeleteGroup and ClearAll."""

from __future__ import annotations

from kgsvc.commands.core import Core
from kgsvc.domain.model.erasures import Erasure, ErasureKind


async def delete_group(core: Core, group_id: str) -> str:
    """Delete everything of a group; one that does not exist is deleted already. The id of the erasure. Raises
    StoreUnavailable."""
    return await _delete(core, [group_id])


async def clear_all(core: Core) -> tuple[int, str]:
    """Delete every group: how many there were, and the id of the erasure. Raises StoreUnavailable: then those
    that are left follow in the background."""
    group_ids = await core.store.group_ids()
    return len(group_ids), await _delete(core, group_ids) if group_ids else ""


async def _delete(core: Core, group_ids: list[str]) -> str:
    erasure_id, now_ms = core.new_id(), core.clock.now_ms()
    parts = [Erasure(erasure_id, group_id, ErasureKind.GROUP, now_ms) for group_id in group_ids]
    await core.begin_erasures(parts)
    for group_id in group_ids:
        await core.store.delete_group(group_id, core.clock.now_ms(), erasure_id)
    core.activity.poke()
    return erasure_id
