"""Extraction by rules instead of a model (design §7): deterministic, and linear in the text.

Texts are read sentence by sentence (prose.py). In JSON, objects with a name become entities, and their fields
attributes and facts (spec 004 §2.2).
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kgsvc.domain.errors import StepError
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import ExtractedEdge, Extraction, ExtractionRequest
from kgsvc.domain.model.graph import Episode, FactKind, Source
from kgsvc.models.protocol import Extracted
from kgsvc.models.rules.prose import read_text
from kgsvc.models.rules.relations import BY_NAME, screaming
from kgsvc.models.rules.scene import Cast, NodeDraft, Scene, cast_of, enter, short_names, turns_of
from kgsvc.models.rules.text import MOST, word_list, word_set
from kgsvc.models.rules.wording import finished


class OfflineExtractor:
    """Implements Extractor without network, key or model."""

    name = "offline"
    costs_model_calls = False

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()

    async def extract(self, requests: Sequence[ExtractionRequest]) -> list[Extracted | Exception]:
        """See Extractor. The whole batch runs in one thread beside the event loop."""
        return await asyncio.to_thread(self._extract_all, list(requests))

    async def close(self) -> None:
        """Nothing to release."""

    def _extract_all(self, requests: Sequence[ExtractionRequest]) -> list[Extracted | Exception]:
        results: list[Extracted | Exception] = []
        for request in requests:
            try:
                results.append(Extracted(extract_one(request, self._limits)))
            except StepError as error:
                results.append(error)
        return results


def extract_one(request: ExtractionRequest, limits: Limits) -> Extraction:
    """What the rules find in one episode."""
    episode = request.episode
    scene = Scene(limits, episode.reference_ms)
    cast = cast_of(request)
    if episode.source is Source.JSON and read_json(scene, episode, cast):
        return scene.extraction()
    for turn in turns_of(episode):
        if scene.full or scene.sentence >= MOST:
            break
        read_text(scene, enter(scene, cast, turn, episode), cast)
    return scene.extraction()


_DEEPEST = 12
_MOST_ATTRIBUTES = 60  # of at most twice _LONGEST_VALUE characters each: within the bound of attributes
_LONGEST_SUBSTITUTE = 80
_MOST_VALUES = 5_000
_LONGEST_VALUE = 200  # characters; longer strings are read as text
_NAME_KEYS = word_list("name full_name fullname display_name title label username login email slug")
_IDENTITY_KEYS = ("id", "uuid", "key", "code", "identifier")
_SPEAKER_KEYS = ("speaker", "role", "author", "from", "sender", "user")
_SPOKEN_KEYS = ("content", "text", "message", "body")
_TEXT_KEYS = word_set("""
description notes note comment comments content text body message summary bio about details abstract
""")
_NAMING_KEYS = frozenset((*_NAME_KEYS, *_IDENTITY_KEYS, "first_name"))
_TYPE_KEYS = ("type", "kind", "category", "@type")
_SCALARS = (str, int, float, bool)
# Keys that mean a relation of the table; other keys become HAS_<KEY>.
_KNOWN_KEYS = {
    **dict.fromkeys(word_list("company employer organization organisation works_at"), "WORKS_AT"),
    **dict.fromkeys(word_list("city lives_in residence"), "LIVES_IN"),
    **{"hometown": "IS_FROM", "spouse": "MARRIED_TO", "languages": "SPEAKS", "interests": "INTERESTED_IN"},
    **{"likes": "LIKES", "hobbies": "LIKES", "leads": "LEADS", "member_of": "MEMBER_OF"},
}
_PEOPLE_ONLY = word_set("WORKS_AT LIVES_IN IS_FROM MARRIED_TO LIKES SPEAKS INTERESTED_IN")
_PEOPLE_KEYS = word_set("""
person people user users employee employees member members customer customers contact contacts author authors
manager owner assignee lead team staff friend friends student students
""")


def read_json(scene: Scene, episode: Episode, cast: Cast) -> bool:
    """Add what a JSON body says to the scene; False if the body is no JSON object or list."""
    try:
        value = json.loads(episode.body)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, (dict, list)):
        return False
    scene.aliases = cast.aliases
    walk = _Walk(scene, cast)
    walk.value(_clean(value, 0), _Place(_singular((episode.name or "").strip()), None))
    return True


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value stands: under which key of which entity, how deep, and whether among others."""

    key: str
    owner: NodeDraft | None
    depth: int = 0
    listed: bool = False

    def inner(self, key: str, owner: NodeDraft | None) -> _Place:
        return _Place(key, owner, self.depth + 1)


