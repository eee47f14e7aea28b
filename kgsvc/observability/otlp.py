"""Spans for a collector that speaks OTLP over gRPC, by the OpenTelemetry SDK (the extra `tracing`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from kgsvc.observability.settings import Tracing
from kgsvc.tracing import CallSpan, Metadata, ModelSpan, Traced, Tracer

_CARRIERS = ("traceparent", "tracestate")
_FLUSH_MS = 5_000
_NS_A_MS = 1_000_000


class _OtlpCall(CallSpan):
    def __init__(self, span: Span) -> None:
        self._span = span

    def end(self, request_id: str, outcome: str, error_code: str | None) -> None:
        self._span.set_attributes({"kgsvc.request_id": request_id, "kgsvc.outcome": outcome})
        if error_code is not None:
            self._span.set_attribute("error.type", error_code)
        if outcome == "failed":
            self._span.set_status(Status(StatusCode.ERROR))
        self._span.end()


class _OtlpModel(ModelSpan):
    def __init__(self, span: Span) -> None:
        self._span = span

    def used(self, prompt_tokens: int, completion_tokens: int) -> None:
        self._span.set_attribute("gen_ai.usage.input_tokens", prompt_tokens)
        self._span.set_attribute("gen_ai.usage.output_tokens", completion_tokens)


class OtlpTracer(Tracer):
    """Sends spans in batches from a thread of its own; what the collector does not take is dropped."""

    def __init__(self, settings: Tracing, version: str) -> None:
        about = Resource.create(
            {"service.name": "kgsvc", "service.version": version, "process.pid": os.getpid()}
        )
        sampler = ParentBased(TraceIdRatioBased(settings.share))
        self._provider = TracerProvider(sampler, about, shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint=settings.endpoint)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("kgsvc", version)
        self._propagator = TraceContextTextMapPropagator()

    def call(self, operation: str, metadata: Metadata) -> CallSpan:
        told = {key: value for key, value in metadata if key in _CARRIERS and isinstance(value, str)}
        attributes = {"rpc.system": "grpc", "rpc.method": operation}
        span = self._tracer.start_span(
            operation, self._propagator.extract(told), SpanKind.SERVER, attributes=attributes
        )
        # The task is the call's own, and its context ends with it: a stream may be closed in another one.
        contexts.attach(trace.set_span_in_context(span))
        return _OtlpCall(span)

    def carried(self) -> str:
        carrier: dict[str, str] = {}
        if trace.get_current_span().get_span_context().trace_flags.sampled:
            self._propagator.inject(carrier)
        return carrier.get("traceparent", "")

    def waited(self, items: Iterable[tuple[Traced, int]]) -> None:
        for item, since_ms in items:
            if item[0]:
                self._of_item("queue", item, since_ms * _NS_A_MS).end()

    @contextmanager
    def step(self, name: str, items: Iterable[Traced]) -> Iterator[None]:
        spans = [self._of_item(name, item) for item in items if item[0]]
        within = trace.set_span_in_context(spans[0]) if spans else contexts.get_current()
        token = contexts.attach(within)
        try:
            yield
        except BaseException as error:
            for span in spans:
                _failed(span, error)
            raise
        finally:
            contexts.detach(token)
            for span in spans:
                span.set_attribute("kgsvc.batch", len(spans))
                span.end()

    @contextmanager
    def model_call(self, kind: str, model: str) -> Iterator[ModelSpan]:
        attributes = {
            "gen_ai.operation.name": kind,
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": model,
        }
        span = self._tracer.start_span(f"{kind} {model}", kind=SpanKind.CLIENT, attributes=attributes)
        try:
            yield _OtlpModel(span)
        except BaseException as error:
            _failed(span, error)
            raise
        finally:
            span.end()

    def close(self) -> None:
        self._provider.force_flush(_FLUSH_MS)
        self._provider.shutdown()

    def _of_item(self, name: str, item: Traced, start_ns: int | None = None) -> Span:
        parent = self._propagator.extract({"traceparent": item[0]})
        attributes = {"kgsvc.item": item[1]}
        return self._tracer.start_span(name, parent, SpanKind.CONSUMER, attributes, start_time=start_ns)


def _failed(span: Span, error: BaseException) -> None:
    """Its kind alone: what an error says may quote an episode."""
    span.set_attribute("error.type", type(error).__name__)
    span.set_status(Status(StatusCode.ERROR))
