"""`kgsvc retry`."""

from __future__ import annotations

import click

from kgsvc.cli import options
from kgsvc.cli.client import connect, expect_group
from kgsvc.cli.options import Failure
from kgsvc.cli.show import print_json
from kgsvc.config import Client, Settings
from kgsvc.v1.ingestion_pb2 import RetryItemsInput, RetryItemsRequest

UUIDS_A_CALL = 256


@click.command("retry")
@click.argument("uuids", nargs=-1, metavar="[UUID]...")
@options.group
@click.option("--all", "all_parked", is_flag=True, help="Every parked item of the group.")
@options.as_json
@options.client
def command(
    uuids: tuple[str, ...],
    group: str,
    all_parked: bool,
    as_json: bool,
    settings: Settings,
) -> None:
    """Start parked items again, with fresh attempts. Items that are not parked are left alone."""
    if all_parked == bool(uuids):
        raise click.UsageError("name the items to retry, or give --all")
    options.run(_retry(settings.client, group, list(dict.fromkeys(uuids)), as_json))


async def _retry(client: Client, group: str, uuids: list[str], as_json: bool) -> None:
    retried: list[str] = []
    parts = [uuids[i : i + UUIDS_A_CALL] for i in range(0, len(uuids), UUIDS_A_CALL)] or [[]]
    async with connect(client) as service:
        for part in parts:
            wanted = RetryItemsInput(group_id=group, uuids=part, all_parked=not uuids)
            answer = await service.call(service.ingestion.RetryItems, RetryItemsRequest(input=wanted))
            retried += answer.output.uuids
    if not uuids and not retried:
        await expect_group(client, group)
    if as_json:
        print_json({"retried": len(retried), "uuids": retried})
    else:
        click.echo(f"{len(retried)} items start again.")
    left = [uuid for uuid in uuids if uuid not in set(retried)]
    if left:
        raise Failure(f"{len(left)} of {len(uuids)} were not parked: {', '.join(left[:5])}")
