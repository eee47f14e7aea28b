"""`kgsvc demo`: the whole way once, on a server of its own that is gone afterwards."""

from __future__ import annotations

import asyncio
import re
import signal
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

import click

from kgsvc.cli import options
from kgsvc.cli.client import Service, connect
from kgsvc.cli.options import Failure
from kgsvc.cli.reading import Record, read_json_lines
from kgsvc.cli.search import messages_of
from kgsvc.cli.show import validity
from kgsvc.cli.upload import Upload, follow
from kgsvc.config import Client, Models, Server, Settings, StoreSettings
from kgsvc.domain.limits import Limits
from kgsvc.v1.retrieval_pb2 import (
    GetEntityEdgeInput,
    GetEntityEdgeRequest,
    GetEpisodesInput,
    GetEpisodesRequest,
    GetMemoryInput,
    GetMemoryRequest,
    SearchFactsInput,
    SearchFactsRequest,
)
from kgsvc.v1.types_pb2 import FactResult

GROUP = "demo"
CONVERSATION = "colleagues.jsonl"
PAUSE_AFTER = "demo-10"  # the message after which the questions are asked for the first time
QUESTIONS = (
    "Where does Alice Chen work?",
    "Where does Alice Chen live?",
    "When is the deadline of Project Heron?",
)
REMEMBER = "Alice Chen: I meet Bruno Keller next week. Where does he live and work now?"
DONE_S = 60.0


@click.command("demo")
@click.option("--page", is_flag=True, help="Then serve the page that shows what it knows, until Ctrl-C.")
def command(page: bool) -> None:
    """Start a service on a fresh directory, send it a conversation, and ask what it knows.

    No key, no network, no database: the embedded store, rules instead of a model, 127.0.0.1. Everything is
    removed at the end.
    """
    http = "127.0.0.1:0" if page else ""
    with tempfile.TemporaryDirectory(prefix="kgsvc-demo-") as folder:
        settings = Settings(
            server=Server(listen="127.0.0.1:0", metrics_listen="", http_listen=http, grace_s=1.0),
            store=StoreSettings(kind="embedded", data_dir=Path(folder)),
            models=Models(extractor="offline", embedder="offline"),
        )
        with options.failures(settings):
            options.run(_demo(settings))


async def _demo(settings: Settings) -> None:
    from kgsvc.app import running  # loads every room

    async with running(settings) as server:
        assert server.address is not None  # the role is all
        _title(f"A service on {server.address}: {server.store.kind} store, {server.extractor} extractor")
        async with connect(replace(Client(), server=server.address)) as service:
            records = conversation()
            names = [record.request.message.uuid for record in records]
            cut = names.index(PAUSE_AFTER) + 1
            early, late = records[:cut], records[cut:]
            await _tell(service, early)
            before = await _ask(service)
            await _tell(service, late)
            await _ask(service)
            await _look_back(service, before)
            await _remember(service)
        if server.http_address is not None:
            await _show(server.http_address)


def conversation() -> list[Record]:
    """The sample conversation."""
    with files("kgsvc.cli").joinpath("data", CONVERSATION).open("rb") as source:
        return [record for record in read_json_lines(source) if isinstance(record, Record)]


async def _tell(service: Service, records: list[Record]) -> None:
    _title("Sending a conversation: StreamEpisodes, then WatchReceipt until all of it is in the graph")
    upload = Upload(service, GROUP, Limits().payload_bytes, lambda _: None)
    outcome = await upload.run(iter(records))
    click.echo(f"{outcome.accepted} messages are stored durably and acknowledged")
    await follow(service, outcome, DONE_S, lambda _: None)
    if outcome.refused or outcome.parked:
        raise Failure(f"{len(outcome.refused)} messages were refused, {len(outcome.parked)} are parked")
    click.echo(f"{outcome.accepted} messages are in the graph")


async def _ask(service: Service) -> list[FactResult]:
    """Ask every question; the best fact for each."""
    _title("Asking with SearchFacts: the best two facts, and since when they are valid")
    best = []
    for query in QUESTIONS:
        wanted = SearchFactsInput(group_ids=[GROUP], query=query, max_facts=2)
        answer = await service.call(service.retrieval.SearchFacts, SearchFactsRequest(input=wanted))
        if not answer.output.facts:
            raise Failure(f"nothing was found for {query!r}")
        best.append(answer.output.facts[0])
        click.echo(query)
        for fact in answer.output.facts:
            click.echo(f"  {fact.fact:<60} {_when(fact)}")
    return best


async def _look_back(service: Service, before: list[FactResult]) -> None:
    _title("What became of the first answers: GetEntityEdge")
    for fact in before:
        wanted = GetEntityEdgeInput(uuid=fact.uuid)
        answer = await service.call(service.retrieval.GetEntityEdge, GetEntityEdgeRequest(input=wanted))
        now = answer.output
        click.echo(f"  {now.fact:<60} {_when(now)}")
        if now.HasField("expired_at"):
            told, until = now.created_at.ToJsonString(), now.expired_at.ToJsonString()
            click.echo(f"    superseded, and kept: believed from {told} to {until}")


async def _remember(service: Service) -> None:
    _title("What matters to a message: GetMemory, with the source of each fact")
    click.echo(REMEMBER)
    messages = messages_of(REMEMBER, datetime.now(UTC))
    wanted = GetMemoryInput(group_id=GROUP, messages=messages, max_facts=5)
    answer = await service.call(service.retrieval.GetMemory, GetMemoryRequest(input=wanted))
    if not answer.output.facts:
        raise Failure("GetMemory found nothing")
    all_of_it = GetEpisodesRequest(input=GetEpisodesInput(group_id=GROUP, last_n=1_000))
    episodes = await service.call(service.retrieval.GetEpisodes, all_of_it)
    bodies = {episode.uuid: episode.body for episode in episodes.output.episodes}
    for fact in answer.output.facts:
        click.echo(f"  {fact.fact:<60} {_when(fact)}")
        for source in fact.episodes:
            click.echo(f"    {source}: {bodies[source]}")


async def _show(address: str) -> None:
    """Say where the page is, and wait for a signal."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    _title("Looking at it in a browser")
    click.echo(f"The page: {address}/#/{GROUP}")
    click.echo("It is served until Ctrl-C; then everything is removed.")
    await stop.wait()


def _title(text: str) -> None:
    click.echo()
    click.secho(text, bold=True)


def _when(fact: FactResult) -> str:
    """Its validity by days: nothing in the sample happens twice a day."""
    return re.sub(r"T[0-9:]+Z", "", validity(fact))
