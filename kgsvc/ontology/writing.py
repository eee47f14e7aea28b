"""From an Ontology to YAML in the shape that `read` takes: reading it gives an equal ontology."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import yaml

from kgsvc.domain.ontology import Attribute, Ontology, Signature

_WIDTH = 110


def write(ontology: Ontology) -> str:
    """The ontology as YAML."""
    sections = {
        "entity_types": [
            _without_empty(
                name=each.name,
                description=each.description,
                priority=each.priority.value,
                attributes=_attributes(each.attributes),
            )
            for each in ontology.entity_types
        ],
        "fact_types": [
            _without_empty(
                name=each.name,
                description=each.description,
                kind=each.kind.value,
                attributes=_attributes(each.attributes),
            )
            for each in ontology.fact_types
        ],
        "fact_type_map": _map(ontology),
        "excluded_entity_types": sorted(ontology.excluded),
    }
    kept = {name: rows for name, rows in sections.items() if rows or name == "entity_types"}
    return str(yaml.safe_dump(kept, sort_keys=False, allow_unicode=True, width=_WIDTH))


def _attributes(attributes: Sequence[Attribute]) -> list[dict[str, Any]]:
    return [
        _without_empty(name=a.name, type=a.kind.value, required=a.required, description=a.description)
        for a in attributes
    ]


def _map(ontology: Ontology) -> list[dict[str, Any]]:
    by_ends: defaultdict[Signature, list[str]] = defaultdict(list)
    for fact_type in ontology.fact_types:
        for signature in fact_type.signatures:
            by_ends[signature].append(fact_type.name)
    return [{"source": s.source, "target": s.target, "fact_types": names} for s, names in by_ends.items()]


def _without_empty(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in ([], "", False)}
