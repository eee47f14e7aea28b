"""What the entities that a batch names become. Pure.

Also how many attributes an entity keeps.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from kgsvc.domain.errors import StepError
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.delta import NameView
from kgsvc.domain.model.extraction import ExtractedNode
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.model.keys import ASSERTED, minted, name_key
from kgsvc.domain.names.meanings import (
    BatchItem,
    Home,
    NodeUse,
    Rename,
    homes_of,
    is_callers,
    renamed,
    renames_of,
    shown,
    specific,
    uses_of,
    with_renames,
)
from kgsvc.domain.names.namesakes import exchanged, keys_of_node, plain, speaking
from kgsvc.domain.resolution.decisions import NameDecision

BYTES = Limits().attributes_bytes


def bounded(entity: Entity, limit: int = BYTES, keep: Collection[str] = ()) -> Entity:
    """The entity with attributes of at most `limit` bytes as JSON: the earliest are left out first, of
    equal age those last by name. What a caller gave and those in `keep` stay in any case."""
    if not entity.attributes or _bytes(entity.attributes) <= limit:
        return entity
    stamps = {name: entity.stamps.get(f"a.{name}", "") for name in entity.attributes}
    stays = {name for name, stamp in stamps.items() if stamp == ASSERTED}.union(keep)
    by_age = sorted(sorted(stamps.keys() - stays), key=lambda name: stamps[name], reverse=True)
    kept = {name: value for name, value in entity.attributes.items() if name in stays}
    room = limit - _bytes(kept) + (not kept)  # a comma stands before all but the first
    for name in by_age:
        room -= _bytes({name: entity.attributes[name]}) - 1
        if room < 0:
            break
        kept[name] = entity.attributes[name]
    gone = entity.attributes.keys() - kept.keys()
    return replace(
        entity,
        attributes={name: value for name, value in entity.attributes.items() if name in kept},
        stamps={part: stamp for part, stamp in entity.stamps.items() if part.removeprefix("a.") not in gone},
    )


def _bytes(values: Mapping[str, Any]) -> int:
    """As the limit on input counts them."""
    return len(json.dumps(dict(values), ensure_ascii=False, separators=(",", ":")).encode())


_SALTS = 2  # a caller may have given a uuid that a name would get
_GIVEN = "n."  # before a name key, in the stamps of an entity: a caller gave the name


@dataclass(frozen=True, slots=True)
class ResolvedNames:
    """Which entity each name is, and what must be written for that."""

    by_key: Mapping[str, Entity]  # as they will be written
    changed: tuple[Entity, ...]
    new_names: Mapping[str, str]
    further_names: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # further names decided for the entity of a name

    def entity(self, name: str) -> Entity:
        """The entity that a name of the batch stands for."""
        return self.by_key[name_key(name)]


def keys_of(items: Iterable[BatchItem]) -> set[str]:
    """The name keys to read before resolving."""
    return {key for item in items for node in item.extraction.nodes for key in keys_of_node(node)}


def candidate_uuids(group_id: str, keys: Iterable[str]) -> set[str]:
    """The uuids that new entities might get: read with the names, to see which are taken."""
    return {uuid for key in keys for uuid in _candidates(group_id, key)}


def resolve(
    view: NameView,
    group_id: str,
    items: Sequence[BatchItem],
    system_ms: int,
    decided: Mapping[str, NameDecision] = MappingProxyType({}),
    attributes_bytes: int = BYTES,
) -> ResolvedNames:
    """Match every node by name, or as `decided` by name key; make the missing entities; merge summaries and
    attributes. A decided name becomes an alias; the fullest name decided for an entity becomes its own,
    unless a caller named it. New names that a decision leads together become one entity.

    Of several statements the one with the latest (reference time, episode uuid) sets summary and each
    attribute; the earliest sets the display name: arrival order does not matter. Attributes beyond
    `attributes_bytes` are left out, the earliest first. Raises StepError when a caller has taken every uuid
    that a new name could get.
    """
    nodes, renames = uses_of(items), renames_of(items)
    decided = with_renames(decided, renames)
    homes = homes_of(nodes, view, decided)
    by_key: dict[str, Entity] = {}
    new_names: dict[str, str] = {}
    merged: dict[str, Entity] = {}
    for key, home in homes.items():
        if isinstance(home, str):
            found = _new(
                view,
                group_id,
                home,
                _first_use(home, homes, nodes),
                _name_of(home, nodes, decided),
                system_ms,
            )
            new_names[home] = found.uuid
        else:
            found = home
        if key not in view.by_key:
            new_names[key] = found.uuid
        entity = merged.get(found.uuid, found)
        for stamp, episode, node in nodes.get(key, ()):
            entity = _merge(entity, node, stamp, key)
            entity = speaking(entity, episode, node)
        merged[found.uuid] = bounded(entity, attributes_bytes)
        by_key[key] = entity
    _name_fully(view, merged, by_key, new_names, decided)
    _rename(merged, by_key, renames, system_ms)
    by_key = dict(view.by_key) | {key: merged[entity.uuid] for key, entity in by_key.items()}
    exchange = exchanged(by_key, {entity.uuid for entity in by_key.values() if is_callers(entity)})
    new_names |= exchange
    for entity in by_key.values():
        if entity.uuid in exchange.values():  # only who is written may lose a name
            merged.setdefault(entity.uuid, entity)
    before = {entity.uuid: entity for entity in (*view.by_uuid.values(), *view.by_key.values())}
    changed = tuple(
        replace(entity, updated_ms=system_ms)
        for uuid, entity in sorted(merged.items())
        if before.get(uuid) != entity or uuid in exchange.values()
    )
    return ResolvedNames(by_key, changed, new_names, _further_names(nodes, by_key, new_names, decided))


def _further_names(
    nodes: Mapping[str, list[NodeUse]],
    by_key: Mapping[str, Entity],
    new_names: Mapping[str, str],
    decided: Mapping[str, NameDecision],
) -> dict[str, tuple[str, ...]]:
    """By the key of a name of the batch: further names of its entity, which were decided with it and which no
    episode of the batch uses."""
    found: dict[str, tuple[str, ...]] = {}
    for key in nodes.keys() & decided.keys():
        decision, uuid = decided[key], by_key[key].uuid
        keys = {name_key(each.name): each.name.strip() for each in decision.meant}
        names = {name for each, name in keys.items() if new_names.get(each) == uuid and each not in nodes}
        if name_key(decision.full_name) == name_key(by_key[key].name):
            names.add(decision.full_name.strip())
        found[key] = tuple(sorted(names - {""}))
    return found


def _first_use(home: str, homes: Mapping[str, Home], nodes: Mapping[str, list[NodeUse]]) -> NodeUse:
    """The node that a new entity begins with: the earliest under its own name, if any."""
    entries = nodes.get(home) or [e for key, at in homes.items() if at == home for e in nodes.get(key, ())]
    return min(entries, key=lambda entry: (entry[0], entry[2].name, entry[2].ref))


def _name_of(home: str, nodes: Mapping[str, list[NodeUse]], decided: Mapping[str, NameDecision]) -> str:
    if home in nodes:
        return nodes[home][0][2].name.strip()
    named = (each.name.strip() for decision in decided.values() for each in decision.meant)
    return min(name for name in named if name_key(name) == home)


def _name_fully(
    view: NameView,
    merged: dict[str, Entity],
    by_key: Mapping[str, Entity],
    new_names: dict[str, str],
    decided: Mapping[str, NameDecision],
) -> None:
    """Give entities the fullest names that were decided for them, unless other entities bear these."""
    for key, named in sorted(by_key.items()):
        full = decided[key].full_name.strip() if key in decided else ""
        entity, full_key = merged[named.uuid], name_key(full)
        owner = view.by_key.get(full_key)
        owned = new_names.get(full_key, owner.uuid if owner else entity.uuid) == entity.uuid
        if owned and len(full_key) > len(name_key(entity.name)) and entity.stamps.get("name"):
            merged[entity.uuid] = replace(entity, name=full)
            if owner is None:
                new_names[full_key] = entity.uuid


def _rename(
    merged: dict[str, Entity], by_key: Mapping[str, Entity], renames: Iterable[Rename], now_ms: int
) -> None:
    """Give entities the names that they bear by now."""
    for rename in renames:
        old, new = (by_key[key].uuid for key in rename.keys)
        if old == new:
            merged[old] = renamed(merged[old], rename)
    merged |= {uuid: shown(entity, now_ms) for uuid, entity in merged.items()}


def _candidates(group_id: str, key: str) -> list[str]:
    return [minted("entity", group_id, key, salt) for salt in range(_SALTS)]


def _new(view: NameView, group_id: str, key: str, told: NodeUse, name: str, system_ms: int) -> Entity:
    free = [uuid for uuid in _candidates(group_id, key) if uuid not in view.by_uuid]
    if not free:
        raise StepError("every uuid of a new entity is taken by other entities of the group")
    stamp, episode, _ = told
    return Entity(
        uuid=free[0],
        group_id=group_id,
        name=plain(name),
        created_ms=system_ms,
        source_episode_uuid=episode.uuid,
        stamps={"name": stamp},
    )


def _merge(entity: Entity, node: ExtractedNode, stamp: str, key: str) -> Entity:
    stamps = dict(entity.stamps)
    name, source = entity.name, entity.source_episode_uuid
    if stamp < stamps.get("name", "") and name_key(entity.name) == key:
        name, source, stamps["name"] = node.name.strip(), stamp.partition("/")[2], stamp
    summary = entity.summary
    if node.summary and stamp >= stamps.get("summary", ""):
        summary, stamps["summary"] = node.summary, stamp
    attributes: dict[str, Any] = dict(entity.attributes)
    for attribute, value in sorted(node.attributes.items()):
        if stamp >= stamps.get(f"a.{attribute}", ""):
            attributes[attribute], stamps[f"a.{attribute}"] = value, stamp
    return replace(
        entity,
        name=name,
        source_episode_uuid=source,
        summary=summary,
        attributes=attributes,
        labels=_labels(entity.labels, node.type),
        stamps=stamps,
    )


def _labels(labels: tuple[str, ...], added: str) -> tuple[str, ...]:
    return tuple(sorted(specific({*labels, added}))) or ("Entity",)


def given_names(names: Iterable[str]) -> dict[str, str]:
    """Stamps by which names that a caller gave are known."""
    return {_GIVEN + name_key(name): "" for name in names}


def names_given(entity: Entity) -> dict[str, str]:
    """The stamps of names that callers gave to an entity, the one it came with included."""
    stamps = {part: stamp for part, stamp in entity.stamps.items() if part.startswith(_GIVEN)}
    return stamps | given_names([entity.name]) if is_callers(entity) else stamps


def keys_given(entity: Entity) -> set[str]:
    """The name keys that callers gave to an entity."""
    return {part.removeprefix(_GIVEN) for part in names_given(entity)}
