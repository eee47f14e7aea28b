"""Renames: "Sparrow is called Lantern from today" makes one entity of the two names. Pure.

A rename is a fact RENAMED_TO from the old name to the new one. The entity remembers each name with the moment
from which it bears it, as stamps; the latest that has come is shown, in whatever order they were told. Where
all are still to come, the name from before is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from kgsvc.domain.model.extraction import Extraction
from kgsvc.domain.model.graph import Entity, Episode, Polarity
from kgsvc.domain.model.keys import name_key
from kgsvc.domain.names.namesakes import plain
from kgsvc.domain.names.similarity import folded
from kgsvc.domain.resolution.decisions import NameDecision, NameTarget

RENAMED_TO = "RENAMED_TO"
# Before a name, in the stamps of an entity: since when it bears the name, and who told. An announced one
# waits for its day by the clock; any other holds as soon as it is told, whatever the clock says.
_BORNE = "r."
_ANNOUNCED = "q."
_MOST = 32  # names that an entity is remembered to have borne
_SHIFT_MS = 10**15  # so that times before 1970 sort too
_ALWAYS_MS = -_SHIFT_MS


def stamp_of(reference_ms: int, episode_uuid: str) -> str:
    """Sorts as (reference time, episode uuid); shifted so that times before 1970 sort too."""
    return f"{reference_ms + _SHIFT_MS:017d}/{episode_uuid}"


def stamped_ms(stamp: str) -> int:
    """The reference time of a stamp."""
    return int(stamp.partition("/")[0]) - _SHIFT_MS


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
    told.setdefault(_BORNE + before, stamp_of(_ALWAYS_MS, rename.episode_uuid))
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
