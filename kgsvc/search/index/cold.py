"""Groups that are not in memory, as far as a question needs them: small ones, of what the store itself finds.

The store gives candidates by words and by vector, with what their scores are made of. The entities at their
ends, entities by the words of their names, and the episodes that tell the candidates are read beside them;
around a center or an origin the facts that lead from there; for a question about the past the facts of what
it names. Out of these a group is made for one search and ranked as every other, with the statistics of words
of the whole, so that a fact scores here what it scores in memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Protocol

from kgsvc.domain.model.communities import Community
from kgsvc.domain.model.graph import Episode, Fact
from kgsvc.domain.names.similarity import name_tokens
from kgsvc.domain.resolution.decisions import CandidateQuery, NameCandidates
from kgsvc.runtime import offload
from kgsvc.search.filters import NONE, Filters
from kgsvc.search.index.cache import IndexCache
from kgsvc.search.index.facts import unpack
from kgsvc.search.index.feed import in_time
from kgsvc.search.index.group import WHOLE, Group, Part
from kgsvc.search.index.text_index import Whole
from kgsvc.search.plans import Method, Scope, ScopePlan
from kgsvc.search.query import Term
from kgsvc.search.ranking.facts import fact_lists
from kgsvc.search.ranking.pool import Asked
from kgsvc.search.settings import SearchSettings
from kgsvc.stores.community_protocol import CommunityStore
from kgsvc.stores.protocol import Anchor, CandidateStore
from kgsvc.stores.search_protocol import (
    ColdSearchStore,
    FactCandidate,
    FactCandidates,
    FactsAsked,
    IndexedCommunity,
    IndexedEntity,
    IndexedEpisode,
    IndexedFact,
    TextChanges,
)

# Up to this size a group is loaded while its caller waits: that takes a moment, and the answer is exact.
LOADED_AT_ONCE = 500
_MOST = 200  # episodes and communities that are read for one search of one group; of entities twice as many
_BODY_CHARS = 64 * 1024  # of an episode; longer ones are read whole one by one
_NAMES = 1_000  # of an entity
_TEXT_CHARS = 1_000  # of a question, in which names are looked for
_WIDER = 5  # times as many candidates where filters leave some of them out
_HOPS = 3  # around a center or an origin
_FRONTIER = 100  # entities from which one hop goes out
_FACTS_EACH = 50  # of one of these, at each end
_PAST_ENTITIES = 16  # whose facts of all times are read
_PAST_FACTS = 200  # of each
_HYBRID = ScopePlan(Scope.FACTS, (Method.BM25, Method.COSINE))


class ColdStore(CandidateStore, ColdSearchStore, CommunityStore, Protocol):
    """Where candidates are found and what belongs to them is read."""

    async def episode(self, uuid: str, group_id: str | None) -> list[Episode]:
        """See GraphStore."""

    async def previous_episodes(
        self, group_id: str, anchors: Sequence[Anchor], limit: int, max_chars: int
    ) -> dict[str, tuple[Episode, ...]]:
        """See QueueStore."""

    async def entity_facts(
        self, group_id: str, entity_uuid: str, limit: int, current_ms: int | None = None
    ) -> list[Fact]:
        """See HistoryStore."""


class Cold:
    """Reads groups, and lets them be loaded behind the answer. Raises StoreUnavailable."""

    def __init__(
        self,
        store: ColdStore,
        indexes: IndexCache,
        settings: SearchSettings,
        loaded_at_once: int = LOADED_AT_ONCE,
    ) -> None:
        self._store = store
        self._indexes = indexes
        self._settings = settings
        self._space, self._dimension = indexes.embedding
        self._loaded_at_once = loaded_at_once

    async def groups(
        self, group_ids: Collection[str], asked: Asked, parts: Collection[Part]
    ) -> dict[str, Group]:
        """Those of the groups of which these parts are not in memory. Absent: they are, or must be loaded
        while their caller waits, since the group is small or the store cannot search it."""
        await self._indexes.restore(group_ids, parts)
        wanted = [each for each in dict.fromkeys(group_ids) if not self._indexes.holds(each, parts)]
        if not wanted:
            return {}
        with self._indexes.serving():
            groups = await asyncio.gather(*(self._group(each, asked, parts) for each in wanted))
        return {group.group_id: group for group in groups if group is not None}

    async def warm(self, group_id: str, now_ms: int) -> None:
        """Load a group while nobody waits for it, if it can be held, and wait until that is over."""
        found = await self._candidates(group_id, FactsAsked((), (), None, self._space, now_ms, 1))
        if found is not None:
            self._indexes.load_behind(found.head, found.facts, WHOLE)
            await self._indexes.loaded_behind(group_id)

    async def _group(self, group_id: str, asked: Asked, parts: Collection[Part]) -> Group | None:
        found = await self._candidates(group_id, self._asked(asked))
        if found is None or found.facts <= self._loaded_at_once:
            return None
        self._indexes.load_behind(found.head, found.facts, parts)
        group = await offload(2, self._made, group_id, found, asked.terms)
        completing = self._completed(group, found, asked, Part.TEXTS in parts)
        await in_time(completing, self._settings.store_timeout_s)
        return group

    async def _candidates(self, group_id: str, asked: FactsAsked) -> FactCandidates | None:
        reading = self._store.search_candidates(group_id, asked)
        return await in_time(reading, self._settings.store_timeout_s)

    def _asked(self, asked: Asked) -> FactsAsked:
        return FactsAsked(
            tuple(term.text for term in asked.terms if not term.by_prefix),
            tuple(term.text for term in asked.terms if term.by_prefix),
            None if asked.vector is None else asked.vector.astype("<f4").tobytes(),
            self._space,
            asked.now_ms,
            asked.candidates if asked.filters == NONE else _WIDER * asked.candidates,
            asked.min_cosine,
            {term.text: term.weight for term in asked.terms if term.weight != 1.0},
            all_vectors=asked.vector is not None,
        )

    def _made(self, group_id: str, found: FactCandidates, terms: Sequence[Term]) -> Group:
        """A group of the candidates."""
        group = Group(group_id, self._space, self._dimension)
        beginnings = frozenset(term.text[0] for term in terms)
        whole = Whole(found.facts, found.frequencies, None, beginnings)
        for index in (group.texts.nodes, group.texts.episodes, group.texts.communities):
            index.whole = whole
        group.facts.whole = replace(whole, total_length=found.total_length)
        candidates: dict[str, FactCandidate] = {}
        for each in (*found.semantic, *found.keyword):
            near = candidates.get(each.uuid)
            vector = each.vector if near is None else each.vector or near.vector
            candidates[each.uuid] = replace(each, vector=vector)
        group.facts.add(
            [
                IndexedFact(each.show(), self._space if each.vector else "", each.vector)
                for each in candidates.values()
            ],
            [(_counted_once(each.counts, terms), each.length) for each in candidates.values()],
        )
        group.facts.settle()
        return group

    async def _completed(self, group: Group, found: FactCandidates, asked: Asked, texts: bool) -> None:
        """Read what belongs to the candidates into the group."""
        begins = {*asked.origins, *(() if asked.center is None else (asked.center,))}
        past = _of_the_past(asked.filters)
        if texts or past:
            best = _best(group, replace(asked, filters=NONE) if past else asked)
            ends = list(dict.fromkeys([*sorted(begins), *_ends(best)]))[: 2 * _MOST]
            names = await self._names(group.group_id, ends, asked.question)
        if past:
            named = (uuid for uuids in names.by_token.values() for uuid in uuids)
            _add(group, await self._past(group.group_id, list(dict.fromkeys([*begins, *named, *ends]))))
        if begins:
            _add(group, await self._around(group.group_id, begins))
        if texts:
            await self._with_texts(group, found, _best(group, asked), names)

    async def _with_texts(
        self, group: Group, found: FactCandidates, best: Sequence[Fact], names: NameCandidates
    ) -> None:
        episodes = await self._episodes(group.group_id, best)
        communities = await self._store.communities(group.group_id, _MOST, "", None)
        await offload(2, group.apply, _texts(found, best, episodes, names, communities.rows))

    async def _around(self, group_id: str, begins: Collection[str]) -> list[Fact]:
        """Facts that lead from some entities, hop by hop."""
        facts: dict[str, Fact] = {}
        seen, frontier = set(begins), sorted(begins)
        for _ in range(_HOPS):
            query = CandidateQuery(
                sources=frontier,
                targets=frontier,
                facts_per_source=_FACTS_EACH,
                facts_per_target=_FACTS_EACH,
            )
            found = (await self._store.candidates(group_id, query)).facts
            facts.update((each.uuid, each) for each in found)
            frontier = [uuid for uuid in dict.fromkeys(_ends(found)) if uuid not in seen][:_FRONTIER]
            seen.update(frontier)
            if not frontier:
                break
        return list(facts.values())

    async def _past(self, group_id: str, entities: Sequence[str]) -> list[Fact]:
        """Facts of all times of the first of these entities."""
        reads = (
            self._store.entity_facts(group_id, uuid, _PAST_FACTS, None) for uuid in entities[:_PAST_ENTITIES]
        )
        return [fact for facts in await asyncio.gather(*reads) for fact in facts]

    async def _episodes(self, group_id: str, facts: Sequence[Fact]) -> tuple[Episode, ...]:
        told = tuple(dict.fromkeys(uuid for fact in facts for uuid in fact.episodes))[:_MOST]
        if not told:
            return ()
        anchor = Anchor(uuid="", reference_ms=0, named=told)
        read = (await self._store.previous_episodes(group_id, [anchor], _MOST, _BODY_CHARS))[""]
        whole: list[Episode] = []
        for each in read:
            cut = len(each.body) >= _BODY_CHARS
            whole += await self._store.episode(each.uuid, group_id) if cut else [each]
        return tuple(whole)

    async def _names(self, group_id: str, ends: Sequence[str], text: str) -> NameCandidates:
        query = CandidateQuery(tokens=name_tokens(text[:_TEXT_CHARS]), uuids=ends, names_per_entity=_NAMES)
        return await self._store.candidates(group_id, query)


def _of_the_past(filters: Filters) -> bool:
    """Whether facts are asked for that the store's indexes pass over, since they do not hold now."""
    return bool(filters.on_fact_axis or filters.expired or filters.known_at_ms is not None)


