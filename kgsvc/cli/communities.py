"""`kgsvc communities`."""

from __future__ import annotations

import asyncio

import click

from kgsvc.cli import options
from kgsvc.cli.client import Service, connect
from kgsvc.cli.groups import expect_group
from kgsvc.cli.options import Failure
from kgsvc.cli.show import as_dict, print_json, printable, shortened
from kgsvc.config import Client, Settings
from kgsvc.v1.admin_pb2 import (
    BUILD_STATE_FAILED,
    BUILD_STATE_PENDING,
    BUILD_STATE_RUNNING,
    BuildCommunitiesInput,
    BuildCommunitiesRequest,
    GetCommunityBuildInput,
    GetCommunityBuildRequest,
    ListCommunitiesInput,
    ListCommunitiesRequest,
)

_LOOK_S = 0.25
_OPEN = (BUILD_STATE_PENDING, BUILD_STATE_RUNNING)


@click.command("communities")
@options.group
@click.option("--build", is_flag=True, help="Find them anew first, and wait until they are there.")
@click.option(
    "--wait-timeout",
    type=float,
    default=3600.0,
    metavar="SECONDS",
    help="How long --build waits; default 3600.",
)
@options.as_json
@options.client
def command(group: str, build: bool, wait_timeout: float, as_json: bool, settings: Settings) -> None:
    """List the communities of a group: entities that belong together; with --json,
    one object on each line."""
    options.run(_show(settings.client, group, wait_timeout if build else None, as_json))


async def _show(client: Client, group: str, within_s: float | None, as_json: bool) -> None:
    async with connect(client) as service:
        if within_s is not None:
            await _build(service, group, within_s)
        count = await _list(service, group, as_json)
    if not count:
        await expect_group(client, group)
    if not as_json:
        hint = "" if count or within_s is not None else "; `--build` finds them"
        click.echo(f"{count} communities{hint}", err=True)


async def _build(service: Service, group: str, within_s: float) -> None:
    wanted = BuildCommunitiesInput(group_ids=[group])
    answer = await service.call(service.admin.BuildCommunities, BuildCommunitiesRequest(input=wanted))
    build = answer.output.builds[0]
    look = GetCommunityBuildRequest(input=GetCommunityBuildInput(build_id=build.build_id, group_id=group))
    try:
        async with asyncio.timeout(within_s):
            while build.state in _OPEN:
                await asyncio.sleep(_LOOK_S)
                build = (await service.call(service.admin.GetCommunityBuild, look)).output.build
    except TimeoutError as error:
        raise Failure(f"the build is not done after {within_s:g} s; the service works on") from error
    if build.state == BUILD_STATE_FAILED:
        raise Failure(f"the build failed: {build.reason}")


async def _list(service: Service, group: str, as_json: bool) -> int:
    count, token = 0, None
    while token != "":
        wanted = ListCommunitiesInput(group_id=group, page_token=token)
        answer = await service.call(service.admin.ListCommunities, ListCommunitiesRequest(input=wanted))
        for found in answer.output.communities:
            count += 1
            if as_json:
                print_json(as_dict(found), indent=None)
                continue
            click.echo(f"{count:>3}. {printable(found.name)} · {found.member_count} members")
            click.echo(f"     {shortened(found.summary)}")
        token = answer.output.next_page_token
    return count
