"""Deciding which new names and facts are known ones: by rule, else by one model call for the micro-batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.model.delta import GroupHead, NameView
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.model.ontology import Ontology
from kgsvc.domain.model.usage import FREE, Usage
from kgsvc.domain.names.entities import BatchItem
from kgsvc.domain.resolution import questions
from kgsvc.domain.resolution.asking import Inquiry
from kgsvc.domain.resolution.decisions import CandidateQuery, Decisions, NameCandidates, NameDecision
from kgsvc.domain.resolution.questions import NewName
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.models.protocol import Resolver
from kgsvc.offload import STATEMENTS, offload
from kgsvc.pipeline.nearness import Nearness
from kgsvc.stores.protocol import CandidateStore


@dataclass(frozen=True, slots=True)
class Found:
    """What follows by rule, what a model decided and cost, and the entities that were looked at, by uuid."""

    by_rule: Decisions = field(default_factory=Decisions)
    asked: Decisions = field(default_factory=Decisions)
    entities: Mapping[str, Entity] = field(default_factory=dict)
    usage: Usage = FREE


_LOOKS = 3  # at entities near the new names: others may be written, or go, meanwhile
_NO_VECTORS: Mapping[str, bytes] = MappingProxyType({})
_NO_TYPES = Ontology()


class Resolving:
    """Reads candidates once, asks the model once, and only where there is something to compare."""

    def __init__(
        self, store: CandidateStore, resolver: Resolver | None, embedder: CachingEmbedder | None = None
    ) -> None:
        self._store = store
        self._resolver = resolver
        likely = resolver is not None and embedder is not None  # without a model nobody could be asked
        self._nearness = Nearness(embedder.space, embedder.min_cosine) if likely and embedder else None

    async def decide(
        self,
        group_id: str,
        items: Sequence[BatchItem],
        view: NameView,
        known: Decisions,
        vectors: Mapping[str, bytes] = _NO_VECTORS,
        ontology: Ontology = _NO_TYPES,
    ) -> Found:
        """Everything about the batch that neither `view` nor `known` tells. `vectors` are those of new names,
        by name; `ontology` holds the fact types. Raises StepError, StoreUnavailable."""
        names = questions.new_names(items, view, known)
        places = {(i.episode.uuid, n) for i in items for n in range(len(i.extraction.edges))}
        facts = self._resolver is not None and not places <= known.facts.keys()
        if not names and not facts:
            return Found()

        def query(near: Mapping[str, tuple[str, ...]]) -> CandidateQuery:
            return questions.query(names, items, view, facts, near)

        found = await self._candidates(view.head, names, query, vectors)
        size = len(names) + len(places) + len(found.facts)
        by_rule = Decisions(await offload(size / STATEMENTS, questions.by_rule, names, found))
        if self._resolver is None:
            return Found(by_rule, entities=found.entities)
        left = [new for new in names if new.key not in by_rule.names]
        inquiry = Inquiry(group_id, view, found, left, known.with_more(by_rule), ontology)
        request = await offload(size / STATEMENTS, inquiry.request, items)
        by_rule = by_rule.with_more(Decisions(facts=inquiry.decided))
        if request is None:
            return Found(by_rule, entities=found.entities)
        answer = await self._resolver.resolve(request)
        asked = inquiry.decisions(answer.resolutions)
        full = questions.unused_full_names(asked.names, names, found)
        if full:
            asked = replace(asked, names=await self._named(asked.names, full, names, inquiry))
        return Found(by_rule, asked, found.entities, answer.usage)

    async def _named(
        self,
        decided: Mapping[str, NameDecision],
        full: Mapping[str, str],
        names: Sequence[NewName],
        inquiry: Inquiry,
    ) -> dict[str, NameDecision]:
        """The decisions without those of the full names that may be others'."""
        try:
            others = await self._store.candidates(inquiry.group_id, questions.full_name_query(full.values()))
        except StoreUnavailable:  # the answer is paid for and not kept yet: rather go without
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
        """One round trip as a rule: what is near is known from what was read before, and the same answer
        tells what came since. A second one where that is nearer still, or something near is gone."""
        nearness, group_id = self._nearness, head.group_id
        asked = {new.key: vectors[new.name] for new in names if new.name in vectors}
        if nearness is None or not asked:
            return await self._store.candidates(group_id, query({}))
        near = await nearness.nearest(group_id, asked)
        for _ in range(_LOOKS):
            wanted = query(near)
            found = await self._store.candidates(
                group_id, replace(wanted, vectors=nearness.following(group_id))
            )
            await self._follow(head, nearness, found)
            nearness.forget(group_id, set(wanted.uuids) - found.entities.keys())
            near = await nearness.nearest(group_id, asked)
            if all(uuid in found.entities for uuids in near.values() for uuid in uuids):
                break
        return replace(found, near=near, near_names=await nearness.peers(asked))

    async def _follow(self, head: GroupHead, nearness: Nearness, found: NameCandidates) -> None:
        """Read on where an answer does not hold all the vectors."""
        while found.vectors is not None and nearness.take(head.group_id, found.vectors, head):
            rest = CandidateQuery(vectors=nearness.following(head.group_id))
            found = await self._store.candidates(head.group_id, rest)
