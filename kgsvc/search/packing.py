"""A fact's display fields as bytes.

Kept packed because an index holds many facts and shows few: bytes are smaller than objects and the garbage
collector never walks them.
"""

from __future__ import annotations

import pickle
from dataclasses import fields
from operator import attrgetter
from typing import Any

from kgsvc.domain.model.graph import Fact, FactKind, Polarity

# Hashes, evidence and closures serve writing, not showing; the enums travel as plain strings.
_LEFT_OUT: dict[str, Any] = {"slot": "", "fact_key": "", "evidence": (), "closures": ()}
_NAMES = tuple(f.name for f in fields(Fact) if f.name not in {*_LEFT_OUT, "kind", "polarity"})
_values = attrgetter(*_NAMES)


def pack(fact: Fact) -> bytes:
    """The display fields of `fact`: all but slot, fact_key, evidence and closures."""
    return pickle.dumps((_values(fact), fact.kind.value, fact.polarity.value), protocol=5)


def unpack(packed: bytes) -> Fact:
    """The fact that was packed, with slot and fact_key empty, no evidence and no closures."""
    values, kind, polarity = pickle.loads(packed)
    return Fact(
        **dict(zip(_NAMES, values, strict=True)),
        **_LEFT_OUT,
        kind=FactKind(kind),
        polarity=Polarity(polarity),
    )
