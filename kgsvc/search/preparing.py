"""What a search needs before it looks: the query understood, its groups in memory or asked of the store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from kgsvc.domain.model.delta import GroupHead, NameView
from kgsvc.domain.model.keys import name_key
from kgsvc.domain.names.namesakes import namesakes_of
from kgsvc.runtime import QUERY_CHARS, Clock, offload, together
from kgsvc.search.index.cache import IndexCache
from kgsvc.search.index.feed import in_time
from kgsvc.search.index.group import LazyPart
from kgsvc.search.past import of_question
from kgsvc.search.plans import Method, Reranker, Scope, ScopePlan, default_plan
from kgsvc.search.query import Term, may_be_names, names_meant, parse
from kgsvc.search.ranking.finding import by_words_of_facts, needed, told_by_stores
from kgsvc.search.ranking.pool import ScopeQuery
from kgsvc.search.ranking.stored import of_store
from kgsvc.search.results import GraphQuery
from kgsvc.search.settings import SearchSettings
from kgsvc.search.spaces import Meaning, Spaces
from kgsvc.stores.protocol import GraphStore
from kgsvc.stores.search_protocol import ColdSearchStore, FactCandidates, FactsAsked

_COMPARING = frozenset({Reranker.MMR, Reranker.EVIDENCE})
_DEFAULT = default_plan(Scope.FACTS)


class PreparingStore(GraphStore, ColdSearchStore, Protocol):
    """Where names are looked up, and what is not in memory is found."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is the same for all plans of a search."""

    terms: tuple[Term, ...]
    meanings: Mapping[str, Meaning]  # the query by the spaces of the groups
    now_ms: int
    parts: tuple[LazyPart, ...]
    heads: list[GroupHead]  # of groups in memory, or to be loaded now
    stored: list[FactCandidates]  # of the others
    heavy: bool
    meant: Mapping[str, Sequence[str]]  # names that the question calls by an alias, by group


