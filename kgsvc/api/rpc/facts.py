"""GetEntityEdge, GetFactHistory, UpdateFact, RetractFact, DeleteEntityEdge."""

from __future__ import annotations

from typing import Any

from kgsvc.api import mapping
from kgsvc.api.checks import RequestCheck
from kgsvc.api.envelope import Operation, Reply, Rpcs, Unary
from kgsvc.commands import facts
from kgsvc.commands.core import Core
from kgsvc.domain.facts.amendments import FactInput
from kgsvc.v1 import admin_pb2, retrieval_pb2


class FactRpcs:
    """The RPCs on single facts."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.rpcs: Rpcs = {
            "GetEntityEdge": Unary(self._get_entity_edge),
            "GetFactHistory": Unary(self._get_fact_history),
            "UpdateFact": Unary(self._update_fact),
            "RetractFact": Unary(self._retract_fact),
            "DeleteEntityEdge": Unary(self._delete_entity_edge),
        }

    def _get_entity_edge(self, sent: retrieval_pb2.GetEntityEdgeInput, check: RequestCheck) -> Operation:
        uuid, group_id = check.named(sent)

        async def run() -> Reply:
            return Reply(mapping.cited_fact(await facts.get_fact(self._core.store, uuid, group_id)))

        return run

    def _get_fact_history(self, sent: retrieval_pb2.GetFactHistoryInput, check: RequestCheck) -> Operation:
        uuid, group_id = check.named(sent)
        most = check.limits.history_bound

        async def run() -> Reply:
            rows = await facts.get_fact_history(self._core.store, uuid, group_id, most)
            return Reply(retrieval_pb2.GetFactHistoryOutput(facts=map(mapping.cited_fact, rows)))

        return run

    def _update_fact(self, sent: admin_pb2.UpdateFactInput, check: RequestCheck) -> Operation:
        uuid, group_id = check.named(sent)
        fact = check.required_text("input.fact", sent.fact, check.limits.fact).strip()
        source = check.optional_uuid(sent, "source_node_uuid")
        target = check.optional_uuid(sent, "target_node_uuid")
        attributes: dict[str, Any] | None = None
        if sent.HasField("attributes"):
            attributes = mapping.attributes_in(check, "input.attributes", sent.attributes)
        reason = check.optional_text(sent, "input.", "reason", check.limits.reason)
        wanted = FactInput(uuid, group_id, fact, source, target, attributes, reason)

        async def run() -> Reply:
            done = await facts.update_fact(self._core, wanted, check.idempotency_key)
            (cited,) = await facts.cited(self._core.store, done.fact.group_id, [done.fact])
            output = admin_pb2.UpdateFactOutput(
                status="updated" if done.changed else "unchanged",
                old_uuid=done.old_uuid,
                new_uuid=done.fact.uuid,
                message="the fact was replaced" if done.changed else "the fact says this already",
                new_edge=mapping.cited_fact(cited),
            )
            return Reply(output)

        return run

    def _retract_fact(self, sent: admin_pb2.RetractFactInput, check: RequestCheck) -> Operation:
        uuid, group_id = check.named(sent)
        reason = check.required_text("input.reason", sent.reason, check.limits.reason).strip()

        async def run() -> Reply:
            fact = await facts.retract_fact(self._core, uuid, group_id, reason, check.idempotency_key)
            (cited,) = await facts.cited(self._core.store, fact.group_id, [fact])
            edge = mapping.cited_fact(cited)
            return Reply(admin_pb2.RetractFactOutput(message="the fact is retracted", edge=edge))

        return run

    def _delete_entity_edge(self, sent: admin_pb2.DeleteEntityEdgeInput, check: RequestCheck) -> Operation:
        uuid, group_id = check.named(sent)

        async def run() -> Reply:
            existed = await facts.delete_fact(self._core, uuid, group_id)
            return Reply(
                admin_pb2.DeleteEntityEdgeOutput(message=mapping.deleted("fact", existed), success=True)
            )

        return run
