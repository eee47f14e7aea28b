"""What entities, and records of merges and splits, hold when one of the episodes never was. Pure.

A name stays that another episode used, or a caller gave. Of mentions that do not tell their names (of graphs
that were taken over) any may have used it.

Records hold whole entities and statements as they were. Undoing goes on to work: it already passes over what
a cascade took away.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from kgsvc.domain.facts.summary import OF_EPISODE, with_parts
from kgsvc.domain.model.delta import MergeRecord
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.model.keys import name_key, stamp_of
from kgsvc.domain.names.entities import keys_given
from kgsvc.domain.names.meanings import is_callers, shown
from kgsvc.domain.names.merging import Said, entity_in, said_in, still_called
from kgsvc.domain.names.namesakes import plain
from kgsvc.domain.names.similarity import name_terms


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


def doubtful(entity: Entity, saying: Saying) -> set[str]:
    """Name keys that may be the episode's alone."""
    if not saying.known:
        return set()
    others = {name_key(name) for name in saying.other_names}
    return {name_key(name) for name in saying.names} - others - keys_given(entity)


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


_STATEMENTS = ("before", "after")
_CLOSURES = ("closures", "closures_after")


@dataclass(frozen=True, slots=True)
class Leaving:
    """What goes: an episode, facts that it alone stated, facts whose words change."""

    episode: str
    removed: Collection[str]
    reworded: Collection[str]


def marks(episode_uuid: str) -> str:
    """What is in the data of every record that holds something of the episode: the end of a JSON string."""
    return json.dumps(episode_uuid, ensure_ascii=False)[1:]


# Is in the data of every record that was not collected.
WHOLE = '"made":'


def redacted(record: MergeRecord, leaving: Leaving) -> MergeRecord | None:
    """The record as if the episode had never spoken; None: then there is nothing to take back."""
    data: dict[str, Any] = json.loads(record.data)
    if "entity" in data:
        if data["episodes"] == [leaving.episode] and not is_callers(entity_in(data)):
            return None
        data |= _unnamed(data, leaving)
    for part in ("said", "kept_said"):
        data[part] = {uuid: said for uuid, said in data.get(part, {}).items() if uuid != leaving.episode}
    data["changed"] = {
        uuid: _unsaid(changed, leaving.episode)
        for uuid, changed in data["changed"].items()
        if uuid not in leaving.removed
    }
    data["made"] = {uuid: _others(made, leaving.episode) for uuid, made in data["made"].items()}
    return replace(record, data=json.dumps(data, ensure_ascii=False))


def collected(record: MergeRecord) -> MergeRecord:
    """The record without what is needed to take the merge or split back; who went where stays."""
    data: dict[str, Any] = json.loads(record.data)
    return replace(record, data=json.dumps({"split": data["split"]} if "split" in data else {}))


def is_collected(data: Mapping[str, Any]) -> bool:
    """Whether the data of a record is what `collected` left."""
    return "made" not in data


def _unnamed(data: Mapping[str, Any], leaving: Leaving) -> dict[str, Any]:
    """The parts of a merge that describe the entity which went."""
    alone = _alone(data, "said", leaving.episode)
    said = {uuid: each for uuid, each in said_in(data, "said").items() if uuid != leaving.episode}
    names = [key for key in data["names"] if key not in alone] or data["names"][:1]
    before = entity_in(data)
    entity = without_words(before, leaving.episode, before.updated_ms)
    away = {*leaving.removed, *leaving.reworded}
    entity = with_parts(entity, [part for part in entity.summary_parts if part.key not in away])
    entity = still_called(entity, entity, said, set(names))
    if entity.source_episode_uuid == leaving.episode:
        entity = replace(entity, source_episode_uuid="")
    kept_name = data.get("kept_name", "")
    lost_name = name_key(kept_name) in _alone(data, "kept_said", leaving.episode)
    return {
        "entity": asdict(entity),
        "names": names,
        "episodes": [uuid for uuid in data["episodes"] if uuid != leaving.episode],
        "mentions": [uuid for uuid in data["mentions"] if uuid != leaving.episode],
        "attributes": [name for name in data["attributes"] if name in entity.attributes],
        "kept_name": entity.name if lost_name else kept_name,
    }


def _alone(data: Mapping[str, Any], part: str, episode: str) -> set[str]:
    """The keys of names that only this episode used."""
    said = said_in(data, part)
    own = {name_key(name) for name in said.get(episode, ((), ()))[0]}
    others = {name_key(name) for uuid, (names, _types) in said.items() if uuid != episode for name in names}
    return own - others


def _unsaid(changed: Mapping[str, Any], episode: str) -> dict[str, Any]:
    """A fact that the merge changed, without statements of the episode and the words that came with them."""
    left = dict(changed)
    for part in _STATEMENTS:
        left[part] = _others(changed[part], episode)
    for part in _CLOSURES:
        if part in changed:
            left[part] = [each for each in changed[part] if each["by_episode"] != episode]
    if left["before"] != changed["before"]:
        left["wording"] = {}
    return left


def _others(statements: Collection[Mapping[str, Any]], episode: str) -> list[Mapping[str, Any]]:
    return [each for each in statements if each["episode_uuid"] != episode]