class Preparing:
    """Prepares searches."""

    def __init__(
        self,
        store: PreparingStore,
        settings: SearchSettings,
        clock: Clock,
        spaces: Spaces,
        indexes: IndexCache,
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._spaces = spaces
        self._indexes = indexes

    async def prepared(
        self,
        query: GraphQuery,
        plans: Sequence[ScopePlan],
        every: Sequence[GroupHead],
        now_ms: int | None = None,
    ) -> Prepared:
        """`every`: the groups that there are; `now_ms`: None is by the clock. Raises StoreUnavailable."""
        text, filters, centered = query.text, query.filters, query.center is not None
        parts = dict.fromkeys(part for plan in plans for part in needed(plan, filters, centered))
        meanings = await self._meanings(query.text, every) if _compares(plans) else {}
        prepared = Prepared(
            await offload(len(text) / QUERY_CHARS, parse, text),
            meanings,
            self._clock.now_ms() if now_ms is None else now_ms,
            tuple(parts),
            [],
            [],
            len(text) > QUERY_CHARS,
            {},
        )
        meant: dict[str, Sequence[str]] = {}
        stored: list[FactCandidates] = []
        absent = [head for head in every if not self._indexes.ready(head, parts)]
        asked = [self.asked(query, plan, prepared) for plan in plans] if absent else []
        if absent and all(map(told_by_stores, asked)):
            reading = [self._stored(head, asked[0], parts, meant) for head in absent]
            stored = [found for found in await together(reading) if found is not None]
        apart = {found.head.group_id for found in stored}
        heads = [head for head in every if head.group_id not in apart]
        await together([self._indexes.wait(head, prepared.parts) for head in heads])
        if any(map(by_words_of_facts, plans)):
            runs = may_be_names(text)
            names = await together([self._meant(head, text, runs) for head in heads])
            meant |= {head.group_id: each for head, each in zip(heads, names, strict=True)}
        return replace(prepared, heads=heads, stored=stored, meant=meant)

    async def _meanings(self, text: str, heads: Sequence[GroupHead]) -> dict[str, Meaning]:
        """The query in each of the groups' spaces."""
        spaces = self._spaces
        meanings = await spaces.meanings(text, {spaces.of(head) for head in heads} or {spaces.own})
        if spaces.own in meanings:
            meanings[""] = meanings[spaces.own]  # of a group without vectors yet
        return meanings

    async def _meant(self, head: GroupHead, text: str, runs: Sequence[str]) -> Sequence[str]:
        """The names of entities that a question calls by an alias: from memory if they are there and up to
        date, else from the store. In a group at rest they are loaded then, behind the answer; to keep up with
        one that is written to would cost more than to ask."""
        texts = self._indexes.texts(head)
        if texts is not None:
            return texts.nodes.meant(text)
        if self._indexes.at_rest(head):
            self._indexes.load_behind(head, 0, (LazyPart.TEXTS,))
        return await self._named(head.group_id, runs)

    async def _named(self, group_id: str, runs: Sequence[str]) -> Sequence[str]:
        """The same by the store. Namesakes are looked up where there is one of the plain name: their keys are
        many, and hardly a run of words is a name."""
        called = await self._names(group_id, {name_key(run) for run in runs})
        borne = [run for run in runs if name_key(run) in called.by_key]
        if not borne:
            return ()
        keys = {key for run in borne for key in namesakes_of(run)}
        return names_meant(await self._names(group_id, keys), borne)

    async def _names(self, group_id: str, keys: Collection[str]) -> NameView:
        return await in_time(self._store.names(group_id, sorted(keys)), self._settings.store_timeout_s)

    async def _stored(
        self, head: GroupHead, asked: ScopeQuery, parts: Collection[LazyPart], meant: dict[str, Sequence[str]]
    ) -> FactCandidates | None:
        """What the store finds in a group that is not in memory, while the group is loaded behind the answer;
        the names that the question means there become part of `meant`. None: the group is in memory in a
        moment, or the store cannot search it."""
        group_id, space = head.group_id, self._spaces.of(head)
        if await self._indexes.begin(group_id, parts, head):
            return None
        with self._indexes.serving():
            meant[group_id] = await self._named(group_id, may_be_names(asked.question))
            wanted = replace(asked, meant=meant).within(group_id, space)
            found = await self.candidates(group_id, of_store(wanted, space))
        if found is not None:
            self._indexes.load_behind(found.head, found.facts, parts)
        return found

    async def candidates(self, group_id: str, asked: FactsAsked) -> FactCandidates | None:
        """What the store finds; None: it cannot search the group. Raises StoreUnavailable."""
        reading = self._store.search_candidates(group_id, asked)
        return await in_time(reading, self._settings.store_timeout_s)

    def asked(self, query: GraphQuery, plan: ScopePlan, prepared: Prepared) -> ScopeQuery:
        """What a plan looks for."""
        filters = of_question(query.filters, query.text) if plan == _DEFAULT else query.filters
        if prepared.stored and plan.reranker is Reranker.EVIDENCE:
            plan = replace(plan, reranker=Reranker.RRF)
        spaces = {self._spaces.of(each) for each in prepared.heads} | {
            self._spaces.of(each.head) for each in prepared.stored
        }
        space = self._spaces.own if not spaces else spaces.pop() if len(spaces) == 1 else None
        meaning = None if space is None else prepared.meanings.get(space)
        return ScopeQuery(
            plan,
            prepared.terms,
            None if meaning is None else meaning.vector,
            0.0 if meaning is None else meaning.min_cosine,
            filters,
            prepared.now_ms,
            max(self._settings.candidates, query.max_results),
            query.max_results,
            query.center,
            query.origins,
            query.text,
            meant=prepared.meant,
            meanings=prepared.meanings,
        )


def _compares(plans: Sequence[ScopePlan]) -> bool:
    """Whether any of them needs the query's embedding."""
    return any(Method.COSINE in plan.methods or plan.reranker in _COMPARING for plan in plans)
