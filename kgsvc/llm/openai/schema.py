"""The strict JSON schema of an extraction (spec 004 §7 with the additive fields of the domain).

Strict mode wants every property required and no additional ones, so that open maps are lists of pairs and
optional values are nullable.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kgsvc.domain.model import FactKind, Polarity
from kgsvc.domain.ontology import ANY, Ontology

NAME = "episode_extraction"
_STRING = {"type": "string"}
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


_ATTRIBUTES = arrays(structure(key=_STRING, value={"type": ["string", "number", "boolean"]}))


@lru_cache(maxsize=64)
def extraction(ontology: Ontology) -> dict[str, Any]:
    """The schema for extractions by the types of `ontology`. Facts have attributes where a fact type has."""
    types = [each.name for each in ontology.by_priority]
    node = structure(
        ref=_STRING, name=_STRING, type=_enum([*types, ANY]), summary=_STRING, attributes=_ATTRIBUTES
    )
    described = any(each.attributes for each in ontology.fact_types)
    edge = structure(
        name=_STRING,
        fact=_STRING,
        source_ref=_STRING,
        target_ref=_STRING,
        valid_at=_TIME,
        invalid_at=_TIME,
        kind=_enum(FactKind),
        polarity=_enum(Polarity),
        qualifiers=arrays(structure(key=_STRING, value=_STRING)),
        keywords=arrays(_STRING),
        weight={"type": "number"},
        **({"attributes": _ATTRIBUTES} if described else {}),
    )
    return structure(nodes=arrays(node), edges=arrays(edge))
