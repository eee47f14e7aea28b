"""The strict JSON schema of an extraction (spec 004 §7 with the additive fields of the domain).

Strict mode wants every property required and no additional ones, so that open maps are lists of pairs and
optional values are nullable.
"""

from __future__ import annotations

from typing import Any

from kgsvc.domain.model import FactKind, Polarity

NAME = "episode_extraction"
NODE_TYPES = ("Person", "Organization", "Project", "Product", "Location", "Event", "Concept", "Entity")

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


_NODE = structure(
    ref=_STRING,
    name=_STRING,
    type=_enum(NODE_TYPES),
    summary=_STRING,
    attributes=arrays(structure(key=_STRING, value={"type": ["string", "number", "boolean"]})),
)

_EDGE = structure(
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
)

EXTRACTION = structure(nodes=arrays(_NODE), edges=arrays(_EDGE))
