"""`kgsvc retract`: a fact that was never true."""

from __future__ import annotations

import click

from kgsvc.cli import options
from kgsvc.cli.client import connect
from kgsvc.cli.entity import history_as_lines
from kgsvc.cli.show import as_dict, print_json
from kgsvc.config import Client, Settings
from kgsvc.v1.admin_pb2 import RetractFactInput, RetractFactRequest


@click.command("retract")
@click.argument("fact")
@click.option("--group", help="The group; needed only if several have a fact with this uuid.")
@click.option("--reason", required=True, help="Why it was never true; it is kept.")
@options.as_json
@options.client
def command(fact: str, group: str | None, reason: str, as_json: bool, settings: Settings) -> None:
    """Say that the fact with the uuid FACT was never true. It is kept in the history, and what it had ended
    holds again. What was right and has changed is no case for this: send what is so now."""
    options.run(_retract(settings.client, fact, group, reason, as_json))


async def _retract(client: Client, uuid: str, group: str | None, reason: str, as_json: bool) -> None:
    async with connect(client) as service:
        wanted = RetractFactInput(uuid=uuid, group_id=group, reason=reason)
        answer = await service.call(service.admin.RetractFact, RetractFactRequest(input=wanted))
    if as_json:
        print_json(as_dict(answer.output))
    else:
        click.echo("\n".join([answer.output.message, *history_as_lines([answer.output.edge])]))
