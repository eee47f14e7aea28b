"""`kgsvc pause`, `kgsvc resume` and `kgsvc mode`: hold back what a service does, and let it go on."""

from __future__ import annotations

from collections.abc import Iterator

import click

from kgsvc.cli import options
from kgsvc.cli.client import Service, connect
from kgsvc.cli.groups import did_you_mean
from kgsvc.cli.show import as_dict, day, print_json, printable
from kgsvc.config import Client, Settings
from kgsvc.v1.admin_pb2 import (
    GroupSummary,
    HealthcheckInput,
    HealthcheckRequest,
    ServiceModes,
    SetModesInput,
    SetModesRequest,
)

_FIELDS = {"read-only": ("read_only",), "model-off": ("model_off",), "normal": ("read_only", "model_off")}
REASONS = {
    "group_paused": "the group is paused (`kgsvc resume`)",
    "read_only": "the service is read-only (`kgsvc mode`)",
    "model_off": "models are switched off (`kgsvc mode`)",
}


@click.command("pause")
@click.argument("group")
@options.as_json
@options.client
def pause(group: str, as_json: bool, settings: Settings) -> None:
    """Let the items of GROUP wait: new ones are accepted, none is begun until `kgsvc resume`."""
    options.run(_pause(settings.client, group, True, as_json))


@click.command("resume")
@click.argument("group")
@options.as_json
@options.client
def resume(group: str, as_json: bool, settings: Settings) -> None:
    """Have the items of GROUP worked on again."""
    options.run(_pause(settings.client, group, False, as_json))


async def _pause(client: Client, group: str, paused: bool, as_json: bool) -> None:
    async with connect(client) as service:
        wanted = SetModesRequest(input=SetModesInput(group_id=group, paused=paused))
        found = (await service.call(service.admin.SetModes, wanted)).output.group
        if as_json:
            print_json(as_dict(found))
            return
        since = f"is paused since {day(found.paused_since)}" if paused else "is worked on"
        waiting = f"{found.waiting:,} {'item waits' if found.waiting == 1 else 'items wait'}"
        click.echo(f"{printable(group)} {since}: {waiting}.")
        if not found.episodes:
            await _tell_unknown(service, found)


async def _tell_unknown(service: Service, group: GroupSummary) -> None:
    near = await did_you_mean(service, group.group_id)
    name = printable(group.group_id)
    click.echo(f"Nothing was sent to {name!r} yet, or all of it is deleted{near}.", err=True)


@click.command("mode")
@click.argument("name", type=click.Choice(list(_FIELDS)), required=False)
@click.option("--off", is_flag=True, help="Switch this mode off again, and leave the other as it is.")
@options.as_json
@options.client
def command(name: str | None, off: bool, as_json: bool, settings: Settings) -> None:
    """Show which modes of the whole service are on, or switch one on. They stay on over restarts.

    read-only refuses writes, but for what deletes, and begins no work on accepted items. model-off calls no
    model server: items that need one wait. normal switches both off.
    """
    if off and name in {None, "normal"}:
        raise click.UsageError("--off needs the mode to switch off: read-only or model-off")
    on = not off and name != "normal"
    wanted = None if name is None else _input(name, on)
    now = options.run(_modes(settings.client, wanted))
    if as_json:
        print_json(as_dict(now))
    else:
        click.echo("\n".join(said(now)))


def _input(name: str, on: bool) -> SetModesInput:
    made = SetModesInput()
    for field in _FIELDS[name]:
        setattr(made, field, on)
    return made


async def _modes(client: Client, wanted: SetModesInput | None) -> ServiceModes:
    async with connect(client) as service:
        if wanted is not None:
            return (await service.call(service.admin.SetModes, SetModesRequest(input=wanted))).output.modes
        asked = HealthcheckRequest(input=HealthcheckInput())
        return (await service.call(service.admin.Healthcheck, asked)).output.modes


def said(now: ServiceModes) -> Iterator[str]:
    """A line for each mode that is on."""
    if now.HasField("read_only_since"):
        yield f"read-only since {day(now.read_only_since)}: writes are refused, accepted items wait."
    if now.HasField("model_off_since"):
        yield f"model-off since {day(now.model_off_since)}: no model server is called."
    if not now.ListFields():
        yield "normal: no mode is on."
