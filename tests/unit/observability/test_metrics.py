"""Metrics by the names that the specification gives them, as a scraper sees them."""

import asyncio
import json
import math
import re
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from kgsvc.domain.errors import StepError
from kgsvc.domain.model.graph import Usage
from kgsvc.domain.model.items import FailedItem, ItemState, QueuedItem, Step
from kgsvc.observability.endpoint import MetricsEndpoint
from kgsvc.observability.logs import JsonFormatter
from kgsvc.observability.metrics import (
    Metrics,
    Outcomes,
    ProcessMetrics,
    counted,
    group_label,
)
from tests.support.samples import episode

SPECIFIED = [
    "ingestion_accepted_total",
    "ingestion_processed_total",
    "ingestion_failed_total",
    "parked_items_total",
    "extraction_failures_total",
    "embedding_failures_total",
    "upsert_conflicts_total",
]


def _samples(text: str) -> dict[tuple[str, str], float]:
    return {
        (sample.name, ",".join(f"{k}={v}" for k, v in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def _scrape(metrics: Metrics) -> dict[tuple[str, str], float]:
    return _samples(generate_latest(metrics.registry).decode())


@pytest.mark.parametrize("name", SPECIFIED)
def test_specified_counter_exists_from_the_start(name: str) -> None:
    assert _scrape(Metrics())[(name, "")] == 0


def test_search_latency_is_a_summary_with_three_quantiles() -> None:
    metrics = Metrics()
    assert math.isnan(_scrape(metrics)[("search_latency_ms", "quantile=0.5")])
    for value in range(1, 101):
        metrics.search_latency.observe(value)
    found = _scrape(metrics)
    assert found[("search_latency_ms", "quantile=0.5")] == 51
    assert found[("search_latency_ms", "quantile=0.9")] == 91
    assert found[("search_latency_ms", "quantile=0.99")] == 100
    assert found[("search_latency_ms_count", "")] == 100
    assert found[("search_latency_ms_sum", "")] == 5050


def test_what_is_not_specified_begins_with_the_name_of_the_service() -> None:
    names = {family.name for family in Metrics().registry.collect()}
    fixed = {name.removesuffix("_total") for name in SPECIFIED} | {"search_latency_ms"}
    assert {name for name in names if not name.startswith("kgsvc_")} == fixed


def test_every_metric_has_a_help_text() -> None:
    assert all(family.documentation for family in Metrics().registry.collect())


def test_what_runs_is_told() -> None:
    metrics = Metrics()
    metrics.built("1.2.3", "neo4j", "worker")
    ((name, labels),) = [key for key in _scrape(metrics) if key[0] == "kgsvc_build_info"]
    assert re.fullmatch(r"python=3\.\d+\.\d+\S*,role=worker,store=neo4j,version=1\.2\.3", labels), name


def test_two_registries_do_not_meet() -> None:
    one, other = Metrics(), Metrics()
    one.ingestion_accepted.inc(3)
    assert _scrape(other)[("ingestion_accepted_total", "")] == 0


def test_model_use_and_queue_are_exported() -> None:
    metrics = Metrics()
    metrics.used("extract", "g", Usage(calls=2, prompt_tokens=10, completion_tokens=4))
    metrics.trouble("extract", "refused")
    metrics.queue_seen(unfinished=7, parked=1, oldest_age_s=2.5)
    found = _scrape(metrics)
    assert found[("kgsvc_model_calls_total", f"group={group_label('g')},operation=extract")] == 2
    assert (
        found[("kgsvc_model_tokens_total", f"group={group_label('g')},kind=completion,operation=extract")]
        == 4
    )
    assert found[("kgsvc_model_trouble_total", "kind=refused,operation=extract")] == 1
    assert found[("kgsvc_queue_unfinished_items", "")] == 7
    assert found[("kgsvc_queue_oldest_age_seconds", "")] == 2.5


def test_groups_beyond_the_bound_share_a_label() -> None:
    metrics = Metrics(groups_max=2)
    for group in ("a", "b", "c", "d", "a", ""):
        metrics.used("embed", group, Usage(calls=1))
    found = _scrape(metrics)
    calls = {labels: n for (name, labels), n in found.items() if name == "kgsvc_model_calls_total"}
    assert calls == {
        f"group={group_label('a')},operation=embed": 2,
        f"group={group_label('b')},operation=embed": 1,
        "group=other,operation=embed": 2,
        "group=,operation=embed": 1,
    }


def test_lines_of_items_name_the_call_that_brought_them(caplog: pytest.LogCaptureFixture) -> None:
    item = QueuedItem(episode("g", "e"), ItemState.ACCEPTED, 0, {}, request_id="req-7")
    outcomes = Outcomes(Metrics())
    outcomes.failed(FailedItem(item, Step.EXTRACT, StepError("no answer")), attempt=1)
    outcomes.parked(item, "no answer")
    lines = [json.loads(JsonFormatter().format(record)) for record in caplog.records]
    assert [line["message"] for line in lines] == ["attempt failed", "item parked"]
    assert {(line["request_id"], line["group_id"], line["item"]) for line in lines} == {("req-7", "g", "e")}


def test_metrics_tell_no_group_by_name_and_none_takes_the_label_of_the_others() -> None:
    metrics = Metrics(groups_max=3)
    for group in ("acme-secret", "(other)", "other", "late-secret"):
        metrics.used("embed", group, Usage(calls=1))
    page = generate_latest(metrics.registry).decode()
    assert "secret" not in page
    assert [n for (name, _), n in _samples(page).items() if name == "kgsvc_model_calls_total"] == [1, 1, 1, 1]
    assert _samples(page)[("kgsvc_model_calls_total", "group=other,operation=embed")] == 1


async def test_a_taken_port_leads_to_the_next_one() -> None:
    one = MetricsEndpoint(Metrics().registry, port=0)
    other = MetricsEndpoint(Metrics().registry, port=one.port)
    assert one.port < other.port < one.port + 32
    for endpoint in (one, other):
        await asyncio.to_thread(endpoint.close)


async def test_endpoint_answers_a_scrape_and_frees_its_port() -> None:
    metrics = Metrics()
    metrics.ingestion_accepted.inc(5)
    endpoint = MetricsEndpoint(metrics.registry, port=0)
    url = f"http://127.0.0.1:{endpoint.port}/metrics"

    def scrape() -> str:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return str(answer.read().decode())

    assert _samples(await asyncio.to_thread(scrape))[("ingestion_accepted_total", "")] == 5
    await asyncio.to_thread(endpoint.close)
    again = MetricsEndpoint(metrics.registry, port=endpoint.port)
    await asyncio.to_thread(again.close)


class _Thing:
    size = 3

    async def read(self, key: str, *, twice: bool = False) -> str:
        return key * (2 if twice else 1)

    async def fail(self) -> None:
        raise OSError("gone")


async def test_counted_passes_calls_on_and_counts_them() -> None:
    metrics = Metrics()
    thing = counted(_Thing(), metrics)
    assert await thing.read("a", twice=True) == "aa"
    assert await thing.read("b") == "b"
    with pytest.raises(OSError, match="gone"):
        await thing.fail()
    assert thing.size == 3
    found = _scrape(metrics)
    assert found[("kgsvc_store_round_trips_total", "step=read")] == 2
    assert found[("kgsvc_store_round_trips_total", "step=fail")] == 1
    assert found[("kgsvc_store_failures_total", "step=fail")] == 1


@pytest.fixture
def two() -> Iterator[ProcessMetrics]:
    """Two processes that did something, and one that does not answer."""
    whole = ProcessMetrics()
    with ExitStack() as stack:
        for name, count in (("api-1", 3), ("api-2", 4)):
            metrics = Metrics()
            metrics.ingestion_accepted.inc(count)
            metrics.request_latency.labels("SearchFacts").observe(0.007)
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
    assert 'kgsvc_process_restarts_total{process="worker-1"} 1.0' in lines
    assert text.count("# TYPE ingestion_accepted_total counter") == 1
    assert text.count("# TYPE kgsvc_rpc_latency_seconds histogram") == 1


def test_buckets_stay_buckets(two: ProcessMetrics) -> None:
    families = {f.name: f for f in text_string_to_metric_families(generate_latest(two.registry).decode())}
    buckets = [
        s
        for s in families["kgsvc_rpc_latency_seconds"].samples
        if s.name == "kgsvc_rpc_latency_seconds_bucket"
    ]
    found = {(s.labels["process"], s.labels["le"]): s.value for s in buckets}
    assert [found[name, le] for name in ("api-1", "api-2") for le in ("0.005", "0.01")] == [0, 1, 0, 1]
