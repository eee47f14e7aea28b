"""DeleteGroup, ClearAll."""

from __future__ import annotations

from kgsvc.api.checks import RequestCheck
from kgsvc.api.envelope import Operation, Reply, Rpcs, Unary
from kgsvc.commands import groups
from kgsvc.commands.core import Core
from kgsvc.v1 import admin_pb2


class GroupRpcs:
    """The RPCs on whole groups."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.rpcs: Rpcs = {
            "DeleteGroup": Unary(self._delete_group),
            "ClearAll": Unary(self._clear_all, input_required=False),
        }

    def _delete_group(self, sent: admin_pb2.DeleteGroupInput, check: RequestCheck) -> Operation:
        group_id = check.any_group_id("input.group_id", sent.group_id)

        async def run() -> Reply:
            await groups.delete_group(self._core, group_id)
            return Reply(admin_pb2.DeleteGroupOutput(message="the group is deleted", success=True))

        return run

    def _clear_all(self, _sent: admin_pb2.ClearAllInput, _check: RequestCheck) -> Operation:
        async def run() -> Reply:
            count = await groups.clear_all(self._core)
            message = f"{count} {'group' if count == 1 else 'groups'} deleted"
            return Reply(admin_pb2.ClearAllOutput(message=message, success=True))

        return run
