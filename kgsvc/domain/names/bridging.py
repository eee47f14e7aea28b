"""Which known entities turn out to be one, and which stay two whatever a text says. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kgsvc.domain.model.delta import NameView
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.names.entities import (
    UNSPECIFIC,
    BatchItem,
    Home,
    home_of,
    homes_of,
    is_callers,
    renames_of,
    uses_of,
)
from kgsvc.domain.names.namesakes import exclude
from kgsvc.domain.names.similarity import figures_differ
from kgsvc.domain.resolution.decisions import NameDecision

_TAKEN_OUT = "s."  # before the uuid of the other one, in the stamps of an entity


@dataclass(frozen=True, slots=True)
class Bridge:
    """Two entities that a name of the episode leads together. `renamed`: it tells that one is called as the
    other."""

    kept: Entity
    gone: Entity
    by_episode: str
    renamed: bool = False

    @property
    def pair(self) -> tuple[str, str]:
        """Their uuids."""
        return (self.kept.uuid, self.gone.uuid)


def bridges(items: Sequence[BatchItem], view: NameView, decided: Mapping[str, NameDecision]) -> list[Bridge]:
    """The pairs that names of the batch lead together and that may merge, by name.

    After each merge the view is another: what then is left is found by asking again.
    """
    nodes = uses_of(items)
    homes = homes_of(nodes, view, decided)
    found: dict[tuple[str, str], Bridge] = {}
    for key in sorted(nodes):
        for also in decided[key].also if key in decided else ():
            one, other = homes[key], home_of(also, view, decided)
            other = homes.get(other, other) if isinstance(other, str) else other
            if isinstance(one, Entity) and isinstance(other, Entity) and may_merge(one, other):
                kept, gone = sorted((one, other), key=_standing)
                bridge = Bridge(kept, gone, nodes[key][0][1].uuid)
                found.setdefault(bridge.pair, bridge)
    return [*_renaming(items, homes), *found.values()]


def _renaming(items: Sequence[BatchItem], homes: Mapping[str, Home]) -> Iterator[Bridge]:
    for rename in renames_of(items):
        one, other = (homes[key] for key in rename.keys)
        if isinstance(one, Entity) and isinstance(other, Entity) and may_be_renamed(one, other):
            kept, gone = sorted((one, other), key=_standing)
            yield Bridge(kept, gone, rename.episode_uuid, renamed=True)


def may_merge(one: Entity, other: Entity) -> bool:
    """Never what two callers' names stand for, nor what a caller took apart, nor two things of different
    types."""
    return (
        one.uuid != other.uuid
        and not (is_callers(one) and is_callers(other))
        and not (taken_out_of(one, other) or taken_out_of(other, one))
        and not types_differ(one.labels, other.labels)
    )


def may_be_renamed(one: Entity, other: Entity) -> bool:
    """As `may_merge`, for two that a text says to be one: only types that exclude one another part them."""
    callers = is_callers(one) and is_callers(other)
    return one.uuid != other.uuid and not callers and not exclude(one.labels, other.labels)


def names_allow(names: Collection[str], others: Collection[str]) -> bool:
    """Whether two entities with all these names may merge: not where they differ in figures."""
    return not figures_differ(names, others)


def types_differ(one: Collection[str], other: Collection[str]) -> bool:
    """Whether both have specific types, and none in common."""
    first, second = set(one) - UNSPECIFIC, set(other) - UNSPECIFIC
    return bool(first and second) and first.isdisjoint(second)


def taken_out(entity: Entity, of: Entity) -> Entity:
    """The entity, which remembers of what it was a part: no text makes one of the two again by a name."""
    return replace(entity, stamps={**entity.stamps, _TAKEN_OUT + of.uuid: ""})


def taken_out_of(one: Entity, other: Entity) -> bool:
    """Whether a caller took the one out of the other."""
    return _TAKEN_OUT + other.uuid in one.stamps


def _standing(entity: Entity) -> tuple[bool, int, str]:
    """The first of two stays: a caller's, else the older one."""
    return (not is_callers(entity), entity.created_ms, entity.uuid)
