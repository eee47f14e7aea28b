"""`kgsvc search` and `kgsvc memory`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import click

from kgsvc.cli import options
from kgsvc.cli.chats import time_of, timestamp
from kgsvc.cli.client import ask
from kgsvc.cli.groups import expect_group
from kgsvc.cli.options import Failure
from kgsvc.cli.show import print_facts, print_hits, scored_facts
from kgsvc.config import Settings
from kgsvc.v1.retrieval_pb2 import (
    SEARCH_SCOPE_CHUNKS,
    SEARCH_SCOPE_COMMUNITIES,
    SEARCH_SCOPE_EPISODES,
    SEARCH_SCOPE_FACTS,
    SEARCH_SCOPE_NODES,
    GetMemoryInput,
    GetMemoryRequest,
    SearchGraphInput,
    SearchGraphRequest,
)
from kgsvc.v1.types_pb2 import MemoryMessage, RoleType

_SCOPES = {
    "facts": SEARCH_SCOPE_FACTS,
    "nodes": SEARCH_SCOPE_NODES,
    "episodes": SEARCH_SCOPE_EPISODES,
    "communities": SEARCH_SCOPE_COMMUNITIES,
    "chunks": SEARCH_SCOPE_CHUNKS,
}
ROLE_TYPES = {name.removeprefix("ROLE_TYPE_").lower(): number for name, number in RoleType.items() if number}
FIELDS = {"role_type", "role", "content", "timestamp"}
_LINE = re.compile(r"(?:(user|assistant|system)(?:\(([^)]*)\))?|([^:]{1,256})):\s*(.+)", re.DOTALL)


@click.command("search")
@click.argument("query")
@options.group
@options.max_facts
@options.center
@click.option(
    "--scope",
    type=click.Choice(tuple(_SCOPES)),
    help="Search for these; default: facts.",
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
    wanted = SearchGraphInput(
        group_ids=[group],
        query=query,
        search_type=_SCOPES[scope or "facts"],
        max_results=max_facts,
        center_node_uuid=center,
    )
    graph = SearchGraphRequest(input=wanted)
    found = options.run(ask(settings.client, lambda service: service.retrieval.SearchGraph, graph))
    if scope is None:
        print_facts(list(scored_facts(found.output)), as_json)
    else:
        print_hits(found.output, as_json)
    if not found.output.count:
        options.run(expect_group(settings.client, group))


@click.command("memory")
@click.argument("source", type=click.File("r", encoding="utf-8"), default="-", metavar="[FILE]")
@options.group
@options.max_facts
@options.center
@options.as_json
@options.client
def memory(
    source: Any,
    group: str,
    max_facts: int | None,
    center: str | None,
    as_json: bool,
    settings: Settings,
) -> None:
    """Find the facts that matter to the conversation in FILE or on standard input.

    A message is a line `user: content`, `assistant(name): content` or `name: content`. It may also be a JSON
    object with role_type, content and optionally role and timestamp: one on each line, or all in an array.
    """
    try:
        messages = list(messages_of(source.read(), datetime.now(UTC)))
    except ValueError as error:
        raise Failure(f"the conversation cannot be read: {error}") from error
    if not messages:
        raise Failure("the conversation is empty")
    wanted = GetMemoryInput(group_id=group, messages=messages, max_facts=max_facts, center_node_uuid=center)
    request = GetMemoryRequest(input=wanted)
    answer = options.run(ask(settings.client, lambda service: service.retrieval.GetMemory, request))
    print_facts(answer.output.facts, as_json)
    if not answer.output.facts:
        options.run(expect_group(settings.client, group))


def messages_of(text: str, now: datetime) -> Iterator[MemoryMessage]:
    """The messages of a text; those without a time are of `now`. Raises ValueError."""
    text = text.lstrip("\ufeff").strip()
    if not text.startswith(("[", "{")):
        yield from _from_lines(text, now)
        return
    values = json.loads(text) if text.startswith("[") else map(json.loads, filter(None, text.splitlines()))
    for number, value in enumerate(values, 1):
        yield _from_json(number, value, now)


def _from_lines(text: str, now: datetime) -> Iterator[MemoryMessage]:
    for number, line in enumerate(text.splitlines(), 1):
        found = _LINE.fullmatch(line.strip())
        if found:
            side, role, name, content = found.groups()
            yield MemoryMessage(
                role_type=ROLE_TYPES[side or "user"],
                role=role or name,
                content=content,
                timestamp=timestamp(now),
            )
        elif line.strip():
            raise ValueError(f"line {number} is not `who: what they say`")


def _from_json(number: int, value: Any, now: datetime) -> MemoryMessage:
    if not isinstance(value, dict) or not value.keys() <= FIELDS or value.get("role_type") not in ROLE_TYPES:
        raise ValueError(
            f"message {number} is not an object with role_type ({', '.join(ROLE_TYPES)}), content and, if you"
            " like, role and timestamp"
        )
    role, content = value.get("role"), value.get("content")
    if not isinstance(content, str) or not isinstance(role, str | None):
        raise ValueError(f"message {number}: content and role must be texts")
    time = time_of(value["timestamp"]) if value.get("timestamp") is not None else now
    return MemoryMessage(
        role_type=ROLE_TYPES[value["role_type"]], role=role, content=content, timestamp=timestamp(time)
    )
