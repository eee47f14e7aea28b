"""Embedding by a model behind the OpenAI API."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from openai import AsyncOpenAI

from kgsvc.domain.errors import ModelOutputInvalid, StepError
from kgsvc.domain.model.graph import Usage
from kgsvc.models.openai.completions import as_object, decoded, read_usage
from kgsvc.models.openai.settings import EmbeddingModel
from kgsvc.models.openai.transport import RawResponse, RefusedPart, RequestRefused, Transport, batches
from kgsvc.models.protocol import Meter, Operation, Trouble, Unmetered, Vectors


class OpenAIEmbedder:
    """An Embedder (models/protocol.py) on an OpenAI-compatible server."""

    def __init__(self, transport: Transport, settings: EmbeddingModel, meter: Meter | None = None) -> None:
        self._transport = transport
        self._settings = settings
        self._meter = meter or Unmetered()
        self._encoding = "base64"  # a quarter of the bytes of decimal numbers, and faster to parse
        self.space = f"openai-{settings.model}-{settings.dimension}"
        self.dimension = settings.dimension
        self.min_cosine = 0.0  # every similarity counts
        self.costs_model_calls = True

    async def embed(self, texts: Sequence[str], group_id: str = "") -> tuple[Vectors, Usage]:
        """Unit vectors in the order of `texts`; zeros for a text without a letter or digit.

        Equal texts are sent once. Raises StepError (see models/protocol.py).
        """
        worded = list(dict.fromkeys(text for text in texts if any(map(str.isalnum, text))))
        known: dict[str, Vectors] = {}
        usage = Usage()
        for batch in batches(worded, len, self._settings.batch_texts, self._settings.batch_chars):
            try:
                with self._meter.calling("embeddings", self._settings.model) as span:
                    vectors, cost = await self._ask(batch, group_id)
                    span.used(cost.prompt_tokens, cost.completion_tokens)
            except StepError as error:
                error.usage += usage
                raise
            usage += cost
            known.update(zip(batch, vectors, strict=True))
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            if text in known:
                rows[row] = known[text]
        return rows, usage

    async def close(self) -> None:
        """Close the transport's connections."""
        await self._transport.close()

    async def _ask(self, batch: list[str], group_id: str) -> tuple[Vectors, Usage]:
        parameters: dict[str, Any] = {
            "model": self._settings.model,
            "input": batch,
            "encoding_format": self._encoding,
        }
        if self._settings.send_dimensions:
            parameters["dimensions"] = self.dimension

        async def send(client: AsyncOpenAI) -> RawResponse:
            response: RawResponse = await client.embeddings.with_raw_response.create(**parameters)
            return response

        try:
            body = await self._transport.call(send, group_id)
        except RequestRefused as refusal:
            if RefusedPart.ENCODING not in refusal.parts or parameters["encoding_format"] == "float":
                raise
            self._meter.trouble(Operation.EMBED, Trouble.UNSUPPORTED)
            parameters["encoding_format"] = "float"
            body = await self._transport.call(send, group_id)
            self._encoding = "float"  # for all later calls
        envelope = as_object(decoded(body))
        usage = read_usage(envelope)
        self._meter.used(Operation.EMBED, group_id, usage)
        try:
            return _rows(envelope, len(batch), self.dimension), usage
        except ModelOutputInvalid as bad:
            self._meter.trouble(Operation.EMBED, Trouble.INVALID)
            bad.usage = usage
            raise


def _rows(envelope: dict[str, Any], count: int, dimension: int) -> Vectors:
    """The vectors of an answer in the order of their texts, each of length 1. Raises ModelOutputInvalid."""
    data = envelope.get("data")
    if not isinstance(data, list) or len(data) != count:
        raise ModelOutputInvalid(f"the embedding model did not answer with {count} vectors")
    rows = np.empty((count, dimension), dtype=np.float32)
    seen: set[int] = set()
    for position, entry in enumerate(map(as_object, data)):
        index = entry.get("index", position)
        if not isinstance(index, int) or not 0 <= index < count or index in seen:
            raise ModelOutputInvalid("the vectors in the embedding model's answer are numbered wrongly")
        seen.add(index)
        vector = _vector(entry.get("embedding"))
        if vector.shape != (dimension,):
            found = f"the embedding model's vectors have {vector.size} numbers"
            raise ModelOutputInvalid(f"{found}, embedding.dimension is {dimension}")
        rows[index] = vector
    return _unit(rows)


def _vector(embedding: object) -> Vectors:
    """Little-endian float32 in base64, or a list of numbers from servers that know no base64."""
    try:
        if isinstance(embedding, str):
            return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
        if isinstance(embedding, list) and all(type(number) in {int, float} for number in embedding):
            with np.errstate(over="ignore"):  # becomes infinite, and is refused as such
                return np.asarray(embedding, dtype=np.float32)
    except (ValueError, OverflowError):
        pass
    raise ModelOutputInvalid("the embedding model's answer contains something other than vectors")


def _unit(rows: Vectors) -> Vectors:
    wide = rows.astype(np.float64)  # squares of large float32 overflow
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not (lengths > 0).all():
        raise ModelOutputInvalid("the embedding model answered with a vector of zeros")
    unit: Vectors = (wide / lengths).astype(np.float32)
    return unit
