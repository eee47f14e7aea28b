"""Text that is made to hang or to break: bounded work, bounded results, no errors."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import Extraction, ExtractionRequest
from kgsvc.domain.model.graph import Episode, Source
from kgsvc.models.protocol import Extracted
from kgsvc.models.rules.extractor import OfflineExtractor
from tests.unit.models_rules.support import message, read, text_episode

MIB = 1024 * 1024
PARTS = MIB // (4 * 1024) + 2  # each part of a body has room for as many as a model's extraction
RELATION = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
PATTERNS = (
    "a", "!", ". ", "Ab ", "A.", '"', "(", "[", "\n", " ", "1", "1/1/", "https://", "n't ", "I was ",
    "Bob of ", "Bob, ", "in May ", "Bob: hi\n", "a:", '["', "\U0001f600", "Bob, who ", "I want to ",
)  # fmt: skip
QUICK = {"a", ". ", "Bob of ", "in May ", "Bob, who "}


def check(extraction: Extraction, limits: Limits) -> None:
    """What every extraction promises."""
    refs = {node.ref for node in extraction.nodes}
    assert len(refs) == len(extraction.nodes) <= PARTS * limits.nodes_per_extraction
    assert len(extraction.edges) <= PARTS * limits.edges_per_extraction
    assert len({node.name.casefold() for node in extraction.nodes}) == len(refs)
    for node in extraction.nodes:
        assert 0 < len(node.name) <= limits.name
    for edge in extraction.edges:
        assert {edge.source_ref, edge.target_ref} <= refs
        assert 0 < len(edge.fact) <= limits.fact
        assert RELATION.fullmatch(edge.name)
        assert edge.invalid_ms is None or edge.valid_ms is None or edge.invalid_ms > edge.valid_ms


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "pattern",
    [pytest.param(each, id=repr(each), marks=() if each in QUICK else pytest.mark.slow) for each in PATTERNS],
)
def test_a_mebibyte_of_anything_ends(pattern: str) -> None:
    body = (pattern * (MIB // len(pattern) + 1))[:MIB]
    check(read(text_episode(body)).extraction, Limits())


@pytest.mark.timeout(60)
@pytest.mark.parametrize("source", [Source.MESSAGE, Source.JSON])
@pytest.mark.parametrize("pattern", ["\t", "a:", "{"])
def test_other_sources_bear_it_too(pattern: str, source: Source) -> None:
    check(read(text_episode(pattern * MIB, source)).extraction, Limits())


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "pattern",
    [
        "Bob: hi\n",
        "Ann Holm: hi\n",
        "...\n",
        "# a\n",
        "Ann Holm, ",
        f"Ann{' ' * 1_990}Holm\n",
        "Note: a\nBob: b\n",
    ],
)
def test_documents_bear_it_too(pattern: str) -> None:
    body = (pattern * (MIB // len(pattern) + 1))[:MIB]
    check(read(text_episode(body, Source.DOCUMENT)).extraction, Limits())


def test_a_long_text_has_room_for_all_that_it_says() -> None:
    body = " ".join(f"Person{number} Smith lives in Town{number} City." for number in range(1_000))
    found = read(text_episode(body))
    check(found.extraction, Limits())
    kept = " ".join(fact.fact for fact in found.facts)
    assert all(f"Person{number} Smith lives in Town{number} City" in kept for number in range(1_000))


def test_long_names_in_place_of_pronouns_do_not_burst_a_fact() -> None:
    speaker = "Maximiliana " * 20
    text = "I think my sister and I told my brother that my boss and my wife know my dog, " * 12 + "in Rome."
    found = read(message(text, speaker.strip()))
    check(found.extraction, Limits())
    assert found.facts


def test_a_name_beyond_the_bound_is_left_out() -> None:
    limits = Limits(name=20)
    found = read(text_episode('Bob read "The Very Long And Winding Title Of Books".'), limits=limits)
    check(found.extraction, limits)


SAID = (
    "I|you|she|it|my|her|Bob|Alice Chen|TechCorp|Rome|Monday|May|2019|99999|works|work|at|in|and|"
    "or|not|n't|no longer|the|a|of|who|that|is|was|left|love|hiking|,|.|!|?|(|)|[|]|:|-|\"|'s|"
    "yesterday|ago|two|years|since|from|to|3rd|Dr.|Project|deadline|#|*"
)
ODD = ["–", "\n", "\t", "É", "漢", "😀", "\x00", "\u200d"]
WORDS = st.sampled_from([*SAID.split("|"), *ODD])


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, max_size=60), st.sampled_from(list(Source)), st.integers(-(10**15), 3 * 10**14))
def test_any_words_in_any_order_keep_the_promises(words: list[str], source: Source, at: int) -> None:
    episode: Episode = replace(text_episode(" ".join(words), source), reference_ms=at)
    first, second = read(episode).extraction, read(episode).extraction
    check(first, Limits())
    assert first == second


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300), st.sampled_from(list(Source)))
def test_any_text_keeps_the_promises(body: str, source: Source) -> None:
    check(read(text_episode(body, source)).extraction, Limits())


async def test_what_finds_no_room_is_shown() -> None:
    body = " ".join(f"Person{letter}{other} lives in Rome." for letter in "ABCDEF" for other in "ABCDEF")
    request = ExtractionRequest(text_episode(body))
    (whole,) = await OfflineExtractor().extract([request])
    (cut,) = await OfflineExtractor(Limits(nodes_per_extraction=9, edges_per_extraction=5)).extract([request])
    assert isinstance(whole, Extracted)
    assert isinstance(cut, Extracted)
    assert whole.warnings == ()
    assert {(w.path, w.kind, w.dropped) for w in cut.warnings} == {
        ("nodes", "beyond_limit", True),
        ("edges", "beyond_limit", True),
    }
