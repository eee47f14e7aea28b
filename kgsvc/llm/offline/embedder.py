"""Embedding by feature hashing: stemmed words and character n-grams, no model (design §7)."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.text import tokens
from kgsvc.llm.protocol import Usage, Vectors

_VERSION = 1
_WORD_WEIGHT = 1.0
_GRAM_WEIGHT = 0.5  # all n-grams of a word together
_SIZES = (3, 4, 5)
_BATCH_OFF_LOOP = 64  # more texts than this are embedded in a thread


class HashingEmbedder:
    """Implements Embedder: texts that share words, or parts of words, are near each other."""

    def __init__(self, dimension: int = 256) -> None:
        self._dimension = dimension

    @property
    def space(self) -> str:
        """See Embedder."""
        return f"hashing-v{_VERSION}-{self._dimension}"

    @property
    def dimension(self) -> int:
        """See Embedder."""
        return self._dimension

    @property
    def costs_model_calls(self) -> bool:
        """See Embedder."""
        return False

    async def embed(self, texts: Sequence[str]) -> tuple[Vectors, Usage]:
        """See Embedder. Never fails."""
        if len(texts) > _BATCH_OFF_LOOP:
            return await asyncio.to_thread(self._embed, list(texts)), Usage()
        return self._embed(texts), Usage()

    async def close(self) -> None:
        """Nothing to release."""

    def _embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for token, count in Counter(tokens(text)).items():
                places, values = _features(token, self._dimension)
                row[places] += values * np.float32(1.0 + math.log(count))
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        np.divide(rows, lengths, out=rows, where=lengths > 0)
        return rows


@lru_cache(maxsize=32_768)
def _features(token: str, dimension: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """The places of a token and its n-grams in a vector, each once, and what they add there."""
    sums: dict[int, float] = {}
    padded = f"^{token}$"
    grams = [padded[i : i + n] for n in _SIZES for i in range(len(padded) - n + 1)]
    share = _GRAM_WEIGHT / math.sqrt(len(grams)) if grams else 0.0
    for feature, weight in ((f"w:{token}", _WORD_WEIGHT), *((f"g:{gram}", share) for gram in grams)):
        hashed = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "big")
        place, sign = hashed % dimension, 1.0 if hashed >> 63 else -1.0
        sums[place] = sums.get(place, 0.0) + sign * weight
    places = np.fromiter(sums, dtype=np.intp, count=len(sums))
    return places, np.fromiter(sums.values(), dtype=np.float32, count=len(sums))
