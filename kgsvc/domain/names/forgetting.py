"""What an entity goes by when one of the episodes that name it never was. Pure.

A name stays that another episode used, or a caller gave. Of mentions that do not tell their names (of graphs
that were taken over, or written by an older release) any may have used it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from kgsvc.domain.facts.summary import OF_EPISODE
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.model.keys import name_key
from kgsvc.domain.names.entities import is_callers
from kgsvc.domain.names.namesakes import plain
from kgsvc.domain.names.renames import shown, stamp_of
from kgsvc.domain.names.similarity import name_terms

_GIVEN = "n."  # before a name key, in the stamps of an entity: a caller gave the name


@dataclass(frozen=True, slots=True)
class Saying:
    """As what an episode names an entity, and of which types; as what all other episodes do, each name and
    type once, sorted. `known`: all of these tell. `first`: (reference_ms, uuid) of the first of them."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    other_names: tuple[str, ...] = ()
    other_types: tuple[str, ...] = ()
    known: bool = True
    first: tuple[int, str] | None = None


Said = tuple[tuple[str, ...], tuple[str, ...]]  # names and types of one mention


def saying_of(own: Said, others: Collection[Said], first: tuple[int, str] | None) -> Saying:
    """From the mention itself and the others of the entity."""
    names = {name for said, _types in others for name in said}
    types = {each for _names, said in others for each in said}
    known = all(said for said, _types in others)
    return Saying(own[0], own[1], tuple(sorted(names)), tuple(sorted(types)), known, first)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The entity afterwards, the name keys that no longer lead to it, the tokens it is no longer found by."""

    entity: Entity
    names: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()


def given_names(names: Iterable[str]) -> dict[str, str]:
    """Stamps by which names that a caller gave are known."""
    return {_GIVEN + name_key(name): "" for name in names}


def names_given(entity: Entity) -> dict[str, str]:
    """The stamps of names that callers gave to an entity, the one it came with included."""
    stamps = {part: stamp for part, stamp in entity.stamps.items() if part.startswith(_GIVEN)}
    return stamps | given_names([entity.name]) if is_callers(entity) else stamps


def doubtful(entity: Entity, saying: Saying) -> set[str]:
    """Name keys that may be the episode's alone."""
    if not saying.known:
        return set()
    others = {name_key(name) for name in saying.other_names}
    given = {part.removeprefix(_GIVEN) for part in names_given(entity)}
    return {name_key(name) for name in saying.names} - others - given


def forgotten(
    entity: Entity, saying: Saying, owned: Collection[str], episode_uuid: str, system_ms: int
) -> Forgotten:
    """The entity without names and types that the episode alone used; `owned` are all keys that lead to it.

    Its name is then the fullest that is left; one always is.
    """
    gone = doubtful(entity, saying).intersection(owned)
    if gone and gone == set(owned):
        own = name_key(entity.name)
        gone -= {own} if own in owned else {min(owned, key=lambda key: (plain(key) != own, key))}
    left = set(owned) - gone
    renamed = shown(replace(entity, name=_name(entity, saying, left)), system_ms, gone)
    after = _originated(_typed(renamed, saying), saying, episode_uuid)
    if after != entity:
        after = replace(after, updated_ms=system_ms)
    return Forgotten(after, tuple(sorted(gone)), tuple(sorted(lost_tokens(gone, left))))


def lost_tokens(gone: Iterable[str], left: Iterable[str]) -> set[str]:
    """What an entity is no longer found by once some of its name keys are gone."""
    terms = {term for key in gone for term in name_terms(key)}
    return terms.difference(*map(name_terms, left))


def _name(entity: Entity, saying: Saying, left: Collection[str]) -> str:
    """Its name, in the spelling of those who still say it; else the fullest of the others."""
    own = name_key(entity.name)
    if is_callers(entity) or not saying.known or entity.name not in saying.names:
        return entity.name
    spelled = [name for name in saying.other_names if name_key(name) in left]
    if own in left:
        same = [name for name in spelled if name_key(name) == own]
        return entity.name if entity.name in same else min(same, default=entity.name)
    return plain(min(spelled or left, key=lambda name: (-len(name_key(name)), name), default=entity.name))


def _typed(entity: Entity, saying: Saying) -> Entity:
    alone = set(saying.types).difference(saying.other_types) if saying.known else set()
    labels = tuple(label for label in entity.labels if label not in alone) or ("Entity",)
    return replace(entity, labels=labels) if alone.intersection(entity.labels) else entity


def _originated(entity: Entity, saying: Saying, episode_uuid: str) -> Entity:
    """The first of the other episodes is where it comes from, if it came from this one."""
    ms, source = saying.first or (None, "")
    if entity.source_episode_uuid == episode_uuid:
        entity = replace(entity, source_episode_uuid=source)
    stamp = entity.stamps.get("name", "")
    if stamp.partition("/")[2] == episode_uuid:
        named = f"{stamp.partition('/')[0]}/" if ms is None else stamp_of(ms, source)
        entity = replace(entity, stamps={**entity.stamps, "name": named})
    return entity


def without_words(entity: Entity, episode_uuid: str, system_ms: int) -> Entity:
    """The entity without the attributes and the summary that the episode gave it; itself if it gave none."""
    given = {part for part, stamp in entity.stamps.items() if stamp.partition("/")[2] == episode_uuid}
    given.discard("name")
    if not given:
        return entity
    return replace(
        entity,
        attributes={name: value for name, value in entity.attributes.items() if f"a.{name}" not in given},
        summary="" if "summary" in given else entity.summary,
        stamps={part: stamp for part, stamp in entity.stamps.items() if part not in given},
        summary_parts=tuple(part for part in entity.summary_parts if part.key != OF_EPISODE + episode_uuid),
        updated_ms=system_ms,
    )


def removable(entities: Sequence[Entity]) -> list[Entity]:
    """Those that go once nothing holds them: a caller's own stay."""
    return [entity for entity in entities if not is_callers(entity)]
