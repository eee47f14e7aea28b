"""AddEntityNode, GetEntityNode, GetRelation, MergeEntityNodes, UndoMerge, SplitEntityNode, UndoSplit,
ListMerges."""

from __future__ import annotations

from kgsvc.api import mapping
from kgsvc.api.checks import RequestCheck
from kgsvc.api.envelope import Operation, Reply, Rpcs, Unary
from kgsvc.commands import merge_listing, merges, splits
from kgsvc.commands.core import Core
from kgsvc.commands.entities import (
    ChainEntry,
    CitationOperation,
    EntityInput,
    EntityView,
    add_entity_node,
    aliases_of,
    get_entity_node,
    main_type,
)
from kgsvc.commands.relations import Moment, Relation, get_relation
from kgsvc.domain.errors import Conflict
from kgsvc.domain.model.extraction import Ontology
from kgsvc.domain.model.graph import Entity, Mention
from kgsvc.v1 import admin_pb2, ingestion_pb2, retrieval_pb2, types_pb2

_FACTS, _EPISODES = 100, 20  # of an entity, when no number is asked for
_OPERATIONS = mapping.enum_numbers(types_pb2.CitationOperation, "CITATION_OPERATION_", CitationOperation)


class EntityRpcs:
    """The RPCs on entities. `of_server` is the ontology of groups without one of their own."""

    def __init__(self, core: Core, of_server: Ontology) -> None:
        self._core = core
        self._of_server = of_server
        self.rpcs: Rpcs = {
            "AddEntityNode": Unary(self._add_entity_node),
            "GetEntityNode": Unary(self._get_entity_node),
            "GetRelation": Unary(self._get_relation),
            "MergeEntityNodes": Unary(self._merge_entity_nodes),
            "UndoMerge": Unary(self._undo_merge),
            "SplitEntityNode": Unary(self._split_entity_node),
            "UndoSplit": Unary(self._undo_split),
            "ListMerges": Unary(self._list_merges),
        }

    def _add_entity_node(self, sent: ingestion_pb2.AddEntityNodeInput, check: RequestCheck) -> Operation:
        attributes = None
        uuid = check.uuid(sent, "uuid")
        group_id = check.group_id("input.group_id", sent.group_id)
        name = check.name("input.name", sent.name)
        summary = check.optional_text(sent, "input.", "summary", check.limits.summary)
        if sent.HasField("attributes"):
            attributes = mapping.attributes_in(check, "input.attributes", sent.attributes)
        wanted = EntityInput(uuid, group_id, name, summary, attributes)

        async def run() -> Reply:
            with self._core.metrics.upsert_conflicts.count_exceptions(Conflict):
                entity = await add_entity_node(self._core, wanted, check.idempotency_key)
            return Reply(mapping.entity_node(entity))

        return run

    def _get_entity_node(self, sent: retrieval_pb2.GetEntityNodeInput, check: RequestCheck) -> Operation:
        most = check.limits.entity_facts_bound
        facts = check.optional_number(sent, "input.", "max_facts", min(_FACTS, most), most)
        most = check.limits.entity_episodes_bound
        episodes = check.optional_number(sent, "input.", "max_episodes", min(_EPISODES, most), most)
        uuid, group_id = check.named(sent)
        current = not sent.include_expired

        async def run() -> Reply:
            view = await get_entity_node(self._core, uuid, group_id, facts, episodes, current)
            kind = await main_type(self._core, view.entity, self._of_server)
            return Reply(_view(view, kind))

        return run

    def _get_relation(self, sent: retrieval_pb2.GetRelationInput, check: RequestCheck) -> Operation:
        group_id = check.group_id("input.group_id", sent.group_id)
        one, other = check.uuid(sent, "node_uuid"), check.uuid(sent, "other_node_uuid")
        true_at_ms = check.optional_time(sent, "input.", "valid_as_of")
        known_at_ms = check.optional_time(sent, "input.", "known_as_of")
        moment = Moment(sent.include_ended, true_at_ms, known_at_ms)

        async def run() -> Reply:
            return Reply(_relation(await get_relation(self._core, group_id, one, other, moment)))

        return run

    def _merge_entity_nodes(self, sent: admin_pb2.MergeEntityNodesInput, check: RequestCheck) -> Operation:
        group_id = check.group_id("input.group_id", sent.group_id)
        keep, merged = check.uuid(sent, "keep_uuid"), check.uuid(sent, "merge_uuid")

        async def run() -> Reply:
            key = check.idempotency_key
            done = await merges.merge_entity_nodes(self._core, group_id, keep, merged, key)
            node, moved = await self._node(done.entity), done.facts_moved
            output = admin_pb2.MergeEntityNodesOutput(node=node, merge_id=done.merge_id, facts_moved=moved)
            return Reply(output)

        return run

    def _undo_merge(self, sent: admin_pb2.UndoMergeInput, check: RequestCheck) -> Operation:
        group_id = check.group_id("input.group_id", sent.group_id)
        merge_id = check.uuid(sent, "merge_id")

        async def run() -> Reply:
            done = await merges.undo_merge(self._core, group_id, merge_id)
            node = await self._node(done.entity)
            return Reply(admin_pb2.UndoMergeOutput(node=node, facts_moved=done.facts_moved))

        return run

    def _split_entity_node(self, sent: admin_pb2.SplitEntityNodeInput, check: RequestCheck) -> Operation:
        limits, most = check.limits, check.limits.merge_bound
        group_id, uuid = check.group_id("input.group_id", sent.group_id), check.uuid(sent, "uuid")
        episodes = check.identifiers("input.episode_uuids", sent.episode_uuids, most, limits.uuid)
        facts = check.identifiers("input.fact_uuids", sent.fact_uuids, most, limits.uuid)
        if bool(episodes) == bool(facts):
            check.invalid("input.episode_uuids", "is required, or fact_uuids instead, but not both")
        name = check.name("input.name", sent.name) if sent.HasField("name") else None
        wanted = splits.SplitInput(group_id, uuid, episodes, facts, name)

        async def run() -> Reply:
            done = await splits.split_entity_node(self._core, wanted, check.idempotency_key)
            node = await self._node(done.entity)
            output = admin_pb2.SplitEntityNodeOutput(node=node, split_id=done.split_id, fact_uuids=done.facts)
            return Reply(output)

        return run

    def _undo_split(self, sent: admin_pb2.UndoSplitInput, check: RequestCheck) -> Operation:
        group_id = check.group_id("input.group_id", sent.group_id)
        split_id = check.uuid(sent, "split_id")

        async def run() -> Reply:
            done = await splits.undo_split(self._core, group_id, split_id)
            node = await self._node(done.entity)
            return Reply(admin_pb2.UndoSplitOutput(node=node, facts_moved=done.facts_moved))

        return run

    def _list_merges(self, sent: admin_pb2.ListMergesInput, check: RequestCheck) -> Operation:
        group_id, uuid = check.group_id("input.group_id", sent.group_id), check.optional_uuid(sent, "uuid")
        size, token = check.page_size(sent), check.page_token(sent)

        async def run() -> Reply:
            page, more = await merge_listing.list_merges(self._core, group_id, uuid, size, token)
            return Reply(admin_pb2.ListMergesOutput(merges=map(_merge, page), next_page_token=more or ""))

        return run

    async def _node(self, entity: Entity) -> types_pb2.EntityNode:
        return mapping.entity_node(entity, await aliases_of(self._core.store, entity))


