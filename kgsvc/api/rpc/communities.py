"""BuildCommunities, GetCommunityBuild, ListCommunities."""

from __future__ import annotations

from kgsvc.api import mapping
from kgsvc.api.checks import RequestCheck
from kgsvc.api.envelope import Operation, Reply, Rpcs, Unary
from kgsvc.commands import communities
from kgsvc.commands.core import Core
from kgsvc.domain.model.communities import BuildState, CommunityBuild
from kgsvc.v1 import admin_pb2, envelope_pb2

_STATES = mapping.enum_numbers(admin_pb2.BuildState, "BUILD_STATE_", BuildState)


class CommunityRpcs:
    """The RPCs on communities of entities."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.rpcs: Rpcs = {
            "BuildCommunities": Unary(self._build_communities),
            "GetCommunityBuild": Unary(self._get_community_build),
            "ListCommunities": Unary(self._list_communities),
        }

    def _build_communities(self, sent: admin_pb2.BuildCommunitiesInput, check: RequestCheck) -> Operation:
        group_ids = check.group_ids("input.group_ids", sent.group_ids)

        async def run() -> Reply:
            builds = await communities.build_communities(self._core, group_ids, check.idempotency_key)
            output = admin_pb2.BuildCommunitiesOutput(builds=map(_build, builds))
            return Reply(output, envelope_pb2.STATUS_ACCEPTED)

        return run

    def _get_community_build(self, sent: admin_pb2.GetCommunityBuildInput, check: RequestCheck) -> Operation:
        build_id = check.uuid(sent, "build_id")
        group_id = check.group_id("input.group_id", sent.group_id)

        async def run() -> Reply:
            build = await communities.get_community_build(self._core, group_id, build_id)
            return Reply(admin_pb2.GetCommunityBuildOutput(build=_build(build)))

        return run

    def _list_communities(self, sent: admin_pb2.ListCommunitiesInput, check: RequestCheck) -> Operation:
        group_id = check.group_id("input.group_id", sent.group_id)
        size, token = check.page_size(sent), check.page_token(sent)

        async def run() -> Reply:
            page = await communities.list_communities(self._core, group_id, size, token)
            rows = map(mapping.community, page.rows)
            token_out = page.next_token or ""
            return Reply(admin_pb2.ListCommunitiesOutput(communities=rows, next_page_token=token_out))

        return run


def _build(build: CommunityBuild) -> admin_pb2.CommunityBuild:
    """A build; the reason of an earlier failure is left out once the build runs again or has completed."""
    with_reason = build.state in {BuildState.PENDING, BuildState.FAILED}
    return admin_pb2.CommunityBuild(
        build_id=build.build_id,
        group_id=build.group_id,
        state=_STATES[build.state],
        communities=build.communities,
        summarised=build.summarised,
        reason=build.reason if with_reason else None,
        updated_at=mapping.timestamp(build.updated_ms),
    )
