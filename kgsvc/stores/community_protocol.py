"""What builds of communities ask of a store; part of stores/protocol.py and under its general promises.

A build is a durable record of its group. Whoever works on it holds its lease; drafts are written under the
lease and seen by nobody until `publish` puts them in the place of the communities before, at once. What a
deleted group had is gone: its builds are not found, and a lease on one is lost.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from kgsvc.domain.model.communities import (
    Behind,
    BuildLease,
    BuildRequest,
    BuildWork,
    Community,
    CommunityBuild,
    CommunityPage,
    Described,
    Draft,
    FactLinks,
)
from kgsvc.domain.model.delta import Claim


class BuildStore(Protocol):
    """Builds and their leases."""

    async def request_builds(
        self, requests: Sequence[BuildRequest], claim: Claim | None = None
    ) -> list[CommunityBuild]:
        """Record a PENDING build for each group, or find the one that is not over; all in one transaction,
        the results in order. Groups are distinct; one without a record gets it. A `claim` known in a group
        with the same input gives the build it was used for, as it is now; with another input: Conflict."""

    async def build(self, group_id: str, build_id: str) -> CommunityBuild | None:
        """The build, None if the group has none of this id."""

    async def remove_builds(self, group_id: str, before_ms: int) -> int:
        """Forget builds that were over before this time, but the one whose communities are read; how many."""

    async def open_builds(self, now_ms: int, limit: int) -> list[BuildWork]:
        """Builds that are not over and not put off beyond `now_ms`, the longest waiting first."""

    async def claim_build(self, seen: BuildWork, owner_id: str, now_ms: int) -> BuildLease | None:
        """Take the lease if the record still is as `seen` and the build is not over: new token = token + 1,
        state RUNNING, one attempt more unless it is the owner's own already; None when somebody was
        faster."""

    async def renew_build(self, lease: BuildLease) -> bool:
        """Move the renewal counter; False when the lease is no longer held."""

    async def release_build(
        self, lease: BuildLease, now_ms: int, reason: str | None = None, next_ms: int | None = None
    ) -> None:
        """Give the build up for somebody else, PENDING, the attempt taken back. Nothing if it is not held.
        With a `reason` the attempt failed: PENDING until `next_ms`, or (None) FAILED for good. LeaseLost."""


class DraftStore(Protocol):
    """Communities while they are built."""

    async def links(self, group_id: str, at_ms: int, after_rev: int, limit: int) -> FactLinks:
        """Facts written after `after_rev` by ascending rev, about `limit` of them (all of one rev together).
        Current: not expired, begun at `at_ms` and not ended by then."""

    async def clear_drafts(self, lease: BuildLease) -> None:
        """Forget the drafts of the build. LeaseLost."""

    async def put_drafts(self, lease: BuildLease, drafts: Sequence[Draft]) -> None:
        """Store drafts. One of a known uuid adds its members to those there; members that are no entity of
        the group are passed over. LeaseLost."""

    async def end_drafts(self, lease: BuildLease, count: int, now_ms: int) -> None:
        """All `count` drafts are stored: the build shows them and is never detected again. The attempts
        count from here. LeaseLost."""

    async def drafts(self, lease: BuildLease, limit: int) -> list[Draft]:
        """Drafts without description by uuid, without their members."""

    async def describe(self, lease: BuildLease, described: Sequence[Described], now_ms: int) -> None:
        """Give drafts their name, summary and vector; the build shows them as summarised. The attempts count
        from here. LeaseLost."""

    async def publish(self, lease: BuildLease, now_ms: int) -> None:
        """The drafts become the group's communities and the build COMPLETED, in one commit, which takes a
        revision. The communities before are removed afterwards; the next `publish` of the group finishes
        that if it was interrupted. LeaseLost."""


class FollowStore(Protocol):
    """Communities that follow the graph between two builds."""

    async def behind(self, limit: int) -> list[Behind]:
        """Groups with communities that have changed since, by group_id. After a publication: every one."""

    async def placements(self, group_id: str, uuids: Collection[str]) -> dict[str, str]:
        """The communities, published last, of those of these entities that are in one."""

    async def join(self, behind: Behind, upto_rev: int, members: Mapping[str, str]) -> bool:
        """Add entities (keys) to communities, and note that changes are followed up to `upto_rev`; False,
        and nothing is written, when the group is no longer as `behind` says. Who is gone is passed over."""


class CommunityStore(BuildStore, DraftStore, FollowStore, Protocol):
    """All of it, and reading the result."""

    async def communities(self, group_id: str, limit: int, after: str, build_id: str | None) -> CommunityPage:
        """Up to `limit` communities by uuid behind `after`, of the build that was published last. When that
        is not `build_id` (None: any), the page names it and is empty."""

    async def communities_of(self, group_id: str, uuids: Collection[str]) -> list[Community]:
        """Those of these that were published last, by uuid."""
