"""The meters of several processes as one."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from kgsvc.observability.metrics import Metrics, MetricsEndpoint
from kgsvc.observability.processes import ProcessMetrics


@pytest.fixture
def two() -> Iterator[ProcessMetrics]:
    """Two processes that did something, and one that does not answer."""
    whole = ProcessMetrics()
    with ExitStack() as stack:
        for name, count in (("api-1", 3), ("api-2", 4)):
            metrics = Metrics()
            metrics.ingestion_accepted.inc(count)
            metrics.request_latency.labels("SearchFacts").observe(7)
            metrics.search_latency.observe(count)
            endpoint = MetricsEndpoint(metrics.registry, 0)
            stack.callback(endpoint.close)
            whole.addresses[name] = f"127.0.0.1:{endpoint.port}"
        whole.addresses["worker-1"] = "127.0.0.1:1"
        yield whole


def test_every_sample_says_whose_it_is(two: ProcessMetrics) -> None:
    two.restarts.labels("worker-1").inc()
    text = generate_latest(two.registry).decode()
    lines = text.splitlines()
    assert 'ingestion_accepted_total{process="api-1"} 3.0' in lines
    assert 'ingestion_accepted_total{process="api-2"} 4.0' in lines
    assert 'search_latency_ms{process="api-2",quantile="0.5"} 4.0' in lines
    assert 'process_restarts_total{process="worker-1"} 1.0' in lines
    assert text.count("# TYPE ingestion_accepted_total counter") == 1
    assert text.count("# TYPE rpc_latency_ms histogram") == 1


def test_buckets_stay_buckets(two: ProcessMetrics) -> None:
    families = {f.name: f for f in text_string_to_metric_families(generate_latest(two.registry).decode())}
    buckets = [s for s in families["rpc_latency_ms"].samples if s.name == "rpc_latency_ms_bucket"]
    found = {(s.labels["process"], s.labels["le"]): s.value for s in buckets}
    assert [found[name, le] for name in ("api-1", "api-2") for le in ("5.0", "10.0")] == [0, 1, 0, 1]
