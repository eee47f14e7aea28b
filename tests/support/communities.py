"""Builds of communities as a client sees them."""

import asyncio
from collections.abc import AsyncIterator, Iterable

from kgsvc.v1 import admin_pb2 as adm
from kgsvc.v1 import envelope_pb2
from kgsvc.v1 import types_pb2 as typ
from tests.support.client import Client, granted

BUILT_S = 60.0
_LOOK_S = 0.02
_OVER = {adm.BUILD_STATE_COMPLETED, adm.BUILD_STATE_FAILED}


async def ask(client: Client, *groups: str, key: str | None = None) -> list[adm.CommunityBuild]:
    """BuildCommunities."""
    response = granted(await client.answer("BuildCommunities", key, group_ids=groups))
    assert response.status == envelope_pb2.STATUS_ACCEPTED
    return list(response.output.builds)


async def build_of(client: Client, asked: adm.CommunityBuild) -> adm.CommunityBuild:
    """GetCommunityBuild."""
    found = await client.ask("GetCommunityBuild", build_id=asked.build_id, group_id=asked.group_id)
    build: adm.CommunityBuild = found.build
    return build


async def progress(client: Client, asked: adm.CommunityBuild) -> AsyncIterator[adm.CommunityBuild]:
    """The build again and again until it is over. Raises TimeoutError."""
    async with asyncio.timeout(BUILT_S):
        while True:
            build = await build_of(client, asked)
            yield build
            if build.state in _OVER:
                return
            await asyncio.sleep(_LOOK_S)


async def built(client: Client, group: str) -> adm.CommunityBuild:
    """BuildCommunities of one group, when it is COMPLETED."""
    (asked,) = await ask(client, group)
    last = [build async for build in progress(client, asked)][-1]
    assert last.state == adm.BUILD_STATE_COMPLETED, last
    return last


async def listed(client: Client, group: str, page_size: int | None = None) -> list[typ.Community]:
    """ListCommunities, every page."""
    found: list[typ.Community] = []
    async for page in client.pages("ListCommunities", group_id=group, page_size=page_size):
        assert page_size is None or len(page.communities) <= page_size
        found.extend(page.communities)
    return found


async def member_names(client: Client, group: str, communities: Iterable[typ.Community]) -> list[list[str]]:
    """The names of the members of each, sorted."""
    return sorted(
        [
            sorted([(await client.get_entity(group, uuid)).node.name for uuid in each.member_uuids])
            for each in communities
        ]
    )
