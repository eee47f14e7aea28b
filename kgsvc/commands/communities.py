"""BuildCommunities, GetCommunityBuild and ListCommunities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgsvc.commands.core import Core, page_token, parts_of, wrong_token
from kgsvc.domain.errors import NotFound
from kgsvc.domain.model.communities import BuildRequest, Community, CommunityBuild, CommunityPage
from kgsvc.domain.model.keys import digest

OPERATION = "BuildCommunities"
_READ_AT_ONCE = 20  # communities; each may show a thousand members
_OVERHEAD_BYTES = 64  # of a community's message without its texts, rounded up
_BYTES_AROUND_TEXT = 4


@dataclass(frozen=True, slots=True)
class CommunityListing:
    """Some communities, by uuid, and the token of the next page (None: these were the last)."""

    rows: tuple[Community, ...]
    next_token: str | None = None


async def build_communities(core: Core, group_ids: Sequence[str], key: str | None) -> list[CommunityBuild]:
    """Request a build for each group, in order; a group that is named twice has one build.

    Raises Conflict (the idempotency key was used with other groups), StoreUnavailable.
    """
    now_ms = core.clock.now_ms()
    distinct = list(dict.fromkeys(group_ids))
    claim = core.claim(OPERATION, key, digest(sorted(distinct)))
    requests = [BuildRequest(group_id, core.new_id(), now_ms) for group_id in distinct]
    builds = dict(zip(distinct, await core.store.request_builds(requests, claim), strict=True))
    core.activity.poke()
    return [builds[group_id] for group_id in group_ids]


async def get_community_build(core: Core, group_id: str, build_id: str) -> CommunityBuild:
    """The build. Raises NotFound, StoreUnavailable."""
    build = await core.store.build(group_id, build_id)
    if build is None:
        raise NotFound("the group has no build with this id")
    return build


async def list_communities(core: Core, group_id: str, page_size: int, token: str | None) -> CommunityListing:
    """Up to `page_size` communities, fewer where the answer grows too large, at least one.

    Raises InvalidArgument for a token of another listing, and when the communities were rebuilt since the
    first page: then listing begins again.
    """
    build_id, after = (None, "") if token is None else _decoded(token, group_id)
    taken: list[Community] = []
    room = core.limits.response_bytes
    more = True
    while more and len(taken) < page_size and (room > 0 or not taken):
        at_once = min(_READ_AT_ONCE, page_size - len(taken))
        page = await core.store.communities(group_id, at_once, after, build_id)
        build_id = _same_build(page, build_id)
        more = page.more
        for row in page.rows:
            room -= _size(row)
            if taken and room <= 0:
                more = True
                break
            taken.append(row)
            after = row.uuid
    next_token = page_token(digest(group_id)[:12], build_id, after) if more and build_id else None
    return CommunityListing(tuple(taken), next_token)


def _same_build(page: CommunityPage, build_id: str | None) -> str | None:
    if build_id is not None and page.build_id != build_id:
        raise wrong_token(
            "belongs to communities that were replaced by a new build: start again without a token"
        )
    return page.build_id


def _decoded(token: str, group_id: str) -> tuple[str, str]:
    match parts_of(token):
        case [str(listing), str(build_id), str(after)] if listing == digest(group_id)[:12]:
            return build_id, after
    raise wrong_token()


def _size(row: Community) -> int:
    texts = (row.name, row.summary, row.uuid, row.group_id, *row.member_uuids)
    return _OVERHEAD_BYTES + sum(len(text.encode()) + _BYTES_AROUND_TEXT for text in texts)
