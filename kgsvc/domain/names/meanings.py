"""What names mean: known entities or new ones, renames, and which known entities turn out to be one. Pure.

A rename is a fact RENAMED_TO from the old name to the new one: "Sparrow is called Lantern from today" makes
one entity of the two names. The entity remembers each name with the moment from which it bears it, as stamps;
the latest that has come is shown, in whatever order they were told. Where all are still to come, the name
from before is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kgsvc.domain.model.delta import NameView
from kgsvc.domain.model.extraction import ANY, UNKNOWN, ExtractedNode, Extraction
from kgsvc.domain.model.graph import Entity, Episode, Polarity
from kgsvc.domain.model.keys import EARLIEST_STAMP_MS, name_key, stamp_of
from kgsvc.domain.names.namesakes import exclude, plain
from kgsvc.domain.names.similarity import folded
from kgsvc.domain.resolution.decisions import NameDecision, NameTarget

RENAMED_TO = "RENAMED_TO"
# Before a name, in the stamps of an entity: since when it bears the name, and who told. An announced one
# waits for its day by the clock; any other holds as soon as it is told, whatever the clock says.
_BORNE = "r."
_ANNOUNCED = "q."
_MOST = 32  # names that an entity is remembered to have borne
_TAKEN_OUT = "s."  # before the uuid of the other one, in the stamps of an entity
_CALLERS = ""  # in the stamp of a name: a caller gave it
UNSPECIFIC = frozenset({ANY, UNKNOWN})  # types that tell nothing apart

Home = Entity | str  # the entity that a name means, or the name key of the new one that it means
NodeUse = tuple[str, Episode, ExtractedNode]  # with the stamp of its episode


@dataclass(frozen=True, slots=True)
class Rename:
    """From `at_ms` on `old` is called `new`."""

    at_ms: int
    episode_uuid: str
    old: str
    new: str
    announced: bool = False

    @property
    def keys(self) -> tuple[str, str]:
        """The name keys, the old one first."""
        return (name_key(self.old), name_key(self.new))


def renames_in(episode: Episode, extraction: Extraction) -> Iterator[Rename]:
    """Those that the episode tells."""
    names = {node.ref: node.name.strip() for node in extraction.nodes}
    for edge in extraction.edges:
        if edge.name == RENAMED_TO and edge.polarity is Polarity.ASSERTS:
            at_ms = episode.reference_ms if edge.valid_ms is None else edge.valid_ms
            ends = names[edge.source_ref], names[edge.target_ref]
            found = Rename(at_ms, episode.uuid, *ends, announced=at_ms > episode.reference_ms)
            if len(set(found.keys)) == 2:
                yield found


def with_renames(decided: Mapping[str, NameDecision], renames: Iterable[Rename]) -> dict[str, NameDecision]:
    """The decisions, by which each new name means what its old one does too."""
    found = dict(decided)
    for each in renames:
        _, key = each.keys
        decision = found.get(key, NameDecision(each.new))
        found[key] = replace(decision, also=(*decision.also, NameTarget(each.old)))
    return found


def renamed(entity: Entity, rename: Rename) -> Entity:
    """The entity, which remembers both names."""
    stamp = stamp_of(rename.at_ms, rename.episode_uuid)
    before = plain(rename.old) if name_key(entity.name) == plain(rename.keys[1]) else entity.name
    borne = {part for part in entity.stamps if name_borne(part)}
    told = {part: entity.stamps[part] for part in borne}
    told.setdefault(_BORNE + before, stamp_of(EARLIEST_STAMP_MS, rename.episode_uuid))
    new = (_ANNOUNCED if rename.announced else _BORNE) + plain(rename.new)
    told[new] = max(stamp, told.get(new, ""))
    kept = sorted(told, key=lambda part: (told[part], part))[-_MOST:]
    others = {part: each for part, each in entity.stamps.items() if part not in borne}
    return replace(entity, stamps=others | {part: told[part] for part in kept})


def name_borne(part: str) -> str:
    """The name that a stamp remembers; empty: the stamp is of something else."""
    return part[2:] if part.startswith((_BORNE, _ANNOUNCED)) else ""


def shown(entity: Entity, now_ms: int, lost: Collection[str] = ()) -> Entity:
    """The entity under the name that it bears at `now_ms`; `lost` are name keys that lead to it no more. A
    fuller form of that name stays, and so does the name of what was never renamed or what a caller named."""
    now = stamp_of(now_ms + 1, "")
    came = [
        (stamp, name)
        for part, stamp in entity.stamps.items()
        if (name := name_borne(part)) and name_key(name) not in lost
        if stamp < now or part.startswith(_BORNE)
    ]
    if not came or not entity.stamps.get("name"):
        return entity
    _, name = max(came)
    known = {name_borne(part) for part in entity.stamps}
    fuller = set(folded(name).split()) < set(folded(entity.name).split()) and entity.name not in known
    return entity if fuller and name_key(entity.name) not in lost else replace(entity, name=name)


@dataclass(frozen=True, slots=True)
class BatchItem:
    """An episode with what was extracted from it."""

    episode: Episode
    extraction: Extraction
    accepted_ms: int
    sequence: int = 0  # see QueuedItem


def is_callers(entity: Entity) -> bool:
    """Whether a caller named it, or it came with a graph that was taken over."""
    return entity.stamps.get("name", _CALLERS) == _CALLERS


def uses_of(items: Sequence[BatchItem]) -> dict[str, list[NodeUse]]:
    """The nodes of each name with their episodes, by name key, earliest first."""
    nodes: dict[str, list[NodeUse]] = {}
    for item in items:
        for node in item.extraction.nodes:
            entry = (stamp_of(item.episode.reference_ms, item.episode.uuid), item.episode, node)
            nodes.setdefault(name_key(node.name), []).append(entry)
    for entries in nodes.values():
        entries.sort(key=lambda entry: (entry[0], entry[2].name, entry[2].ref))
    return nodes


def homes_of(
    nodes: Mapping[str, list[NodeUse]], view: NameView, decided: Mapping[str, NameDecision]
) -> dict[str, Home]:
    """What each name means. New names that were decided to be one share a home; names of two known entities
    stay apart: those are for a merge to join (see `bridges`)."""
    homes: dict[str, Home] = {key: _home(key, view, decided, frozenset()) for key in sorted(nodes)}
    for _, one, other in _led_together(nodes, homes, view, decided):
        if isinstance(other, Entity) and isinstance(one, Entity):
            continue
        first, then = sorted((one, other), key=lambda home: _age(home, nodes))
        if isinstance(then, str) and then != first:
            homes |= {each: first for each, home in homes.items() if home == then} | {then: first}
    return homes


def _led_together(
    nodes: Iterable[str], homes: Mapping[str, Home], view: NameView, decided: Mapping[str, NameDecision]
) -> Iterator[tuple[str, Home, Home]]:
    """The names that were decided to mean several things, with two of their homes each, as these are when it
    is their turn."""
    for key in sorted(nodes):
        for also in decided[key].also if key in decided else ():
            other = home_of(also, view, decided)
            yield key, homes[key], homes.get(other, other) if isinstance(other, str) else other


def home_of(meant: NameTarget, view: NameView, decided: Mapping[str, NameDecision]) -> Home:
    """The home of what a decision names."""
    if meant.uuid is not None and meant.uuid in view.by_uuid:
        return view.by_uuid[meant.uuid]
    return _home(name_key(meant.name), view, decided, frozenset())


def _age(home: Home, nodes: Mapping[str, list[NodeUse]]) -> tuple[bool, bool, str, str]:
    """Sorts known entities first, then names by their first use."""
    if isinstance(home, Entity):
        return (False, False, "", home.uuid)
    told = nodes.get(home)
    return (True, told is None, told[0][0] if told else "", home)


def _home(key: str, view: NameView, decided: Mapping[str, NameDecision], passed: frozenset[str]) -> Home:
    found, decision = view.by_key.get(key), decided.get(key)
    if found is not None or decision is None:
        return key if found is None else found
    if decision.uuid is not None and decision.uuid in view.by_uuid:
        return view.by_uuid[decision.uuid]
    other = name_key(decision.name)
    if other in passed:  # decisions of two calls may point at one another
        return min(passed | {key})
    return key if other in ("", key) else _home(other, view, decided, passed | {key})


def renames_of(items: Sequence[BatchItem]) -> list[Rename]:
    """What the batch tells of renames, by time."""
    found = [each for item in items for each in renames_in(item.episode, item.extraction)]
    return sorted(found, key=lambda each: (each.at_ms, each.episode_uuid, each.old, each.new))


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
    for key, one, other in _led_together(nodes, homes, view, decided):
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
    """Whether two entities may become one: not if callers named both, if a caller split one off the other, or
    if their types differ."""
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


def specific(types: Collection[str]) -> frozenset[str]:
    """Those that tell kinds apart."""
    return frozenset(types) - UNSPECIFIC


def types_differ(one: Collection[str], other: Collection[str]) -> bool:
    """Whether both have specific types, and none in common."""
    first, second = specific(one), specific(other)
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
