"""Lines of the form "Owner: Maria Lopez" in notes: fields of what the note is about."""

from __future__ import annotations

import re

from kgsvc.domain.extraction import ExtractedEdge
from kgsvc.domain.model import FactKind
from kgsvc.llm.offline.lexicon import STOP
from kgsvc.llm.offline.reading import Reading
from kgsvc.llm.offline.relations import screaming

_FIELD = re.compile(r"([A-Z][A-Za-z]{1,20}(?: [A-Za-z]{1,20}){0,2}):\s+(\S.{0,79})\Z")


def read_field(reading: Reading) -> bool:
    """Add the field that the sentence is to its scene; False if it is none, or nothing has fields."""
    scene, match = reading.scene, _FIELD.match(reading.sentence)
    if match is None or scene.subject is None or scene.speaker is not None:
        return False
    key, value = match[1].lower(), match[2].rstrip(" .")
    if key.split(" ", 1)[0] in STOP or key in scene.subject.name.lower() or not value:
        return False
    named = next((reading.meant[at] for at, unit in enumerate(reading.units) if at in reading.meant), None)
    target = named if named is not None and named.name == value else None
    target = target or scene.node(f"{key}: {value}", "Value")
    if target is None:
        return False
    fact = f"{scene.subject.name}'s {key} is {value}."
    now, kind = scene.reference_ms, FactKind.FUNCTIONAL
    edge = ExtractedEdge(screaming(f"HAS_{key}"), fact, scene.subject.ref, target.ref, now, None, kind)
    return scene.add(edge)
