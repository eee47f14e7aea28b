"""The model's ModeStore."""

from dataclasses import replace

from kgsvc.domain.model.modes import ModeChange, ServiceModes
from kgsvc.stores.intake_protocol import Activity
from tests.support.model_intake import ModelIntake


def _since(before: int | None, on: bool | None, now_ms: int) -> int | None:
    if on is None:
        return before
    return (now_ms if before is None else before) if on else None


class ModelModes(ModelIntake):
    """What an operator holds back."""

    def __init__(self) -> None:
        super().__init__()
        self._modes = ServiceModes()

    async def activity(self) -> Activity:
        return (await super().activity())._replace(modes=self._modes_now())

    def _modes_now(self) -> ServiceModes:
        return replace(self._modes, paused_groups=sum(g.paused_ms is not None for g in self._groups.values()))

    async def set_modes(self, change: ModeChange, now_ms: int) -> ServiceModes:
        self._modes = ServiceModes(
            _since(self._modes.read_only_ms, change.read_only, now_ms),
            _since(self._modes.model_off_ms, change.model_off, now_ms),
        )
        self._activity += 1
        return self._modes_now()

    async def pause_group(self, group_id: str, paused: bool, now_ms: int) -> ServiceModes:
        if paused or group_id in self._groups:
            group = self._group(group_id)
            group.paused_ms = _since(group.paused_ms, paused, now_ms)
        self._activity += 1
        return self._modes_now()

    async def paused_since(self, group_id: str) -> int | None:
        return self.peek(group_id).paused_ms
