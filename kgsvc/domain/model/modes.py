"""Modes: how an operator holds back what a service does, as a whole or for a group."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class ServiceModes:
    """Since when each mode is on, in milliseconds; None: it is off."""

    read_only_ms: int | None = None  # writes are refused, and no work on what was accepted is begun
    model_off_ms: int | None = None  # no model server is called
    paused_groups: int = 0  # whose items are accepted and wait

    @property
    def read_only(self) -> bool:
        """Whether writes are refused."""
        return self.read_only_ms is not None

    @property
    def model_off(self) -> bool:
        """Whether no model server is called."""
        return self.model_off_ms is not None


@dataclass(frozen=True, slots=True)
class ModeChange:
    """Which modes are switched on (True) or off (False); None leaves one as it is."""

    read_only: bool | None = None
    model_off: bool | None = None


class WaitReason(StrEnum):
    """Why the unfinished items of a group are not worked on."""

    GROUP_PAUSED = "group_paused"
    READ_ONLY = "read_only"
    MODEL_OFF = "model_off"
