"""Groups that are not in memory, as far as a question needs them: small indexes of what the store's own find.

The store's indexes of facts give candidates by words and by vector; the entities at their ends, entities by
the words of their names, and the episodes that tell the candidates are read beside them. Out of these an
index is made for one search, and ranked as an index of the whole group is, with the group's statistics of
words as far as the store knows them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Protocol, TypeVar

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.model.communities import Community
from kgsvc.domain.model.delta import GroupHead
from kgsvc.domain.model.graph import Episode, Fact
from kgsvc.domain.names.similarity import name_tokens
from kgsvc.domain.resolution.decisions import CandidateQuery, NameCandidates
from kgsvc.runtime import offload
from kgsvc.search.cold_facts import ColdFacts, Ranked
from kgsvc.search.group_index import GroupIndex
from kgsvc.search.group_texts import GroupTexts
from kgsvc.search.index_cache import IndexCache
from kgsvc.search.pool import Asked
from kgsvc.search.settings import SearchSettings
from kgsvc.search.text_index import Whole
from kgsvc.stores.community_protocol import CommunityStore
from kgsvc.stores.protocol import Anchor, CandidateStore
from kgsvc.stores.search_protocol import (
    Changes,
    FactCandidates,
    IndexedCommunity,
    IndexedEntity,
    IndexedEpisode,
    IndexedFact,
    TextChanges,
)

_MOST = 200  # entities, episodes and communities that are read for one search of one group
_BODY_CHARS = 64 * 1024  # of an episode; longer ones are read whole one by one
_NAMES = 1_000  # of an entity
_TEXT_CHARS = 1_000  # of a question, in which names are looked for
T = TypeVar("T")


class ColdStore(CandidateStore, CommunityStore, Protocol):
    """Where the texts that belong to facts are read."""

    async def episode(self, uuid: str, group_id: str | None) -> list[Episode]:
        """See GraphStore."""

    async def previous_episodes(
        self, group_id: str, anchors: Sequence[Anchor], limit: int, max_chars: int
    ) -> dict[str, tuple[Episode, ...]]:
        """See QueueStore."""


class Indexes(Protocol):
    """What is searched: indexes of groups, brought up to their heads."""

    async def use(self, head: GroupHead, work: Callable[[GroupIndex], T], heavy: bool = False) -> T:
        """Run `work` on the group's facts."""

    async def use_texts(self, head: GroupHead, work: Callable[[GroupTexts], T], heavy: bool = False) -> T:
        """The same for the group's entities, episodes and communities."""


@dataclass(frozen=True, slots=True)
class ColdGroup:
    """What was read of a group for one search."""

    facts: GroupIndex
    texts: GroupTexts


class Mixed:
    """Indexes of which some groups are cold."""

    def __init__(self, indexes: Indexes, cold: Mapping[str, ColdGroup]) -> None:
        self._indexes = indexes
        self._cold = cold

    @property
    def cold(self) -> Collection[str]:
        """The groups that are not in memory."""
        return self._cold.keys()

    async def use(self, head: GroupHead, work: Callable[[GroupIndex], T], heavy: bool = False) -> T:
        """See Indexes."""
        if head.group_id in self._cold:
            return work(self._cold[head.group_id].facts)
        return await self._indexes.use(head, work, heavy)

    async def use_texts(self, head: GroupHead, work: Callable[[GroupTexts], T], heavy: bool = False) -> T:
        """See Indexes."""
        if head.group_id in self._cold:
            return work(self._cold[head.group_id].texts)
        return await self._indexes.use_texts(head, work, heavy)


class ColdGroups:
    """Reads groups for searches that need more than their facts. Raises StoreUnavailable."""

    def __init__(
        self, store: ColdStore, facts: ColdFacts, settings: SearchSettings, indexes: IndexCache
    ) -> None:
        self._store = store
        self._facts = facts
        self._settings = settings
        self._indexes = indexes
        self._space, self._dimension = indexes.embedding

    async def of(self, group_ids: Collection[str], asked: Asked, text: str) -> dict[str, ColdGroup]:
        """Those of the groups that are not in memory, whole; absent: in memory, or it must be loaded while
        its caller waits, as ColdFacts tells. All others are loaded behind the answer."""
        with self._indexes.serving():
            groups = await asyncio.gather(*(self._group(group_id, asked, text) for group_id in group_ids))
        return {group_id: each for group_id, each in zip(group_ids, groups, strict=True) if each is not None}

    async def _group(self, group_id: str, asked: Asked, text: str) -> ColdGroup | None:
        read = await self._facts.read(group_id, asked)
        if read is None:
            return None
        found, keyword, semantic = read
        best = _best(keyword, semantic)
        ends = dict.fromkeys(uuid for fact, _ in best for uuid in (fact.source_uuid, fact.target_uuid))
        try:
            async with asyncio.timeout(self._settings.store_timeout_s):
                episodes, names, communities = await asyncio.gather(
                    self._episodes(group_id, [fact for fact, _ in best]),
                    self._names(group_id, list(ends)[:_MOST], text),
                    self._store.communities(group_id, _MOST, "", None),
                )
        except TimeoutError as error:
            raise StoreUnavailable("the store did not answer in time") from error
        made = self._facts_of(found, best), _texts(found, best, episodes, names, communities.rows)
        return await offload(2, lambda: self._made(group_id, found, *made))

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

    def _facts_of(self, found: FactCandidates, best: Sequence[tuple[Fact, bytes | None]]) -> Changes:
        rows = tuple(IndexedFact(fact, self._space if vector else "", vector) for fact, vector in best)
        return Changes(found.head, rows, (), found.head.rev)

    def _made(self, group_id: str, found: FactCandidates, facts: Changes, texts: TextChanges) -> ColdGroup:
        made = ColdGroup(
            GroupIndex(group_id, self._space, self._dimension),
            GroupTexts(group_id, self._space, self._dimension),
        )
        made.facts.apply(facts)
        made.texts.apply(texts)
        made.facts.whole = Whole(found.facts, found.frequencies, found.total_length)
        for index in (made.texts.nodes, made.texts.episodes, made.texts.communities):
            index.whole = Whole(found.facts, found.frequencies)
        return made


def _best(keyword: Ranked, semantic: Ranked) -> list[tuple[Fact, bytes | None]]:
    """The candidates with their vectors, the best of both lists first."""
    found: dict[str, tuple[Fact, bytes | None]] = {}
    for pair in zip_longest(keyword, semantic):
        for entry in pair:
            if entry is not None and (entry[1].uuid not in found or found[entry[1].uuid][1] is None):
                found[entry[1].uuid] = entry[1].show(), entry[1].vector
    return list(found.values())


def _texts(
    found: FactCandidates,
    best: Sequence[tuple[Fact, bytes | None]],
    episodes: Sequence[Episode],
    names: NameCandidates,
    communities: Sequence[Community],
) -> TextChanges:
    named: dict[str, dict[str, None]] = {}
    for fact, _ in best:
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
