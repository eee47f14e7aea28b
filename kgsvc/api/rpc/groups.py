"""DeleteGroup, ClearAll, GetErasure."""

from __future__ import annotations

from kgsvc.api import mapping
from kgsvc.api.calls import current_call
from kgsvc.api.checks import RequestCheck
from kgsvc.api.envelope import Operation, Reply, Rpcs, Unary
from kgsvc.commands import erasures
from kgsvc.commands.core import Core
from kgsvc.commands.erasures import ErasureReceipt
from kgsvc.v1 import admin_pb2


class GroupRpcs:
    """The RPCs on whole groups."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.rpcs: Rpcs = {
            "DeleteGroup": Unary(self._delete_group),
            "ClearAll": Unary(self._clear_all, input_required=False),
            "GetErasure": Unary(self._get_erasure),
        }

    def _delete_group(self, sent: admin_pb2.DeleteGroupInput, check: RequestCheck) -> Operation:
        group_id = check.any_group_id("input.group_id", sent.group_id)

        async def run() -> Reply:
            erasure_id = await erasures.delete_group(self._core, group_id)
            current_call.get().wrote([erasure_id])
            message = "the group is deleted"
            return Reply(admin_pb2.DeleteGroupOutput(message=message, success=True, erasure_id=erasure_id))

        return run

    def _clear_all(self, _sent: admin_pb2.ClearAllInput, _check: RequestCheck) -> Operation:
        async def run() -> Reply:
            count, erasure_id = await erasures.clear_all(self._core)
            current_call.get().wrote([erasure_id] if erasure_id else [])
            message = f"{count} {'group' if count == 1 else 'groups'} deleted"
            return Reply(admin_pb2.ClearAllOutput(message=message, success=True, erasure_id=erasure_id))

        return run

    def _get_erasure(self, sent: admin_pb2.GetErasureInput, check: RequestCheck) -> Operation:
        erasure_id = check.uuid(sent, "erasure_id")

        async def run() -> Reply:
            receipt = await erasures.get_erasure(self._core, erasure_id)
            return Reply(admin_pb2.GetErasureOutput(erasure=_erasure(receipt)))

        return run


def _erasure(receipt: ErasureReceipt) -> admin_pb2.Erasure:
    completed_ms = receipt.completed_ms
    return admin_pb2.Erasure(
        erasure_id=receipt.erasure_id,
        kind=receipt.kind.value,
        groups=receipt.groups,
        removed=receipt.removed,
        asked_at=mapping.timestamp(receipt.asked_ms),
        completed_at=None if completed_ms is None else mapping.timestamp(completed_ms),
    )
