"""A Prometheus summary with quantiles, which the client library does not compute."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Sequence

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    start_http_server,
)
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from kgsvc.domain.model.usage import Usage

_WINDOW = 4_096


class Quantiles(Collector):
    """Quantiles over the last 4,096 observations; count and sum over all of them."""

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


class MetricsEndpoint:
    """Serves /metrics on `host`:`port`; port 0 takes a free one. Raises OSError when it cannot bind."""

    def __init__(self, registry: CollectorRegistry, port: int, host: str = "127.0.0.1") -> None:
        self._server, self._thread = start_http_server(port, addr=host, registry=registry)
        self.port = int(self._server.server_port)

    def close(self) -> None:
        """Stop serving and free the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


_LATENCY_BUCKETS_MS = (0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000)

OTHER_GROUPS = "(other)"  # no group_id: parentheses are none of its characters


class Metrics:
    """Every meter of one process. Cheap to call from the event loop, safe to read from another thread."""

    def __init__(self, groups_max: int = 50) -> None:
        self._groups: set[str] = set()
        self._groups_max = groups_max
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry(auto_describe=True)
        self._add_ingestion()
        self._add_calls()
        self._add_work()

    def _add_ingestion(self) -> None:
        r = self.registry
        self.ingestion_accepted = Counter("ingestion_accepted", "Items stored durably", registry=r)
        self.ingestion_processed = Counter("ingestion_processed", "Items completed", registry=r)
        self.ingestion_failed = Counter(
            "ingestion_failed", "Failed attempts at a step of an item", registry=r
        )
        self.parked_items = Counter("parked_items", "Items parked after their last attempt", registry=r)
        self.extraction_failures = Counter("extraction_failures", "Failed extractions", registry=r)
        self.embedding_failures = Counter("embedding_failures", "Failed embeddings", registry=r)
        self.upsert_conflicts = Counter(
            "upsert_conflicts", "Graph writes refused by a uniqueness rule or a concurrent change", registry=r
        )
        self.queue_unfinished = Gauge("queue_unfinished_items", "Items accepted and not terminal", registry=r)
        self.queue_parked = Gauge("queue_parked_items", "Items parked now", registry=r)
        self.queue_oldest = Gauge(
            "queue_oldest_age_seconds", "Age of the oldest unfinished item; 0 when there is none", registry=r
        )

    def _add_calls(self) -> None:
        r = self.registry
        self.search_latency = Quantiles(
            "search_latency_ms", "Latency of SearchFacts and GetMemory", (0.5, 0.9, 0.99)
        )
        r.register(self.search_latency)
        self.requests = Counter(
            "rpc_requests",
            "Calls by operation, outcome and error code",
            ["operation", "outcome", "error_code"],
            registry=r,
        )
        self.request_latency = Histogram(
            "rpc_latency_ms", "Latency of calls", ["operation"], buckets=_LATENCY_BUCKETS_MS, registry=r
        )
        self.stream_items = Counter(
            "stream_items", "Items of ingestion streams by outcome", ["outcome"], registry=r
        )

    def _add_work(self) -> None:
        r = self.registry
        self.model_calls = Counter(
            "model_calls", "Answered calls of model servers", ["operation", "group"], registry=r
        )
        self.model_tokens = Counter(
            "model_tokens", "Tokens paid for", ["operation", "group", "kind"], registry=r
        )
        self.model_trouble = Counter(
            "model_trouble",
            "Answers of models that were no use, and requests refused",
            ["operation", "kind"],
            registry=r,
        )
        self.store_round_trips = Counter(
            "store_round_trips", "Round trips to the store", ["step"], registry=r
        )
        self.store_failures = Counter("store_failures", "Store steps that raised", ["step"], registry=r)

    def used(self, operation: str, group_id: str, usage: Usage) -> None:
        """Count model work; `operation` is one of models.protocol.Operation.

        The first groups that spend something have the label of their own, all others share OTHER_GROUPS: the
        number of series stays bounded. What belongs to no group, such as a query's embedding, has "".
        """
        group = self._group_label(group_id)
        self.model_calls.labels(operation, group).inc(usage.calls)
        self.model_tokens.labels(operation, group, "prompt").inc(usage.prompt_tokens)
        self.model_tokens.labels(operation, group, "completion").inc(usage.completion_tokens)

    def trouble(self, operation: str, kind: str) -> None:
        """Count an answer that could not be used as it was, or a request that was refused."""
        self.model_trouble.labels(operation, kind).inc()

    def _group_label(self, group_id: str) -> str:
        if group_id and group_id not in self._groups:
            if len(self._groups) >= self._groups_max:
                return OTHER_GROUPS
            self._groups.add(group_id)
        return group_id

    def queue_seen(self, unfinished: int, parked: int, oldest_age_s: float) -> None:
        """Set the queue's gauges to what was just read."""
        self.queue_unfinished.set(unfinished)
        self.queue_parked.set(parked)
        self.queue_oldest.set(oldest_age_s)
