"""Deciding which new names and facts are known ones: by rule, else by one model call for the micro-batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kgsvc.domain import questions
from kgsvc.domain.asking import Inquiry
from kgsvc.domain.decisions import Decisions
from kgsvc.domain.delta import NameView
from kgsvc.domain.entities import BatchItem
from kgsvc.domain.model import Entity
from kgsvc.domain.usage import FREE, Usage
from kgsvc.llm.protocol import Resolver
from kgsvc.stores.protocol import CandidateStore


@dataclass(frozen=True, slots=True)
class Found:
    """What follows by rule, what a model decided and cost, and the entities that were looked at, by uuid."""

    by_rule: Decisions = field(default_factory=Decisions)
    asked: Decisions = field(default_factory=Decisions)
    entities: Mapping[str, Entity] = field(default_factory=dict)
    usage: Usage = FREE


class Resolving:
    """Reads candidates once, asks the model once, and only where there is something to compare."""

    def __init__(self, store: CandidateStore, resolver: Resolver | None) -> None:
        self._store = store
        self._resolver = resolver

    async def decide(
        self, group_id: str, items: Sequence[BatchItem], view: NameView, known: Decisions
    ) -> Found:
        """Everything about the batch that neither `view` nor `known` tells. Raises StepError,
        StoreUnavailable."""
        names = questions.new_names(items, view, known)
        places = {(i.episode.uuid, n) for i in items for n in range(len(i.extraction.edges))}
        facts = self._resolver is not None and not places <= known.facts.keys()
        if not names and not facts:
            return Found()
        found = await self._store.candidates(group_id, questions.query(names, items, view, facts))
        by_rule = Decisions(questions.by_rule(names, found))
        if self._resolver is None:
            return Found(by_rule, entities=found.entities)
        left = [new for new in names if new.key not in by_rule.names]
        inquiry = Inquiry(group_id, view, found, left, known.with_more(by_rule))
        request = inquiry.request(items)
        by_rule = by_rule.with_more(Decisions(facts=inquiry.decided))
        if request is None:
            return Found(by_rule, entities=found.entities)
        answer = await self._resolver.resolve(request)
        return Found(by_rule, inquiry.decisions(answer.resolutions), found.entities, answer.usage)
