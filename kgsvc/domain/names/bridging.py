"""Names that show two known entities to be one: which merge, and which of the two stays. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kgsvc.domain.model.delta import NameView
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.names.entities import UNSPECIFIC, BatchItem, home_of, homes_of, told_in
from kgsvc.domain.names.similarity import figures_differ
from kgsvc.domain.resolution.decisions import NameDecision

MOST = 8  # entities that one micro-batch may take away by merges
MOVED = 1_000  # facts and mentions that such a merge moves: the batch and its group wait meanwhile

_CALLERS = ""  # in the stamp of a name: a caller gave it


@dataclass(frozen=True, slots=True)
class Bridge:
    """Two entities that a name of the episode leads together."""

    kept: Entity
    gone: Entity
    by_episode: str

    @property
    def pair(self) -> tuple[str, str]:
        """Their uuids."""
        return (self.kept.uuid, self.gone.uuid)


def bridges(items: Sequence[BatchItem], view: NameView, decided: Mapping[str, NameDecision]) -> list[Bridge]:
    """The pairs that names of the batch lead together and that may merge, by name.

    After each merge the view is another: what then is left is found by asking again.
    """
    nodes = told_in(items)
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
    return list(found.values())


def may_merge(one: Entity, other: Entity) -> bool:
    """Never what two callers' names stand for, nor two things of different types."""
    return (
        one.uuid != other.uuid
        and not (is_callers(one) and is_callers(other))
        and not types_differ(one.labels, other.labels)
    )


def names_allow(names: Collection[str], others: Collection[str]) -> bool:
    """Whether two entities with all these names may merge: not where they differ in figures."""
    return not figures_differ(names, others)


def types_differ(one: Collection[str], other: Collection[str]) -> bool:
    """Whether both have types that say something, and none in common."""
    first, second = set(one) - UNSPECIFIC, set(other) - UNSPECIFIC
    return bool(first and second) and first.isdisjoint(second)


def is_callers(entity: Entity) -> bool:
    """Whether a caller named it, or it came with a graph that was taken over."""
    return entity.stamps.get("name", _CALLERS) == _CALLERS


def _standing(entity: Entity) -> tuple[bool, int, str]:
    """The first of two stays: a caller's, else the older one."""
    return (not is_callers(entity), entity.created_ms, entity.uuid)
