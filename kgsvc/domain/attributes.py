"""How much an entity keeps with it: over the years episodes tell ever new attributes. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from kgsvc.domain.limits import Limits
from kgsvc.domain.model import Entity

BYTES = Limits().attributes_bytes
_ASSERTED = "99999999999999999/"  # the stamp of what a caller gave


def bounded(entity: Entity, limit: int = BYTES, keep: Collection[str] = ()) -> Entity:
    """The entity with attributes of at most `limit` bytes as JSON: those told earliest are left out, of equal
    age those last by name. What a caller gave and those in `keep` stay in any case."""
    if not entity.attributes or _bytes(entity.attributes) <= limit:
        return entity
    stamps = {name: entity.stamps.get(f"a.{name}", "") for name in entity.attributes}
    stays = {name for name, stamp in stamps.items() if stamp == _ASSERTED}.union(keep)
    by_age = sorted(sorted(stamps.keys() - stays), key=lambda name: stamps[name], reverse=True)
    kept = {name: value for name, value in entity.attributes.items() if name in stays}
    room = limit - _bytes(kept) + (not kept)  # a comma stands before all but the first
    for name in by_age:
        room -= _bytes({name: entity.attributes[name]}) - 1
        if room < 0:
            break
        kept[name] = entity.attributes[name]
    gone = entity.attributes.keys() - kept.keys()
    return replace(
        entity,
        attributes={name: value for name, value in entity.attributes.items() if name in kept},
        stamps={part: stamp for part, stamp in entity.stamps.items() if part.removeprefix("a.") not in gone},
    )


def _bytes(values: Mapping[str, Any]) -> int:
    """As the limit on input counts them."""
    return len(json.dumps(dict(values), ensure_ascii=False, separators=(",", ":")).encode())
