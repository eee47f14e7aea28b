"""Embedding by a small model on this machine, by fastembed and ONNX Runtime: the extra `kgsvc[local]`."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from fastembed import TextEmbedding

from kgsvc.domain.errors import ModelUnavailable
from kgsvc.domain.model.graph import FREE, Usage
from kgsvc.models.protocol import Vectors

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
_MOST_THREADS = 4
_TEXTS_AT_ONCE = 16  # of one call before the next call has its turn: a query waits for tens of milliseconds
_PROVIDERS = ("CPUExecutionProvider",)


class LocalEmbedder:
    """Implements Embedder by the model files in a folder; nothing is ever downloaded.

    `model` is a name that fastembed knows: it says how the files are called and how tokens become one vector.
    Texts are cut at the model's own length (256 tokens of all-MiniLM-L6-v2). Each text is run by itself, so
    that its vector never depends on what is embedded beside it: batches are padded, which moves last bits.
    """

    def __init__(self, folder: Path, model: str = DEFAULT_MODEL) -> None:
        """Loads nothing yet. Raises ValueError for a model that fastembed does not know."""
        self._folder = folder
        self._model = model
        try:
            self.dimension = int(TextEmbedding.get_embedding_size(model))
        except ValueError as error:
            raise ValueError(f"fastembed knows no model {model}") from error
        self.space = f"local-{model.rpartition('/')[2]}-{self.dimension}"
        self.min_cosine = 0.0
        self.costs_model_calls = False
        self._loading = threading.Lock()
        self._loaded: TextEmbedding | None = None
        self._threads = ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST_THREADS), "embedder")

    async def embed(self, texts: Sequence[str], group_id: str = "") -> tuple[Vectors, Usage]:
        """See Embedder; in threads beside the event loop. Raises ModelUnavailable: no readable model."""
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        worded = [place for place, text in enumerate(texts) if any(map(str.isalnum, text))]
        loop = asyncio.get_running_loop()
        for start in range(0, len(worded), _TEXTS_AT_ONCE):
            places = worded[start : start + _TEXTS_AT_ONCE]
            rows[places] = await loop.run_in_executor(self._threads, self._run, [texts[p] for p in places])
        return rows, FREE

    async def close(self) -> None:
        """Let the threads end; what is under way is finished first, in the background."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _run(self, texts: list[str]) -> Vectors:
        vectors = list(self._ready().embed(texts, batch_size=1))
        unit: Vectors = np.stack(vectors).astype(np.float32)
        return unit

    def _ready(self) -> TextEmbedding:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> TextEmbedding:
        if not self._folder.is_dir():
            raise ModelUnavailable(f"there is no folder {self._folder} with a model")
        try:
            return TextEmbedding(
                self._model,
                cache_dir=str(self._folder),  # or fastembed makes another folder, and caches nothing there
                threads=1,  # of one text; texts run beside one another
                providers=list(_PROVIDERS),
                specific_model_path=str(self._folder),
            )
        except Exception as error:  # tokenizers and ONNX Runtime raise kinds of their own
            reason = type(error).__name__
            raise ModelUnavailable(f"the model in {self._folder} cannot be loaded: {reason}") from error
