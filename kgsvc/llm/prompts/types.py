"""The types of an ontology as a part of the extraction prompt.

Descriptions are a group's own words about its own types: each is put on one line, so that none can open a
section of the prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgsvc.domain.ontology import Attribute, EntityType, FactType, Ontology

_ENTITIES = """\
# Types of entities
"type" is the first of these that fits; Entity when none does.
"""
_FACTS = """\
# Types of facts
Where one of these fits, "name" is its name and "kind" its kind; it leads from a node of the first type to one
of the second. Name other relations freely.
"""
_ATTRIBUTES = """\
After "has" are keys for "attributes", with the kind of their value (a date as 2024-05-17). Use them exactly
so; leave out what the episode does not tell.
"""


def section(ontology: Ontology) -> str:
    """What the model is told about types; by priority."""
    lines = [_ENTITIES.rstrip()]
    lines += [
        f"- {each.name}: {_line(each.description)}{_has(each.attributes)}" for each in ontology.by_priority
    ]
    if ontology.fact_types:
        lines += ["", _FACTS.rstrip(), *_facts(ontology.fact_types)]
    holders: list[EntityType | FactType] = [*ontology.entity_types, *ontology.fact_types]
    if any(each.attributes for each in holders):
        lines += ["", _ATTRIBUTES.rstrip()]
    return "\n".join(lines) + "\n"


def _facts(fact_types: Sequence[FactType]) -> Iterator[str]:
    for each in fact_types:
        ends = ", ".join(f"{signature.source} to {signature.target}" for signature in each.signatures)
        about = f"{each.kind}; {ends or 'between any'}"
        yield f"- {each.name} ({about}): {_line(each.description)}{_has(each.attributes)}"


def _has(attributes: Sequence[Attribute]) -> str:
    return f" It has {'; '.join(map(_attribute, attributes))}." if attributes else ""


def _attribute(attribute: Attribute) -> str:
    about = f"{attribute.kind}, required" if attribute.required else str(attribute.kind)
    described = f": {' '.join(attribute.description.split())}" if attribute.description else ""
    return f"{attribute.name} ({about}{described})"


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if line.endswith((".", "!", "?", ":", "。")) else f"{line}."
