"""Deciding which new names and facts are known ones: by rule, else by one model call for the micro-batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.model.delta import GroupHead, NameView
from kgsvc.domain.model.extraction import Ontology
from kgsvc.domain.model.graph import FREE, Entity, Usage
from kgsvc.domain.names.entities import BatchItem
from kgsvc.domain.resolution import questions
from kgsvc.domain.resolution.asking import Inquiry
from kgsvc.domain.resolution.decisions import CandidateQuery, Decisions, NameCandidates, NameDecision
from kgsvc.domain.resolution.questions import NewName
from kgsvc.domain.resolution.short_names import by_short_name
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.models.protocol import Resolver
from kgsvc.pipeline.nearness import Nearness
from kgsvc.runtime import STATEMENTS, offload
from kgsvc.stores.protocol import CandidateStore


@dataclass(frozen=True, slots=True)
class Resolution:
    """What follows by rule, what a model decided and cost, and the candidate entities, by uuid."""

    by_rule: Decisions = field(default_factory=Decisions)
    asked: Decisions = field(default_factory=Decisions)
    entities: Mapping[str, Entity] = field(default_factory=dict)
    usage: Usage = FREE


_READS = 3  # of entities near the new names: others may be written, or removed, meanwhile
_NO_VECTORS: Mapping[str, bytes] = MappingProxyType({})
_NO_TYPES = Ontology()


class Resolving:
    """Reads candidates once, asks the model once, and only where there is something to compare."""

    def __init__(
        self, store: CandidateStore, resolver: Resolver | None, embedder: CachingEmbedder | None = None
    ) -> None:
        self._store = store
        self._resolver = resolver
        likely = resolver is not None and embedder is not None  # without a model nothing could be decided
        self._nearness = Nearness(embedder.space, embedder.min_cosine) if likely and embedder else None

    async def decide(
        self,
        group_id: str,
        items: Sequence[BatchItem],
        view: NameView,
        known: Decisions,
        vectors: Mapping[str, bytes] = _NO_VECTORS,
        ontology: Ontology = _NO_TYPES,
    ) -> Resolution:
        """Everything about the batch that neither `view` nor `known` settles. `vectors` are those of new
        names, by name; `ontology` holds the fact types. Raises StepError, StoreUnavailable."""
        names = questions.new_names(items, view, known)
        places = {(i.episode.uuid, n) for i in items for n in range(len(i.extraction.edges))}
        facts = self._resolver is not None and not places <= known.facts.keys()
        if not names and not facts:
            return Resolution()

        def query(near: Mapping[str, tuple[str, ...]]) -> CandidateQuery:
            return questions.query(names, items, view, facts, near)

        candidates = await self._candidates(view.head, names, query, vectors)
        size = len(names) + len(places) + len(candidates.facts)
        by_rule = Decisions(await offload(size / STATEMENTS, questions.by_rule, names, candidates))
        if self._resolver is None:
            short = Decisions(await offload(size / STATEMENTS, by_short_name, names, candidates))
            return Resolution(short.with_more(by_rule), entities=candidates.entities)
        left = [new for new in names if new.key not in by_rule.names]
        known_too = {entity.uuid: entity for entity in view.by_key.values()}
        candidates = replace(candidates, entities=known_too | dict(candidates.entities))
        inquiry = Inquiry(group_id, view, candidates, left, known.with_more(by_rule), ontology)
        request = await offload(size / STATEMENTS, inquiry.request, items)
        by_rule = by_rule.with_more(Decisions(facts=inquiry.decided))
        if request is None:
            return Resolution(by_rule, entities=candidates.entities)
        answer = await self._resolver.resolve(request)
        asked = inquiry.decisions(answer.resolutions)
        full = questions.unused_full_names(asked.names, names, candidates)
        if full:
            asked = replace(asked, names=await self._with_full_names(asked.names, full, names, inquiry))
        return Resolution(by_rule, asked, candidates.entities, answer.usage)

    async def _with_full_names(
        self,
        decided: Mapping[str, NameDecision],
        full: Mapping[str, str],
        names: Sequence[NewName],
        inquiry: Inquiry,
    ) -> dict[str, NameDecision]:
        """The decisions, without full names that may be those of other entities."""
        try:
            others = await self._store.candidates(inquiry.group_id, questions.full_name_query(full.values()))
        except StoreUnavailable:  # rather without full names than lose the answer of the model
            return questions.without_full_names(decided, full)
        cost = (len(names) + len(full)) / STATEMENTS
        return await offload(
            cost, questions.keeping_full_names, decided, full, names, inquiry.compared, others
        )

    async def _candidates(
        self,
        head: GroupHead,
        names: Sequence[NewName],
        query: Callable[[Mapping[str, tuple[str, ...]]], CandidateQuery],
        vectors: Mapping[str, bytes],
    ) -> NameCandidates:
        """The candidates for the batch, mostly in one round trip: entities near the new names are known from
        vectors read before, and the same answer holds the vectors written since. A second round trip where
        one of those is near too, or an entity that was near is gone."""
        nearness, group_id = self._nearness, head.group_id
        asked = {new.key: vectors[new.name] for new in names if new.name in vectors}
        if nearness is None or not asked:
            return await self._store.candidates(group_id, query({}))
        near = await nearness.nearest(group_id, asked)
        for _ in range(_READS):
            wanted = query(near)
            candidates = await self._store.candidates(
                group_id, replace(wanted, vectors=nearness.following(group_id))
            )
            await self._follow(head, nearness, candidates)
            nearness.forget(group_id, set(wanted.uuids) - candidates.entities.keys())
            near = await nearness.nearest(group_id, asked)
            if all(uuid in candidates.entities for uuids in near.values() for uuid in uuids):
                break
        return replace(candidates, near=near, near_names=await nearness.peers(asked))

    async def _follow(self, head: GroupHead, nearness: Nearness, candidates: NameCandidates) -> None:
        """Read the rest of the vectors where an answer does not hold all of them."""
        while candidates.vectors is not None and nearness.take(head.group_id, candidates.vectors, head):
            rest = CandidateQuery(vectors=nearness.following(head.group_id))
            candidates = await self._store.candidates(head.group_id, rest)
