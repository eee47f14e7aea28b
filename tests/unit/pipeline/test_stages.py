"""The stored form of stages."""

import json
from typing import Any

import pytest

from kgsvc.domain.model.extraction import ExtractedEdge, ExtractedNode, Extraction
from kgsvc.domain.resolution.decisions import BatchFact, FactDecision, NameDecision, NameTarget, StoredFact
from kgsvc.pipeline.preparing import Stage, decode, encode
from tests.support.verdicts import replaced

EDGE = ExtractedEdge("LEADS", "Ada leads Acme", "a", "b")
EXTRACTION = Extraction((ExtractedNode("a", "Ada"), ExtractedNode("b", "Acme")), (EDGE,))
STAGE = Stage(
    EXTRACTION,
    {"Ada": b"\0\0\0\0"},
    "space",
    {"ada": NameDecision("Ada Lovelace", "n1", also=(NameTarget("Ada", "n2"), NameTarget("Countess")))},
    {0: FactDecision(StoredFact("f1", "s1"), replaced(BatchFact(EDGE, "Ada", "Acme")), EDGE)},
)


def stored(stage: Stage, **changed: Any) -> bytes:
    return json.dumps(json.loads(encode(stage)) | changed).encode()


def test_what_is_stored_comes_back() -> None:
    assert decode(encode(STAGE)) == STAGE
    assert decode(encode(Stage(EXTRACTION))) == Stage(EXTRACTION)


@pytest.mark.parametrize("version", [0, 3, 5, None])
def test_one_of_another_version_is_as_none(version: int | None) -> None:
    assert decode(stored(STAGE, version=version)) is None
    assert decode(None) is None
