"""`kgsvc entity` and `kgsvc history`."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

import click

from kgsvc.cli import options
from kgsvc.cli.client import Service, connect
from kgsvc.cli.groups import expect_group
from kgsvc.cli.options import Failure
from kgsvc.cli.show import as_dict, day, facts_as_lines, print_json, printable, shortened
from kgsvc.config import Client, Settings
from kgsvc.domain.model.keys import name_key
from kgsvc.v1.retrieval_pb2 import (
    SEARCH_SCOPE_NODES,
    GetEntityNodeInput,
    GetEntityNodeOutput,
    GetEntityNodeRequest,
    GetFactHistoryInput,
    GetFactHistoryRequest,
    SearchGraphInput,
    SearchGraphRequest,
)
from kgsvc.v1.types_pb2 import EntityNode, Episode, FactResult

_LOOKED_AT = 50  # entities with such words in their names
_FACTS = 500


@click.command("entity")
@click.argument("name")
@options.group
@options.as_json
@options.client
def command(name: str, group: str, as_json: bool, settings: Settings) -> None:
    """Show what is known of the entity that NAME, one of its aliases or its uuid names: its facts now and
    before, and the latest episodes that name it."""
    options.run(_show(settings.client, name, group, as_json))


async def _show(client: Client, name: str, group: str, as_json: bool) -> None:
    async with connect(client) as service:
        found = await _candidates(service, name, group)
        key = name_key(name)
        named = [node for node in found if key in {name_key(node.name), *node.aliases}]
        if not found:
            await expect_group(client, group)
        uuid = named[0].uuid if named else name
        try:
            now = await _entity(service, uuid, group, everything=False)
        except Failure as error:
            near = difflib.get_close_matches(name, [node.name for node in found])
            likely = f"; alike are {', '.join(repr(printable(each)) for each in near)}" if near else ""
            raise Failure(f"no entity of {group!r} is called {name!r}{likely}") from error
        ever = await _entity(service, uuid, group, everything=True)
    current = {fact.uuid for fact in now.facts}
    before = [fact for fact in ever.facts if fact.uuid not in current]
    if as_json:
        print_json(as_dict(ever) | {"current_facts": sorted(current)})
    else:
        click.echo("\n".join(_lines(now, before)))


async def _candidates(service: Service, name: str, group: str) -> Sequence[EntityNode]:
    wanted = SearchGraphInput(
        group_ids=[group], query=name, search_type=SEARCH_SCOPE_NODES, max_results=_LOOKED_AT
    )
    answer = await service.call(service.retrieval.SearchGraph, SearchGraphRequest(input=wanted))
    return [hit.node for hit in answer.output.nodes]


async def _entity(service: Service, uuid: str, group: str, *, everything: bool) -> GetEntityNodeOutput:
    wanted = GetEntityNodeInput(uuid=uuid, group_id=group, max_facts=_FACTS, include_expired=everything)
    answer = await service.call(service.retrieval.GetEntityNode, GetEntityNodeRequest(input=wanted))
    return answer.output


def _lines(now: GetEntityNodeOutput, before: Sequence[FactResult]) -> Iterator[str]:
    node = now.node
    yield printable(f"{node.name} ({now.type}) · entity {node.uuid}")
    if node.aliases:
        yield printable(f"also called: {', '.join(node.aliases)}")
    if node.summary:
        yield shortened(node.summary)
    yield "Now:" if now.facts else "Nothing is known of it now."
    yield from facts_as_lines(now.facts)
    if before:
        yield "Before, or expired:"
        yield from facts_as_lines(before)
    if now.episodes:
        yield "The latest sources, oldest first:"
    for episode in now.episodes:
        yield f"  {day(episode.reference_time)} · {_told(episode)}"


def _told(episode: Episode) -> str:
    return f"{shortened(episode.body)} · episode {episode.uuid}"


@click.command("history")
@click.argument("fact")
@click.option("--group", help="The group; needed only if several have a fact with this uuid.")
@options.as_json
@options.client
def history(fact: str, group: str | None, as_json: bool, settings: Settings) -> None:
    """Show how the fact with the uuid FACT came to be: what was believed before, until when and why not any
    more, in the order it was written."""
    options.run(_history(settings.client, fact, group, as_json))


async def _history(client: Client, uuid: str, group: str | None, as_json: bool) -> None:
    async with connect(client) as service:
        wanted = GetFactHistoryInput(uuid=uuid, group_id=group)
        answer = await service.call(service.retrieval.GetFactHistory, GetFactHistoryRequest(input=wanted))
    if as_json:
        print_json(as_dict(answer.output))
        return
    for lines, fact in zip(_by_fact(answer.output.facts), answer.output.facts, strict=True):
        click.echo("\n".join(lines))
        click.echo(f"     {_believed(fact)}")


def _by_fact(facts: Sequence[FactResult]) -> Iterator[list[str]]:
    lines = list(facts_as_lines(facts))
    size = len(lines) // len(facts) if facts else 0
    return (lines[at : at + size] for at in range(0, len(lines), size or 1))


def _believed(fact: FactResult) -> str:
    if not fact.HasField("expired_at"):
        return f"believed since {day(fact.created_at)}"
    because = f" ({fact.expired_reason})" if fact.expired_reason else ""
    by = f", by fact {fact.expired_by_fact}" if fact.expired_by_fact else ""
    return f"believed from {day(fact.created_at)} to {day(fact.expired_at)}{because}{by}"
