"""DeleteGroup, ClearAll, GetErasure, ListGroups; PutOntology and GetOntology: types of a group."""

from __future__ import annotations

import asyncio

from kgsvc.api import mapping
from kgsvc.api.calls import current_call
from kgsvc.api.checks import RequestCheck
from kgsvc.api.envelope import Operation, Reply, Rpcs, Unary
from kgsvc.api.errors import summary
from kgsvc.commands import erasures, groups
from kgsvc.commands.core import Core
from kgsvc.commands.erasures import ErasureReceipt
from kgsvc.domain.errors import InvalidArgument, Violation
from kgsvc.domain.model.extraction import Ontology
from kgsvc.ontology import MAX_BYTES, OntologyError, read, write
from kgsvc.v1 import admin_pb2


class GroupRpcs:
    """The RPCs on whole groups. `of_server` is the ontology of groups without one of their own."""

    def __init__(self, core: Core, of_server: Ontology) -> None:
        self._core = core
        self._of_server = of_server
        self.rpcs: Rpcs = {
            "DeleteGroup": Unary(self._delete_group),
            "ClearAll": Unary(self._clear_all, input_required=False),
            "GetErasure": Unary(self._get_erasure),
            "PutOntology": Unary(self._put_ontology),
            "GetOntology": Unary(self._get_ontology),
            "ListGroups": Unary(self._list_groups, input_required=False),
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

    def _put_ontology(self, sent: admin_pb2.PutOntologyInput, check: RequestCheck) -> Operation:
        yaml = sent.yaml
        size = len(yaml.encode())
        if not yaml:
            check.invalid("input.yaml", "is required; {} restores the types of the server")
        elif size > MAX_BYTES:
            check.over("input.yaml", f"has {size} bytes, at most {MAX_BYTES} are allowed")
        group_id = check.writable_group_id("input.group_id", sent.group_id)

        async def run() -> Reply:
            own = await asyncio.to_thread(_parsed, yaml)
            await self._core.store.put_ontology(group_id, None if own is None else yaml)
            in_force = own or self._of_server
            output = admin_pb2.PutOntologyOutput(
                entity_types=[each.name for each in in_force.in_force],
                fact_types=[each.name for each in in_force.fact_types],
            )
            return Reply(output)

        return run

    def _get_ontology(self, sent: admin_pb2.GetOntologyInput, check: RequestCheck) -> Operation:
        group_id = check.group_id("input.group_id", sent.group_id)

        async def run() -> Reply:
            own = await self._core.store.ontology(group_id)
            yaml = write(self._of_server) if own is None else own
            return Reply(admin_pb2.GetOntologyOutput(yaml=yaml, own=own is not None))

        return run

    def _list_groups(self, sent: admin_pb2.ListGroupsInput, check: RequestCheck) -> Operation:
        size, token = check.page_size(sent), check.page_token(sent)

        async def run() -> Reply:
            found, next_token = await groups.list_groups(self._core, size, token)
            rows = map(mapping.group_summary, found)
            return Reply(admin_pb2.ListGroupsOutput(groups=rows, next_page_token=next_token or ""))

        return run


def _erasure(receipt: ErasureReceipt) -> admin_pb2.Erasure:
    return admin_pb2.Erasure(
        erasure_id=receipt.erasure_id,
        kind=receipt.kind.value,
        groups=receipt.groups,
        removed=receipt.removed,
        asked_at=mapping.timestamp(receipt.asked_ms),
        completed_at=mapping.optional_timestamp(receipt.completed_ms),
    )


def _parsed(yaml: str) -> Ontology | None:
    """None: the types of the server."""
    try:
        return read(yaml)
    except OntologyError as error:
        violations = [Violation("yaml", str(problem)) for problem in error.problems]
        raise InvalidArgument(summary(violations), violations) from None
