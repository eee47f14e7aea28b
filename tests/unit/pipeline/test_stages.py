"""The stored form of stages, across releases."""

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


def test_older_releases_do_not_take_it_for_their_own() -> None:
    assert json.loads(encode(STAGE))["version"] == 3


def test_the_form_of_older_releases_is_read() -> None:
    names = {"ada": {"name": "Ada Lovelace", "uuid": "n1", "full_name": ""}}
    facts = {"0": {"duplicate": {"uuid": "f1", "slot": "s1"}, "contradicts": []}}
    older = stored(Stage(EXTRACTION), version=1, names=names, facts=facts)
    decided = NameDecision("Ada Lovelace", "n1")
    assert decode(older) == Stage(
        EXTRACTION, names={"ada": decided}, facts={0: FactDecision(StoredFact("f1", "s1"), by_model=True)}
    )


@pytest.mark.parametrize("version", [0, 4, None])
def test_any_other_is_as_none(version: int | None) -> None:
    assert decode(stored(STAGE, version=version)) is None
    assert decode(None) is None
