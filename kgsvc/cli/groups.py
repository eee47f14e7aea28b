"""`kgsvc groups`, and what other commands ask of the list of groups."""

from __future__ import annotations

import difflib
from collections.abc import AsyncIterator

import click

from kgsvc.cli import options
from kgsvc.cli.client import Service, connect
from kgsvc.cli.options import Failure
from kgsvc.cli.show import as_dict, day, print_json, printable
from kgsvc.config import Client, Settings
from kgsvc.v1.admin_pb2 import GroupSummary, ListGroupsInput, ListGroupsRequest
from kgsvc.v1.ingestion_pb2 import ListItemsInput, ListItemsRequest
from kgsvc.v1.retrieval_pb2 import GetEpisodesInput, GetEpisodesRequest

_PAGE = 1_000
_COMPARED = 10_000  # groups among which the nearest name is looked for


@click.command("groups")
@options.as_json
@options.client
def command(as_json: bool, settings: Settings) -> None:
    """List the groups by name, what each holds and when it last changed; with --json, one object on each
    line. Facts count former ones too. A group that is embedded anew, because the embedder is another one,
    says how far that is; one that is paused is marked."""
    options.run(_list(settings.client, as_json))


async def _list(client: Client, as_json: bool) -> None:
    count = 0
    async with connect(client) as service:
        async for group in groups(service):
            if as_json:
                print_json(as_dict(group), indent=None)
                continue
            if not count:
                click.echo(f"{'episodes':>9} {'entities':>9} {'facts':>9}  {'last change':<20}  group")
            count += 1
            changed = day(group.changed_at) if group.HasField("changed_at") else "never"
            sizes = f"{group.episodes:>9,} {group.entities:>9,} {group.facts:>9,}"
            paused = f" (paused, {group.waiting:,} waiting)" if group.HasField("paused_since") else ""
            click.echo(f"{sizes}  {changed:<20}  {printable(group.group_id)}{paused}{_anew(group)}")
    if not as_json:
        click.echo(f"{count} {'group' if count == 1 else 'groups'}", err=True)


def _anew(group: GroupSummary) -> str:
    """How far it is on its way to another embedder."""
    if not group.HasField("reembedding"):
        return ""
    anew = group.reembedding
    far = f"{anew.embedded:,} so far, {anew.share:.0%} looked through"
    return f"  (embedded anew by {printable(anew.space)}: {far})"


async def groups(service: Service, page_size: int | None = None) -> AsyncIterator[GroupSummary]:
    """All that the caller may read, by name. Raises Failure."""
    token = None
    while token != "":
        wanted = ListGroupsInput(page_size=page_size, page_token=token)
        answer = await service.call(service.admin.ListGroups, ListGroupsRequest(input=wanted))
        for group in answer.output.groups:
            yield group
        token = answer.output.next_page_token


async def find_group(service: Service, group_id: str) -> GroupSummary | None:
    """The group with this name. Raises Failure."""
    async for group in groups(service, _PAGE):
        if group.group_id >= group_id:
            return group if group.group_id == group_id else None
    return None


async def did_you_mean(service: Service, group_id: str) -> str:
    """The words " (did you mean 'team'?)", or nothing where no other is called alike. Raises Failure."""
    names: list[str] = []
    async for group in groups(service, _PAGE):
        if group.group_id != group_id:  # it may be listed, where it is paused and empty
            names.append(group.group_id)
        if len(names) == _COMPARED:
            break
    near = difflib.get_close_matches(group_id, names, n=1)
    return f" (did you mean {printable(near[0])!r}?)" if near else ""


async def expect_group(client: Client, group_id: str) -> None:
    """Called where a group gave nothing: one that never got an episode is likely a mistyped name. Raises
    Failure."""
    async with connect(client) as service:
        items = ListItemsInput(group_id=group_id, page_size=1)
        listed = await service.call(service.ingestion.ListItems, ListItemsRequest(input=items))
        last = GetEpisodesInput(group_id=group_id, last_n=1)
        kept = await service.call(service.retrieval.GetEpisodes, GetEpisodesRequest(input=last))
        if not listed.output.items and not kept.output.episodes:
            near = await did_you_mean(service, group_id)
            raise Failure(f"the group {group_id!r} has no episodes: is its name right?{near}")
