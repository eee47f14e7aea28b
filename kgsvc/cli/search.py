"""`kgsvc search`."""

from __future__ import annotations

from pathlib import Path

import click

from kgsvc.cli import options
from kgsvc.cli.client import connect
from kgsvc.cli.show import print_facts
from kgsvc.config import Client
from kgsvc.v1.retrieval_pb2 import SearchFactsInput, SearchFactsRequest


@click.command("search")
@click.argument("query")
@options.group
@options.max_facts
@options.center
@options.as_json
@options.client
def command(
    query: str,
    group: str,
    max_facts: int | None,
    center: str | None,
    as_json: bool,
    server: str | None,
    timeout: float | None,
    config: Path | None,
) -> None:
    """Find the facts that QUERY is about, best first."""
    settings = options.client_settings(config, server, timeout)
    wanted = SearchFactsInput(group_ids=[group], query=query, max_facts=max_facts, center_node_uuid=center)
    options.run(_search(settings.client, wanted, as_json))


async def _search(client: Client, wanted: SearchFactsInput, as_json: bool) -> None:
    async with connect(client) as service:
        answer = await service.call(service.retrieval.SearchFacts, SearchFactsRequest(input=wanted))
    print_facts(answer.output, as_json)