def _view(view: EntityView, kind: str) -> retrieval_pb2.GetEntityNodeOutput:
    return retrieval_pb2.GetEntityNodeOutput(
        node=mapping.entity_node(view.entity, view.aliases),
        facts=map(mapping.cited_fact, view.facts),
        episodes=[mapping.episode(each, view.edges.get(each.uuid, ())) for each in view.episodes],
        citation_chain=map(_chain_entry, view.chain),
        mentions=map(_mention, view.mentions),
        type=kind,
    )


def _relation(relation: Relation) -> retrieval_pb2.GetRelationOutput:
    return retrieval_pb2.GetRelationOutput(
        node_uuid=relation.one.uuid,
        node_name=relation.one.name,
        other_node_uuid=relation.other.uuid,
        other_node_name=relation.other.name,
        group_id=relation.one.group_id,
        weight=relation.weight,
        statements=relation.statements,
        names=relation.names,
        keywords=relation.keywords,
        descriptions=relation.descriptions,
        fact_uuids=[fact.uuid for fact in relation.facts],
        episodes=relation.episodes,
        document_ids=relation.documents,
        truncated=relation.truncated,
    )


def _merge(listed: merge_listing.ListedMerge) -> admin_pb2.Merge:
    record = listed.record
    return admin_pb2.Merge(
        merge_id=record.merge_id,
        kind=admin_pb2.MERGE_KIND_SPLIT if listed.is_split else admin_pb2.MERGE_KIND_MERGE,
        kept_uuid=record.kept_uuid,
        kept_name=listed.kept_name,
        merged_uuid=record.merged_uuid,
        merged_name=listed.merged_name,
        created_at=mapping.timestamp(record.created_ms),
        episode_uuid=record.by_episode or None,
        obstacle=listed.obstacle,
    )


def _mention(mention: Mention) -> types_pb2.Mention:
    return types_pb2.Mention(
        uuid=mention.uuid,
        group_id=mention.group_id,
        episode_uuid=mention.episode_uuid,
        entity_uuid=mention.entity_uuid,
        created_at=mapping.timestamp(mention.created_ms),
    )


def _chain_entry(entry: ChainEntry) -> types_pb2.CitationChainEntry:
    return types_pb2.CitationChainEntry(
        citation=mapping.citation_info(entry.citation), operation=_OPERATIONS[entry.operation]
    )
