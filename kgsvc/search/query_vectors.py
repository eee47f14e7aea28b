"""Embeddings of queries, the recent ones kept."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.errors import StepError
from kgsvc.domain.model.identity import digest
from kgsvc.models.protocol import Embedder
from kgsvc.search.settings import SearchSettings

_log = logging.getLogger("kgsvc.search")


class QueryVectors:
    """Embeds queries; what cannot be embedded is None, so that keywords alone answer (spec 004 §10)."""

    def __init__(self, embedder: Embedder | None, settings: SearchSettings) -> None:
        self._embedder = embedder
        self._settings = settings
        self._recent: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    async def of(self, text: str) -> NDArray[np.float32] | None:
        """The query's unit vector; None without an embedder, when it fails or takes too long."""
        if self._embedder is None:
            return None
        key = digest(text)
        vector = self._recent.get(key)
        if vector is None:
            vector = await self._embed(self._embedder, text)
            if vector is None:
                return None
            self._recent[key] = vector
            if len(self._recent) > self._settings.query_vectors:
                self._recent.popitem(last=False)
        self._recent.move_to_end(key)
        return vector

    async def _embed(self, embedder: Embedder, text: str) -> NDArray[np.float32] | None:
        try:
            async with asyncio.timeout(self._settings.embed_timeout_s):
                vectors, _ = await embedder.embed([text])
        except (StepError, TimeoutError) as error:
            _log.warning("query not embedded, searching by keyword only: %s", type(error).__name__)
            return None
        return np.array(vectors[0], np.float32)
