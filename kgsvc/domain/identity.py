"""Keys and minted uuids (design §3). A uuid5 only mints, so that replays and races meet."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Collection, Mapping
from typing import Any

from kgsvc.domain.model import Episode, FactKind
from kgsvc.domain.text import normalise, normalise_body

_NAMESPACE = uuid.UUID("6b677376-6300-4000-8000-6b6773766300")


def digest(*parts: object) -> str:
    """A stable hash over a tuple of JSON values; parts cannot run into each other."""
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def mint(kind: str, group_id: str, key: str, taken: Collection[str] = ()) -> str:
    """A uuid for (kind, group, key); salted until it is not in `taken`."""
    salt = 0
    while True:
        seed = json.dumps([kind, group_id, key, salt], ensure_ascii=False)
        made = str(uuid.uuid5(_NAMESPACE, seed))
        if made not in taken:
            return made
        salt += 1


def name_key(name: str) -> str:
    """What the unique (group, name_key) → entity table is keyed by."""
    return normalise(name)


def content_hash(episode: Episode) -> str:
    """Identity of an item without a uuid: group, source, body, reference time, speaker."""
    return digest(
        episode.group_id,
        str(episode.source),
        normalise_body(episode.body),
        episode.reference_ms,
        None if episode.role_type is None else str(episode.role_type),
        episode.role,
    )


def slot_of(
    kind: FactKind, source_uuid: str, relation: str, target_uuid: str, qualifiers: Mapping[str, Any]
) -> str:
    """The conflict key (spec 004 §6). For functional relations the target leaves the key (design §3)."""
    target = "" if kind is FactKind.FUNCTIONAL else target_uuid
    return digest(source_uuid, relation, target, _normal(qualifiers))


def event_qualifiers(qualifiers: Mapping[str, str], fact: str, stated_valid_ms: int | None) -> dict[str, str]:
    """An event's qualifiers carry its content, so that two things that happened never expire one another."""
    return {**qualifiers, "event": digest(normalise(fact), stated_valid_ms)}


def fact_key(slot: str, target_uuid: str, start_ms: int, fact: str) -> str:
    """The uniqueness key (spec 004 §9): one fact for one slot, target, start and text."""
    return digest(slot, target_uuid, start_ms, normalise(fact))


def _normal(qualifiers: Mapping[str, Any]) -> list[list[str]]:
    return sorted([normalise(str(k)), normalise(str(v))] for k, v in qualifiers.items())
