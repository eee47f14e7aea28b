"""BuildCommunities, GetCommunityBuild, ListCommunities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kgsvc.api.answers import timestamp
from kgsvc.api.checks import Check
from kgsvc.api.ports import Activity
from kgsvc.api.unary import Reply, Unary
from kgsvc.commands.communities import Communities
from kgsvc.domain.model.communities import BuildState, Community, CommunityBuild
from kgsvc.v1 import admin_pb2, envelope_pb2, types_pb2

_PAGE_SIZE = 100
_TOKEN_CHARS = 4_096
_STATES = {
    BuildState.PENDING: admin_pb2.BUILD_STATE_PENDING,
    BuildState.RUNNING: admin_pb2.BUILD_STATE_RUNNING,
    BuildState.COMPLETED: admin_pb2.BUILD_STATE_COMPLETED,
    BuildState.FAILED: admin_pb2.BUILD_STATE_FAILED,
}


@dataclass(frozen=True, slots=True)
class BuildNamed:
    """The input of GetCommunityBuild."""

    build_id: str
    group_id: str


@dataclass(frozen=True, slots=True)
class Listing:
    """The input of ListCommunities."""

    group_id: str
    page_size: int
    page_token: str | None


class Clustering:
    """Operations on the communities of groups."""

    def __init__(self, communities: Communities, activity: Activity) -> None:
        self._communities = communities
        self._activity = activity

    def operations(self) -> Mapping[str, Unary[Any]]:
        """The RPCs by method name."""
        pb = admin_pb2
        return {
            "BuildCommunities": Unary(
                pb.BuildCommunitiesRequest, pb.BuildCommunitiesResponse, read_groups, self._request
            ),
            "GetCommunityBuild": Unary(
                pb.GetCommunityBuildRequest, pb.GetCommunityBuildResponse, read_build, self._build
            ),
            "ListCommunities": Unary(
                pb.ListCommunitiesRequest, pb.ListCommunitiesResponse, read_listing, self._list
            ),
        }

    async def _request(self, group_ids: tuple[str, ...], key: str | None) -> Reply:
        builds = await self._communities.request(group_ids, key)
        self._activity.poke()
        output = admin_pb2.BuildCommunitiesOutput(builds=map(build_out, builds))
        return Reply(output, envelope_pb2.STATUS_ACCEPTED)

    async def _build(self, wanted: BuildNamed, _key: str | None) -> Reply:
        found = await self._communities.build(wanted.group_id, wanted.build_id)
        return Reply(admin_pb2.GetCommunityBuildOutput(build=build_out(found)))

    async def _list(self, wanted: Listing, _key: str | None) -> Reply:
        page = await self._communities.listed(wanted.group_id, wanted.page_size, wanted.page_token)
        return Reply(
            admin_pb2.ListCommunitiesOutput(
                communities=map(community_out, page.rows), next_page_token=page.next_token or ""
            )
        )


def build_out(build: CommunityBuild) -> admin_pb2.CommunityBuild:
    """A build as it is answered; a reason is told while it is the last word."""
    told = build.state in {BuildState.PENDING, BuildState.FAILED}
    return admin_pb2.CommunityBuild(
        build_id=build.build_id,
        group_id=build.group_id,
        state=_STATES[build.state],
        communities=build.communities,
        summarised=build.summarised,
        reason=build.reason if told else None,
        updated_at=timestamp(build.updated_ms),
    )


def community_out(community: Community) -> types_pb2.Community:
    """A community as it is listed."""
    return types_pb2.Community(
        uuid=community.uuid,
        group_id=community.group_id,
        name=community.name,
        summary=community.summary,
        member_count=community.member_count,
        member_uuids=community.member_uuids,
        created_at=timestamp(community.created_ms),
    )


def read_groups(sent: admin_pb2.BuildCommunitiesInput, check: Check) -> tuple[str, ...]:
    """The input of BuildCommunities."""
    limit = check.limits.items_per_call
    check.count("input.group_ids", sent.group_ids, limit)
    return tuple(
        check.group_id(f"input.group_ids[{i}]", group_id) for i, group_id in enumerate(sent.group_ids[:limit])
    )


def read_build(sent: admin_pb2.GetCommunityBuildInput, check: Check) -> BuildNamed:
    """The input of GetCommunityBuild."""
    build_id = check.identifier("input.build_id", sent.build_id, check.limits.uuid)
    return BuildNamed(build_id, check.group_id("input.group_id", sent.group_id))


def read_listing(sent: admin_pb2.ListCommunitiesInput, check: Check) -> Listing:
    """The input of ListCommunities."""
    group_id = check.group_id("input.group_id", sent.group_id)
    size = _PAGE_SIZE
    if sent.HasField("page_size"):
        size = check.number("input.page_size", sent.page_size, check.limits.page_size_bound)
    return Listing(group_id, size, check.optional_identifier(sent, "input.", "page_token", _TOKEN_CHARS))
