"""Embedders of spaces that are not the configured one's: of groups that are embedded anew."""

from __future__ import annotations

from collections.abc import Callable, Collection

from kgsvc.models.embedding import CachingEmbedder
from kgsvc.models.protocol import Embedder

_CACHED_BYTES = 4 * 1024 * 1024


class FormerEmbedders:
    """Each is made once, when it is first asked for."""

    def __init__(self, make: Callable[[str], Embedder | None]) -> None:
        """`make` gives the embedder of a space; None: it cannot be had any more."""
        self._make = make
        self._made: dict[str, Embedder | None] = {}
        self._caching: dict[str, CachingEmbedder | None] = {}

    def of(self, space: str) -> Embedder | None:
        """The embedder of a space, None if it cannot be had."""
        if space not in self._made:
            self._made[space] = self._make(space) if space else None
        return self._made[space]

    def caching(self, space: str) -> CachingEmbedder | None:
        """The same, which keeps the vectors of recently used texts."""
        if space not in self._caching:
            embedder = self.of(space)
            self._caching[space] = CachingEmbedder(embedder, _CACHED_BYTES) if embedder else None
        return self._caching[space]

    async def forget(self, _group_ids: Collection[str] = ()) -> None:
        """Keep no text any more."""
        for embedder in self._caching.values():
            if embedder is not None:
                embedder.forget()

    async def close(self) -> None:
        """Close those that hold connections."""
        for embedder in self._made.values():
            if embedder is not None:
                await embedder.close()
