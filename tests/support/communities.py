"""Builds of communities as a client sees them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable

from kgsvc.v1 import admin_pb2 as adm
from kgsvc.v1 import envelope_pb2
from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from tests.support.client import CALL_S, Client, granted

BUILT_S = 60.0
_LOOK_S = 0.02
_OVER = {adm.BUILD_STATE_COMPLETED, adm.BUILD_STATE_FAILED}


async def ask(client: Client, *groups: str, key: str | None = None) -> list[adm.CommunityBuild]:
    """BuildCommunities."""
    given = adm.BuildCommunitiesInput(group_ids=groups)
    request = adm.BuildCommunitiesRequest(idempotency_key=key, input=given)
    response = granted(await client.admin.BuildCommunities(request, timeout=CALL_S))
    assert response.status == envelope_pb2.STATUS_ACCEPTED
    return list(response.output.builds)


async def build_of(client: Client, asked: adm.CommunityBuild) -> adm.CommunityBuild:
    """GetCommunityBuild."""
    given = adm.GetCommunityBuildInput(build_id=asked.build_id, group_id=asked.group_id)
    request = adm.GetCommunityBuildRequest(input=given)
    return granted(await client.admin.GetCommunityBuild(request, timeout=CALL_S)).output.build


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
    token: str | None = None
    while token != "":
        given = adm.ListCommunitiesInput(group_id=group, page_size=page_size, page_token=token)
        request = adm.ListCommunitiesRequest(input=given)
        page = granted(await client.admin.ListCommunities(request, timeout=CALL_S)).output
        assert page_size is None or len(page.communities) <= page_size
        found.extend(page.communities)
        token = page.next_page_token
    return found


async def member_names(client: Client, group: str, communities: Iterable[typ.Community]) -> list[list[str]]:
    """The names of the members of each, sorted."""
    return sorted(
        [sorted([await _name(client, group, uuid) for uuid in each.member_uuids]) for each in communities]
    )


async def _name(client: Client, group: str, uuid: str) -> str:
    request = ret.GetEntityNodeRequest(input=ret.GetEntityNodeInput(uuid=uuid, group_id=group))
    return granted(await client.retrieval.GetEntityNode(request, timeout=CALL_S)).output.node.name
