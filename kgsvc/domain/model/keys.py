"""Keys, minted uuids and stamps.

A minted uuid is a hash of what identifies the thing: repeated and concurrent runs mint the same one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any, Protocol

from kgsvc.domain.model.graph import Episode, FactKind
from kgsvc.domain.text import normalise, normalise_body, remembered

_NAMESPACE = bytes.fromhex("6b6773766300400080006b6773766300")
_key = b""
EARLIEST_STAMP_MS = -(10**15)  # so that times before 1970 sort too
ASSERTED = "99999999999999999/"  # the stamp of what a caller gave: after all others


class _Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...

    def digest(self) -> bytes: ...

    def hexdigest(self) -> str: ...


def use_key(key: bytes) -> None:
    """From here on all digests and uuids that this process makes depend on the key: who does not know it
    cannot tell from what is left of an erased text whether a guess is right. Empty: on no key."""
    global _key  # noqa: PLW0603 - one of a process, set before it serves: the same for all that it stores
    _key = hashlib.sha512(key).digest() if key else b""


def fingerprint() -> int:
    """By which the key of a store is told from another; 0: no key. Says nothing of the key itself."""
    return int.from_bytes(_hash().digest()[:6]) if _key else 0


def _hash(data: bytes = b"") -> _Hash:
    return hashlib.blake2b(data, key=_key) if _key else hashlib.sha256(data)


class Digest:
    """What `digest` makes of a kind and a text, where the text comes in pieces."""

    def __init__(self, kind: str) -> None:
        self._hash = _hash(f'["{kind}","'.encode())

    def add(self, piece: str) -> None:
        """The next piece of the text."""
        self._hash.update(json.dumps(piece, ensure_ascii=False)[1:-1].encode())

    def end(self) -> str:
        """The digest."""
        self._hash.update(b'"]')
        return self._hash.hexdigest()[:40]


def digest(*parts: object) -> str:
    """A stable hash over a tuple of JSON values; parts cannot run into each other."""
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return _hash(text.encode()).hexdigest()[:40]


def pseudonym(name: str) -> str:
    """What logs and metrics call a name that must not be read there; the same for the same key."""
    return _hash(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def mint(kind: str, group_id: str, key: str, taken: Collection[str] = ()) -> str:
    """A uuid for (kind, group, key); salted until it is not in `taken`."""
    salt = 0
    while (made := minted(kind, group_id, key, salt)) in taken:
        salt += 1
    return made


def minted(kind: str, group_id: str, key: str, salt: int) -> str:
    """The uuid with one salt, in the form of version 5. Without a digest key it is a version 5 uuid (SHA-1),
    made here because uuid.uuid5 takes four times as long; with one, a keyed hash."""
    seed = f"{kind}:{len(group_id)}:{group_id}:{len(key)}:{key}:{salt}"
    data = _NAMESPACE + seed.encode()
    made = _hash(data) if _key else hashlib.sha1(data, usedforsecurity=False)
    raw = bytearray(made.digest()[:16])
    raw[6] = (raw[6] & 0x0F) | 0x50
    raw[8] = (raw[8] & 0x3F) | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


@remembered(16_384)
def name_key(name: str) -> str:
    """What the unique (group, name_key) → entity table is keyed by."""
    return normalise(name)


def stamp_of(reference_ms: int, episode_uuid: str) -> str:
    """The evidence that last set a part of an entity (`Entity.stamps`); sorts as (reference time, uuid)."""
    return f"{reference_ms - EARLIEST_STAMP_MS:017d}/{episode_uuid}"


def stamped_ms(stamp: str) -> int:
    """The reference time of a stamp."""
    return int(stamp.partition("/")[0]) + EARLIEST_STAMP_MS


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
    """The conflict key. For functional relations the target leaves the key."""
    target = "" if kind is FactKind.FUNCTIONAL else target_uuid
    return digest(source_uuid, relation, target, _normal(qualifiers))


def event_qualifiers(qualifiers: Mapping[str, str], fact: str, stated_valid_ms: int | None) -> dict[str, str]:
    """An event's qualifiers carry its content, so that two things that happened never expire one another."""
    return {**qualifiers, "event": digest(normalise(fact), stated_valid_ms)}


def fact_key(slot: str, target_uuid: str, start_ms: int, fact: str) -> str:
    """The uniqueness key: one fact for one slot, target, start and text."""
    return digest(slot, target_uuid, start_ms, normalise(fact))


def _normal(qualifiers: Mapping[str, Any]) -> list[list[str]]:
    return sorted([normalise(str(k)), normalise(str(v))] for k, v in qualifiers.items())
