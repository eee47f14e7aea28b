"""`kgsvc items` and `kgsvc retry`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from kgsvc.cli import options
from kgsvc.cli.client import connect
from kgsvc.cli.groups import expect_group
from kgsvc.cli.modes import REASONS
from kgsvc.cli.options import Failure
from kgsvc.cli.show import as_dict, day, print_json, printable
from kgsvc.config import Client, Settings
from kgsvc.v1.ingestion_pb2 import ListItemsInput, ListItemsRequest, RetryItemsInput, RetryItemsRequest
from kgsvc.v1.types_pb2 import ItemState, ListedItem

STATES = {name.removeprefix("ITEM_STATE_").lower(): number for name, number in ItemState.items() if number}
NAMES = {number: name for name, number in STATES.items()}
UUIDS_A_CALL = 256


@click.command("items")
@options.group
@click.option(
    "--state",
    "states",
    type=click.Choice(list(STATES)),
    multiple=True,
    help="Only items in this state; may be repeated.",
)
@options.as_json
@options.client
def command(
    group: str,
    states: tuple[str, ...],
    as_json: bool,
    settings: Settings,
) -> None:
    """List the items of a group in the order they were accepted; with --json, one object on each line."""
    options.run(_list(settings.client, group, [STATES[name] for name in states], as_json))


async def _list(client: Client, group: str, states: Sequence[ItemState.ValueType], as_json: bool) -> None:
    count, token, reason = 0, None, ""
    async with connect(client) as service:
        while token != "":
            wanted = ListItemsInput(group_id=group, states=states, page_token=token)
            answer = await service.call(service.ingestion.ListItems, ListItemsRequest(input=wanted))
            for item in answer.output.items:
                _print(item, as_json)
            count += len(answer.output.items)
            reason = answer.output.wait_reason or reason
            token = answer.output.next_page_token
    if not count:
        await expect_group(client, group)
    if not as_json:
        held_back = f"; those that are not done wait: {REASONS.get(reason, reason)}" if reason else ""
        click.echo(f"{count} items{held_back}", err=True)


def _print(item: ListedItem, as_json: bool) -> None:
    if as_json:
        print_json(as_dict(item), indent=None)
        return
    failed = f"{item.step} failed {item.attempts} times" if item.attempts else ""
    noted = f"{len(item.warnings)} warnings" if item.warnings else ""
    head = f"{item.uuid}  {NAMES[item.state]:<14}  {day(item.updated_at)}"
    parts = [head, item.name, failed, item.reason, noted]
    click.echo(printable(" · ".join(part for part in parts if part)))


@click.command("retry")
@click.argument("uuids", nargs=-1, metavar="[UUID]...")
@options.group
@click.option("--all", "all_parked", is_flag=True, help="Every parked item of the group.")
@options.as_json
@options.client
def retry(
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
    if not retried:
        await expect_group(client, group)
    if as_json:
        print_json({"retried": len(retried), "uuids": retried})
    else:
        click.echo(f"{len(retried)} items start again.")
    left = [uuid for uuid in uuids if uuid not in set(retried)]
    if left:
        raise Failure(f"{len(left)} of {len(uuids)} were not parked: {', '.join(left[:5])}")
