"""Domain values as the messages of a response."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from google.protobuf.timestamp_pb2 import Timestamp

from kgsvc.api.attributes import attributes_out
from kgsvc.api.items_in import SOURCES, STATES
from kgsvc.commands.entities import ChainEntry, EntityView, Operation
from kgsvc.commands.facts import CitedFact
from kgsvc.domain.facts.summary import summary_facts
from kgsvc.domain.model.graph import Citation, Entity, Episode, Fact, Mention, source_url_of
from kgsvc.domain.model.items import ItemState, ItemStatus, Receipt
from kgsvc.domain.model.usage import Usage
from kgsvc.v1 import retrieval_pb2, types_pb2

SOURCE_NUMBERS = {source: number for number, source in SOURCES.items()}
STATE_NUMBERS = {state: number for number, state in STATES.items()}
_OPERATIONS = {
    Operation.CREATED: types_pb2.CITATION_OPERATION_CREATED,
    Operation.UPDATED: types_pb2.CITATION_OPERATION_UPDATED,
    Operation.REFERENCED: types_pb2.CITATION_OPERATION_REFERENCED,
}


def timestamp(ms: int) -> Timestamp:
    """A time in milliseconds as a Timestamp."""
    return Timestamp(seconds=ms // 1_000, nanos=ms % 1_000 * 1_000_000)


def optional_timestamp(ms: int | None) -> Timestamp | None:
    """The same for a time that may be absent."""
    return None if ms is None else timestamp(ms)


def fact_result(
    fact: Fact, score: float | None = None, citations: Iterable[Citation] = ()
) -> types_pb2.FactResult:
    """A fact, with its score where it was searched for and its sources where it was asked for."""
    return types_pb2.FactResult(
        uuid=fact.uuid,
        name=fact.name,
        fact=fact.fact,
        valid_at=optional_timestamp(fact.valid_ms),
        invalid_at=optional_timestamp(fact.invalid_ms),
        created_at=timestamp(fact.created_ms),
        expired_at=optional_timestamp(fact.expired_ms),
        group_id=fact.group_id,
        source_node_uuid=fact.source_uuid,
        target_node_uuid=fact.target_uuid,
        source_name=fact.source_name,
        target_name=fact.target_name,
        episodes=fact.episodes,
        reference_time=timestamp(fact.reference_ms) if fact.episodes else None,
        score=score,
        citations=map(citation_info, citations),
        updated_at=optional_timestamp(fact.updated_ms),
        original_fact=fact.original_fact,
        update_reason=fact.update_reason,
        previous_uuid=fact.previous_uuid,
        attributes=attributes_out(fact.attributes) if fact.attributes else None,
        expired_reason=fact.expired_reason,
        expired_by_fact=fact.expired_by_fact,
        expired_by_episode=fact.expired_by_episode,
    )


def cited_fact(value: CitedFact) -> types_pb2.FactResult:
    """A fact with its sources."""
    return fact_result(value.fact, citations=value.citations)


def citation_info(value: Citation) -> types_pb2.CitationInfo:
    """A source; one without a name goes by its uuid (spec 000)."""
    return types_pb2.CitationInfo(
        episode_uuid=value.episode_uuid,
        episode_name=value.name or value.episode_uuid,
        source=SOURCE_NUMBERS[value.source],
        source_description=value.source_description or "",
        created_at=timestamp(value.created_ms),
        source_url=value.source_url,
    )


def episode(value: Episode, edges: Sequence[str] = ()) -> types_pb2.Episode:
    """An episode, with the facts that it tells."""
    return types_pb2.Episode(
        uuid=value.uuid,
        group_id=value.group_id,
        name=value.name,
        body=value.body,
        source=SOURCE_NUMBERS[value.source],
        reference_time=timestamp(value.reference_ms),
        created_at=timestamp(value.created_ms),
        source_description=value.source_description,
        source_url=source_url_of(value.source_description),
        entity_edges=edges,
    )


def entity_node(value: Entity, aliases: Iterable[str] = ()) -> types_pb2.EntityNode:
    """An entity; a summary that nobody gave is absent."""
    return types_pb2.EntityNode(
        uuid=value.uuid,
        group_id=value.group_id,
        name=value.name,
        summary=value.summary or None,
        attributes=attributes_out(value.attributes) if value.attributes else None,
        created_at=timestamp(value.created_ms),
        labels=value.labels,
        updated_at=timestamp(value.updated_ms or value.created_ms),
        summary_facts=summary_facts(value),
        aliases=aliases,
    )


def entity_view(value: EntityView) -> retrieval_pb2.GetEntityNodeOutput:
    """An entity with what hangs on it."""
    return retrieval_pb2.GetEntityNodeOutput(
        node=entity_node(value.entity, value.aliases),
        facts=map(cited_fact, value.facts),
        episodes=[episode(each, value.edges.get(each.uuid, ())) for each in value.episodes],
        citation_chain=map(_chain_entry, value.chain),
        mentions=map(_mention, value.mentions),
    )


def _mention(value: Mention) -> types_pb2.Mention:
    return types_pb2.Mention(
        uuid=value.uuid,
        group_id=value.group_id,
        episode_uuid=value.episode_uuid,
        entity_uuid=value.entity_uuid,
        created_at=timestamp(value.created_ms),
    )


def _chain_entry(value: ChainEntry) -> types_pb2.CitationChainEntry:
    return types_pb2.CitationChainEntry(
        citation=citation_info(value.citation), operation=_OPERATIONS[value.operation]
    )


def accepted_item(item: ItemStatus) -> types_pb2.AcceptedItem:
    """An item as the call that brought it in left it."""
    return types_pb2.AcceptedItem(uuid=item.uuid, duplicate=item.duplicate, state=STATE_NUMBERS[item.state])


def receipt_item(item: ItemStatus) -> types_pb2.ReceiptItem:
    """An item of a receipt."""
    return types_pb2.ReceiptItem(
        uuid=item.uuid,
        name=item.name,
        state=STATE_NUMBERS[item.state],
        duplicate=item.duplicate,
        attempts=item.attempts,
        reason=item.reason,
        updated_at=timestamp(item.updated_ms),
        usage=_usage(item.usage),
    )


def _usage(value: Usage) -> types_pb2.ModelUsage | None:
    if not value:
        return None
    return types_pb2.ModelUsage(
        calls=value.calls, prompt_tokens=value.prompt_tokens, completion_tokens=value.completion_tokens
    )


def receipt(value: Receipt) -> types_pb2.Receipt:
    """A receipt with its items counted by state."""
    return types_pb2.Receipt(
        receipt_id=value.receipt_id,
        group_id=value.group_id,
        created_at=timestamp(value.created_ms),
        items=[receipt_item(item) for item in value.items],
        counts=_counts(item.state for item in value.items),
        done=value.done,
        usage=_usage(value.usage),
    )


def listed_item(item: ItemStatus) -> types_pb2.ListedItem:
    """An item of a listing."""
    return types_pb2.ListedItem(
        uuid=item.uuid,
        group_id=item.group_id,
        name=item.name,
        state=STATE_NUMBERS[item.state],
        attempts=item.attempts,
        reason=item.reason,
        step=None if item.step is None else item.step.value,
        updated_at=timestamp(item.updated_ms),
        receipt_id=item.receipt_id,
    )


def _counts(states: Iterable[ItemState]) -> list[types_pb2.StateCount]:
    counted = Counter(states)
    return [
        types_pb2.StateCount(state=STATE_NUMBERS[state], count=counted[state])
        for state in ItemState
        if counted[state]
    ]
