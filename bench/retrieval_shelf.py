"""Groups in memory, as a store of a fresh server would hold them: for measuring search without a server."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from kgsvc.commands.items import message_body
from kgsvc.documents.passages import spoken
from kgsvc.domain.facts.plan import plan, statements_of
from kgsvc.domain.model.delta import GraphDelta, GroupHead, NameView, SlotView
from kgsvc.domain.model.extraction import ExtractionRequest
from kgsvc.domain.model.graph import Episode, Fact, RoleType, Source
from kgsvc.domain.model.keys import mint, name_key
from kgsvc.domain.names.entities import resolve
from kgsvc.domain.names.meanings import BatchItem
from kgsvc.models.protocol import Embedder
from kgsvc.models.rules.extractor import OfflineExtractor
from kgsvc.runtime import SystemClock
from kgsvc.stores.search_protocol import (
    TEXT_BYTES,
    Changes,
    FactCandidates,
    FactsAsked,
    IndexedEntity,
    IndexedEpisode,
    IndexedFact,
    TextChanges,
    no_texts,
)

_PREVIOUS = 10  # earlier episodes an extractor sees
_DOCUMENT = "document"  # the speaker of episodes that nobody spoke


class Shelf:
    """A SearchStore of groups that never change."""

    def __init__(self) -> None:
        self._facts: dict[str, tuple[IndexedFact, ...]] = {}
        self._texts: dict[str, TextChanges] = {}

    async def put(self, episodes: list[Episode], delta: GraphDelta, embedder: Embedder | None) -> None:
        """The whole content of a group."""
        head = GroupHead(delta.group_id, rev=1)
        named: dict[str, list[str]] = {}
        for mention in delta.mentions:
            named.setdefault(mention.episode_uuid, []).append(mention.entity_uuid)
        self._facts[head.group_id] = tuple(await _indexed(delta.facts, embedder))
        space, passages = await _passages(episodes, delta.facts, embedder)
        self._texts[head.group_id] = replace(
            no_texts(head.group_id),
            head=head,
            entities=tuple(IndexedEntity(entity) for entity in delta.entities),
            episodes=tuple(
                IndexedEpisode(e, tuple(named.get(e.uuid, ())), space, passages.get(e.uuid)) for e in episodes
            ),
            upto_rev=1,
        )

    async def heads(self, group_ids: Collection[str]) -> dict[str, GroupHead]:
        """See SearchStore."""
        return {group_id: self._texts[group_id].head for group_id in group_ids if group_id in self._texts}

    async def changes(self, group_id: str, after_rev: int, limit: int) -> Changes:
        """See SearchStore; one page, whatever the limit."""
        return Changes(self._texts[group_id].head, self._facts[group_id], (), upto_rev=1)

    async def text_changes(
        self,
        group_id: str,
        after_rev: int,
        limit: int,
        max_bytes: int = TEXT_BYTES,
        after_uuid: str = "",
    ) -> TextChanges:
        """See SearchStore; one page, whatever the limits."""
        return self._texts[group_id]

    async def names(self, group_id: str, name_keys: Collection[str], uuids: Collection[str] = ()) -> NameView:
        """See GraphStore; by names alone, since nobody has aliases here."""
        by_key = {name_key(each.entity.name): each.entity for each in self._texts[group_id].entities}
        known = {key: by_key[key] for key in name_keys if key in by_key}
        return NameView(self._texts[group_id].head, known)

    async def search_candidates(self, group_id: str, asked: FactsAsked) -> FactCandidates | None:
        """See ColdSearchStore: there are no indexes to search."""
        return None


async def _indexed(facts: Collection[Fact], embedder: Embedder | None) -> Iterator[IndexedFact]:
    if embedder is None:
        return map(IndexedFact, facts)
    vectors, _ = await embedder.embed([fact.fact for fact in facts])
    rows = zip(facts, vectors, strict=True)
    return (IndexedFact(fact, embedder.space, row.astype("<f4").tobytes()) for fact, row in rows)


async def _passages(
    episodes: Collection[Episode], facts: Collection[Fact], embedder: Embedder | None
) -> tuple[str, dict[str, bytes]]:
    """The vectors of what stands for each episode, as ingestion writes them, and their space."""
    if embedder is None:
        return "", {}
    told: dict[str, list[str]] = {}
    for fact in facts:
        for uuid in fact.episodes:
            told.setdefault(uuid, []).append(fact.fact)
    texts = {e.uuid: spoken(e.body, told.get(e.uuid, ())) for e in episodes}
    distinct = sorted({text for each in texts.values() for text in each})
    vectors, _ = await embedder.embed(distinct)
    known = {text: row.astype("<f4").tobytes() for text, row in zip(distinct, vectors, strict=True)}
    return embedder.space, {uuid: b"".join(known[text] for text in each) for uuid, each in texts.items()}


def episodes_of(conversation: Mapping[str, Any]) -> list[Episode]:
    """A conversation's episodes: messages with a speaker, or texts."""
    return [_episode(conversation["group_id"], entry) for entry in conversation["episodes"]]


def _episode(group_id: str, entry: Mapping[str, Any]) -> Episode:
    moment = datetime.fromisoformat(entry["timestamp"]).replace(tzinfo=UTC)
    at_ms = int(moment.timestamp() * 1_000)
    text, speaker = entry["text"], entry["speaker"]
    source = Source(entry.get("source") or (Source.TEXT if speaker == _DOCUMENT else Source.MESSAGE))
    if source is not Source.MESSAGE:
        return Episode(entry["id"], group_id, text, source, at_ms, at_ms)
    role_type = RoleType(entry.get("role_type") or RoleType.USER)
    body = message_body(role_type, speaker, text)
    return Episode(entry["id"], group_id, body, source, at_ms, at_ms, role_type=role_type, role=speaker)


def whole_messages(episodes: list[Episode]) -> GraphDelta:
    """One fact an episode, its text the body, its source the speaker; no entities."""
    facts = tuple(
        Fact(
            uuid=mint("fact", e.group_id, e.uuid),
            group_id=e.group_id,
            name="SAID",
            fact=e.body,
            source_uuid=e.role or "",
            target_uuid="",
            source_name=e.role or "",
            target_name="",
            created_ms=e.created_ms,
            reference_ms=e.reference_ms,
            slot="",
            fact_key="",
            episodes=(e.uuid,),
        )
        for e in episodes
    )
    return GraphDelta(episodes[0].group_id, SystemClock().now_ms(), facts=facts)


async def by_rules(episodes: list[Episode]) -> GraphDelta:
    """What ingestion without a model writes for these episodes."""
    requests = [ExtractionRequest(e, episodes[max(0, i - _PREVIOUS) : i]) for i, e in enumerate(episodes)]
    items = []
    for episode, result in zip(episodes, await OfflineExtractor().extract(requests), strict=True):
        if isinstance(result, Exception):
            raise result
        items.append(BatchItem(episode, result.extraction, episode.created_ms))
    group_id, now_ms = episodes[0].group_id, SystemClock().now_ms()
    resolved = resolve(NameView(GroupHead(group_id), {}), group_id, items, now_ms)
    return plan(group_id, items, resolved, statements_of(resolved, items), SlotView(), now_ms)