class _Walk:
    def __init__(self, scene: Scene, cast: Cast) -> None:
        self.scene, self.cast = scene, cast
        self.values = 0
        self.unnamed: set[str] = set()  # refs of objects named after one of their values: events, not things

    def value(self, value: Any, place: _Place) -> None:
        """Take in one value."""
        self.values += 1
        if self.values > _MOST_VALUES or place.depth > _DEEPEST or self.scene.full:
            return
        if isinstance(value, dict):
            self._object(value, place)
        elif isinstance(value, list):
            for item in value[:_MOST_VALUES]:
                self.value(item, replace(place, key=_singular(place.key), depth=place.depth + 1, listed=True))
        elif isinstance(value, str) and (place.owner is None or _is_text(place.key, value)):
            self._text(value, place.owner)
        elif place.owner is not None and isinstance(value, _SCALARS):
            self._scalar(value, place, place.owner)

    def _object(self, value: dict[str, Any], place: _Place) -> None:
        speech = _speech(value)
        if speech is not None:
            self._spoken(*speech)
            return
        name_key, name = _name(value)
        if not name and place.owner is None:
            name_key, name = _substitute(value, place.key)
        draft = self.scene.node(name, _kind(value, place.key)) if name else None
        if draft is None:
            prefix = f"{place.key} " if place.key and not name else ""
            for inner, item in value.items():
                self.value(item, place.inner(f"{prefix}{inner}", place.owner))
            return
        if name_key not in _NAMING_KEYS:
            self.unnamed.add(draft.ref)
        if place.owner is not None:
            self._fact(place.owner, place, draft, draft.name)
        for inner, item in value.items():
            if inner != name_key:
                self._attribute(draft, inner, item)
                self.value(item, place.inner(inner, draft))

    def _attribute(self, draft: NodeDraft, key: str, item: Any) -> None:
        if not isinstance(item, _SCALARS) or len(draft.attributes) >= _MOST_ATTRIBUTES:
            return
        if not isinstance(item, str) or (len(item) <= _LONGEST_VALUE and not _is_text(key, item)):
            draft.attributes[key[:_LONGEST_VALUE]] = _storable(item)

    def _scalar(self, value: str | float | bool, place: _Place, owner: NodeDraft) -> None:
        written = _written(value)
        if not written or place.key in _TYPE_KEYS or place.key in _IDENTITY_KEYS:
            return
        named = isinstance(value, str) and not any(char.isdigit() for char in value[:4])
        if named:
            target = self.scene.node(written, "Entity")
        else:
            target = self.scene.node(f"{_words(place.key)}: {written}", "Value")
        if target is not None:
            self._fact(owner, place, target, written)

    def _fact(self, owner: NodeDraft, place: _Place, target: NodeDraft, written: str) -> None:
        known = _KNOWN_KEYS.get(place.key.lower(), "")
        if known in _PEOPLE_ONLY and owner.type not in ("Person", "Entity"):
            known = ""
        relation = BY_NAME.get(known)
        if relation is not None:
            owner.specify(relation.source)
            target.specify(relation.target)
            name, kind = relation.name, relation.kind
            fact = f"{owner.name} {known.lower().replace('_', ' ')} {written}."
        else:
            name = screaming(f"HAS_{_words(_singular(place.key))}")
            kind = FactKind.STATE if place.listed else FactKind.FUNCTIONAL
            fact = f"{owner.name} has {_words(place.key)} {written}."
        now: int | None = self.scene.reference_ms
        if owner.ref in self.unnamed:
            kind, now = FactKind.EVENT, None
        self.scene.add(ExtractedEdge(name, finished(fact), owner.ref, target.ref, now, None, kind))

    def _text(self, text: str, owner: NodeDraft | None) -> None:
        before = self.scene.subject
        if owner is not None:
            self.scene.subject = owner
            self.scene.aliases = {**short_names([owner.name]), **self.scene.aliases}
        read_text(self.scene, text, self.cast)
        self.scene.subject = before

    def _spoken(self, speaker: str, text: str) -> None:
        before = self.scene.speaker
        self.scene.speaker = self.scene.node(speaker, "Person")
        read_text(self.scene, text, self.cast)
        self.scene.speaker = before


