"""The strict JSON schema of an extraction (spec 004 §7 with the additive fields of the domain).

Strict mode wants every property required and no additional ones, so that open maps are lists of pairs and
optional values are nullable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NoReturn, TypeVar

from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import ANY, ExtractedEdge, ExtractedNode, Extraction, Ontology
from kgsvc.domain.model.graph import FactKind, Polarity
from kgsvc.domain.text import normalise
from kgsvc.models.openai import values
from kgsvc.models.openai.values import Bad
from kgsvc.models.protocol import Trouble

NAME = "episode_extraction"
STRING = {"type": "string"}
_TIME = {"type": ["string", "null"]}


def structure(**properties: Any) -> dict[str, Any]:
    """An object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def arrays(items: Any) -> dict[str, Any]:
    """A list of such items."""
    return {"type": "array", "items": items}


def _enum(values: Any) -> dict[str, Any]:
    return {"type": "string", "enum": [str(value) for value in values]}


_ATTRIBUTES = arrays(structure(key=STRING, value={"type": ["string", "number", "boolean"]}))


@lru_cache(maxsize=64)
def extraction(ontology: Ontology) -> dict[str, Any]:
    """The schema for extractions by the types of `ontology`. Facts have attributes where a fact type has."""
    types = [each.name for each in ontology.by_priority]
    node = structure(
        ref=STRING, name=STRING, type=_enum([*types, ANY]), summary=STRING, attributes=_ATTRIBUTES
    )
    described = any(each.attributes for each in ontology.fact_types)
    edge = structure(
        name=STRING,
        fact=STRING,
        source_ref=STRING,
        target_ref=STRING,
        valid_at=_TIME,
        invalid_at=_TIME,
        kind=_enum(FactKind),
        polarity=_enum(Polarity),
        qualifiers=arrays(structure(key=STRING, value=STRING)),
        keywords=arrays(STRING),
        weight={"type": "number"},
        **({"attributes": _ATTRIBUTES} if described else {}),
    )
    return structure(nodes=arrays(node), edges=arrays(edge))


ANSWER_CHARS = 2 * 1024 * 1024  # parsing more would hold up the event loop
UNKNOWN = "UNKNOWN"

_PROBLEMS = 12
_REF_CHARS = 64
_NODE_REQUIRED = frozenset({"ref", "name"})
_NODE_OPTIONAL = frozenset({"type", "summary", "attributes"})
_EDGE_REQUIRED = frozenset({"name", "fact", "source_ref", "target_ref"})
_EDGE_OPTIONAL = frozenset(
    {"valid_at", "invalid_at", "kind", "polarity", "qualifiers", "keywords", "weight", "attributes"}
)
_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
_NUMBERED = re.compile(r"([^0-9]*)[0-9]+")
_HANDLES = frozenset(
    ("", "#", "n", "e", "id", "idx", "index", "ref", "tmp", "node", "edge", "entity", "fact")
)

Part = TypeVar("Part")


class Rejected(Exception):
    """The answer cannot be accepted. `problems` are sentences that quote nothing of the answer."""

    def __init__(self, *problems: str, kind: Trouble = Trouble.INVALID) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems
        self.kind = kind


def decode(answer: str) -> object:
    """The answer as JSON: strict, bounded, without NaN, Infinity or a key given twice. Raises Rejected."""
    if len(answer) > ANSWER_CHARS:
        raise Rejected(f"the answer is longer than {ANSWER_CHARS} characters", kind=Trouble.MALFORMED)
    try:
        return json.loads(answer, parse_constant=_no_constant, object_pairs_hook=_distinct)
    except RecursionError:
        raise Rejected("the answer is nested too deeply", kind=Trouble.MALFORMED) from None
    except ValueError:  # malformed, or a number with thousands of digits
        raise Rejected("the answer is not one valid JSON object", kind=Trouble.MALFORMED) from None


def validate(answer: object, limits: Limits) -> Extraction:
    """The extraction that `answer` holds. Raises Rejected."""
    try:
        root = values.fields(answer, {"nodes", "edges"})
    except Bad as bad:
        raise Rejected(_sentence("the answer", bad), kind=Trouble.MALFORMED) from None
    try:
        raw_nodes = values.listed(root["nodes"], "nodes", limits.nodes_per_extraction)
        raw_edges = values.listed(root["edges"], "edges", limits.edges_per_extraction)
    except Bad as bad:
        raise Rejected(_sentence("the answer", bad)) from None
    problems: list[str] = []
    kind = Trouble.INVALID
    nodes = _each("nodes", raw_nodes, lambda raw: _node(raw, limits), problems)
    book = _NodeBook(limits)
    _each("nodes", nodes, book.add, problems)
    edges = _each("edges", raw_edges, lambda raw: _edge(raw, limits), problems)
    if not problems:  # edges are checked against the nodes only if all nodes are valid
        kind = Trouble.WRONG_IDS
        edges = _each("edges", edges, book.link, problems)
    if problems:
        raise Rejected(*problems[:_PROBLEMS], kind=kind)
    return Extraction(nodes=book.nodes, edges=_distinct_edges(edges))


def _each(path: str, raws: list[Any], read: Callable[[Any], Part], problems: list[str]) -> list[Part]:
    found: list[Part] = []
    for index, raw in enumerate(raws):
        if len(problems) >= _PROBLEMS:
            break
        try:
            found.append(read(raw))
        except Bad as bad:
            problems.append(_sentence(f"{path}[{index}]", bad))
    return found


def _sentence(path: str, bad: Bad) -> str:
    return f"{path}.{bad.field} {bad.problem}" if bad.field else f"{path} {bad.problem}"


