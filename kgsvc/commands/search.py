"""Searches of a caller: what was found, the chunks among it where they stand, a context, the sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from kgsvc.commands.core import Core
from kgsvc.commands.provenance import Provenance, Room, SourceText, placed, provenance
from kgsvc.search.context.composing import TOKEN_CHARS
from kgsvc.search.context.lines import told
from kgsvc.search.engine import Engine
from kgsvc.search.index.episodes import FoundEpisode
from kgsvc.search.plans import Scope
from kgsvc.search.results import GraphHit, GraphQuery, Hit, Item, ScopeAnswer

_CHARACTER_BYTES = 4  # at most


@dataclass(frozen=True, slots=True)
class WantedSearch:
    """What a caller of SearchGraph wants."""

    query: GraphQuery
    context_tokens: int | None = None  # None: no context
    provenance: bool = False


class SearchReply(Protocol):
    """Where the parts of an answer go, one after the other."""

    @property
    def room(self) -> int:
        """The bytes that are left."""

    def take_results(
        self, answers: Sequence[ScopeAnswer], chunks: Sequence[tuple[SourceText, GraphHit]]
    ) -> None:
        """What was found; chunks are told where they stand."""

    def take_context(self, context: str) -> None:
        """A text to answer from."""

    def take_provenance(self, sources: Provenance) -> None:
        """Where results come from."""


@contextmanager
def timed(core: Core) -> Iterator[None]:
    """Observe the time of a search that succeeds."""
    started = core.clock.monotonic()
    yield
    core.metrics.search_latency.observe((core.clock.monotonic() - started) * 1_000)


async def search_facts(
    core: Core, search: Engine, group_ids: Sequence[str], query: str, max_facts: int, center: str | None
) -> list[Hit]:
    """SearchFacts. Raises NotFound (of the center), StoreUnavailable."""
    with timed(core):
        await search.require(group_ids, center)
        return await search.facts(group_ids, query, max_facts, center)


async def facts_provenance(core: Core, hits: Sequence[Hit], room: int) -> Provenance:
    """Where facts come from, as far as so many bytes hold. Raises StoreUnavailable."""
    return await provenance(core, ((hit.fact, hit.score) for hit in hits), Room(room))


async def search_graph(core: Core, search: Engine, wanted: WantedSearch, reply: SearchReply) -> None:
    """SearchGraph. Raises NotFound, LimitExceeded, StoreUnavailable (see Engine.search)."""
    query, known_at_ms = wanted.query, wanted.query.filters.known_at_ms
    with timed(core):
        if wanted.context_tokens is None:
            searched, answers = None, await search.search(query)
        else:
            searched = await search.search_for_context(query)
            answers = searched.answers
    reply.take_results(answers, await _chunks(core, answers))
    if searched is not None and wanted.context_tokens is not None:
        chars = min(wanted.context_tokens * TOKEN_CHARS, reply.room // _CHARACTER_BYTES)
        reply.take_context(told(await search.context(searched, chars)))
    if wanted.provenance:
        reply.take_provenance(await provenance(core, hits_of(answers), Room(reply.room), known_at_ms))


def hits_of(answers: Sequence[ScopeAnswer]) -> Iterator[tuple[Item, float]]:
    """What was found, with its scores, scope by scope, the best first."""
    return ((hit.item, hit.score) for answer in answers for hit in answer.hits)


async def _chunks(core: Core, answers: Sequence[ScopeAnswer]) -> list[tuple[SourceText, GraphHit]]:
    """The chunks among the results with where they stand; without those erased meanwhile."""
    hits = [hit for answer in answers if answer.scope is Scope.CHUNKS for hit in answer.hits]
    episodes = [hit.item.episode for hit in hits if isinstance(hit.item, FoundEpisode)]
    places = await placed(core, episodes) if episodes else []
    return [each for each in zip(places, hits, strict=True) if each[0].document is not None]
