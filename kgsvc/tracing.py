"""Spans of calls, of the steps of items, and of model calls. The tracer here records nothing and imports
nothing; kgsvc/observability/otlp.py has the one that sends spans to a collector."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeAlias

Traced: TypeAlias = "tuple[str, str]"  # of an item: the W3C traceparent of the call that brought it, its uuid
Metadata: TypeAlias = "Iterable[tuple[str, str | bytes]]"


class CallSpan:
    """A call that is being answered. No text of it is told, names and uuids neither."""

    def end(self, request_id: str, outcome: str, error_code: str | None) -> None:
        """It is over."""


class ModelSpan:
    """A request to a model."""

    def used(self, prompt_tokens: int, completion_tokens: int) -> None:
        """What the answer cost."""


_CALL, _MODEL = CallSpan(), ModelSpan()


class Tracer:
    """Records nothing."""

    def call(self, operation: str, metadata: Metadata) -> CallSpan:
        """Begin the span of a call, as a child of the caller's if its metadata names one (W3C traceparent).
        What the task goes on to do, and the tasks that it makes, belong to it."""
        return _CALL

    def carried(self) -> str:
        """The traceparent of what this task does, to be kept with an item; "" if nobody records it."""
        return ""

    def waited(self, items: Iterable[tuple[Traced, int]]) -> None:
        """Items waited in the queue from these times (ms) until now."""

    def step(self, name: str, items: Iterable[Traced]) -> AbstractContextManager[None]:
        """Around a step of a batch: a span in the trace of each item. Model calls within it belong to the
        first."""
        return nullcontext()

    def model_call(self, kind: str, model: str) -> AbstractContextManager[ModelSpan]:
        """Around a request to a model. `kind`: chat or embeddings, as OpenTelemetry's conventions for
        generative AI name them."""
        return nullcontext(_MODEL)

    def close(self) -> None:
        """Send what is not sent yet, for some seconds at most. Blocks."""


NOT_TRACED = Tracer()
