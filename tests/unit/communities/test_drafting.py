"""Drafts, and the words that are composed for them."""

import random

import pytest

from kgsvc.communities.builder import (
    FactGraph,
    drafts_of,
    give_to_model,
    name_of,
    summary_of,
    writes_of,
)
from kgsvc.communities.detection import Ends
from kgsvc.domain.model.communities import Draft, Link
from kgsvc.models.protocol import NAME_CHARS, SUMMARY_CHARS

FACTS: dict[str, Ends] = {
    "f1": ("ada", "bob"),
    "f2": ("ada", "cy"),
    "f3": ("ada", "dan"),
    "f4": ("bob", "cy"),
    "f5": ("dan", "eve"),
    "f6": ("eve", "fay"),
}
HOMES = [["ada", "bob", "cy"], ["dan", "eve", "fay"]]


def test_hubs_are_the_most_connected_and_facts_tell_of_them() -> None:
    drafts = {draft.members[0]: draft for draft in drafts_of("g", "b", FACTS, HOMES)}
    assert drafts["ada"].hubs == ("ada", "bob", "cy")
    assert drafts["ada"].facts == ("f1", "f2", "f4")
    assert drafts["dan"].hubs[0] == "eve"
    assert set(drafts["dan"].facts) == {"f5", "f6"}, "facts between communities tell of none"


def test_drafts_depend_on_their_graph_alone() -> None:
    shuffled = list(FACTS.items())
    random.Random(3).shuffle(shuffled)
    first = drafts_of("g", "b", FACTS, HOMES)
    assert drafts_of("g", "b", dict(shuffled), [members[::-1] for members in HOMES[::-1]]) == first
    assert not {d.uuid for d in first} & {d.uuid for d in drafts_of("g", "b2", FACTS, HOMES)}


def test_the_last_word_on_a_fact_counts() -> None:
    graph = FactGraph()
    graph.add([Link("f1", "a", "b", True), Link("f2", "b", "c", True), Link("f3", "a", "a", True)])
    graph.add([Link("f1", "a", "b", False), Link("f2", "b", "d", True)])
    assert dict(graph.facts) == {"f2": ("b", "d")}


def test_the_largest_go_to_the_model_within_its_calls() -> None:
    drafts = [Draft(f"d{n}", tuple("abcdef"[:n]), (), ()) for n in range(1, 6)]
    assert [draft.uuid for draft in give_to_model(drafts, 3, 7) if draft.by_model] == ["d4", "d5"]
    everyone = [draft.uuid for draft in give_to_model(drafts, 3, 99) if draft.by_model]
    assert everyone == ["d3", "d4", "d5"], "those of two members need no model"


def test_large_drafts_are_written_in_pieces() -> None:
    large = Draft("large", tuple(f"{n:04}" for n in range(2_500)), (), ())
    runs = list(writes_of([large, Draft("small", ("a", "b"), (), ())]))
    assert [[(d.uuid, len(d.members)) for d in run] for run in runs] == [
        [("large", 1_000)],
        [("large", 1_000)],
        [("large", 500), ("small", 2)],
    ]
    assert sum((d.members for run in runs for d in run if d.uuid == "large"), ()) == large.members


@pytest.mark.parametrize(
    ("hubs", "name"),
    [
        ([], ""),
        (["Ada"], "Ada"),
        (["Ada", "Acme"], "Ada and Acme"),
        (["Ada", "Acme", "Bob", "Cy"], "Ada, Acme and Bob"),
        (["Ada", "x" * 80], "Ada"),
    ],
)
def test_names(hubs: list[str], name: str) -> None:
    assert name_of(hubs) == name


def test_a_long_name_is_cut_behind_a_word() -> None:
    name = name_of(["The society for the preservation of very long names " * 3])
    assert len(name) <= NAME_CHARS
    assert name.endswith("…")


def test_summaries_hold_whole_sentences_once() -> None:
    said = summary_of(["Ada works at Acme", "ADA works  at Acme.", "Bob left!", "x" * 600, "Cy\nstayed"])
    assert said == "Ada works at Acme. Bob left! Cy stayed."


def test_a_summary_is_within_its_length() -> None:
    many = summary_of(f"Person number {n} works at Acme." for n in range(100))
    assert SUMMARY_CHARS - 40 < len(many) <= SUMMARY_CHARS
    assert many.endswith(".")
    assert len(summary_of(["word " * 200])) <= SUMMARY_CHARS
    assert summary_of([]) == ""
