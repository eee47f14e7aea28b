"""JSON episodes: objects with a name become entities, their fields attributes and facts (spec 004 §2.2)."""

from __future__ import annotations

import json
import math
from typing import Any

from kgsvc.domain.extraction import ExtractedEdge
from kgsvc.domain.model import Episode, FactKind
from kgsvc.llm.offline.cast import Cast
from kgsvc.llm.offline.lists import word_set
from kgsvc.llm.offline.prose import read_text
from kgsvc.llm.offline.relations import BY_NAME, screaming
from kgsvc.llm.offline.scene import Draft, Scene
from kgsvc.llm.offline.wording import finished

_DEEPEST = 12
_MOST_VALUES = 5_000
_LONGEST_VALUE = 200  # characters; longer strings are read as text
_NAME_KEYS = (
    "name",
    "full_name",
    "fullname",
    "display_name",
    "title",
    "label",
    "username",
    "login",
    "email",
    "slug",
)
_IDENTITY_KEYS = ("id", "uuid", "key", "code", "identifier")
_SPEAKER_KEYS = ("speaker", "role", "author", "from", "sender", "user")
_SPOKEN_KEYS = ("content", "text", "message", "body")
_TEXT_KEYS = word_set(
    """
    description notes note comment comments content text body message summary bio about details abstract
    """
)
_TYPE_KEYS = ("type", "kind", "category", "@type")
_SCALARS = (str, int, float, bool)
# Keys that mean a relation of the table; other keys become HAS_<KEY>.
_KNOWN_KEYS = {
    "company": "WORKS_AT",
    "employer": "WORKS_AT",
    "organization": "WORKS_AT",
    "organisation": "WORKS_AT",
    "works_at": "WORKS_AT",
    "city": "LIVES_IN",
    "lives_in": "LIVES_IN",
    "residence": "LIVES_IN",
    "hometown": "IS_FROM",
    "spouse": "MARRIED_TO",
    "likes": "LIKES",
    "hobbies": "LIKES",
    "interests": "INTERESTED_IN",
    "languages": "SPEAKS",
    "leads": "LEADS",
    "member_of": "MEMBER_OF",
}
_PEOPLE_ONLY = word_set("WORKS_AT LIVES_IN IS_FROM MARRIED_TO LIKES SPEAKS INTERESTED_IN")
_PEOPLE_KEYS = word_set(
    """
    person people user users employee employees member members customer customers contact contacts
    author authors manager owner assignee lead team staff friend friends student students
    """
)


def read_json(scene: Scene, episode: Episode, cast: Cast) -> bool:
    """Add what a JSON body says to the scene; False if the body is no JSON object or list."""
    try:
        value = json.loads(episode.body)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, (dict, list)):
        return False
    root = episode.name or episode.source_description or ""
    _Walk(scene, cast).value(value, _singular(root.strip())[: scene.limits.name], None, 0)
    return True


