"""SetModes: what an operator holds back, as a whole or for a group; and why items of a group wait."""

from __future__ import annotations

from kgsvc.access.scopes import next_after
from kgsvc.commands.core import Core
from kgsvc.commands.groups import ListedGroup, listed
from kgsvc.domain.model.modes import ModeChange, ServiceModes, WaitReason
from kgsvc.stores.protocol import GroupSize


async def set_modes(core: Core, change: ModeChange) -> ServiceModes:
    """Switch modes of the service; all modes after that. Raises StoreUnavailable."""
    modes = await core.store.set_modes(change, core.clock.now_ms())
    core.modes.take(modes)
    core.activity.poke()
    return modes


async def pause_group(core: Core, group_id: str, paused: bool) -> ListedGroup:
    """Pause or resume a group, also one that nothing was sent to yet; what it holds. Raises
    StoreUnavailable."""
    core.modes.take(await core.store.pause_group(group_id, paused, core.clock.now_ms()))
    core.activity.poke()
    sizes = await core.store.group_sizes(group_id, next_after(group_id), 1)
    (found,) = await listed(core, sizes or [GroupSize(group_id, 0, 0, 0, 0, 0, 0)])
    return found


async def wait_reason(core: Core, group_id: str) -> WaitReason | None:
    """Why unfinished items of a group are not worked on; None: nothing holds them back. Raises
    StoreUnavailable."""
    now = core.modes.now
    if now.paused_groups and await core.store.paused_since(group_id) is not None:
        return WaitReason.GROUP_PAUSED
    if now.read_only:
        return WaitReason.READ_ONLY
    return WaitReason.MODEL_OFF if now.model_off and core.needs_model else None
