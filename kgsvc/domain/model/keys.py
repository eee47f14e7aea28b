"""Keys and minted uuids (design §3). A uuid5 only mints, so that replays and races meet."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any

from kgsvc.domain.model.graph import Episode, FactKind
from kgsvc.domain.text import normalise, normalise_body, remembered

_NAMESPACE = bytes.fromhex("6b6773766300400080006b6773766300")


def digest(*parts: object) -> str:
    """A stable hash over a tuple of JSON values; parts cannot run into each other."""
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def mint(kind: str, group_id: str, key: str, taken: Collection[str] = ()) -> str:
    """A uuid for (kind, group, key); salted until it is not in `taken`."""
    salt = 0
    while (made := minted(kind, group_id, key, salt)) in taken:
        salt += 1
    return made


def minted(kind: str, group_id: str, key: str, salt: int) -> str:
    """The uuid with one salt: a version 5 uuid, made here because uuid.uuid5 takes four times as long."""
    seed = f"{kind}:{len(group_id)}:{group_id}:{len(key)}:{key}:{salt}"
    raw = bytearray(hashlib.sha1(_NAMESPACE + seed.encode(), usedforsecurity=False).digest()[:16])
    raw[6] = (raw[6] & 0x0F) | 0x50
    raw[8] = (raw[8] & 0x3F) | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


@remembered(16_384)
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
