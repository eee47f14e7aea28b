"""UpdateFact: what callers correct in the graph (spec 000)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgsvc.domain.correction import FactInput
from kgsvc.ingestion.correction import OPERATION, Corrections
from kgsvc.retrieval.citing import cited
from kgsvc.stores.protocol import HistoryStore
from kgsvc.transport import answers
from kgsvc.transport.attributes import attributes_in
from kgsvc.transport.checks import Check
from kgsvc.transport.retrieving import read_named
from kgsvc.transport.unary import Reply, Unary
from kgsvc.v1 import admin_pb2


class Correcting:
    """Operations that correct what is known."""

    def __init__(self, store: HistoryStore, corrections: Corrections) -> None:
        self._store = store
        self._corrections = corrections

    def operations(self) -> Mapping[str, Unary[Any]]:
        """The RPCs by method name."""
        pb = admin_pb2
        return {
            OPERATION: Unary(pb.UpdateFactRequest, pb.UpdateFactResponse, read_update, self._update),
        }

    async def _update(self, wanted: FactInput, key: str | None) -> Reply:
        done = await self._corrections.update(wanted, key)
        (fact,) = await cited(self._store, done.fact.group_id, [done.fact])
        says = "another fact took over" if done.changed else "the fact says so already"
        output = admin_pb2.UpdateFactOutput(
            status="updated" if done.changed else "unchanged",
            old_uuid=done.old_uuid,
            new_uuid=done.fact.uuid,
            message=says,
            new_edge=answers.cited_fact(fact),
        )
        return Reply(output)


def read_update(sent: admin_pb2.UpdateFactInput, check: Check) -> FactInput:
    """The input of UpdateFact."""
    named = read_named(sent, check)
    if not sent.fact.strip():
        check.invalid("input.fact", "is required")
    fact = check.text("input.fact", sent.fact, check.limits.fact).strip()
    source = check.optional_identifier(sent, "input.", "source_node_uuid", check.limits.uuid)
    target = check.optional_identifier(sent, "input.", "target_node_uuid", check.limits.uuid)
    attributes = None
    if sent.HasField("attributes"):
        attributes = attributes_in(check, "input.attributes", sent.attributes)
    reason = check.optional_text(sent, "input.", "reason", check.limits.reason)
    return FactInput(named.uuid, named.group_id, fact, source, target, attributes, reason)
