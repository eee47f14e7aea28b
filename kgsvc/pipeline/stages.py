"""Outputs of the steps that cost a model call, as bytes that are stored before the next step (design §4)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from kgsvc.domain.model.extraction import ExtractedEdge, ExtractedNode, Extraction
from kgsvc.domain.model.graph import FactKind, Polarity
from kgsvc.domain.model.items import QueuedItem
from kgsvc.domain.resolution.decisions import (
    BatchFact,
    FactDecision,
    KnownRef,
    NameDecision,
    NameTarget,
    StoredFact,
)

# A release that does not know the version does the step again: each field that older ones would not
# understand takes a new one. 2: decisions tell more (`also`, `told_as`); 1 is read as 2 without them.
_VERSION = 2
_READ = frozenset({1, 2})


@dataclass(frozen=True, slots=True)
class Stage:
    """What is known of an item so far. `vectors` maps texts to float32 bytes; None: not embedded yet."""

    extraction: Extraction
    vectors: Mapping[str, bytes] | None = None
    space: str = field(default="")
    names: Mapping[str, NameDecision] = field(default_factory=dict)  # what a model decided, by name key
    facts: Mapping[int, FactDecision] = field(default_factory=dict)  # by index of the edge


@dataclass(slots=True)
class PreparedItem:
    """An item whose model work is done, ready to be committed. Its stage takes up what a model decides at the
    commit: where the batch fails and is tried again in parts, nothing is asked twice."""

    item: QueuedItem
    stage: Stage

    @property
    def uuid(self) -> str:
        """Of its episode."""
        return self.item.episode.uuid


def encode(stage: Stage) -> bytes:
    """The stored form."""
    vectors = stage.vectors
    document = {
        "version": _VERSION,
        "extraction": asdict(stage.extraction),
        "space": stage.space,
        "vectors": None if vectors is None else {t: base64.b64encode(v).decode() for t, v in vectors.items()},
        "names": {key: asdict(decision) for key, decision in stage.names.items()},
        "facts": {str(index): asdict(decision) for index, decision in stage.facts.items()},
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def decode(stored: bytes | None) -> Stage | None:
    """The stage, or None where nothing usable is stored: the step is then simply done again."""
    if stored is None:
        return None
    document = json.loads(stored)
    if document.get("version") not in _READ:
        return None
    vectors = document["vectors"]
    return Stage(
        _extraction(document["extraction"]),
        None if vectors is None else {t: base64.b64decode(v) for t, v in vectors.items()},
        document["space"],
        {key: _name_decision(decision) for key, decision in document.get("names", {}).items()},
        {int(index): _fact_decision(decision) for index, decision in document.get("facts", {}).items()},
    )


def _name_decision(document: dict[str, Any]) -> NameDecision:
    also = tuple(NameTarget(**each) for each in document.get("also", ()))
    return NameDecision(**{**document, "also": also})


def _fact_decision(document: dict[str, Any]) -> FactDecision:
    duplicate, told_as = document["duplicate"], document.get("told_as")
    return FactDecision(
        None if duplicate is None else _ref(duplicate),
        tuple(map(_ref, document["contradicts"])),
        None if told_as is None else _edge(told_as),
    )


def _ref(document: dict[str, Any]) -> KnownRef:
    if "uuid" in document:
        return StoredFact(**document)
    return BatchFact(_edge(document["edge"]), document["source"], document["target"])


def _extraction(document: dict[str, Any]) -> Extraction:
    return Extraction(
        tuple(ExtractedNode(**node) for node in document["nodes"]),
        tuple(_edge(edge) for edge in document["edges"]),
    )


def _edge(document: dict[str, Any]) -> ExtractedEdge:
    return ExtractedEdge(
        **{
            **document,
            "kind": FactKind(document["kind"]),
            "polarity": Polarity(document["polarity"]),
            "keywords": tuple(document["keywords"]),
        }
    )
