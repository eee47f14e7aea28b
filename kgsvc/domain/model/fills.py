"""Filling in vectors: of what came into a group without them, and of all of a group that goes over to the
space of another embedder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kgsvc.domain.model.graph import Usage

Place = tuple[int, str]  # a revision that was looked through, and a uuid up to which the next one was


@dataclass(frozen=True, slots=True)
class FillWork:
    """A group that is to be looked through, and who does it."""

    group_id: str
    token: int  # moves with every claim
    owner_id: str | None  # None: free
    renewals: int  # moves while the owner lives


@dataclass(frozen=True, slots=True)
class FillLease:
    """The right to look through a group: valid while its record holds this token (fencing)."""

    group_id: str
    owner_id: str
    token: int
    epoch: int  # of the group
    attempt: int  # claims since the last page was written, this one included; what is given up counts none
    place: Place  # up to which entities, episodes and communities were looked through
    facts_rev: int = 0  # up to which facts were
    space: str = ""  # in which all of the group is to have vectors
    former: str = ""  # the space in use, if it is another one: the group goes over


@dataclass(frozen=True, slots=True)
class Filled:
    """What a page came to: of entities, episodes and communities, or of facts."""

    place: Place  # where the page ends
    passages: Mapping[str, bytes] = field(default_factory=dict)  # as in GraphDelta
    space: str = ""
    spent: Mapping[str, Usage] = field(default_factory=dict)  # by episode
    facts_rev: int = 0
    vectors: Mapping[str, bytes] = field(default_factory=dict)  # of entities, facts and communities, by uuid


@dataclass(frozen=True, slots=True)
class Reembedding:
    """How far a group is on its way to another space."""

    group_id: str
    former: str  # the space in use
    space: str
    embedded: int  # rows that have vectors of the new space by this
    share: float  # of the group that was looked through, by revisions: 0 to 1
