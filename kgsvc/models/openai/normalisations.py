"""The table of normalisations: single wrong values of an extraction are put right or left out before the
strict checks (spec 004 §7), so that one of them does not cost the episode. docs/types.md shows the table;
its rows about refs are in linking.py.

Nothing is guessed: a value is either read in the one way it can be meant, or left out with the node or edge
that is nothing without it. Values of a wrong type, over their limit or without a meaning stay as they are,
for the strict checks to reject.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kgsvc.domain.model.items import ItemWarning
from kgsvc.models.openai import values
from kgsvc.models.openai.values import Bad, NoSuchTime
from kgsvc.models.protocol import Trouble

KEYWORDS = 5  # the prompt asks for no more
_NODE_TEXTS = ("ref", "name", "type", "summary")
_NODE_NEEDS = ("name",)
_EDGE_TEXTS = ("name", "fact", "source_ref", "target_ref", "valid_at", "invalid_at", "kind", "polarity")
# An edge without a polarity may be a denial: it is never taken for an assertion.
_EDGE_NEEDS = ("name", "fact", "source_ref", "target_ref", "polarity")
_PAIRS = ("attributes", "qualifiers")
_OPTIONAL = (*_PAIRS, "type", "kind", "keywords", "weight", "summary")
_NO_TIME = frozenset({"", "null", "none"})
_LOCAL_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?")


class Dropped(Bad):
    """A node or an edge is left out."""

    def __init__(self, field: str, problem: str, kind: Trouble) -> None:
        super().__init__(field, problem)
        self.kind = kind


class Notes:
    """What was put right and left out in one answer."""

    def __init__(self) -> None:
        self.warnings: list[ItemWarning] = []
        self._losses: dict[str, list[str]] = {}

    def put_right(self, path: str, kind: Trouble) -> None:
        """The value at `path` is read otherwise than it is written."""
        self.warnings.append(ItemWarning(path, kind.value))

    def drop(self, path: str, dropped: Dropped) -> None:
        """The node or edge at `path`, such as edges[3], is left out."""
        self.warnings.append(ItemWarning(f"{path}.{dropped.field}", dropped.kind.value, dropped=True))
        part = path.partition("[")[0]
        self._losses.setdefault(part, []).append(f"{path}.{dropped.field} {dropped.problem}")

    def losses(self, part: str) -> list[str]:
        """A sentence for each of the "nodes" or "edges" that was lost, quoting nothing."""
        return self._losses.get(part, [])


def node(raw: object, path: str, notes: Notes) -> object:
    """A node with its values put right. Raises Dropped for one without a name."""
    if not isinstance(raw, dict):
        return raw
    given = dict(raw)
    _texts(given, _NODE_TEXTS, path, notes)
    _needed(given, _NODE_NEEDS)
    if _is_empty(given.get("ref", "n1")):
        given["ref"] = path  # linking.py finds it by its place or its name
        notes.put_right(f"{path}.ref", Trouble.EMPTY_VALUE)
    _left_out(given, path, notes)
    return given


def edge(raw: object, path: str, notes: Notes) -> object:
    """An edge with its values put right; times without a zone are in UTC. Raises Dropped where a
    value is empty without which nothing is said."""
    if not isinstance(raw, dict):
        return raw
    given = dict(raw)
    _texts(given, _EDGE_TEXTS, path, notes)
    _needed(given, _EDGE_NEEDS)
    _left_out(given, path, notes)
    _lower_case(given, path, notes)
    _weight(given, path, notes)
    _keywords(given, path, notes)
    _times(given, path, notes)
    return given


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str) and values.is_blank(value))


def _texts(given: dict[str, Any], fields: tuple[str, ...], path: str, notes: Notes) -> None:
    for field in fields:
        text = given.get(field)
        if isinstance(text, str) and text != text.strip() and not values.is_blank(text):
            given[field] = text.strip()
            notes.put_right(f"{path}.{field}", Trouble.SURROUNDING_BLANKS)


def _needed(given: Mapping[str, Any], fields: tuple[str, ...]) -> None:
    for field in fields:
        if field in given and _is_empty(given[field]):
            raise Dropped(field, "is empty", Trouble.EMPTY_VALUE)


def _left_out(given: dict[str, Any], path: str, notes: Notes) -> None:
    """Empty values that an answer need not hold. An empty text says that there is no summary or no type."""
    for field in _OPTIONAL:
        if field in given and _is_empty(given[field]):
            if given[field] is None or field not in ("summary", "type"):
                notes.put_right(f"{path}.{field}", Trouble.EMPTY_VALUE)
            del given[field]
    for field in _PAIRS:
        if isinstance(given.get(field), list):
            given[field] = list(_pairs(given[field], f"{path}.{field}", notes))


def _pairs(raw: list[Any], path: str, notes: Notes) -> Iterator[Any]:
    """Those with a key and a value, the first of each key."""
    keys: set[str] = set()
    for index, pair in enumerate(raw):
        if not (isinstance(pair, dict) and pair.keys() == {"key", "value"}):
            yield pair
            continue
        key = " ".join(pair["key"].split()) if isinstance(pair["key"], str) else None
        if _is_empty(pair["key"]) or _is_empty(pair["value"]):
            notes.put_right(f"{path}[{index}]", Trouble.EMPTY_VALUE)
        elif key in keys:
            notes.put_right(f"{path}[{index}]", Trouble.REPEATED)
        else:
            if key is not None:
                keys.add(key)
            yield pair


def _lower_case(given: dict[str, Any], path: str, notes: Notes) -> None:
    for field in ("kind", "polarity"):
        text = given.get(field)
        if isinstance(text, str) and text != text.lower():
            given[field] = text.lower()
            notes.put_right(f"{path}.{field}", Trouble.OTHER_CASE)


def _weight(given: dict[str, Any], path: str, notes: Notes) -> None:
    weight = given.get("weight")
    if isinstance(weight, str):  # spec 001: what is no number weighs 1
        weight = given["weight"] = 1.0
        notes.put_right(f"{path}.weight", Trouble.NO_NUMBER)
    if isinstance(weight, int | float) and not isinstance(weight, bool):
        given["weight"] = min(max(weight, 0.0), values.WEIGHT_MAX)
        if given["weight"] != weight:
            notes.put_right(f"{path}.weight", Trouble.OUT_OF_RANGE)


def _keywords(given: dict[str, Any], path: str, notes: Notes) -> None:
    words = given.get("keywords")
    if isinstance(words, list) and all(isinstance(word, str) for word in words):
        distinct = list(dict.fromkeys(word for word in words if not values.is_blank(word)))
        given["keywords"] = distinct[:KEYWORDS]
        if len(distinct) > KEYWORDS:
            notes.put_right(f"{path}.keywords", Trouble.TOO_MANY_KEYWORDS)


def _times(given: dict[str, Any], path: str, notes: Notes) -> None:
    found: dict[str, int] = {}
    for field in ("valid_at", "invalid_at"):
        if isinstance(given.get(field), str):
            given[field], kind = time(given[field])
            if kind is not None:
                notes.put_right(f"{path}.{field}", kind)
        ms = _instant(given.get(field))
        if ms is not None:
            found[field] = ms
    if len(found) == 2 and found["invalid_at"] < found["valid_at"]:
        given["invalid_at"] = None
        notes.put_right(f"{path}.invalid_at", Trouble.INVALID_BEFORE_VALID)


def time(text: str) -> tuple[str | None, Trouble | None]:
    """A time as the strict checks know it, and what was wrong with it."""
    if values.is_blank(text) or text.lower() in _NO_TIME:
        return None, Trouble.EMPTY_VALUE
    local = _LOCAL_TIME.fullmatch(text) is not None
    try:
        ms = values.instant(f"{text}Z" if local else text, "")
    except NoSuchTime:
        return None, Trouble.NO_SUCH_TIME
    except Bad:
        return text, None
    if not local or ms is None:
        return text, None
    return f"{text}Z", Trouble.TIME_WITHOUT_ZONE


def _instant(raw: object) -> int | None:
    try:
        return values.instant(raw, "")
    except Bad:
        return None
