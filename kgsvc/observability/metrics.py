"""The metrics of one process, those of several on one page, and what counts store calls and items."""

from __future__ import annotations

import functools
import inspect
import logging
import platform
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar, cast

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from kgsvc.domain.model.graph import Usage
from kgsvc.domain.model.items import FailedItem, QueuedItem, Step
from kgsvc.domain.model.keys import pseudonym
from kgsvc.domain.model.modes import ServiceModes
from kgsvc.observability.endpoint import metrics_page
from kgsvc.tracing import NOT_TRACED, ModelSpan, Tracer

T = TypeVar("T")
log = logging.getLogger(__name__)
_WINDOW = 4_096
_LATENCY_BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
OTHER_GROUPS = "other"


class Quantiles(Collector):
    """A Prometheus summary with quantiles, which the client library does not compute.

    Quantiles are those of the last 4,096 observations; count and sum are over all observations.
    """

    def __init__(self, name: str, documentation: str, quantiles: Sequence[float]) -> None:
        self._name = name
        self._documentation = documentation
        self._quantiles = tuple(quantiles)
        self._lock = threading.Lock()  # observed on the event loop, collected in the endpoint's thread
        self._window: deque[float] = deque(maxlen=_WINDOW)
        self._count = 0
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Take one observation in."""
        with self._lock:
            self._window.append(value)
            self._count += 1
            self._sum += value

    def collect(self) -> Iterable[Metric]:
        """The summary as it stands; without observations its quantiles are NaN, as is usual."""
        with self._lock:
            ordered, count, total = sorted(self._window), self._count, self._sum
        metric = Metric(self._name, self._documentation, "summary")
        for q in self._quantiles:
            metric.add_sample(self._name, {"quantile": f"{q:g}"}, _nearest_rank(ordered, q))
        metric.add_sample(f"{self._name}_count", {}, count)
        metric.add_sample(f"{self._name}_sum", {}, total)
        yield metric


def _nearest_rank(ordered: Sequence[float], q: float) -> float:
    if not ordered:
        return float("nan")
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def group_label(group_id: str) -> str:
    """How metrics call a group: whoever may read them learns no names of tenants. "" for no group. As many
    hexadecimal digits are no OTHER_GROUPS."""
    return pseudonym(group_id) if group_id else ""


class Metrics:
    """Every metric of one process. Cheap to change on the event loop, safe to read from another thread.

    Names that are part of the contract stand as they are there; all others begin with `kgsvc_`."""

    def __init__(self, groups_max: int = 50, tracer: Tracer = NOT_TRACED) -> None:
        self.tracer = tracer
        self._groups: set[str] = set()
        self._groups_max = groups_max
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry(auto_describe=True)
        built = "What runs here: 1 with its version, Python, store and role"
        self.build_info = self._gauge("kgsvc_build_info", built, "version", "python", "store", "role")
        self._of_ingestion()
        self._of_calls()
        self._of_models_and_the_store()

    def _of_ingestion(self) -> None:
        self.ingestion_accepted = self._counter("ingestion_accepted", "Items stored durably")
        self.ingestion_processed = self._counter("ingestion_processed", "Items completed")
        self.ingestion_failed = self._counter("ingestion_failed", "Failed attempts at a step of an item")
        self.parked_items = self._counter("parked_items", "Items parked after their last attempt")
        self.extraction_failures = self._counter("extraction_failures", "Failed extractions")
        self.embedding_failures = self._counter("embedding_failures", "Failed embeddings")
        conflicts = "Failed attempts to resolve or commit an item; AddEntityNode calls refused as a conflict"
        self.upsert_conflicts = self._counter("upsert_conflicts", conflicts)
        self.queue_unfinished = self._gauge(
            "kgsvc_queue_unfinished_items", "Items that are accepted and not done"
        )
        self.queue_parked = self._gauge("kgsvc_queue_parked_items", "Items parked now")
        oldest = "Age of the oldest unfinished item; 0 when there is none"
        self.queue_oldest = self._gauge("kgsvc_queue_oldest_age_seconds", oldest)
        anew = "Groups that are embedded anew because the embedder is another one"
        self.reembedding_groups = self._gauge("kgsvc_reembedding_groups", anew)
        filled = "Entities, facts, episodes and communities that got vectors behind the calls"
        self.filled_vectors = self._counter("kgsvc_filled_vectors", filled)
        self.store_answers = self._gauge("kgsvc_store_answers", "1 while the store answers, else 0")
        switched = "1 while a mode is on: read_only or model_off"
        self.mode_on = self._gauge("kgsvc_mode_on", switched, "mode")
        self.paused_groups = self._gauge(
            "kgsvc_paused_groups", "Groups whose items wait until they are resumed"
        )

    def _of_calls(self) -> None:
        latency = "Latency of SearchFacts, GetMemory and SearchGraph"
        self.search_latency = Quantiles("search_latency_ms", latency, (0.5, 0.9, 0.99))
        self.registry.register(self.search_latency)
        labels = ("operation", "outcome", "error_code")
        self.requests = self._counter(
            "kgsvc_rpc_requests", "Calls by operation, outcome and error code", *labels
        )
        self.request_latency = Histogram(
            "kgsvc_rpc_latency_seconds",
            "Latency of calls",
            ["operation"],
            buckets=_LATENCY_BUCKETS_S,
            registry=self.registry,
        )
        self.stream_items = self._counter(
            "kgsvc_stream_items", "Items of ingestion streams by outcome", "outcome"
        )
        transferred = "Bytes of groups that were exported and imported by calls"
        self.transferred = self._counter("kgsvc_transferred_bytes", transferred, "direction")

    def _of_models_and_the_store(self) -> None:
        answered = "Answered calls of model servers"
        self.model_calls = self._counter("kgsvc_model_calls", answered, "operation", "group")
        tokens = "Tokens sent to and received from models"
        self.model_tokens = self._counter("kgsvc_model_tokens", tokens, "operation", "group", "kind")
        trouble = "Model answers that could not be used as they were, and refused requests"
        self.model_trouble = self._counter("kgsvc_model_trouble", trouble, "operation", "kind")
        self.store_round_trips = self._counter("kgsvc_store_round_trips", "Round trips to the store", "step")
        self.store_failures = self._counter("kgsvc_store_failures", "Calls of the store that failed", "step")

    def _counter(self, name: str, documentation: str, *labels: str) -> Counter:
        return Counter(name, documentation, labels, registry=self.registry)

    def _gauge(self, name: str, documentation: str, *labels: str) -> Gauge:
        return Gauge(name, documentation, labels, registry=self.registry)

    def built(self, version: str, store: str, role: str) -> None:
        """Say what runs: versions of the service and of Python, the kind of store, the role."""
        self.build_info.labels(version, platform.python_version(), store, role).set(1)

    def used(self, operation: str, group_id: str, usage: Usage) -> None:
        """Count model work; `operation` is one of models.protocol.Operation.

        The first `groups_max` groups have a label of their own (`group_label`), all others share
        OTHER_GROUPS, so that the number of series is bounded. Work of no group, such as the embedding of a
        query, has the label "".
        """
        group = self._group_label(group_id)
        self.model_calls.labels(operation, group).inc(usage.calls)
        self.model_tokens.labels(operation, group, "prompt").inc(usage.prompt_tokens)
        self.model_tokens.labels(operation, group, "completion").inc(usage.completion_tokens)

    def calling(self, kind: str, model: str) -> AbstractContextManager[ModelSpan]:
        """See models.protocol.Meter."""
        return self.tracer.model_call(kind, model)

    def trouble(self, operation: str, kind: str) -> None:
        """Count an answer not used as it was, or a refused request; kinds: models.protocol.Trouble."""
        self.model_trouble.labels(operation, kind).inc()

    def _group_label(self, group_id: str) -> str:
        if group_id and group_id not in self._groups:
            if len(self._groups) >= self._groups_max:
                return OTHER_GROUPS
            self._groups.add(group_id)
        return group_label(group_id)

    def modes_seen(self, now: ServiceModes) -> None:
        """Set the gauges of modes."""
        self.mode_on.labels("read_only").set(now.read_only)
        self.mode_on.labels("model_off").set(now.model_off)
        self.paused_groups.set(now.paused_groups)

    def queue_seen(self, unfinished: int, parked: int, oldest_age_s: float) -> None:
        """Set the queue's gauges to what was just read."""
        self.queue_unfinished.set(unfinished)
        self.queue_parked.set(parked)
        self.queue_oldest.set(oldest_age_s)
        self.store_answers.set(1)