class _Walk:
    def __init__(self, scene: Scene, cast: Cast) -> None:
        self.scene, self.cast = scene, cast
        self.values = 0

    def value(self, value: Any, key: str, owner: Draft | None, depth: int) -> None:
        """Take in one value found under `key` of `owner`."""
        self.values += 1
        if self.values > _MOST_VALUES or depth > _DEEPEST or self.scene.full:
            return
        if isinstance(value, dict):
            self._object(value, key, owner, depth)
        elif isinstance(value, list):
            for item in value:
                self.value(item, _singular(key), owner, depth + 1)
        elif owner is not None and isinstance(value, _SCALARS):
            self._scalar(value, key, owner)
        elif isinstance(value, str):
            self._text(value, None)

    def _object(self, value: dict[str, Any], key: str, owner: Draft | None, depth: int) -> None:
        speech = _speech(value)
        if speech is not None:
            self._spoken(*speech)
            return
        name_key, name = _name(value)
        if not name and owner is None:
            name_key, name = self._substitute(value, key)
        if not name:
            prefix = f"{key} " if key else ""
            for inner, item in value.items():
                self.value(item, f"{prefix}{inner}", owner, depth + 1)
            return
        draft = self.scene.node(name, _kind(value, key))
        if draft is None:
            return
        if owner is not None:
            self._fact(owner, key, draft, draft.name)
        for inner, item in value.items():
            if inner != name_key:
                self._field(draft, inner, item, depth)

    def _substitute(self, value: dict[str, Any], key: str) -> tuple[str, str]:
        """What to call a nameless root: the document's name, or its first short text."""
        if key:
            return "", key
        for inner, item in value.items():
            if isinstance(item, str) and 0 < len(item.strip()) <= 80:
                return inner, item.strip()
        return "", "record" if any(isinstance(item, _SCALARS) for item in value.values()) else ""

    def _field(self, draft: Draft, key: str, item: Any, depth: int) -> None:
        if isinstance(item, _SCALARS) and not (isinstance(item, str) and _is_text(key, item)):
            room = self.scene.limits.attributes_bytes // 8
            short = not isinstance(item, str) or len(item) <= _LONGEST_VALUE
            if short and len(draft.attributes) < 100 and len(str(draft.attributes)) < room:
                draft.attributes[key[:_LONGEST_VALUE]] = _finite(item)
        self.value(item, key, draft, depth + 1)

    def _scalar(self, value: str | float | bool, key: str, owner: Draft) -> None:
        if isinstance(value, str) and _is_text(key, value):
            self._text(value, owner)
            return
        words = _words(key)
        written = _written(value)
        if not written or key in _TYPE_KEYS:
            return
        named = isinstance(value, str) and not any(char.isdigit() for char in value[:4])
        target = self.scene.node(written if named else f"{words}: {written}", "Entity" if named else "Value")
        if target is not None:
            self._fact(owner, key, target, written)

    def _fact(self, owner: Draft, key: str, target: Draft, written: str) -> None:
        known = _KNOWN_KEYS.get(key.lower())
        if known in _PEOPLE_ONLY and owner.type not in ("Person", "Entity"):
            known = None
        relation = BY_NAME.get(known) if known else None
        many = key.lower() != _singular(key).lower() or (
            relation is not None and relation.kind is FactKind.STATE
        )
        name = relation.name if relation else screaming(f"HAS_{_words(_singular(key))}" if key else "HAS")
        kind = relation.kind if relation else FactKind.STATE if many else FactKind.FUNCTIONAL
        if relation:
            owner.specify(relation.source)
            target.specify(relation.target)
            words = relation.name.lower().replace("_", " ")
            fact = f"{owner.name} {words} {written}."
        else:
            fact = f"{owner.name} has {_words(key)} {written}."
        edge = ExtractedEdge(name, finished(fact), owner.ref, target.ref, self.scene.reference_ms, None, kind)
        self.scene.add(edge)

    def _text(self, text: str, owner: Draft | None) -> None:
        before, self.scene.subject = self.scene.subject, owner or self.scene.subject
        read_text(self.scene, text, self.cast)
        self.scene.subject = before

    def _spoken(self, speaker: str, text: str) -> None:
        before = self.scene.speaker
        self.scene.speaker = self.scene.node(speaker, "Person")
        read_text(self.scene, text, self.cast)
        self.scene.speaker = before


def _speech(value: dict[str, Any]) -> tuple[str, str] | None:
    """Speaker and text of a chat message in JSON."""
    speaker = next((value[key] for key in _SPEAKER_KEYS if isinstance(value.get(key), str)), None)
    text = next((value[key] for key in _SPOKEN_KEYS if isinstance(value.get(key), str)), None)
    return (speaker.strip(), text) if speaker and speaker.strip() and text else None


def _name(value: dict[str, Any]) -> tuple[str, str]:
    for key in (*_NAME_KEYS, *_IDENTITY_KEYS):
        found = value.get(key)
        if isinstance(found, (str, int)) and not isinstance(found, bool) and str(found).strip():
            name = str(found).strip()
            return key, name if isinstance(found, str) and key not in _IDENTITY_KEYS else _tagged(
                value, key, name
            )
    first, last = value.get("first_name"), value.get("last_name")
    if isinstance(first, str) and isinstance(last, str) and (first + last).strip():
        return "first_name", f"{first} {last}".strip()
    return "", ""


def _tagged(value: dict[str, Any], key: str, name: str) -> str:
    """An id alone names nothing to a reader: "order 17"."""
    kind = next((value[k] for k in _TYPE_KEYS if isinstance(value.get(k), str)), "")
    return f"{kind or key} {name}".strip()


def _kind(value: dict[str, Any], key: str) -> str:
    kind = next((value[k] for k in _TYPE_KEYS if isinstance(value.get(k), str)), "")
    if kind and len(kind) <= 40 and kind.replace(" ", "").isalpha():
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


def _finite(value: str | float | bool) -> str | float | bool:
    """JSON has no NaN; stores and protobuf structs neither want one."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


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
