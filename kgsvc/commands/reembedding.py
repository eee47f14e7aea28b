"""Groups that go over from one embedder to another: which they are, and changes of them, which carry vectors
of both meanwhile, so that what is new is found by its meaning before and after."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from kgsvc.documents.passages import passages
from kgsvc.domain.errors import ServiceError, StepError
from kgsvc.domain.model.delta import GraphDelta, GroupHead, Guard, SpaceVectors
from kgsvc.domain.model.fills import Reembedding
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.models.former import FormerEmbedders
from kgsvc.observability.metrics import Metrics
from kgsvc.stores.fill_protocol import FillStore
from kgsvc.stores.protocol import Store

log = logging.getLogger(__name__)
_EVERY_S = 2.0
_TELL_EVERY = 30  # looks after which the log says how far groups are
_EMBED_S = 10.0  # for the former embedder; then what is new is found by words until the group has gone over


class Reembeddings:
    """The groups that are on their way, as of a moment ago."""

    def __init__(self, store: FillStore, space: str, metrics: Metrics) -> None:
        """`space`: of the configured embedder."""
        self._store = store
        self._space = space
        self._metrics = metrics
        self._under_way: Mapping[str, Reembedding] = {}

    async def begin(self, now_ms: int) -> None:
        """Let every group that has another space go over. Raises StoreUnavailable."""
        begun = await self._store.begin_fills(self._space, now_ms)
        await self.look()
        for each in self._under_way.values():
            log.warning(
                "a group is embedded anew by %s; until all is, it is searched as embedded by %s",
                each.space,
                each.former or "none",
                extra={"group_id": each.group_id},
            )
        if begun:
            log.info("%d groups are to be embedded anew", begun)

    async def run(self, waits: Callable[[], bool]) -> None:
        """Look until cancelled, while a group may be on its way."""
        looks = 0
        while True:
            await asyncio.sleep(_EVERY_S)
            looks += 1
            try:
                if waits() or self._under_way:
                    await self.look()
            except ServiceError as error:
                log.warning("cannot look how far groups are embedded anew: %s", type(error).__name__)
                continue
            if looks % _TELL_EVERY == 0:
                self._tell()

    async def look(self) -> None:
        """Learn which groups are on their way now. Raises StoreUnavailable."""
        found = await self._store.reembeddings()
        self._under_way = {each.group_id: each for each in found}
        self._metrics.reembedding_groups.set(len(found))

    def former(self, group_id: str) -> str:
        """The space that a group still has in use on its way to the configured embedder's; else empty."""
        found = self._under_way.get(group_id)
        return found.former if found is not None and found.space == self._space else ""

    def _tell(self) -> None:
        for each in self._under_way.values():
            log.info(
                "a group is embedded anew: %d rows so far, %.0f %%",
                each.embedded,
                100 * each.share,
                extra={"group_id": each.group_id},
            )


class _WithFormer:
    """A store whose changes carry vectors of the space in use too."""

    def __init__(self, store: Store, groups: Reembeddings, formers: FormerEmbedders) -> None:
        self._store = store
        self._groups = groups
        self._formers = formers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def apply(self, delta: GraphDelta, guard: Guard) -> GroupHead:
        """See GraphStore."""
        if (delta.vectors or delta.passages) and (former := self._groups.former(delta.group_id)):
            embedder = self._formers.caching(former)
            if embedder is not None:
                delta = replace(delta, beside=await self._beside(delta, embedder))
        return await self._store.apply(delta, guard)

    async def _beside(self, delta: GraphDelta, embedder: CachingEmbedder) -> SpaceVectors | None:
        """None: the former embedder does not answer."""
        texts = {fact.uuid: [fact.fact] for fact in delta.facts if delta.vectors.get(fact.uuid)}
        texts |= {each.uuid: [each.name] for each in delta.entities if delta.vectors.get(each.uuid)}
        reading = (self._store.episode(uuid, delta.group_id) for uuid in delta.passages)
        cut = {each.uuid: passages(each.body) for found in await asyncio.gather(*reading) for each in found}
        wanted = {text for found in (*texts.values(), *cut.values()) for text in found}
        try:
            async with asyncio.timeout(_EMBED_S):
                made = await embedder.vectors(wanted, delta.group_id) if wanted else {}
        except (StepError, TimeoutError) as error:
            named = {"group_id": delta.group_id}
            log.warning("the former embedder does not answer: %s", type(error).__name__, extra=named)
            return None
        vectors = {uuid: made[text] for uuid, (text,) in texts.items()}
        joined = {uuid: b"".join(made[text] for text in found) for uuid, found in cut.items() if found}
        return SpaceVectors(embedder.space, vectors, joined)


def with_former(store: Store, groups: Reembeddings, formers: FormerEmbedders) -> Store:
    """The store, whose changes carry vectors of the space in use too."""
    return cast(Store, _WithFormer(store, groups, formers))
