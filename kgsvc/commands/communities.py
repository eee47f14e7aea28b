"""Asking for builds, and listing what the last one found, on a caller's behalf."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kgsvc.domain.clock import Clock
from kgsvc.domain.errors import InvalidArgument, NotFound, Violation
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.communities import BuildRequest, Community, CommunityBuild, CommunityPage
from kgsvc.domain.model.delta import Claim
from kgsvc.domain.model.identity import digest
from kgsvc.stores.community_protocol import CommunityStore

OPERATION = "BuildCommunities"
_READ_AT_ONCE = 20  # communities; each may show a thousand members
_OVERHEAD_BYTES = 64  # of a community's message beside its texts, generously
_BYTES_AROUND_TEXT = 4


@dataclass(frozen=True, slots=True)
class Listed:
    """Some communities, by uuid, and what asks for the next ones (None: these were the last)."""

    rows: tuple[Community, ...]
    next_token: str | None = None


class Communities:
    """Requests and listings."""

    def __init__(
        self, store: CommunityStore, limits: Limits, clock: Clock, new_id: Callable[[], str]
    ) -> None:
        self._store = store
        self._limits = limits
        self._clock = clock
        self._new_id = new_id

    async def request(self, group_ids: Sequence[str], key: str | None) -> list[CommunityBuild]:
        """A build for each group, in order; a group that is named twice has one. Raises Conflict (the key was
        used with other groups), StoreUnavailable."""
        now_ms = self._clock.now_ms()
        distinct = list(dict.fromkeys(group_ids))
        claim = None
        if key is not None:
            window_ms = self._limits.dedup_window_ms
            claim = Claim(OPERATION, key, digest(sorted(distinct)), now_ms, window_ms)
        requests = [BuildRequest(group_id, self._new_id(), now_ms) for group_id in distinct]
        found = dict(zip(distinct, await self._store.request_builds(requests, claim), strict=True))
        return [found[group_id] for group_id in group_ids]

    async def build(self, group_id: str, build_id: str) -> CommunityBuild:
        """The build. Raises NotFound, StoreUnavailable."""
        found = await self._store.build(group_id, build_id)
        if found is None:
            raise NotFound("the group has no build of this id")
        return found

    async def listed(self, group_id: str, page_size: int, token: str | None) -> Listed:
        """Up to `page_size` communities, fewer where the answer grows too large, at least one.

        Raises InvalidArgument for a token of another listing, and when the communities were built anew since
        the first page: then listing begins again.
        """
        build_id, after = (None, "") if token is None else _decode(token, group_id)
        taken: list[Community] = []
        room = self._limits.response_bytes
        more = True
        while more and len(taken) < page_size and (room > 0 or not taken):
            wanted = min(_READ_AT_ONCE, page_size - len(taken))
            page = await self._store.communities(group_id, wanted, after, build_id)
            build_id = _same(page, build_id)
            more = page.more
            for row in page.rows:
                room -= _size(row)
                if taken and room <= 0:
                    more = True
                    break
                taken.append(row)
                after = row.uuid
        return Listed(tuple(taken), _encode(group_id, build_id, after) if more and build_id else None)


def _same(page: CommunityPage, build_id: str | None) -> str | None:
    if build_id is not None and page.build_id != build_id:
        says = "is of communities that were built anew since: begin without a token"
        raise InvalidArgument(f"page_token: {says}", [Violation("page_token", says)])
    return page.build_id


def _size(row: Community) -> int:
    texts = (row.name, row.summary, row.uuid, row.group_id, *row.member_uuids)
    return _OVERHEAD_BYTES + sum(len(text.encode()) + _BYTES_AROUND_TEXT for text in texts)


def _encode(group_id: str, build_id: str, after: str) -> str:
    text = json.dumps([digest(group_id)[:12], build_id, after], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode()


def _decode(token: str, group_id: str) -> tuple[str, str]:
    try:
        match json.loads(base64.b64decode(token, altchars=b"-_", validate=True)):
            case [str(listing), str(build_id), str(after)] if listing == digest(group_id)[:12]:
                (build_id + after).encode()  # JSON can name half a character, which no store takes
                return build_id, after
    except (ValueError, binascii.Error, RecursionError):
        pass  # as wrong as a token of another listing
    says = "is not a token of this listing"
    raise InvalidArgument(f"page_token: {says}", [Violation("page_token", says)])
