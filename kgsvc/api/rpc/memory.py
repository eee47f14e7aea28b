"""GetMemory: the facts that matter for a conversation (spec 004 §4.3.4)."""

from __future__ import annotations

from kgsvc.api import mapping
from kgsvc.api.checks import RequestCheck
from kgsvc.api.envelope import Operation, Reply, Rpcs, Unary
from kgsvc.api.rpc.provenance import provenance_message
from kgsvc.api.rpc.search import fact_results, read_fact_bounds, room_of, timed
from kgsvc.commands.core import Core
from kgsvc.commands.memory import MemoryMessage, get_memory
from kgsvc.commands.provenance import Room, provenance
from kgsvc.domain.model.graph import RoleType
from kgsvc.search.engine import Engine
from kgsvc.v1 import retrieval_pb2, types_pb2


class MemoryRpcs:
    """GetMemory."""

    def __init__(self, core: Core, search: Engine) -> None:
        self._core = core
        self._search = search
        self.rpcs: Rpcs = {"GetMemory": Unary(self._get_memory)}

    def _get_memory(self, sent: retrieval_pb2.GetMemoryInput, check: RequestCheck) -> Operation:
        group_id = check.group_id("input.group_id", sent.group_id)
        bounded = enumerate(check.bounded("input.messages", sent.messages))
        messages = [_message(check, f"input.messages[{i}].", message) for i, message in bounded]
        max_facts, center = read_fact_bounds(sent, check)
        most = check.limits.query

        async def run() -> Reply:
            with timed(self._core):
                await self._search.require([group_id], center)
                hits = await get_memory(self._search, most, group_id, messages, max_facts, center)
            output = retrieval_pb2.GetMemoryOutput(facts=fact_results(hits))
            if sent.include_provenance:
                found, room = ((hit.fact, hit.score) for hit in hits), Room(room_of(self._core, output))
                output.provenance.CopyFrom(provenance_message(await provenance(self._core, found, room)))
            return Reply(output)

        return run


def _message(check: RequestCheck, path: str, message: types_pb2.MemoryMessage) -> MemoryMessage:
    check.time(message, path, "timestamp")
    return MemoryMessage(
        role_type=check.enum(f"{path}role_type", message.role_type, mapping.ROLE_TYPES, RoleType.USER),
        content=check.body(f"{path}content", message.content),
        role=check.optional_text(message, path, "role", check.limits.role),
    )