def _node(raw: object, limits: Limits) -> ExtractedNode:
    given = values.fields(raw, _NODE_REQUIRED, _NODE_OPTIONAL)
    return ExtractedNode(
        ref=values.visible(given["ref"], "ref", _REF_CHARS),
        name=values.visible(given["name"], "name", limits.name),
        type=values.node_type(given.get("type", ""), "type"),
        summary=values.text(given.get("summary", ""), "summary", limits.summary),
        attributes=values.value_pairs(
            given.get("attributes", []), "attributes", limits.summary, limits.attributes_bytes
        ),
    )


def _edge(raw: object, limits: Limits) -> ExtractedEdge:
    given = values.fields(raw, _EDGE_REQUIRED, _EDGE_OPTIONAL)
    edge = ExtractedEdge(
        name=values.relation(given["name"], "name"),
        fact=values.visible(given["fact"], "fact", limits.fact),
        source_ref=values.visible(given["source_ref"], "source_ref", limits.name),
        target_ref=values.visible(given["target_ref"], "target_ref", limits.name),
        valid_ms=values.instant(given.get("valid_at"), "valid_at"),
        invalid_ms=values.instant(given.get("invalid_at"), "invalid_at"),
        kind=values.choice(given.get("kind", FactKind.STATE), "kind", FactKind),
        polarity=values.choice(given.get("polarity", Polarity.ASSERTS), "polarity", Polarity),
        qualifiers=values.text_pairs(
            given.get("qualifiers", []), "qualifiers", limits.fact, limits.attributes_bytes
        ),
        keywords=values.words(given.get("keywords", []), "keywords"),
        weight=values.weight(given.get("weight", 1.0), "weight"),
        attributes=values.value_pairs(
            given.get("attributes", []), "attributes", limits.fact, limits.attributes_bytes
        ),
    )
    if edge.valid_ms is not None and edge.invalid_ms is not None and edge.invalid_ms < edge.valid_ms:
        raise Bad("invalid_at", "is earlier than valid_at")
    return edge


class _NodeBook:
    """The nodes of one answer, by ref and by normalised name; edges are linked through it."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._by_name: dict[str, ExtractedNode] = {}
        self._name_of: dict[str, str] = {}
        self._stems: set[str] = set(_HANDLES)

    @property
    def nodes(self) -> tuple[ExtractedNode, ...]:
        """Each name once, in the order of first appearance."""
        return tuple(self._by_name.values())

    def add(self, node: ExtractedNode) -> None:
        """Take a node in; a second one of the same name completes the first."""
        name = normalise(node.name)
        if self._name_of.get(node.ref, name) != name:
            raise Bad("ref", "is used for two different names")
        self._name_of[node.ref] = name
        if numbered := _NUMBERED.fullmatch(node.ref):
            self._stems.add(_stem(numbered))
        known = self._by_name.get(name)
        self._by_name[name] = node if known is None else self._completed(known, node)

    def link(self, edge: ExtractedEdge) -> ExtractedEdge:
        """`edge` with refs of listed nodes at both ends."""
        source = self._endpoint(edge.source_ref, "source_ref")
        target = self._endpoint(edge.target_ref, "target_ref")
        return replace(edge, source_ref=source.ref, target_ref=target.ref)

    def _completed(self, first: ExtractedNode, second: ExtractedNode) -> ExtractedNode:
        merged = {**second.attributes, **first.attributes}
        return replace(
            first,
            type=second.type if first.type in {"Entity", UNKNOWN} else first.type,
            summary=first.summary or second.summary,
            attributes=values.within(merged, "attributes", self._limits.attributes_bytes),
        )

    def _endpoint(self, given: str, field: str) -> ExtractedNode:
        name = self._name_of.get(given, normalise(given))
        if name not in self._by_name:
            self._by_name[name] = self._unlisted(given, field)
        return self._by_name[name]

    def _unlisted(self, given: str, field: str) -> ExtractedNode:
        """A node for a name that is not listed. Raises Bad for what looks like a ref or a uuid."""
        numbered = _NUMBERED.fullmatch(given)
        handle = _UUID.fullmatch(given) or (numbered and _stem(numbered) in self._stems)
        if handle or not any(char.isalpha() for char in given):
            raise Bad(field, "is neither a ref of the listed nodes nor a name")
        if len(self._by_name) >= self._limits.nodes_per_extraction:
            raise Bad(field, f"names a node beyond the {self._limits.nodes_per_extraction} allowed")
        self._name_of[given] = normalise(given)
        return ExtractedNode(ref=given, name=given, type=UNKNOWN)


def _stem(numbered: re.Match[str]) -> str:
    return numbered.group(1).casefold().rstrip(" _-:#")


def _distinct_edges(edges: list[ExtractedEdge]) -> tuple[ExtractedEdge, ...]:
    kept: dict[object, ExtractedEdge] = {}
    for edge in edges:
        if edge.source_ref != edge.target_ref:
            kept.setdefault(edge_identity(edge), edge)
    return tuple(kept.values())


def edge_identity(edge: ExtractedEdge) -> object:
    """A key that is equal for edges of one extraction that state the same."""
    return (
        edge.name,
        edge.source_ref,
        edge.target_ref,
        normalise(edge.fact),
        edge.valid_ms,
        edge.invalid_ms,
        edge.polarity,
        frozenset(edge.qualifiers.items()),
    )


def _no_constant(_: str) -> NoReturn:
    raise ValueError("NaN and Infinity are no JSON")


def _distinct(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found
