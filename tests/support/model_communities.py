"""The model's CommunityStore."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kgsvc.domain.errors import LeaseLost
from kgsvc.domain.model.communities import (
    Behind,
    BuildLease,
    BuildRequest,
    BuildState,
    BuildWork,
    Community,
    CommunityBuild,
    CommunityPage,
    Described,
    Draft,
    Link,
    Links,
)
from kgsvc.domain.model.delta import Claim
from kgsvc.domain.model.graph import Fact
from kgsvc.stores.search_protocol import IndexedCommunity
from tests.support.model_history import ModelHistory
from tests.support.model_rows import Answer, Group


@dataclass(eq=False)
class Build:
    """A build with its communities."""

    shown: CommunityBuild
    next_ms: int
    token: int = 0
    owner_id: str | None = None
    renewals: int = 0
    attempts: int = 0
    drafted: bool = False
    drafts: dict[str, Draft] = field(default_factory=dict)
    described: dict[str, Described] = field(default_factory=dict)

    def unsay(self, unsaid: set[str]) -> None:
        for uuid, told in self.described.items():
            draft = self.drafts[uuid]
            if unsaid.intersection(draft.hubs):
                self.described[uuid] = Described(uuid, "", "")
            elif unsaid.intersection(draft.facts):
                self.described[uuid] = replace(told, summary="")

    def become(self, state: BuildState, now_ms: int, reason: str | None = None) -> None:
        self.shown = replace(self.shown, state=state, updated_ms=now_ms, reason=reason)


class ModelCommunities(ModelHistory):
    """Builds, drafts and the communities published last."""

    async def request_builds(
        self, requests: Sequence[BuildRequest], claim: Claim | None = None
    ) -> list[CommunityBuild]:
        for request in requests:
            self._answered(self.peek(request.group_id), claim)
        return [self._request(request, claim) for request in requests]

    def _answered(self, group: Group, claim: Claim | None) -> Answer | None:
        if claim is None:
            return None
        return group.known_answer(claim.operation, claim.key, claim.input_hash, claim.now_ms)

    def _request(self, request: BuildRequest, claim: Claim | None) -> CommunityBuild:
        group = self._group(request.group_id)
        known = self._answered(group, claim)
        if known is not None:
            return self._builds(group)[known.build_id].shown
        found = next((b for b in self._builds(group).values() if not b.shown.state.over), None)
        if found is None:
            at = request.now_ms
            shown = CommunityBuild(request.build_id, request.group_id, BuildState.PENDING, at, at)
            found = self._builds(group)[request.build_id] = Build(shown, at)
        if claim is not None:
            until_ms = claim.now_ms + claim.dedup_window_ms
            answer = Answer(claim.input_hash, until_ms, build_id=found.shown.build_id)
            group.answers[claim.operation, claim.key] = answer
        return found.shown

    def _builds(self, group: Group) -> dict[str, Build]:
        builds: dict[str, Build] = group.builds
        return builds

    def _building(self, lease: BuildLease) -> Build:
        group = self.peek(lease.group_id)
        build = self._builds(group).get(lease.build_id)
        if build is None or build.shown.state.over or group.epoch != lease.epoch:
            raise LeaseLost("gone")
        if (build.token, build.owner_id) != (lease.token, lease.owner_id):
            raise LeaseLost("taken over")
        return build

    async def build(self, group_id: str, build_id: str) -> CommunityBuild | None:
        found = self._builds(self.peek(group_id)).get(build_id)
        return None if found is None else found.shown

    async def open_builds(self, now_ms: int, limit: int) -> list[BuildWork]:
        found = [b for group in self._groups.values() for b in self._builds(group).values()]
        due = [b for b in found if not b.shown.state.over and b.next_ms <= now_ms]
        due.sort(key=lambda b: (b.next_ms, b.shown.build_id))
        return [_work(build) for build in due[:limit]]

    async def claim_build(self, seen: BuildWork, owner_id: str, now_ms: int) -> BuildLease | None:
        group = self.peek(seen.group_id)
        build = self._builds(group).get(seen.build_id)
        if build is None or build.shown.state.over:
            return None
        if (build.token, build.owner_id, build.renewals) != (seen.token, seen.owner_id, seen.renewals):
            return None
        build.token, build.owner_id, build.attempts = build.token + 1, owner_id, build.attempts + 1
        build.become(BuildState.RUNNING, now_ms, build.shown.reason)
        return BuildLease(
            seen.build_id,
            seen.group_id,
            owner_id,
            build.token,
            group.epoch,
            build.attempts,
            build.shown.created_ms,
            build.drafted,
        )

    async def renew_build(self, lease: BuildLease) -> bool:
        try:
            self._building(lease).renewals += 1
        except LeaseLost:
            return False
        return True

    async def release_build(self, lease: BuildLease, now_ms: int) -> None:
        try:
            build = self._building(lease)
        except LeaseLost:
            return
        build.owner_id, build.attempts = None, max(build.attempts - 1, 0)
        build.become(BuildState.PENDING, now_ms, build.shown.reason)

    async def fail_build(self, lease: BuildLease, reason: str, now_ms: int, next_ms: int | None) -> None:
        build = self._building(lease)
        build.owner_id, build.next_ms = None, next_ms or 0
        build.become(BuildState.FAILED if next_ms is None else BuildState.PENDING, now_ms, reason)

    async def links(self, group_id: str, at_ms: int, after_rev: int, limit: int) -> Links:
        group = self.peek(group_id)
        later = sorted((rev, uuid) for uuid, rev in group.fact_rev.items() if rev > after_rev)
        upto_rev = later[limit - 1][0] if len(later) >= limit else group.rev
        facts = [group.facts[uuid] for rev, uuid in later if rev <= upto_rev]
        rows = tuple(Link(f.uuid, f.source_uuid, f.target_uuid, _current(f, at_ms)) for f in facts)
        return Links(rows, upto_rev, upto_rev < group.rev)

    async def clear_drafts(self, lease: BuildLease) -> None:
        self._building(lease).drafts.clear()

    async def put_drafts(self, lease: BuildLease, drafts: Sequence[Draft]) -> None:
        build, entities = self._building(lease), self.peek(lease.group_id).entities
        for draft in drafts:
            known = build.drafts.get(draft.uuid, replace(draft, members=()))
            members = {*known.members, *(uuid for uuid in draft.members if uuid in entities)}
            build.drafts[draft.uuid] = replace(known, members=tuple(sorted(members)))

    async def end_drafts(self, lease: BuildLease, count: int, now_ms: int) -> None:
        build = self._building(lease)
        build.drafted, build.attempts = True, 1
        build.shown = replace(build.shown, communities=count, updated_ms=now_ms)

    async def drafts(self, lease: BuildLease, limit: int) -> list[Draft]:
        build = self._builds(self.peek(lease.group_id))[lease.build_id]
        plain = [draft for uuid, draft in sorted(build.drafts.items()) if uuid not in build.described]
        return [replace(draft, members=()) for draft in plain[:limit]]

    async def describe(self, lease: BuildLease, described: Sequence[Described], now_ms: int) -> None:
        build = self._building(lease)
        for each in described:
            if each.uuid in build.drafts:
                build.described.setdefault(each.uuid, each)
        build.attempts = 1
        build.shown = replace(build.shown, summarised=len(build.described), updated_ms=now_ms)

    async def publish(self, lease: BuildLease, now_ms: int) -> None:
        self._building(lease).become(BuildState.COMPLETED, now_ms)
        group = self.peek(lease.group_id)
        group.rev += 1
        group.current_build, group.followed_rev, group.communities_rev = lease.build_id, 0, group.rev

    async def communities(self, group_id: str, limit: int, after: str, build_id: str | None) -> CommunityPage:
        group = self.peek(group_id)
        if group.current_build is None or build_id not in (None, group.current_build):
            return CommunityPage(group.current_build, ())
        build = self._builds(group)[group.current_build]
        rows = [_community(group, build, uuid) for uuid in sorted(build.drafts) if uuid > after]
        return CommunityPage(group.current_build, tuple(rows[:limit]), len(rows) > limit)

    async def communities_of(self, group_id: str, uuids: Collection[str]) -> list[Community]:
        page = await self.communities(group_id, 1_000_000, "", None)
        return [row for row in page.rows if row.uuid in uuids]

    def _grouped(
        self, group: Group, after: tuple[int, str], upto: tuple[int, str]
    ) -> tuple[IndexedCommunity, ...] | None:
        if group.current_build is None or not after <= (group.communities_rev, "") <= upto:
            return None
        build = self._builds(group)[group.current_build]
        return tuple(_indexed(group, build, uuid) for uuid in sorted(build.drafts))


class ModelFollowing(ModelCommunities):
    """Communities that follow the graph."""

    async def behind(self, limit: int) -> list[Behind]:
        found = [
            Behind(group.group_id, group.current_build, group.followed_rev)
            for _, group in sorted(self._groups.items())
            if group.current_build is not None and group.followed_rev < group.rev
        ]
        return found[:limit]

    async def placements(self, group_id: str, uuids: Collection[str]) -> dict[str, str]:
        group = self.peek(group_id)
        if group.current_build is None:
            return {}
        drafts = self._builds(group)[group.current_build].drafts.values()
        placed = {member: draft.uuid for draft in drafts for member in draft.members}
        return {uuid: placed[uuid] for uuid in uuids if uuid in placed and uuid in group.entities}

    async def join(self, behind: Behind, upto_rev: int, members: Mapping[str, str]) -> bool:
        group = self.peek(behind.group_id)
        if (group.current_build, group.followed_rev) != (behind.build_id, behind.rev):
            return False
        group.followed_rev = upto_rev
        drafts = self._builds(group)[behind.build_id].drafts
        for entity, community in members.items():
            if entity in group.entities and community in drafts:
                draft = drafts[community]
                drafts[community] = replace(draft, members=tuple(sorted({*draft.members, entity})))
        return True


def _work(build: Build) -> BuildWork:
    shown = build.shown
    return BuildWork(shown.build_id, shown.group_id, build.token, build.owner_id, build.renewals)


def _current(fact: Fact, at_ms: int) -> bool:
    ended = fact.invalid_ms is not None and fact.invalid_ms <= at_ms
    return fact.expired_ms is None and fact.start_ms <= at_ms and not ended


def _indexed(group: Group, build: Build, uuid: str) -> IndexedCommunity:
    shown, told = _community(group, build, uuid), build.described.get(uuid)
    known = (told.space, told.vector) if told and told.vector and shown.name else ("", None)
    return IndexedCommunity(uuid, shown.name, shown.summary, shown.created_ms, *known)


def _community(group: Group, build: Build, uuid: str) -> Community:
    draft, told = build.drafts[uuid], build.described.get(uuid, Described(uuid, "", ""))
    members = tuple(member for member in draft.members if member in group.entities)
    named = all(hub in group.entities for hub in draft.hubs)
    whole = named and all(fact not in group.removed_rev for fact in draft.facts)
    name, summary = told.name if named else "", told.summary if whole else ""
    return Community(uuid, group.group_id, name, summary, build.shown.created_ms, len(members), members)
