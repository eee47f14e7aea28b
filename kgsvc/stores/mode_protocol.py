"""Modes of the service and pauses of groups; part of stores/protocol.py and under its general promises.

They are kept in the store, so that they hold for every process and after a restart. What a paused group
does not do is the store's to see to: `ready_groups`, `next_due_ms`, `open_builds` and `open_fills` leave it
out, `begin` gives None for it, and `start_items` starts nothing under a lease that is held.
"""

from __future__ import annotations

from typing import Protocol

from kgsvc.domain.model.modes import ModeChange, ServiceModes


class ModeStore(Protocol):
    """What an operator holds back. What that is `activity` tells."""

    async def set_modes(self, change: ModeChange, now_ms: int) -> ServiceModes:
        """Switch modes, which counts as activity; all modes after that. One that is on already keeps the time
        since when it is."""

    async def pause_group(self, group_id: str, paused: bool, now_ms: int) -> ServiceModes:
        """Let the items of the group wait, or (False) have them worked on again; counts, answers and keeps
        the time as `set_modes`. A pause creates the group's record if needed, and ends with `delete_group`.
        To resume a group that is not paused, or not known, is fine."""

    async def paused_since(self, group_id: str) -> int | None:
        """Since when the group is paused; None: it is not."""
