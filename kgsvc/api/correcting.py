"""UpdateFact, MergeEntityNodes, UndoMerge: what callers correct in the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kgsvc.api import answers
from kgsvc.api.attributes import attributes_in
from kgsvc.api.checks import Check
from kgsvc.api.retrieving import Named, read_named
from kgsvc.api.unary import Reply, Unary
from kgsvc.commands.entities import aliases_of
from kgsvc.commands.facts import OPERATION, Corrections, cited
from kgsvc.commands.merges import MERGE, Merged, Merging
from kgsvc.domain.facts.amendments import FactInput
from kgsvc.stores.protocol import HistoryStore
from kgsvc.v1 import admin_pb2, types_pb2


@dataclass(frozen=True, slots=True)
class MergeWanted:
    """The input of MergeEntityNodes."""

    group_id: str
    keep: str
    gone: str


class Correcting:
    """Operations that correct what is known."""

    def __init__(self, store: HistoryStore, corrections: Corrections, merging: Merging) -> None:
        self._store = store
        self._corrections = corrections
        self._merging = merging

    def operations(self) -> Mapping[str, Unary[Any]]:
        """The RPCs by method name."""
        pb = admin_pb2
        return {
            OPERATION: Unary(pb.UpdateFactRequest, pb.UpdateFactResponse, read_update, self._update),
            MERGE: Unary(pb.MergeEntityNodesRequest, pb.MergeEntityNodesResponse, read_merge, self._merge),
            "UndoMerge": Unary(pb.UndoMergeRequest, pb.UndoMergeResponse, read_undo, self._undo),
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

    async def _merge(self, wanted: MergeWanted, key: str | None) -> Reply:
        done = await self._merging.merge(wanted.group_id, wanted.keep, wanted.gone, key)
        output = admin_pb2.MergeEntityNodesOutput(
            node=await self._node(done), merge_id=done.merge_id, facts_moved=done.facts_moved
        )
        return Reply(output)

    async def _undo(self, wanted: Named, _key: str | None) -> Reply:
        done = await self._merging.undo(wanted.group_id or "", wanted.uuid)
        return Reply(admin_pb2.UndoMergeOutput(node=await self._node(done), facts_moved=done.facts_moved))

    async def _node(self, done: Merged) -> types_pb2.EntityNode:
        return answers.entity_node(done.entity, await aliases_of(self._store, done.entity))


def read_merge(sent: admin_pb2.MergeEntityNodesInput, check: Check) -> MergeWanted:
    """The input of MergeEntityNodes."""
    group_id = check.group_id("input.group_id", sent.group_id)
    keep = check.identifier("input.keep_uuid", sent.keep_uuid, check.limits.uuid)
    gone = check.identifier("input.merge_uuid", sent.merge_uuid, check.limits.uuid)
    return MergeWanted(group_id, keep, gone)


def read_undo(sent: admin_pb2.UndoMergeInput, check: Check) -> Named:
    """The input of UndoMerge."""
    group_id = check.group_id("input.group_id", sent.group_id)
    return Named(check.identifier("input.merge_id", sent.merge_id, check.limits.uuid), group_id)


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
