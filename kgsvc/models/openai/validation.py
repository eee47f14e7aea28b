"""The strict JSON schema of an extraction, and how an answer is checked against it.

Strict mode wants every property required and no additional ones, so that open maps are lists of pairs and
optional values are nullable.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import AfterValidator, Field

from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import ANY, ExtractedEdge, ExtractedNode, Extraction, Ontology
from kgsvc.domain.model.graph import FactKind, Polarity
from kgsvc.domain.model.items import ItemWarning
from kgsvc.domain.text import normalise
from kgsvc.models.openai import normalisations, values
from kgsvc.models.openai.normalisations import Dropped, NodeBook, Normalisations
from kgsvc.models.openai.values import BadValue, ExactObject, Instant, Pair, TextPair, a_text, visible
from kgsvc.models.prompts.extraction import RequestedParts
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
def extraction(ontology: Ontology, asked: RequestedParts = RequestedParts.ALL) -> dict[str, Any]:
    """The schema for extractions by the types of `ontology`, or for the half that is asked for. Facts have
    attributes where a fact type has. Weights are not asked for: what is said often weighs more, by being
    summed up."""
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
    parts = {RequestedParts.NODES: {"nodes": arrays(node)}, RequestedParts.EDGES: {"edges": arrays(edge)}}
    return structure(**(parts.get(asked) or parts[RequestedParts.NODES] | parts[RequestedParts.EDGES]))


ANSWER_CHARS = 2 * 1024 * 1024  # parsing more would hold up the event loop

_PROBLEMS = 12
Found = TypeVar("Found")
Given = TypeVar("Given")
Placed = list[tuple[str, Found]]  # with the path at which the answer holds it


_FEW: Any = Field(default_factory=list, max_length=values.PAIRS)


class _Answer(ExactObject):
    nodes: Any
    edges: Any


class _AnsweredNode(ExactObject):
    ref: Annotated[str, a_text(64, visible)]
    name: Annotated[str, a_text("name", visible)]
    type: Annotated[str, AfterValidator(values.node_type)] = ANY
    summary: Annotated[str, a_text("summary")] = ""
    attributes: Annotated[list[Pair], _FEW]


class _Edge(ExactObject):
    name: Annotated[str, AfterValidator(values.relation)]
    fact: Annotated[str, a_text("fact", visible)]
    source_ref: Annotated[str, a_text("name", visible)]
    target_ref: Annotated[str, a_text("name", visible)]
    valid_at: Instant = None
    invalid_at: Instant = None
    kind: Annotated[FactKind, values.one_of(FactKind)] = FactKind.STATE
    polarity: Annotated[Polarity, values.one_of(Polarity)] = Polarity.ASSERTS
    qualifiers: Annotated[list[TextPair], _FEW]
    keywords: Annotated[list[Annotated[str, a_text(values.KEY_CHARS)]], _FEW]
    weight: Annotated[float, Field(ge=0, le=values.WEIGHT_MAX, allow_inf_nan=False)] = 1.0
    attributes: Annotated[list[Pair], _FEW]


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
    notes, problems = Normalisations(), list[str]()
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
        root = values.read(_Answer, answer)
    except BadValue as bad:
        raise Rejected(_sentence("the answer", bad), kind=Trouble.MALFORMED) from None
    nodes = _listed(root.nodes, "nodes", limits.nodes_per_extraction)
    edges = _listed(root.edges, "edges", limits.edges_per_extraction)
    return _placed("nodes", nodes), _placed("edges", edges)


def _listed(raw: object, field: str, bound: int) -> list[Any]:
    """A list of the answer. One over its bound is no fault to be repaired, which would cost what the text
    says: the text is too long for one answer."""
    try:
        return values.listed(raw, field, bound)
    except BadValue as bad:
        kind = Trouble.BEYOND_LIMIT if isinstance(raw, list) else Trouble.INVALID
        raise Rejected(_sentence("the answer", bad), kind=kind) from None


def _placed(path: str, raws: list[object]) -> Placed[object]:
    return [(f"{path}[{index}]", raw) for index, raw in enumerate(raws)]


def _each(
    placed: Placed[Given], read: Callable[[Given, str], Found], problems: list[str], notes: Normalisations
) -> Placed[Found]:
    """What `read` makes of them; what it drops is left out and noted."""
    found: Placed[Found] = []
    for path, given in placed:
        if len(problems) >= _PROBLEMS:
            break
        try:
            found.append((path, read(given, path)))
        except Dropped as dropped:
            notes.drop(path, dropped)
        except BadValue as bad:
            problems.append(_sentence(path, bad))
    return found


def _sentence(path: str, bad: BadValue) -> str:
    return f"{path}.{bad.field} {bad.problem}" if bad.field else f"{path} {bad.problem}"


def _node(raw: object, limits: Limits) -> ExtractedNode:
    given = values.read(_AnsweredNode, raw, limits)
    attributes = values.mapped(given.attributes, "attributes", limits.attributes_bytes)
    return ExtractedNode(given.ref, given.name, given.type, given.summary, attributes)


def _edge(raw: object, limits: Limits) -> ExtractedEdge:
    given = values.read(_Edge, raw, limits)
    return ExtractedEdge(
        name=given.name,
        fact=given.fact,
        source_ref=given.source_ref,
        target_ref=given.target_ref,
        valid_ms=given.valid_at,
        invalid_ms=given.invalid_at,
        kind=given.kind,
        polarity=given.polarity,
        qualifiers=values.mapped(given.qualifiers, "qualifiers", limits.attributes_bytes),
        keywords=tuple(dict.fromkeys(filter(None, given.keywords))),
        weight=given.weight,
        attributes=values.mapped(given.attributes, "attributes", limits.attributes_bytes),
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
