"""`kgsvc entity` and `kgsvc history`."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click

from kgsvc.cli import options
from kgsvc.cli.client import CallRefused, Service, connect
from kgsvc.cli.groups import expect_group
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
        try:
            found = await known(service, name, group)
        except Unknown as error:
            if not error.others:
                await expect_group(client, group)
            raise
    if as_json:
        current = sorted(fact.uuid for fact in found.now.facts)
        print_json(as_dict(found.ever) | {"current_facts": current})
    else:
        click.echo("\n".join(entity_as_lines(found)))


@dataclass(frozen=True, slots=True)
class PrintedEntity:
    """What is known of an entity: what holds now, and what ever did."""

    now: GetEntityNodeOutput
    ever: GetEntityNodeOutput

    @property
    def before(self) -> list[FactResult]:
        """The facts that ended or are expired."""
        current = {fact.uuid for fact in self.now.facts}
        return [fact for fact in self.ever.facts if fact.uuid not in current]


class Unknown(CallRefused):
    """No entity is called so; `others` have words of the name in theirs."""

    def __init__(self, name: str, group: str, others: Sequence[EntityNode]) -> None:
        near = difflib.get_close_matches(name, [node.name for node in others])
        likely = f"; alike are {', '.join(repr(printable(each)) for each in near)}" if near else ""
        super().__init__(f"no entity of {group!r} is called {name!r}{likely}", "NOT_FOUND")
        self.others = others


async def known(service: Service, name: str, group: str, most: int = _FACTS) -> PrintedEntity:
    """The entity that a name, an alias or a uuid names, with the latest of its facts. Raises Unknown,
    CallRefused."""
    found = await _candidates(service, name, group)
    key = name_key(name)
    named = [node for node in found if key in {name_key(node.name), *node.aliases}]
    uuid = named[0].uuid if named else name
    try:
        now = await _entity(service, uuid, group, most, everything=False)
    except CallRefused as error:
        if error.code != "NOT_FOUND":
            raise
        raise Unknown(name, group, found) from error
    return PrintedEntity(now, await _entity(service, uuid, group, most, everything=True))


async def _candidates(service: Service, name: str, group: str) -> Sequence[EntityNode]:
    wanted = SearchGraphInput(
        group_ids=[group], query=name, search_type=SEARCH_SCOPE_NODES, max_results=_LOOKED_AT
    )
    answer = await service.call(service.retrieval.SearchGraph, SearchGraphRequest(input=wanted))
    return [hit.node for hit in answer.output.nodes]


async def _entity(
    service: Service, uuid: str, group: str, most: int, *, everything: bool
) -> GetEntityNodeOutput:
    wanted = GetEntityNodeInput(uuid=uuid, group_id=group, max_facts=most, include_expired=everything)
    answer = await service.call(service.retrieval.GetEntityNode, GetEntityNodeRequest(input=wanted))
    return answer.output


def entity_as_lines(known: PrintedEntity) -> Iterator[str]:
    """All of it, for people and models."""
    now, before, node = known.now, known.before, known.now.node
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
    click.echo("\n".join(history_as_lines(answer.output.facts)))


def history_as_lines(facts: Sequence[FactResult]) -> Iterator[str]:
    """Facts with when each was believed, in their order."""
    for lines, fact in zip(_by_fact(facts), facts, strict=True):
        yield from lines
        yield f"     {_believed(fact)}"


def _by_fact(facts: Sequence[FactResult]) -> Iterator[list[str]]:
    lines = list(facts_as_lines(facts))
    size = len(lines) // len(facts) if facts else 0
    return (lines[at : at + size] for at in range(0, len(lines), size or 1))


def _believed(fact: FactResult) -> str:
    if not fact.HasField("expired_at"):
        return f"believed since {day(fact.created_at)}"
    why = f"{fact.expired_reason}: {shortened(fact.retract_reason)}" if fact.retract_reason else ""
    because = f" ({why or fact.expired_reason})" if fact.expired_reason else ""
    by = f", by fact {fact.expired_by_fact}" if fact.expired_by_fact else ""
    return f"believed from {day(fact.created_at)} to {day(fact.expired_at)}{because}{by}"
