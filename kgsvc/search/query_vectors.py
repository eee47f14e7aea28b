"""Embeddings of queries."""

from __future__ import annotations

import asyncio
import logging

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.errors import StepError
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.models.protocol import Embedder
from kgsvc.search.settings import SearchSettings

_log = logging.getLogger("kgsvc.search")
_CACHED_BYTES = 8 * 1024 * 1024


class QueryVectors:
    """Embeds queries; what cannot be embedded is None, so that keywords alone answer (spec 004 §10)."""

    def __init__(self, embedder: Embedder | None, settings: SearchSettings) -> None:
        self._embedder = CachingEmbedder(embedder, _CACHED_BYTES) if embedder else None
        self._timeout_s = settings.embed_timeout_s

    async def of(self, text: str) -> NDArray[np.float32] | None:
        """The query's unit vector; None without an embedder, when it fails or takes too long."""
        if self._embedder is None:
            return None
        try:
            async with asyncio.timeout(self._timeout_s):
                vectors = await self._embedder.vectors([text])
        except (StepError, TimeoutError) as error:
            _log.warning("query not embedded, searching by keyword only: %s", type(error).__name__)
            return None
        return np.frombuffer(vectors[text], "<f4")
