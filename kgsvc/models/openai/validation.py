"""The strict JSON schema of an extraction (spec 004 §7 with the additive fields of the domain), and how an
answer is checked against it.

Strict mode wants every property required and no additional ones, so that open maps are lists of pairs and
optional values are nullable.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn, TypeVar

from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import ANY, ExtractedEdge, ExtractedNode, Extraction, Ontology
from kgsvc.domain.model.graph import FactKind, Polarity
from kgsvc.domain.model.items import ItemWarning
from kgsvc.domain.text import normalise
from kgsvc.models.openai import normalisations, values
from kgsvc.models.openai.normalisations import Dropped, NodeBook, Notes
from kgsvc.models.openai.values import Bad
from kgsvc.models.prompts.extraction import Asked
from kgsvc.models.protocol import Trouble

NAME = "episode_extraction"
STRING = {"type": "string"}
NUMBER = {"type": "integer"}
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


def one_of(values: Iterable[object]) -> dict[str, Any]:
    """One of these values, as a text."""
    return {"type": "string", "enum": [str(value) for value in values]}


_ATTRIBUTES = arrays(structure(key=STRING, value={"type": ["string", "number", "boolean"]}))


@lru_cache(maxsize=64)
def extraction(ontology: Ontology, asked: Asked = Asked.ALL) -> dict[str, Any]:
    """The schema for extractions by the types of `ontology`, or for the half that is asked for. Facts have
    attributes where a fact type has. Weights are not asked for: what is said often weighs more, by being
    summed up (spec 001)."""
    types = [each.name for each in ontology.by_priority]
    node = structure(
        ref=STRING, name=STRING, type=one_of([*types, ANY]), summary=STRING, attributes=_ATTRIBUTES
    )
    described = any(each.attributes for each in ontology.fact_types)
    edge = structure(
        name=STRING,
        fact=STRING,
        source_ref=STRING,
        target_ref=STRING,
        valid_at=_TIME,
        invalid_at=_TIME,
        kind=one_of(FactKind),
        polarity=one_of(Polarity),
        keywords=arrays(STRING),
        **({"attributes": _ATTRIBUTES} if described else {}),
    )
    parts = {Asked.NODES: {"nodes": arrays(node)}, Asked.EDGES: {"edges": arrays(edge)}}
    return structure(**(parts.get(asked) or parts[Asked.NODES] | parts[Asked.EDGES]))


ANSWER_CHARS = 2 * 1024 * 1024  # parsing more would hold up the event loop

_PROBLEMS = 12
_REF_CHARS = 64
_NODE_REQUIRED = frozenset({"ref", "name"})
_NODE_OPTIONAL = frozenset({"type", "summary", "attributes"})
_EDGE_REQUIRED = frozenset({"name", "fact", "source_ref", "target_ref"})
_EDGE_OPTIONAL = frozenset(
    {"valid_at", "invalid_at", "kind", "polarity", "qualifiers", "keywords", "weight", "attributes"}
)

Part = TypeVar("Part")
Given = TypeVar("Given")
Placed = list[tuple[str, Part]]  # with the path at which the answer holds it


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


@dataclass(frozen=True, slots=True)
class Checked:
    """A valid extraction, and what was put right or left out for it."""

    extraction: Extraction
    warnings: tuple[ItemWarning, ...] = ()


def validate(answer: object, limits: Limits) -> Checked:
    """The extraction that `answer` holds, by the table of normalisations (docs/types.md); times without a
    zone are in UTC. Raises Rejected, also where most nodes or most edges would be left out."""
    raw_nodes, raw_edges = _lists(answer, limits)
    notes, problems = Notes(), list[str]()
    book = NodeBook(limits, raw_nodes, notes)
    nodes = _each(
        raw_nodes, lambda raw, path: _node(normalisations.node(raw, path, notes), limits), problems, notes
    )
    _each(nodes, book.add, problems, notes)
    edges = _each(
        raw_edges,
        lambda raw, path: _edge(normalisations.edge(raw, path, notes), limits),
        problems,
        notes,
    )
    kind = Trouble.INVALID
    if not problems:  # edges are checked against the nodes only if all nodes are valid
        edges = _each(edges, book.link, problems, notes)
        kind = Trouble.WRONG_IDS if problems or notes.losses("edges") else kind
    lost_nodes, lost_edges = notes.losses("nodes"), notes.losses("edges")
    if problems or 2 * len(lost_nodes) > len(raw_nodes) or 2 * len(lost_edges) > len(raw_edges):
        raise Rejected(*[*problems, *lost_nodes, *lost_edges][:_PROBLEMS], kind=kind)
    return Checked(Extraction(book.nodes, _distinct_edges(edge for _, edge in edges)), tuple(notes.warnings))


def _lists(answer: object, limits: Limits) -> tuple[Placed[object], Placed[object]]:
    try:
        root = values.fields(answer, {"nodes", "edges"})
    except Bad as bad:
        raise Rejected(_sentence("the answer", bad), kind=Trouble.MALFORMED) from None
    nodes = _listed(root, "nodes", limits.nodes_per_extraction)
    edges = _listed(root, "edges", limits.edges_per_extraction)
    return _placed("nodes", nodes), _placed("edges", edges)


def _listed(root: Mapping[str, Any], field: str, bound: int) -> list[Any]:
    """A list of the answer. One over its bound is no fault to be repaired, which would cost what the text
    says: the text is too long for one answer."""
    raw = root[field]
    try:
        return values.listed(raw, field, bound)
    except Bad as bad:
        kind = Trouble.BEYOND_LIMIT if isinstance(raw, list) else Trouble.INVALID
        raise Rejected(_sentence("the answer", bad), kind=kind) from None


def _placed(path: str, raws: list[object]) -> Placed[object]:
    return [(f"{path}[{index}]", raw) for index, raw in enumerate(raws)]


def _each(
    placed: Placed[Given], read: Callable[[Given, str], Part], problems: list[str], notes: Notes
) -> Placed[Part]:
    """What `read` makes of them; what it drops is left out and noted."""
    found: Placed[Part] = []
    for path, given in placed:
        if len(problems) >= _PROBLEMS:
            break
        try:
            found.append((path, read(given, path)))
        except Dropped as dropped:
            notes.drop(path, dropped)
        except Bad as bad:
            problems.append(_sentence(path, bad))
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
    return ExtractedEdge(
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


def _distinct_edges(edges: Iterable[ExtractedEdge]) -> tuple[ExtractedEdge, ...]:
    kept: dict[object, ExtractedEdge] = {}
    for edge in edges:
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
