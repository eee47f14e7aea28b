"""`kgsvc ask`."""

from __future__ import annotations

from collections.abc import Iterator

import click
import grpc.aio

from kgsvc.cli import options
from kgsvc.cli.client import accepted, connect
from kgsvc.cli.groups import expect_group
from kgsvc.cli.show import as_dict, day, place_of, print_json, printable
from kgsvc.config import Client, Settings
from kgsvc.v1.retrieval_pb2 import (
    CITATION_KIND_FACT,
    AskInput,
    AskRequest,
    AskResult,
    Citation,
    CitationKind,
    Provenance,
)

_KIND = "CITATION_KIND_"


@click.command("ask")
@click.argument("question")
@options.group
@click.option("--context", "context_alone", is_flag=True, help="Print what a model would be shown; ask none.")
@options.as_json
@options.client
def command(question: str, group: str, context_alone: bool, as_json: bool, settings: Settings) -> None:
    """Answer QUESTION from what the group knows, as it is written, then name the sources."""
    asked = AskInput(
        group_ids=[group], question=question, only_need_context=context_alone, include_provenance=True
    )
    result = options.run(_asked(settings.client, AskRequest(input=asked), quiet=as_json))
    if as_json:
        print_json(as_dict(result))
    elif context_alone:
        click.echo("\n".join(map(printable, result.context.splitlines())) or "Nothing found.")
    else:
        click.echo("\n".join(["", *_sources(result)]))
    if not result.source_texts:
        options.run(expect_group(settings.client, group))


async def _asked(client: Client, request: AskRequest, *, quiet: bool) -> AskResult:
    """The answer as a whole; its pieces are printed as they come. Raises Failure."""
    result = AskResult()
    async with connect(client) as service:
        call = service.retrieval.Ask(request, timeout=service.timeout_s, metadata=service.metadata)
        try:
            async for response in call:
                output = accepted(response).output
                result = output.result
                if not quiet:
                    click.echo(_text(output.piece), nl=False)
        except grpc.aio.AioRpcError as error:
            raise service.failure(error) from error
    return result


def _text(piece: str) -> str:
    """A text from outside with its line breaks, without what else a terminal would obey."""
    return "\n".join(map(printable, piece.split("\n")))


def _sources(result: AskResult) -> Iterator[str]:
    """What the answer cites, two lines each: what was read, and where it stands."""
    if result.truncated:
        yield "(The answer broke off at the model's limit.)"
    if not result.known and result.answer != "Not known.":
        yield "(The answer is not known.)"
    if result.citations:
        yield ""
        yield "Sources:"
    for cited in result.citations:
        yield f"{f'[{cited.number}]':>5} {printable(cited.text)}"
        kind = CitationKind.Name(cited.kind).removeprefix(_KIND).lower()
        places = "; ".join(_places(cited, result.provenance))
        yield f"      {places} · {kind} {cited.uuid}" if places else f"      {kind} {cited.uuid}"


def _places(cited: Citation, provenance: Provenance) -> Iterator[str]:
    """Where the chunks stand, and when the episodes were, that are cited or that state a cited fact."""
    uuids = set(cited.episodes) if cited.kind == CITATION_KIND_FACT else {cited.uuid}
    for chunk in provenance.chunks:
        if chunk.chunk_id in uuids and chunk.group_id == cited.group_id:
            yield place_of(chunk)
    for episode in provenance.episodes:
        if episode.uuid in uuids and episode.group_id == cited.group_id:
            name = f"{printable(episode.name)}, " if episode.name else ""
            yield f"{name}{day(episode.reference_time)}"
