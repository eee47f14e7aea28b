"""Resolving the names of a batch to entities (spec 004 §7 and §9): exact normalised name, else a new one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kgsvc.domain.delta import NameView
from kgsvc.domain.errors import StepError
from kgsvc.domain.extraction import ExtractedNode, Extraction
from kgsvc.domain.identity import minted, name_key
from kgsvc.domain.model import Entity, Episode

_SALTS = 2  # a caller may have given a uuid that a name would get
_DEFAULT_LABELS = frozenset({"Entity", "UNKNOWN"})


@dataclass(frozen=True, slots=True)
class BatchItem:
    """An episode with what was extracted from it."""

    episode: Episode
    extraction: Extraction
    accepted_ms: int


@dataclass(frozen=True, slots=True)
class Resolved:
    """Which entity each name is, and what must be written for that."""

    by_key: Mapping[str, Entity]  # as they shall be
    changed: tuple[Entity, ...]
    new_names: Mapping[str, str]

    def entity(self, name: str) -> Entity:
        """The entity that a name of the batch stands for."""
        return self.by_key[name_key(name)]


def keys_of(items: Iterable[BatchItem]) -> set[str]:
    """The name keys to read before resolving."""
    return {name_key(node.name) for item in items for node in item.extraction.nodes}


def candidate_uuids(group_id: str, keys: Iterable[str]) -> set[str]:
    """The uuids that new entities might get: read with the names, to see which are taken."""
    return {uuid for key in keys for uuid in _candidates(group_id, key)}


def resolve(view: NameView, group_id: str, items: Sequence[BatchItem], system_ms: int) -> Resolved:
    """Match every node by name; make the missing entities; merge summaries and attributes.

    Of several statements the one with the latest (reference time, episode uuid) sets summary and each
    attribute; the earliest sets the display name: arrival order does not matter. Raises StepError when a
    caller has taken every uuid that a new name could get.
    """
    nodes: dict[str, list[tuple[str, Episode, ExtractedNode]]] = {}
    for item in items:
        for node in item.extraction.nodes:
            entry = (_stamp(item.episode), item.episode, node)
            nodes.setdefault(name_key(node.name), []).append(entry)
    by_key: dict[str, Entity] = {}
    new_names: dict[str, str] = {}
    merged: dict[str, Entity] = {}
    for key in sorted(nodes):
        entries = sorted(nodes[key], key=lambda entry: (entry[0], entry[2].name, entry[2].ref))
        found = view.by_key.get(key)
        if found is None:
            found = _new(view, group_id, key, entries, system_ms)
            new_names[key] = found.uuid
        entity = merged.get(found.uuid, found)
        for stamp, _, node in entries:
            entity = _merge(entity, node, stamp, key)
        merged[found.uuid] = entity
        by_key[key] = entity
    by_key = {key: merged[entity.uuid] for key, entity in by_key.items()}
    before = {entity.uuid: entity for entity in view.by_key.values()}
    changed = tuple(
        replace(entity, updated_ms=system_ms)
        for uuid, entity in sorted(merged.items())
        if before.get(uuid) != entity
    )
    return Resolved(by_key, changed, new_names)


def _candidates(group_id: str, key: str) -> list[str]:
    return [minted("entity", group_id, key, salt) for salt in range(_SALTS)]


def _new(
    view: NameView,
    group_id: str,
    key: str,
    entries: list[tuple[str, Episode, ExtractedNode]],
    system_ms: int,
) -> Entity:
    free = [uuid for uuid in _candidates(group_id, key) if uuid not in view.by_uuid]
    if not free:
        raise StepError("every uuid of a new entity is taken by other entities of the group")
    stamp, episode, node = entries[0]
    return Entity(
        uuid=free[0],
        group_id=group_id,
        name=node.name.strip(),
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
    specific = ({*labels, added}) - _DEFAULT_LABELS
    return tuple(sorted(specific)) or ("Entity",)


def _stamp(episode: Episode) -> str:
    """Sorts as (reference time, episode uuid); shifted so that times before 1970 sort too."""
    return f"{episode.reference_ms + 10**15:017d}/{episode.uuid}"
