"""Vectors of fact texts and entity names (spec 004 §8)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable

from kgsvc.domain.model.extraction import Extraction
from kgsvc.domain.model.usage import FREE, Usage
from kgsvc.models.protocol import Embedder

_CACHED_BYTES = 32 * 1024 * 1024


def texts_of(extraction: Extraction) -> set[str]:
    """What is embedded of an extraction: names of nodes, texts of facts."""
    return {n.name.strip() for n in extraction.nodes} | {e.fact.strip() for e in extraction.edges}


class CachingEmbedder:
    """An embedder that remembers the latest texts, bounded by bytes: names come again and again."""

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner
        self._cache: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0

    @property
    def space(self) -> str:
        """The inner embedder's space."""
        return self.inner.space

    @property
    def min_cosine(self) -> float:
        """The inner embedder's."""
        return self.inner.min_cosine

    @property
    def costs_model_calls(self) -> bool:
        """Whether a miss asks a model server."""
        return self.inner.costs_model_calls

    async def vectors(self, texts: Collection[str], group_id: str = "") -> dict[str, bytes]:
        """`vectors_and_cost` without the cost."""
        return (await self.vectors_and_cost(texts, group_id))[0]

    async def vectors_and_cost(self, texts: Collection[str], group_id: str) -> tuple[dict[str, bytes], Usage]:
        """Float32 little-endian bytes by text, asking the model only for unknown ones, and what that cost,
        which is counted for the group. Raises StepError."""
        found = {text: self._cache[text] for text in texts if text in self._cache}
        missing = sorted(set(texts) - set(found))
        cost = FREE
        if missing:
            rows, cost = await self.inner.embed(missing, group_id)
            fresh = {text: row.astype("<f4").tobytes() for text, row in zip(missing, rows, strict=True)}
            self._remember(fresh.items())
            found |= fresh
        return found, cost

    def _remember(self, entries: Iterable[tuple[str, bytes]]) -> None:
        for text, vector in entries:
            if text not in self._cache:  # two calls may have asked for the same at once
                self._bytes += len(vector) + 4 * len(text)
            self._cache[text] = vector
        while self._bytes > _CACHED_BYTES:
            text, vector = self._cache.popitem(last=False)
            self._bytes -= len(vector) + 4 * len(text)
