"""The embedding spaces that searched groups have, and queries embedded in each."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.model.delta import GroupHead
from kgsvc.models.protocol import Embedder
from kgsvc.runtime import together
from kgsvc.search.query import QueryVectors
from kgsvc.search.settings import SearchSettings

log = logging.getLogger("kgsvc.search")
_REST_S = 30.0  # for which a former model that did not answer is not asked again
Formers = Callable[[str], Embedder | None]  # the embedder of a space that is not the configured one's


def no_former(_space: str) -> Embedder | None:
    """None can be had any more."""
    return None


@dataclass(frozen=True, slots=True)
class Meaning:
    """A query in one space: of unit length, and below which cosine nothing is a candidate."""

    vector: NDArray[np.float32]
    min_cosine: float


class Spaces:
    """A group that goes over to the configured embedder is asked in its former space, as long as the embedder
    of that one can be had; else by words."""

    def __init__(self, embedder: Embedder | None, formers: Formers, settings: SearchSettings) -> None:
        self.own = embedder.space if embedder else ""
        self.dimension = embedder.dimension if embedder else 0
        self._formers = formers
        self._settings = settings
        self._known: dict[str, tuple[Embedder | None, QueryVectors]] = {
            self.own: (embedder, QueryVectors(embedder, settings))
        }
        self._resting_s: dict[str, float] = {}  # until when, by the loop's clock

    def of(self, head: GroupHead) -> str:
        """The space in which a group is searched."""
        return head.space or self.own

    def dimension_of(self, space: str) -> int:
        """How many numbers its vectors have; 0: no embedder of it can be had."""
        embedder, _ = self._of(space)
        return embedder.dimension if embedder else 0

    async def meanings(self, text: str, spaces: Iterable[str]) -> dict[str, Meaning]:
        """The query in those of the spaces in which it can be embedded."""
        wanted = sorted(set(spaces))
        found = await together([self._meaning(text, space) for space in wanted])
        return {space: each for space, each in zip(wanted, found, strict=True) if each is not None}

    async def _meaning(self, text: str, space: str) -> Meaning | None:
        embedder, vectors = self._of(space)
        now_s = asyncio.get_running_loop().time()
        if embedder is None or now_s < self._resting_s.get(space, 0.0):
            return None
        vector = await vectors.of(text)
        if vector is None and space != self.own:
            self._resting_s[space] = now_s + _REST_S
        return None if vector is None else Meaning(vector, embedder.min_cosine)

    def _of(self, space: str) -> tuple[Embedder | None, QueryVectors]:
        if space not in self._known:
            embedder = self._formers(space) if self.own else None
            if embedder is None:
                log.warning("groups in the space %s are searched by words: there is no model of it", space)
            self._known[space] = embedder, QueryVectors(embedder, self._settings)
        return self._known[space]
