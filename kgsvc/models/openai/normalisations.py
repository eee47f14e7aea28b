"""The table of normalisations: single wrong values of an extraction are put right or left out before the
strict checks, so that one of them does not cost the episode. docs/types.md shows the table.

Nothing is guessed: a value is either read in the one way it can be meant, or left out with the node or edge
that is nothing without it. Values of a wrong type, over their limit or without a meaning stay as they are,
for the strict checks to reject. A ref that no node bears never becomes an entity: its edge is left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import ANY, UNKNOWN, ExtractedEdge, ExtractedNode
from kgsvc.domain.model.items import ItemWarning
from kgsvc.domain.text import normalise
from kgsvc.models.openai import values
from kgsvc.models.openai.values import BadValue, NoSuchTime
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


class Dropped(BadValue):
    """A node or an edge is left out."""

    def __init__(self, field: str, problem: str, kind: Trouble) -> None:
        super().__init__(field, problem)
        self.kind = kind


class Normalisations:
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


def node(raw: object, path: str, notes: Normalisations) -> object:
    """A node with its values put right. Raises Dropped for one without a name."""
    if not isinstance(raw, dict):
        return raw
    given = dict(raw)
    _texts(given, _NODE_TEXTS, path, notes)
    _needed(given, _NODE_NEEDS)
    if _is_empty(given.get("ref", "n1")):
        given["ref"] = path  # NodeBook finds it by its place or its name
        notes.put_right(f"{path}.ref", Trouble.EMPTY_VALUE)
    _left_out(given, path, notes)
    return given


def edge(raw: object, path: str, notes: Normalisations) -> object:
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


def _texts(given: dict[str, Any], fields: tuple[str, ...], path: str, notes: Normalisations) -> None:
    for field in fields:
        text = given.get(field)
        if isinstance(text, str) and text != text.strip() and not values.is_blank(text):
            given[field] = text.strip()
            notes.put_right(f"{path}.{field}", Trouble.SURROUNDING_BLANKS)


def _needed(given: Mapping[str, Any], fields: tuple[str, ...]) -> None:
    for field in fields:
        if field in given and _is_empty(given[field]):
            raise Dropped(field, "is empty", Trouble.EMPTY_VALUE)


def _left_out(given: dict[str, Any], path: str, notes: Normalisations) -> None:
    """Empty values that an answer need not hold. An empty text says that there is no summary or no type."""
    for field in _OPTIONAL:
        if field in given and _is_empty(given[field]):
            if given[field] is None or field not in ("summary", "type"):
                notes.put_right(f"{path}.{field}", Trouble.EMPTY_VALUE)
            del given[field]
    for field in _PAIRS:
        if isinstance(given.get(field), list):
            given[field] = list(_pairs(given[field], f"{path}.{field}", notes))


def _pairs(raw: list[Any], path: str, notes: Normalisations) -> Iterator[Any]:
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


def _lower_case(given: dict[str, Any], path: str, notes: Normalisations) -> None:
    for field in ("kind", "polarity"):
        text = given.get(field)
        if isinstance(text, str) and text != text.lower():
            given[field] = text.lower()
            notes.put_right(f"{path}.{field}", Trouble.OTHER_CASE)


def _weight(given: dict[str, Any], path: str, notes: Normalisations) -> None:
    weight = given.get("weight")
    if isinstance(weight, str):  # what is no number weighs 1
        weight = given["weight"] = 1.0
        notes.put_right(f"{path}.weight", Trouble.NO_NUMBER)
    if isinstance(weight, int | float) and not isinstance(weight, bool):
        given["weight"] = min(max(weight, 0.0), values.WEIGHT_MAX)
        if given["weight"] != weight:
            notes.put_right(f"{path}.weight", Trouble.OUT_OF_RANGE)


def _keywords(given: dict[str, Any], path: str, notes: Normalisations) -> None:
    words = given.get("keywords")
    if isinstance(words, list) and all(isinstance(word, str) for word in words):
        distinct = list(dict.fromkeys(word for word in words if not values.is_blank(word)))
        given["keywords"] = distinct[:KEYWORDS]
        if len(distinct) > KEYWORDS:
            notes.put_right(f"{path}.keywords", Trouble.TOO_MANY_KEYWORDS)


def _times(given: dict[str, Any], path: str, notes: Normalisations) -> None:
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
        ms = values.instant(f"{text}Z" if local else text)
    except NoSuchTime:
        return None, Trouble.NO_SUCH_TIME
    except BadValue:
        return text, None
    if not local or ms is None:
        return text, None
    return f"{text}Z", Trouble.TIME_WITHOUT_ZONE


def _instant(raw: object) -> int | None:
    try:
        return values.instant(raw)
    except BadValue:
        return None


_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
_NUMBERED = re.compile(r"([^0-9]*)[0-9]+")
_COUNTED = re.compile(r"([^0-9]*)([0-9]{1,9})")
_HANDLES = frozenset(
    ("", "#", "n", "e", "id", "idx", "index", "ref", "tmp", "node", "edge", "entity", "fact")
)
_NOBODY = frozenset({"unknown", "undefined", "unnamed", "none", "null", "n/a", "entity", "node"})
_NAME_LETTERS = 3  # a shorter text that the fact does not hold is taken for a ref


class NodeBook:
    """The nodes of one answer, by ref and by normalised name; edges are linked through it.

    `raws` are all its nodes as they were answered, by path, those that are left out included.
    """

    def __init__(self, limits: Limits, raws: Sequence[tuple[str, object]], notes: Normalisations) -> None:
        self._limits = limits
        self._notes = notes
        self._by_name: dict[str, ExtractedNode] = {}
        self._name_of: dict[str, str] = {}
        refs = [_text_of(raw, "ref") for _, raw in raws]
        self._refs = set(refs) - {""}
        numbered = filter(None, map(_NUMBERED.fullmatch, self._refs))
        self._stems = _HANDLES.union(map(_stem, numbered))
        counted = _counted(refs)
        self._counted = {path: ref for (path, _), ref in zip(raws, counted, strict=True)}
        self._owners = {
            ref: normalise(_text_of(raw, "name"))
            for (_, raw), ref, own in zip(raws, refs, counted, strict=True)
            if ref == own
        }

    @property
    def nodes(self) -> tuple[ExtractedNode, ...]:
        """Each name once, in the order of first appearance."""
        return tuple(self._by_name.values())

    def add(self, node: ExtractedNode, path: str) -> None:
        """Take a node in; a second one of the same name completes the first. A ref that two nodes bear means
        the one whose place asks for it, else the first. A node left without a ref gets the one that its
        place asks for, if no other bears it."""
        name = normalise(node.name)
        if (self._owners.get(node.ref) or self._name_of.get(node.ref, name)) != name:
            self._notes.put_right(f"{path}.ref", Trouble.REPEATED)
            node = replace(node, ref=path)
        if node.ref == path and (counted := self._counted[path]) and counted not in self._refs:
            node = replace(node, ref=counted)
        self._name_of[node.ref] = name
        known = self._by_name.get(name)
        self._by_name[name] = node if known is None else self._completed(known, node)

    def link(self, edge: ExtractedEdge, path: str) -> ExtractedEdge:
        """`edge` with refs of listed nodes at both ends, or of one node at both: a property of it. Raises
        Dropped where there is none; Bad for one name too many."""
        for field, given in (("source_ref", edge.source_ref), ("target_ref", edge.target_ref)):
            if self._named(given) is None and not self._is_name(given, edge.fact):
                problem = "is neither a ref of the listed nodes nor a name"
                raise Dropped(field, problem, Trouble.UNKNOWN_REF)
        source = self._endpoint(edge.source_ref, "source_ref", path)
        target = self._endpoint(edge.target_ref, "target_ref", path)
        return replace(edge, source_ref=source.ref, target_ref=target.ref)

    def _completed(self, first: ExtractedNode, second: ExtractedNode) -> ExtractedNode:
        merged = {**second.attributes, **first.attributes}
        return replace(
            first,
            type=second.type if first.type in {ANY, UNKNOWN} else first.type,
            summary=first.summary or second.summary,
            attributes=values.within(merged, "attributes", self._limits.attributes_bytes),
        )

    def _named(self, given: str) -> ExtractedNode | None:
        return self._by_name.get(self._name_of.get(given, normalise(given)))

    def _endpoint(self, given: str, field: str, path: str) -> ExtractedNode:
        found = self._named(given)
        if found is not None:
            return found
        if len(self._by_name) >= self._limits.nodes_per_extraction:
            raise BadValue(field, f"names a node beyond the {self._limits.nodes_per_extraction} allowed")
        self._notes.put_right(f"{path}.{field}", Trouble.UNLISTED_NAME)
        name = self._name_of[given] = normalise(given)
        self._by_name[name] = ExtractedNode(ref=given, name=given, type=UNKNOWN)
        return self._by_name[name]

    def _is_name(self, given: str, fact: str) -> bool:
        """Whether an unlisted text names a thing: the fact says it, or it is written as names are."""
        numbered = _NUMBERED.fullmatch(given)
        handle = _UUID.fullmatch(given) or (numbered and _stem(numbered) in self._stems)
        letters = sum(map(str.isalpha, given))
        if handle or given in self._refs or normalise(given) in _NOBODY or not letters:
            return False
        if _says(fact, given):
            return True
        return letters >= _NAME_LETTERS and "_" not in given and (" " in given or not given[0].islower())


def _text_of(raw: object, field: str) -> str:
    text = raw.get(field) if isinstance(raw, dict) else None
    return text.strip() if isinstance(text, str) else ""


def _counted(refs: Sequence[str]) -> list[str | None]:
    """The ref of each node if most are numbered by their places, as the prompt asks for: n1, n2, n3."""
    found = [(each[1], int(each[2]) - at) for at, ref in enumerate(refs) if (each := _COUNTED.fullmatch(ref))]
    if not found:
        return [None] * len(refs)
    (stem, first), times = Counter(found).most_common(1)[0]
    return [f"{stem}{first + at}" if 2 * times > len(refs) else None for at in range(len(refs))]


def _stem(numbered: re.Match[str]) -> str:
    return numbered.group(1).casefold().rstrip(" _-:#")


def _says(fact: str, name: str) -> bool:
    """Whether `fact` holds `name`, as whole words where it is written in Latin letters."""
    return bool(re.search(rf"(?<![a-z0-9]){re.escape(normalise(name))}(?![a-z0-9])", normalise(fact)))
