"""`kgsvc search`."""

from __future__ import annotations

import click

from kgsvc.cli import options
from kgsvc.cli.client import ask, expect_group
from kgsvc.cli.show import print_facts, print_hits
from kgsvc.config import Settings
from kgsvc.v1.retrieval_pb2 import (
    SEARCH_SCOPE_CHUNKS,
    SEARCH_SCOPE_COMMUNITIES,
    SEARCH_SCOPE_EPISODES,
    SEARCH_SCOPE_FACTS,
    SEARCH_SCOPE_NODES,
    SearchFactsInput,
    SearchFactsRequest,
    SearchGraphInput,
    SearchGraphRequest,
)

_SCOPES = {
    "facts": SEARCH_SCOPE_FACTS,
    "nodes": SEARCH_SCOPE_NODES,
    "episodes": SEARCH_SCOPE_EPISODES,
    "communities": SEARCH_SCOPE_COMMUNITIES,
    "chunks": SEARCH_SCOPE_CHUNKS,
}


@click.command("search")
@click.argument("query")
@options.group
@options.max_facts
@options.center
@click.option(
    "--scope",
    type=click.Choice(tuple(_SCOPES)),
    help="Search for these with SearchGraph; default: facts with SearchFacts.",
)
@options.as_json
@options.client
def command(
    query: str,
    group: str,
    max_facts: int | None,
    center: str | None,
    scope: str | None,
    as_json: bool,
    settings: Settings,
) -> None:
    """Find facts, best first; with --scope also entities (nodes), episodes, communities or chunks."""
    if scope is None:
        asked = SearchFactsInput(group_ids=[group], query=query, max_facts=max_facts, center_node_uuid=center)
        request = SearchFactsRequest(input=asked)
        answer = options.run(ask(settings.client, lambda service: service.retrieval.SearchFacts, request))
        print_facts(answer.output, as_json)
        if not answer.output.facts:
            options.run(expect_group(settings.client, group))
        return
    wanted = SearchGraphInput(
        group_ids=[group],
        query=query,
        search_type=_SCOPES[scope],
        max_results=max_facts,
        center_node_uuid=center,
    )
    graph = SearchGraphRequest(input=wanted)
    found = options.run(ask(settings.client, lambda service: service.retrieval.SearchGraph, graph))
    print_hits(found.output, as_json)
    if not found.output.count:
        options.run(expect_group(settings.client, group))
