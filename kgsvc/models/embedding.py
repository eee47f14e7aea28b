"""Vectors of texts, the recent ones kept (spec 004 §8)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection

from kgsvc.domain.model.extraction import Extraction
from kgsvc.domain.model.graph import FREE, Usage
from kgsvc.models.protocol import Embedder

_CACHED_BYTES = 32 * 1024 * 1024


def texts_of(extraction: Extraction) -> set[str]:
    """What is embedded of an extraction: names of nodes, texts of facts."""
    return {n.name.strip() for n in extraction.nodes} | {e.fact.strip() for e in extraction.edges}


class CachingEmbedder:
    """An embedder that keeps the vectors of recently used texts, bounded by bytes: texts recur."""

    def __init__(self, inner: Embedder, cached_bytes: int = _CACHED_BYTES) -> None:
        self._inner = inner
        self._cached_bytes = cached_bytes
        self._cache: OrderedDict[str, bytes] = OrderedDict()  # least recently used first
        self._bytes = 0
        # As of the embedder itself, see Embedder.
        self.space = inner.space
        self.min_cosine = inner.min_cosine
        self.costs_model_calls = inner.costs_model_calls

    async def vectors(self, texts: Collection[str], group_id: str = "") -> dict[str, bytes]:
        """`vectors_and_cost` without the cost."""
        return (await self.vectors_and_cost(texts, group_id))[0]

    async def vectors_and_cost(self, texts: Collection[str], group_id: str) -> tuple[dict[str, bytes], Usage]:
        """Float32 little-endian bytes by text, asking the model only for unknown ones, and what that cost,
        which is counted for the group. Raises StepError."""
        known = {text: self._cache[text] for text in texts if text in self._cache}
        missing = sorted(set(texts) - known.keys())
        fresh, cost = dict[str, bytes](), FREE
        if missing:
            rows, cost = await self._inner.embed(missing, group_id)
            fresh = {text: row.astype("<f4").tobytes() for text, row in zip(missing, rows, strict=True)}
        self._remember(known | fresh)
        return known | fresh, cost

    def _remember(self, used: dict[str, bytes]) -> None:
        for text, vector in used.items():
            if text not in self._cache:  # two calls may have asked for the same at once
                self._bytes += len(vector) + 4 * len(text)
            self._cache[text] = vector
            self._cache.move_to_end(text)
        while self._bytes > self._cached_bytes:
            text, vector = self._cache.popitem(last=False)
            self._bytes -= len(vector) + 4 * len(text)
