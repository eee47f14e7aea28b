"""Communities of a group's entities, and the durable build that finds them (docs/concepts.md)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from kgsvc.domain.model.keys import digest, mint


class BuildState(StrEnum):
    """pending → running → completed, or after its last attempt failed; a failed attempt is pending again."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"

    @property
    def over(self) -> bool:
        """Whether nothing more will happen to the build."""
        return self in {BuildState.COMPLETED, BuildState.FAILED}


MEMBERS_SHOWN = 1_000


@dataclass(frozen=True, slots=True)
class Community:
    """Entities that belong together, as they are listed."""

    uuid: str
    group_id: str
    name: str
    summary: str
    created_ms: int  # when its build was asked for
    member_count: int
    member_uuids: tuple[str, ...]  # the first MEMBERS_SHOWN, by uuid


@dataclass(frozen=True, slots=True)
class CommunityBuild:
    """How far a build is."""

    build_id: str
    group_id: str
    state: BuildState
    created_ms: int
    updated_ms: int
    communities: int = 0  # found
    summarised: int = 0  # of these
    reason: str | None = None  # of its last failed attempt


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """A group whose communities are asked for; `build_id` is used unless a build is under way."""

    group_id: str
    build_id: str
    now_ms: int


@dataclass(frozen=True, slots=True)
class BuildWork:
    """A build that is not over, and who works on it."""

    build_id: str
    group_id: str
    token: int  # moves with every claim
    owner_id: str | None  # None: free
    renewals: int  # moves while the owner lives


@dataclass(frozen=True, slots=True)
class BuildLease:
    """The right to work on a build: valid while its record holds this token (fencing)."""

    build_id: str
    group_id: str
    owner_id: str
    token: int
    epoch: int  # of the group
    attempt: int  # since the build last got on, this one included
    created_ms: int  # the build's: at this time facts are current or not, whenever it is resumed
    drafted: bool  # whether all its drafts are stored


@dataclass(frozen=True, slots=True)
class Draft:
    """A community that was found and has neither name nor summary yet."""

    uuid: str
    members: tuple[str, ...]  # entity uuids, sorted
    hubs: tuple[str, ...]  # the most connected members, the most connected first
    facts: tuple[str, ...]  # uuids of facts between members that tell of the hubs, the most telling first
    by_model: bool = False  # whether a model may be asked for its summary


@dataclass(frozen=True, slots=True)
class Described:
    """Name and summary of a draft."""

    uuid: str
    name: str
    summary: str
    vector: bytes | None = None  # of the name: float32 little-endian
    space: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A fact as detection needs it."""

    fact_uuid: str
    source_uuid: str
    target_uuid: str
    current: bool


@dataclass(frozen=True, slots=True)
class FactLinks:
    """Facts of a group by revision, up to `upto_rev`; a fact that changes between two pages comes again."""

    rows: tuple[Link, ...]
    upto_rev: int
    more: bool = False


@dataclass(frozen=True, slots=True)
class CommunityPage:
    """A page of the communities of one build, by uuid. `build_id` is None before the first build."""

    build_id: str | None
    rows: tuple[Community, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Behind:
    """A group whose facts have changed since its communities were last looked after."""

    group_id: str
    build_id: str  # of its communities
    rev: int  # up to which changes were followed


def community_uuid(group_id: str, build_id: str, members: Collection[str]) -> str:
    """The uuid of a community: the same whenever the same build finds the same members."""
    return mint("community", group_id, digest(build_id, sorted(members)))


def membership_uuid(group_id: str, community: str, entity: str) -> str:
    """The uuid of HAS_MEMBER between two."""
    return mint("member", group_id, digest(community, entity))