def counted(target: T, metrics: Metrics) -> T:
    """`target` with each call of a coroutine method counted by its name, and counted again if it raises.

    A call is one step of the store protocol, which is cut so that a step is one exchange with the engine
    where the engine allows it.
    """
    return cast(T, _Counted(target, metrics))


class _Counted:
    def __init__(self, target: object, metrics: Metrics) -> None:
        self._target = target
        self._metrics = metrics

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not inspect.iscoroutinefunction(found):
            return found
        counted_call = self._count(name, found)
        self.__dict__[name] = counted_call  # the next look-up finds it without coming here
        return counted_call

    def _count(self, name: str, method: Any) -> Any:
        tries = self._metrics.store_round_trips.labels(name)
        failures = self._metrics.store_failures.labels(name)

        @functools.wraps(method)
        async def call(*args: Any, **kwargs: Any) -> Any:
            tries.inc()
            with failures.count_exceptions():
                return await method(*args, **kwargs)

        return call


class Outcomes:
    """A jobs.groups.Observer."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._by_step = {Step.EXTRACT: metrics.extraction_failures, Step.EMBED: metrics.embedding_failures}

    def completed(self, group_id: str, count: int) -> None:
        """See jobs.groups.Observer."""
        self._metrics.ingestion_processed.inc(count)

    def failed(self, failure: FailedItem, attempt: int) -> None:
        """See jobs.groups.Observer."""
        self._metrics.ingestion_failed.inc()
        self._by_step.get(failure.step, self._metrics.upsert_conflicts).inc()
        log.warning(
            "attempt failed",
            extra={
                "request_id": failure.item.request_id or None,
                "group_id": failure.item.episode.group_id,
                "item": failure.item.episode.uuid,
                "step": failure.step.value,
                "attempt": attempt,
                "reason": str(failure.error),
            },
        )

    def parked(self, item: QueuedItem, reason: str) -> None:
        """See jobs.groups.Observer."""
        self._metrics.parked_items.inc()
        log.error(
            "item parked",
            extra={
                "request_id": item.request_id or None,
                "group_id": item.episode.group_id,
                "item": item.episode.uuid,
                "reason": reason,
            },
        )


class ProcessMetrics(Collector):
    """Asks each process for its metrics whenever it is read, and counts restarts of processes."""

    def __init__(self) -> None:
        self.addresses: dict[str, str] = {}  # HOST:PORT of the endpoint of each process that runs, by name
        self.registry = CollectorRegistry(auto_describe=True)
        self.restarts = Counter(
            "kgsvc_process_restarts",
            "Processes started again after they died",
            ["process"],
            registry=self.registry,
        )
        self.registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """Every family once. A process that does not answer is absent."""
        families: dict[str, Metric] = {}
        for name, address in sorted(self.addresses.copy().items()):
            for family in text_string_to_metric_families(metrics_page(address)):
                known = families.setdefault(
                    family.name, Metric(family.name, family.documentation, family.type)
                )
                known.samples += [
                    sample._replace(labels=sample.labels | {"process": name}) for sample in family.samples
                ]
        yield from families.values()