def _best(group: Group, asked: Asked) -> list[Fact]:
    """The facts of a group that fit, the best by words and by vector first."""
    lists = fact_lists(group.facts, replace(asked, plan=_HYBRID, typed=None)).values()
    ranked = (entry[2] for row in zip_longest(*lists) for entry in row if entry is not None)
    return [unpack(packed) for packed in group.facts.packed(list(dict.fromkeys(ranked)))]


def _ends(facts: Iterable[Fact]) -> list[str]:
    return [uuid for fact in facts for uuid in (fact.source_uuid, fact.target_uuid)]


def _add(group: Group, facts: Iterable[Fact]) -> None:
    missing = {fact.uuid: fact for fact in facts if fact.uuid not in group.facts}
    group.facts.put(list(map(IndexedFact, missing.values())))


def _texts(
    found: FactCandidates,
    best: Sequence[Fact],
    episodes: Sequence[Episode],
    names: NameCandidates,
    communities: Sequence[Community],
) -> TextChanges:
    named: dict[str, dict[str, None]] = {}
    for fact in best:
        for uuid in fact.episodes:
            named.setdefault(uuid, {}).update(dict.fromkeys((fact.source_uuid, fact.target_uuid)))
    return TextChanges(
        found.head,
        tuple(IndexedEntity(each, names.names.get(each.uuid, ())) for each in names.entities.values()),
        tuple(IndexedEpisode(each, tuple(named.get(each.uuid, ()))) for each in episodes),
        (),
        (),
        found.head.rev,
        communities=tuple(IndexedCommunity(c.uuid, c.name, c.summary, c.created_ms) for c in communities),
    )


def _counted_once(counts: Mapping[str, int], terms: Sequence[Term]) -> Mapping[str, int]:
    """The counts of a candidate, those of prefixes without the bigrams that are terms too: an index adds
    these to the prefix."""
    apart = dict(counts)
    for prefix in (term.text for term in terms if term.by_prefix and term.text in counts):
        bigrams = {term.text for term in terms if not term.by_prefix and term.text.startswith(prefix)}
        apart[prefix] -= sum(counts.get(bigram, 0) for bigram in bigrams)
    return {term: count for term, count in apart.items() if count > 0}
