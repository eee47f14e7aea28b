"""What an extraction is given beside the episode: earlier ones, the group's ontology, relations and names."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Protocol

from kgsvc.domain.facts.slots import NAME_PREFIX
from kgsvc.domain.model.extraction import ExtractionRequest
from kgsvc.domain.model.graph import Polarity
from kgsvc.domain.model.items import QueuedItem
from kgsvc.domain.names import known
from kgsvc.pipeline.ontologies import Ontologies
from kgsvc.runtime import QUERY_CHARS, offload
from kgsvc.stores.protocol import Anchor, CandidateStore, QueueStore

# Of any source: people talk about what records and texts have named.
_PREVIOUS_EPISODES = 10
_PREVIOUS_CHARS = 4_000
_LATEST_FACTS = 400
_RELATIONS = 30  # that the latest facts have most often
_READ_CHARS = 8_000  # of a body, for names that its words may mean


class ContextStore(QueueStore, CandidateStore, Protocol):
    """Where items wait, and what their group knows."""


class ExtractionContext:
    """Reads it for many items at once. `for_model`: relations and names are for models; rules have names of
    relations of their own, and look up things by themselves."""

    def __init__(self, store: ContextStore, ontologies: Ontologies, *, for_model: bool) -> None:
        self._store = store
        self._ontologies = ontologies
        self._for_model = for_model

    async def requests(self, group_id: str, items: Sequence[QueuedItem]) -> list[ExtractionRequest]:
        """One for each item. Raises StepError (the group's ontology cannot be read), StoreUnavailable."""
        anchors = [Anchor(item.episode.uuid, item.episode.reference_ms, item.previous) for item in items]
        previous = await self._store.previous_episodes(group_id, anchors, _PREVIOUS_EPISODES, _PREVIOUS_CHARS)
        ontology = await self._ontologies.of(group_id, max(item.ontology for item in items))
        relations = await self._relations(group_id) if self._for_model else []
        names = await self._known(group_id, items) if self._for_model else [()] * len(items)
        return [
            ExtractionRequest(item.episode, previous.get(item.episode.uuid, ()), ontology, relations, own)
            for item, own in zip(items, names, strict=True)
        ]

    async def _relations(self, group_id: str) -> list[str]:
        """So that their names do not drift."""
        used = await self._store.relations(group_id, _LATEST_FACTS, _RELATIONS)
        return [name for name in used if not name.startswith(NAME_PREFIX[Polarity.DENIES])]

    async def _known(self, group_id: str, items: Sequence[QueuedItem]) -> list[tuple[str, ...]]:
        """For each item the names that its words may mean."""
        bodies = [item.episode.body[:_READ_CHARS] for item in items]
        terms = await offload(
            sum(map(len, bodies)) / QUERY_CHARS, lambda: [known.terms_of(body) for body in bodies]
        )
        found = await self._store.candidates(group_id, known.query(chain.from_iterable(terms)))
        return [known.shown(body, own, found) for body, own in zip(bodies, terms, strict=True)]
