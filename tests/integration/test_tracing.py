"""Spans, as a collector receives them: one trace from the caller's span to the commit of an episode."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as collected
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as collecting
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from kgsvc.v1 import ingestion_pb2 as ing
from tests.support.client import CALL_S, Client, episode, granted
from tests.support.scripted_openai import ScriptedOpenAI, answer, edge, node
from tests.support.service import Service, environment
from tests.support.spawning import REPOSITORY

JAN = 1_704_067_200_000  # of 2024
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TOLD = "Zerlinetta works at Acme."
READ = answer(
    nodes=[node("n1", "Zerlinetta", type="Person"), node("n2", "Acme", type="Organization")],
    edges=[edge("WORKS_AT", "Zerlinetta works at Acme", "n1", "n2")],
)


class Collector(collecting.TraceServiceServicer):
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.spans: list[Span] = []

    async def Export(self, request: Any, context: Any) -> Any:
        """One batch."""
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                self.spans += scope.spans
        return collected.ExportTraceServiceResponse()


@asynccontextmanager
async def collector() -> AsyncIterator[tuple[Collector, str]]:
    """A collector on loopback and its address."""
    kept, server = Collector(), grpc.aio.server()
    collecting.add_TraceServiceServicer_to_server(kept, server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield kept, f"http://127.0.0.1:{port}"
    await server.stop(None)


async def told_by(client: Client, body: str, metadata: tuple[tuple[str, str], ...], uuid: str) -> None:
    """An episode, sent with this metadata, until it is in the graph."""
    sent = ing.AddEpisodesInput(group_id="g", items=[episode(body, JAN, uuid=uuid)])
    request = ing.AddEpisodesRequest(input=sent)
    response = await client.ingestion.AddEpisodes(request, metadata=metadata, timeout=CALL_S)
    await client.wait_receipt(granted(response).output.receipt_id)


async def recorded(folder: Path, **more: str) -> list[Span]:
    """What a service sends of an episode in the caller's trace, of one whose caller traces and does not
    sample, and of one of a caller that does not trace."""
    async with (
        collector() as (kept, address),
        ScriptedOpenAI(table={TOLD: READ}, dimension=256) as model,
    ):
        settings = {
            "models.extractor": "openai",
            "models.embedder": "openai",
            "embedding.dimension": "256",
            "openai.base_url": model.base_url,
            "tracing.endpoint": address,
            **more,
        }
        async with Service(settings, folder) as service, Client(service.address) as client:
            await told_by(client, TOLD, (("traceparent", f"00-{TRACE}-{PARENT}-01"),), "e1")
            await told_by(client, TOLD, (("traceparent", f"00-{TRACE[::-1]}-{PARENT}-00"),), "e2")
            await told_by(client, TOLD, (("traceparent", "00-" + "zz" * 30),), "e3")
            assert await service.terminate() == 0
    return kept.spans


@pytest.fixture(scope="module")
def spans(tmp_path_factory: pytest.TempPathFactory) -> list[Span]:
    """Of a service that traces whatever is not refused by its caller."""
    return asyncio.run(recorded(tmp_path_factory.mktemp("traced")))


def attributes(span: Span) -> dict[str, Any]:
    """By name."""
    return {
        each.key: each.value.string_value or each.value.int_value or each.value.bool_value
        for each in span.attributes
    }


def test_one_trace_goes_from_the_call_to_the_commit(spans: list[Span]) -> None:
    ours = [span for span in spans if span.trace_id.hex() == TRACE]
    by_name = {span.name: span for span in ours}
    call = by_name["AddEpisodes"]
    assert call.parent_span_id.hex() == PARENT
    steps = ["queue", "extract", "embed", "resolve", "commit"]
    assert all(by_name[name].parent_span_id == call.span_id for name in steps)
    assert {attributes(by_name[name])["kgsvc.item"] for name in steps} == {"e1"}
    ends = [by_name[name].end_time_unix_nano for name in steps]
    assert ends == sorted(ends)
    asked = [span for span in ours if span.kind == Span.SPAN_KIND_CLIENT]
    parents = {span.span_id: span.name for span in ours}
    assert {"extract", "embed"} <= {parents[span.parent_span_id] for span in asked}
    chat = next(span for span in asked if span.name.startswith("chat "))
    assert attributes(chat)["gen_ai.operation.name"] == "chat"
    assert attributes(chat)["gen_ai.usage.input_tokens"] > 0


def test_who_does_not_sample_is_not_traced_and_a_damaged_header_begins_a_trace(spans: list[Span]) -> None:
    traces = {span.trace_id.hex() for span in spans if span.name == "AddEpisodes"}
    assert TRACE[::-1] not in traces
    assert len(traces) == 2
    assert {attributes(span).get("kgsvc.item") for span in spans} == {None, "e1", "e3"}


def test_no_span_holds_what_was_told(spans: list[Span]) -> None:
    assert spans
    for span in spans:
        assert b"Zerlinetta" not in span.SerializeToString()


def test_without_a_collector_nothing_of_it_is_imported() -> None:
    asked = "import sys, kgsvc.app; print([name for name in sys.modules if name.startswith('opentelemetry')])"
    done = subprocess.run(
        [sys.executable, "-c", asked],
        cwd=REPOSITORY,
        env=environment({}),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "[]\n"
