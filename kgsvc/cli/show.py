"""Facts, times and JSON as the commands print them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import click
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from kgsvc.v1.retrieval_pb2 import ProvenanceChunk, SearchGraphOutput
from kgsvc.v1.types_pb2 import FactResult

_SHOWN = 200  # characters of a summary or body
_MENTIONED = "MENTIONED"  # the relation of a sentence from which none was read


def as_dict(message: Message) -> dict[str, Any]:
    """A message as JSON values, with the field names of the contract."""
    return MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)


def print_json(values: Mapping[str, Any], *, indent: int | None = 2) -> None:
    """One JSON value; a line of its own without `indent`."""
    click.echo(json.dumps(values, ensure_ascii=False, indent=indent))


def print_facts(facts: Sequence[FactResult], as_json: bool) -> None:
    """The facts of an answer, best first."""
    if as_json:
        print_json({"facts": [as_dict(fact) for fact in facts]})
    elif facts:
        click.echo("\n".join(facts_as_lines(facts)))
    else:
        click.echo("No facts found.")


def facts_as_lines(facts: Iterable[FactResult]) -> Iterator[str]:
    """Two lines a fact: what it says; then its relation, validity, score and sources."""
    for rank, fact in enumerate(facts, 1):
        yield f"{rank:>3}. {printable(fact.fact)}"
        score = f" · score {fact.score:.4f}" if fact.HasField("score") else ""
        yield f"     {_edge(fact)} · {validity(fact)}{score}"
        yield f"     source: {', '.join(fact.episodes) or 'none'} · fact {fact.uuid}"


def _edge(fact: FactResult) -> str:
    """Whom or what a fact is about: both ends and the relation, as far as each of them tells something."""
    itself = fact.source_node_uuid == fact.target_node_uuid
    name = "" if itself and fact.name.startswith(_MENTIONED) else fact.name
    return printable(" ".join(filter(None, (fact.source_name, name, "" if itself else fact.target_name))))


def scored_facts(output: SearchGraphOutput) -> Iterator[FactResult]:
    """The facts of an answer with their scores."""
    for hit in output.facts:
        fact = FactResult()
        fact.CopyFrom(hit.fact)
        fact.score = hit.score
        yield fact


def print_hits(output: SearchGraphOutput, as_json: bool) -> None:
    """What a search of the graph found, best first."""
    if as_json:
        print_json(as_dict(output))
    elif output.count:
        click.echo("\n".join(_hits_as_lines(output)))
    else:
        click.echo("Nothing found.")


def _hits_as_lines(output: SearchGraphOutput) -> Iterator[str]:
    yield from facts_as_lines(scored_facts(output))
    for rank, node in enumerate(output.nodes, 1):
        yield f"{rank:>3}. {printable(node.node.name)} ({', '.join(node.node.labels)})"
        yield f"     {shortened(node.node.summary)}"
        yield f"     score {node.score:.4f} · node {node.node.uuid}"
    for rank, said in enumerate(output.episodes, 1):
        yield f"{rank:>3}. {shortened(said.episode.body)}"
        told = day(said.episode.reference_time)
        yield f"     {told} · score {said.score:.4f} · episode {said.episode.uuid}"
    for rank, part in enumerate(output.chunks, 1):
        yield f"{rank:>3}. {shortened(part.chunk.content)}"
        yield f"     {place_of(part.chunk)} · score {part.score:.4f} · chunk {part.chunk.chunk_id}"
    for rank, group in enumerate(output.communities, 1):
        yield f"{rank:>3}. {printable(group.community.name)} · {group.community.member_count} members"
        yield f"     {shortened(group.community.summary)}"
        yield f"     score {group.score:.4f} · community {group.community.uuid}"


def shortened(text: str) -> str:
    """The beginning of a text, on one line."""
    line = printable(text)
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def printable(text: str) -> str:
    """A text from outside on one line, without what a terminal would obey."""
    return "".join(char if char.isprintable() else " " if char.isspace() else "\ufffd" for char in text)


def place_of(chunk: ProvenanceChunk) -> str:
    """The title, the pages and the headings of a chunk: "Handbook, pages 3-4, Plans > People"."""
    page = f"page {chunk.page}" if chunk.HasField("page") else ""
    if chunk.last_page > chunk.page:
        page = f"pages {chunk.page}-{chunk.last_page}"
    parts = (chunk.title or chunk.full_doc_id, page, " > ".join(chunk.headings))
    return ", ".join(printable(part) for part in parts if part)


def validity(fact: FactResult) -> str:
    """When a fact is true: "since 2024-03-01", "2023-01-10 to 2024-03-01", "valid; start unknown"."""
    begin = day(fact.valid_at) if fact.HasField("valid_at") else None
    end = day(fact.invalid_at) if fact.HasField("invalid_at") else None
    if begin and end:
        return f"{begin} to {end}"
    if begin or end:
        return f"since {begin}" if begin else f"until {end}"
    return "valid; start unknown"


def day(time: Timestamp) -> str:
    """A time to the second, the time of day left out at midnight."""
    text = Timestamp(seconds=time.seconds).ToJsonString()
    return text.removesuffix("T00:00:00Z")