def _clean(value: Any, depth: int) -> Any:
    """The value without lone surrogates, which JSON can escape but no store can hold; cut where too deep."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode() if not value.isascii() else value
    if depth > _DEEPEST:
        return None
    if isinstance(value, dict):
        return {_clean(key, depth): _clean(item, depth + 1) for key, item in value.items()}
    return [_clean(item, depth + 1) for item in value] if isinstance(value, list) else value


def _substitute(value: dict[str, Any], key: str) -> tuple[str, str]:
    """What to call a nameless root: as the document is called, or after its first short text."""
    if key:
        return "", key
    for inner, item in value.items():
        if isinstance(item, str) and 0 < len(item.strip()) <= _LONGEST_SUBSTITUTE:
            return inner, item.strip()
    return "", "record" if any(isinstance(item, _SCALARS) for item in value.values()) else ""


def _speech(value: dict[str, Any]) -> tuple[str, str] | None:
    """Speaker and text of a chat message in JSON."""
    speaker, text = _first(value, _SPEAKER_KEYS).strip(), _first(value, _SPOKEN_KEYS)
    return (speaker, text) if speaker and text else None


def _first(value: dict[str, Any], keys: Iterable[str]) -> str:
    """The text under the first of the keys that has one."""
    return next((value[key] for key in keys if isinstance(value.get(key), str)), "")


def _name(value: dict[str, Any]) -> tuple[str, str]:
    for key in (*_NAME_KEYS, *_IDENTITY_KEYS):
        found = value.get(key)
        if isinstance(found, (str, int)) and not isinstance(found, bool) and str(found).strip():
            name = str(found).strip()
            if isinstance(found, str) and key not in _IDENTITY_KEYS:
                return key, name
            return (
                key,
                f"{_first(value, _TYPE_KEYS) or key} {name}".strip(),
            )  # an id alone says nothing: "order 17"
    first, last = value.get("first_name"), value.get("last_name")
    if isinstance(first, str) and isinstance(last, str) and (first + last).strip():
        return "first_name", f"{first} {last}".strip()
    return "", ""


def _kind(value: dict[str, Any], key: str) -> str:
    kind = _first(value, _TYPE_KEYS)
    if 0 < len(kind) <= 40 and kind.isascii() and kind.replace(" ", "").isalpha():
        return "".join(word.capitalize() for word in kind.split())
    if key.lower() in _PEOPLE_KEYS or "first_name" in value or "full_name" in value:
        return "Person"
    single = _singular(key).lower()
    return {"project": "Project", "company": "Organization", "organization": "Organization"}.get(
        single, "Entity"
    )


def _is_text(key: str, value: str) -> bool:
    return len(value) > _LONGEST_VALUE or (
        key.rsplit(" ", 1)[-1].lower() in _TEXT_KEYS and " " in value.strip()
    )


def _storable(value: str | float | bool) -> str | float | bool:
    """JSON has no NaN, and stores hold integers of 64 bits."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    large = isinstance(value, int) and not -(2**63) <= value < 2**63
    return str(value) if large else value


def _written(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).strip()[:_LONGEST_VALUE]


def _words(key: str) -> str:
    """ "firstName", "first_name" → "first name"."""
    return screaming(key).replace("_", " ").lower() if key.isascii() else key[:80]


def _singular(key: str) -> str:
    if key.endswith("ies") and len(key) > 4:
        return f"{key[:-3]}y"
    return key[:-1] if key.endswith("s") and not key.endswith(("ss", "us", "is")) and len(key) > 3 else key
