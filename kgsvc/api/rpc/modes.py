"""SetModes: an operator holds back what the service does."""

from __future__ import annotations

from google.protobuf.message import Message

from kgsvc.access.scopes import EVERY_GROUP
from kgsvc.api import mapping
from kgsvc.api.calls import current_call
from kgsvc.api.checks import RequestCheck
from kgsvc.api.envelope import Operation, Reply, Rpcs, Unary
from kgsvc.commands import modes
from kgsvc.commands.core import Core
from kgsvc.domain.model.modes import ModeChange
from kgsvc.v1 import admin_pb2

_NOTHING = ModeChange()


class ModeRpcs:
    """The RPC that switches modes."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.rpcs: Rpcs = {"SetModes": Unary(self._set_modes)}

    def _set_modes(self, sent: admin_pb2.SetModesInput, check: RequestCheck) -> Operation:
        change = ModeChange(_switched(sent, "read_only"), _switched(sent, "model_off"))
        paused = _switched(sent, "paused")
        if paused is None and not sent.HasField("group_id"):
            return self._of_service(change, check)
        if change != _NOTHING:
            check.invalid("input", "sets modes of a group and of the service, which are two calls")
        if paused is None:
            check.invalid("input.paused", "is required with a group_id")
        return self._of_group(check.any_group_id("input.group_id", sent.group_id), bool(paused))

    def _of_service(self, change: ModeChange, check: RequestCheck) -> Operation:
        check.groups.append(EVERY_GROUP)  # which the caller must reach, and which the audit names
        if change == _NOTHING:
            check.invalid("input", "sets no mode: read_only, model_off, or paused with a group_id")

        async def run() -> Reply:
            now = await modes.set_modes(self._core, change)
            _noted(read_only=change.read_only, model_off=change.model_off)
            return Reply(admin_pb2.SetModesOutput(modes=mapping.modes(now)))

        return run

    def _of_group(self, group_id: str, paused: bool) -> Operation:
        async def run() -> Reply:
            size = await modes.pause_group(self._core, group_id, paused)
            _noted(paused=paused)
            group, now = mapping.group_summary(size), mapping.modes(self._core.modes.now)
            return Reply(admin_pb2.SetModesOutput(modes=now, group=group))

        return run


def _noted(**switched: bool | None) -> None:
    """For the audit: what was switched, and how."""
    current_call.get().wrote(f"{mode}={on}".lower() for mode, on in switched.items() if on is not None)


def _switched(sent: Message, field: str) -> bool | None:
    return bool(getattr(sent, field)) if sent.HasField(field) else None
