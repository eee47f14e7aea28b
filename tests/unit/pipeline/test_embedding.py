"""The cache of embedded texts."""

import asyncio
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.model.graph import Usage
from kgsvc.models.embedding import CachingEmbedder


class Waiting:
    """An embedder whose calls end together."""

    space, dimension, min_cosine, costs_model_calls = "space", 2, 0.0, False

    def __init__(self, callers: int) -> None:
        self._together = asyncio.Barrier(callers)
        self.asked = 0

    async def embed(self, texts: Sequence[str], group_id: str = "") -> tuple[NDArray[np.float32], Usage]:
        self.asked += 1
        async with asyncio.timeout(5):
            await self._together.wait()
        return np.ones((len(texts), 2), np.float32), Usage()

    async def close(self) -> None:
        """Nothing to release."""


async def test_a_text_that_several_ask_for_at_once_counts_once() -> None:
    embedder = CachingEmbedder(inner := Waiting(2), cached_bytes=60)  # three entries
    for number in range(8):
        text = f"t{number}"
        one, other = await asyncio.gather(embedder.vectors([text]), embedder.vectors([text]))
        assert one == other
    asked = inner.asked
    assert (await embedder.vectors(["t5", "t6", "t7"])).keys() == {"t5", "t6", "t7"}
    assert inner.asked == asked
