"""Groups written straight into a store, as commits of the service would write them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bench.knowledge import BLOCK, entities_of, entity, episodes_of, facts_of
from bench.vocabulary import WordEmbedder
from kgsvc.domain.model.delta import GraphDelta, Guard
from kgsvc.domain.model.graph import Episode, Fact
from kgsvc.domain.model.items import AcceptBatch, ItemState, NewItem, Transition
from kgsvc.domain.model.keys import name_key
from kgsvc.stores.protocol import Store

Floats = NDArray[np.float32]
Vectors = Callable[[int, Sequence[Fact]], Floats]  # (number of the first, facts) -> a row each


class Embeds(Protocol):
    """The part of an Embedder that a loader needs."""

    @property
    def space(self) -> str:
        """Of its vectors."""

    async def embed(self, texts: Sequence[str]) -> tuple[Floats, Any]:
        """A unit vector each."""


WORDS = WordEmbedder()


class Loader:
    """Writes a group block by block; `loaded` facts so far. Nobody else may write to it meanwhile."""

    def __init__(
        self,
        store: Store,
        group: str,
        *,
        embedder: Embeds = WORDS,
        vectors: Vectors | None = None,
        expired: float = 0.0,
        episodes: bool = False,
    ) -> None:
        self._store = store
        self._group = group
        self._embedder = embedder
        self._vectors = vectors  # of facts, where they are not those of their texts
        self._expired = expired
        self._episodes = episodes
        self.loaded = 0

    async def to(self, facts: int) -> float:
        """Load on until the group holds so many facts; how many a second were written. Making the facts and
        their vectors is not counted."""
        before, writing_s = self.loaded, 0.0
        while self.loaded < facts:
            block, offset = divmod(self.loaded, BLOCK)
            some = facts_of(self._group, block, self._expired)[offset : offset + facts - self.loaded]
            delta, told = await self._delta(block, some)
            began = time.perf_counter()
            if self._episodes:
                await self._accept(told)
            head = (await self._store.heads([self._group])).get(self._group)
            guard = Guard(head.rev, head.epoch) if head else Guard(0, 0)
            await self._store.apply(delta, guard)
            writing_s += time.perf_counter() - began
            self.loaded += len(some)
        return (facts - before) / writing_s if writing_s else 0.0

    async def _delta(self, block: int, facts: list[Fact]) -> tuple[GraphDelta, list[Episode]]:
        now_ms = max(fact.created_ms for fact in facts)
        known = [entity(self._group, number) for number in entities_of(block)]
        told, mentions = episodes_of(facts)
        uuids = [*(fact.uuid for fact in facts), *(each.uuid for each in known)]
        of_names, _ = await self._embedder.embed([each.name for each in known])
        if self._vectors is not None:
            of_facts = self._vectors(self.loaded, facts)
        else:
            of_facts, _ = await self._embedder.embed([fact.fact for fact in facts])
        rows = zip(uuids, (*of_facts, *of_names), strict=True)
        delta = GraphDelta(
            self._group,
            now_ms,
            entities=tuple(known),
            names={name_key(each.name): each.uuid for each in known},
            facts=tuple(facts),
            mentions=tuple(mentions) if self._episodes else (),
            vectors={uuid: row.astype("<f4").tobytes() for uuid, row in rows},
            space=self._embedder.space,
            found=tuple(each.uuid for each in told) if self._episodes else (),
            transitions=tuple(Transition(each.uuid, ItemState.COMPLETED, now_ms) for each in told)
            if self._episodes
            else (),
        )
        return delta, told

    async def _accept(self, episodes: Sequence[Episode]) -> None:
        batch = AcceptBatch(
            self._group,
            tuple(map(NewItem, episodes)),
            receipt_id=f"load-{self._group}-{self.loaded}",
            operation="AddEpisodes",
            now_ms=episodes[0].created_ms,
        )
        (answer,) = await self._store.accept([batch])
        if isinstance(answer, Exception):
            raise answer
