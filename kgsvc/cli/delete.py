"""`kgsvc delete`: for good, after a question."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import click

from kgsvc.cli import options
from kgsvc.cli.client import Service, connect
from kgsvc.cli.groups import did_you_mean, find_group
from kgsvc.cli.options import Failure
from kgsvc.cli.show import printable, validity
from kgsvc.config import Client, Settings
from kgsvc.v1.admin_pb2 import (
    DeleteEntityEdgeInput,
    DeleteEntityEdgeRequest,
    DeleteEpisodeInput,
    DeleteEpisodeRequest,
    DeleteGroupInput,
    DeleteGroupRequest,
)
from kgsvc.v1.documents_pb2 import (
    DeleteDocumentInput,
    DeleteDocumentRequest,
    GetDocumentInput,
    GetDocumentRequest,
)
from kgsvc.v1.retrieval_pb2 import GetEntityEdgeInput, GetEntityEdgeRequest

_yes = click.option("--yes", is_flag=True, help="Do not ask.")
Step = Callable[[Service], Awaitable[str]]


@click.group("delete")
def command() -> None:
    """Delete an episode, a document, a fact or a whole group, for good. Asks first."""


def _run(client: Client, asked: Step, done: Step, yes: bool) -> None:
    """Say what would go, ask, do it and say what was done."""

    async def work() -> None:
        async with connect(client) as service:
            question = await asked(service)
            if not yes:
                click.confirm(question, abort=True, err=True)
            click.echo(await done(service))

    options.run(work())


@command.command("episode")
@click.argument("uuid")
@options.group
@click.option("--cascade", is_flag=True, help="Also what only it says; what it alone ended holds again.")
@_yes
@options.client
def episode(uuid: str, group: str, cascade: bool, yes: bool, settings: Settings) -> None:
    """Delete the episode UUID. What was read from it stays, unless --cascade is given."""

    async def asked(_service: Service) -> str:
        also = "with what only it says" if cascade else "and keep what was read from it"
        return f"Delete the episode {printable(uuid)} of {printable(group)!r} {also}?"

    async def done(service: Service) -> str:
        wanted = DeleteEpisodeInput(uuid=uuid, group_id=group, cascade=cascade or None)
        answer = await service.call(service.admin.DeleteEpisode, DeleteEpisodeRequest(input=wanted))
        gone = answer.output
        if not cascade:
            return gone.message
        counts = f"{gone.facts_removed} facts and {gone.entities_removed} entities went with it"
        return f"{gone.message}; {counts}, {gone.facts_restored} facts hold again"

    _run(settings.client, asked, done, yes)


@command.command("document")
@click.argument("document_id", metavar="ID")
@options.group
@_yes
@options.client
def document(document_id: str, group: str, yes: bool, settings: Settings) -> None:
    """Delete the document ID and what only it said."""

    async def asked(service: Service) -> str:
        wanted = GetDocumentInput(group_id=group, document_id=document_id)
        answer = await service.call(service.retrieval.GetDocument, GetDocumentRequest(input=wanted))
        found = answer.output.document
        name = printable(found.title or document_id)
        return f"Delete the document {name!r} ({found.chunks} chunks) and what only it said?"

    async def done(service: Service) -> str:
        wanted = DeleteDocumentInput(group_id=group, document_id=document_id)
        answer = await service.call(service.admin.DeleteDocument, DeleteDocumentRequest(input=wanted))
        return answer.output.message

    _run(settings.client, asked, done, yes)


@command.command("fact")
@click.argument("uuid")
@options.group
@_yes
@options.client
def fact(uuid: str, group: str, yes: bool, settings: Settings) -> None:
    """Delete the fact UUID. Entities and episodes stay."""

    async def asked(service: Service) -> str:
        wanted = GetEntityEdgeInput(uuid=uuid, group_id=group)
        answer = await service.call(service.retrieval.GetEntityEdge, GetEntityEdgeRequest(input=wanted))
        return f"Delete the fact {printable(answer.output.fact)!r} ({validity(answer.output)})?"

    async def done(service: Service) -> str:
        wanted = DeleteEntityEdgeInput(uuid=uuid, group_id=group)
        answer = await service.call(service.admin.DeleteEntityEdge, DeleteEntityEdgeRequest(input=wanted))
        return answer.output.message

    _run(settings.client, asked, done, yes)


@command.command("group")
@click.argument("group")
@_yes
@options.client
def group_(group: str, yes: bool, settings: Settings) -> None:
    """Delete everything of GROUP."""

    async def asked(service: Service) -> str:
        found = await find_group(service, group)
        if found is None:
            raise Failure(f"there is no group {group!r}{await did_you_mean(service, group)}")
        sizes = f"{found.episodes:,} episodes, {found.entities:,} entities, {found.facts:,} facts"
        return f"Delete the group {printable(group)!r}: {sizes}?"

    async def done(service: Service) -> str:
        wanted = DeleteGroupInput(group_id=group)
        answer = await service.call(service.admin.DeleteGroup, DeleteGroupRequest(input=wanted))
        return f"{answer.output.message} (receipt {answer.output.erasure_id})"

    _run(settings.client, asked, done, yes)
