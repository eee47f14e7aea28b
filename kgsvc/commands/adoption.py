"""Taking over the graph that Graphiti wrote for a group (`kgsvc adopt`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from kgsvc.domain.errors import RevisionChanged
from kgsvc.domain.facts.adoption import ForeignFact, adopted, adopted_names
from kgsvc.domain.model.delta import GraphDelta, Guard, NameView
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.model.keys import name_key
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.runtime import Clock
from kgsvc.stores.protocol import GraphStore

_PAGE = 500  # rows in one transaction


class ForeignStore(GraphStore, Protocol):
    """A store in which Graphiti may have written."""

    async def adopt_episodes(self, group_id: str, now_ms: int, limit: int) -> int:
        """Make at most `limit` of its episodes ours; how many."""

    async def foreign_entities(self, group_id: str, limit: int) -> list[Entity]:
        """At most `limit` entities that are not ours yet."""

    async def foreign_facts(self, group_id: str, limit: int) -> list[ForeignFact]:
        """At most `limit` facts that are not ours yet."""

    async def take(self, group_id: str, entities: Collection[str], facts: Collection[str]) -> None:
        """Let `apply` find these rows."""


@dataclass(frozen=True, slots=True)
class Adopted:
    """How many rows were taken over."""

    episodes: int = 0
    entities: int = 0
    facts: int = 0


class Adopter:
    """Takes over groups page by page. If it is stopped, the next run continues where it was."""

    def __init__(self, store: ForeignStore, embedder: CachingEmbedder | None, clock: Clock) -> None:
        self._store = store
        self._embedder = embedder
        self._clock = clock

    async def adopt(self, group_id: str, on_progress: Callable[[Adopted], None]) -> Adopted:
        """Everything of the group that is not ours yet; rows that are ours are left alone.

        Uuids, names, texts and both time axes stay. The configured embedder makes new vectors.
        Raises StoreUnavailable, ModelUnavailable.
        """
        done = Adopted()
        while count := await self._store.adopt_episodes(group_id, self._clock.now_ms(), _PAGE):
            done = replace(done, episodes=done.episodes + count)
            on_progress(done)
        while entities := await self._store.foreign_entities(group_id, _PAGE):
            await self._store.take(group_id, [e.uuid for e in entities], ())
            await self._write_entities(group_id, entities)
            done = replace(done, entities=done.entities + len(entities))
            on_progress(done)
        while facts := await self._store.foreign_facts(group_id, _PAGE):
            await self._store.take(group_id, (), [f.uuid for f in facts])
            await self._write_facts(group_id, facts)
            done = replace(done, facts=done.facts + len(facts))
            on_progress(done)
        return done

    async def _write_entities(self, group_id: str, entities: Sequence[Entity]) -> None:
        vectors = await self._vectors(group_id, {e.uuid: e.name for e in entities})
        dated = tuple(replace(e, updated_ms=e.created_ms) for e in entities)

        def delta(view: NameView) -> GraphDelta:
            names = adopted_names(entities, view.by_key)
            return GraphDelta(group_id, self._system_ms(view), entities=dated, names=names, vectors=vectors)

        await self._write(group_id, {name_key(entity.name) for entity in entities}, delta)

    async def _write_facts(self, group_id: str, facts: Sequence[ForeignFact]) -> None:
        vectors = await self._vectors(group_id, {f.uuid: f.fact for f in facts})
        rows = tuple(adopted(group_id, fact) for fact in facts)

        def delta(view: NameView) -> GraphDelta:
            return GraphDelta(group_id, self._system_ms(view), facts=rows, vectors=vectors)

        await self._write(group_id, (), delta)

    async def _write(
        self, group_id: str, keys: Collection[str], delta: Callable[[NameView], GraphDelta]
    ) -> None:
        """Plan and apply a delta until no other write overtakes it."""
        space = self._embedder.space if self._embedder else ""
        while True:
            view = await self._store.names(group_id, keys)
            try:
                await self._store.apply(
                    replace(delta(view), space=space), Guard(view.head.rev, view.head.epoch)
                )
            except RevisionChanged:
                continue
            return

    def _system_ms(self, view: NameView) -> int:
        return max(self._clock.now_ms(), view.head.last_ms + 1)

    async def _vectors(self, group_id: str, texts: dict[str, str]) -> dict[str, bytes]:
        if self._embedder is None:
            return {}
        made = await self._embedder.vectors(set(texts.values()), group_id)
        return {uuid: made[text] for uuid, text in texts.items()}
