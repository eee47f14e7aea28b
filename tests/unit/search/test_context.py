"""The text that is put before a language model: its lines, its bounds, its order."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsvc.domain.model.beliefs import Belief
from kgsvc.domain.model.communities import Community
from kgsvc.domain.model.graph import Entity, Episode, Source
from kgsvc.search.context import EXCERPT_CHARS, Material, composed
from tests.unit.search.feed import fact, patient

DAY = 86_400_000
JAN_1, MAR_1 = 1_704_067_200_000, 1_709_251_200_000  # of 2024
ANY = 10**6


def entity(name: str, summary: str = "", *labels: str) -> Entity:
    return Entity(name, "g", name, 0, summary, labels=labels)


def episode(body: str, at_ms: int = JAN_1, name: str | None = None) -> Episode:
    return Episode("e", "g", body, Source.TEXT, at_ms, 0, name)


def lines(material: Material, chars: int = ANY) -> list[str]:
    return composed(material, chars).splitlines()


@pytest.mark.parametrize(
    ("times", "says"),
    [
        ({"valid_ms": JAN_1}, "since 2024-01-01"),
        ({"valid_ms": JAN_1 + 34_200_999}, "since 2024-01-01T09:30:00Z"),
        ({"valid_ms": JAN_1, "invalid_ms": MAR_1}, "2024-01-01 to 2024-03-01"),
        ({"invalid_ms": MAR_1, "reference_ms": JAN_1}, "until 2024-03-01"),
        ({"invalid_ms": MAR_1 - 1, "reference_ms": JAN_1}, "until 2024-02-29"),
        ({"reference_ms": JAN_1}, "stated 2024-01-01"),
        ({"valid_ms": -62_135_596_800_000}, "since 0001-01-01"),
        ({"valid_ms": 253_402_300_799_999}, "since 9999-12-31T23:59:59Z"),
    ],
)
def test_a_fact_says_when_it_holds(times: dict[str, Any], says: str) -> None:
    assert lines(Material([fact("f", "Ada works at Acme.", **times)])) == [
        "# Facts",
        f"- Ada works at Acme. ({says})",
    ]


def test_an_end_that_was_learned_later_is_not_told_of_earlier() -> None:
    ended = fact("f", "Ada works.", valid_ms=JAN_1, invalid_ms=MAR_1, expired_ms=MAR_1 + DAY)
    assert lines(Material([ended], known_at_ms=MAR_1))[1] == "- Ada works. (since 2024-01-01)"
    assert lines(Material([ended], known_at_ms=MAR_1 + DAY))[1] == "- Ada works. (2024-01-01 to 2024-03-01)"


def test_words_and_ends_are_those_that_were_known() -> None:
    bound = Belief(MAR_1, JAN_1, JAN_1, JAN_1 + DAY, fact="Ada may work.")
    reopened = fact("f", "Ada works.", valid_ms=JAN_1, beliefs=(bound,))
    assert lines(Material([reopened], known_at_ms=MAR_1))[1] == "- Ada works. (since 2024-01-01)"
    told = lines(Material([reopened], known_at_ms=MAR_1 - 1))[1]
    assert told == "- Ada may work. (2024-01-01 to 2024-01-02)"


def test_each_kind_has_its_heading_and_each_entry_a_line() -> None:
    found = Material(
        [fact("f", "Ada\n# Facts\nworks.", valid_ms=JAN_1)],
        [entity("Ada", "An\nengineer.", "Person"), entity("Acme", "", "Entity")],
        [Community("c", "g", "Staff", "They\twork.", 0, 0, ())],
        [episode("Ada:\n\n# Sources\n I work.", MAR_1, "a note")],
    )
    assert lines(found) == [
        "# Facts",
        "- Ada # Facts works. (since 2024-01-01)",
        "# Entities",
        "- Ada (Person): An engineer.",
        "- Acme",
        "# Communities",
        "- Staff: They work.",
        "# Sources",
        "- 2024-03-01 a note: Ada: # Sources I work.",
    ]
    assert composed(Material(), ANY) == ""


@pytest.mark.parametrize("length", [EXCERPT_CHARS, EXCERPT_CHARS + 1, 10 * EXCERPT_CHARS])
def test_of_a_long_episode_the_beginning_is_told(length: int) -> None:
    told = lines(Material(episodes=[episode("x" * length)]))[1].removeprefix("- 2024-01-01: ")
    assert told == "x" * EXCERPT_CHARS + ("…" if length > EXCERPT_CHARS else "")


def test_every_kind_has_its_share_where_there_is_too_much() -> None:
    many = Material(
        [fact(f"f{n}", f"fact {n:03}", valid_ms=JAN_1) for n in range(100)],
        [entity(f"entity {n:03}") for n in range(100)],
        episodes=[episode(f"episode {n:03}") for n in range(100)],
    )
    text = composed(many, 1_000)
    assert 1_000 - 40 < len(text) <= 1_000, "the share of communities is not lost"
    told = text.splitlines()
    kinds = {kind: [line for line in told if line.startswith(f"- {kind}")] for kind in ("fact", "entity")}
    kinds["source"] = [line for line in told if line.startswith("- 2024")]
    assert kinds["fact"] == [f"- fact {n:03} (since 2024-01-01)" for n in range(len(kinds["fact"]))]
    assert kinds["entity"] == [f"- entity {n:03}" for n in range(len(kinds["entity"]))]
    assert sum(len(line) + 1 for line in kinds["fact"]) > 480
    assert min(map(len, kinds.values())) > 5


def test_what_does_not_fit_is_left_out_and_shorter_ones_are_in() -> None:
    found = Material(entities=[entity("a" * 50), entity("b" * 5), entity("c" * 5)])
    assert lines(found, len("# Entities\n- bbbbb\n- ccccc")) == ["# Entities", "- bbbbb", "- ccccc"]
    assert lines(found, len("# Entities\n- bbbbb\n- ccccc") - 1) == ["# Entities", "- bbbbb"]
    assert lines(found, len("# Entities\n- bbbbb") - 1) == []


_TEXTS = st.lists(st.text(max_size=60), max_size=12)


@patient
@given(_TEXTS, _TEXTS, _TEXTS, st.integers(0, 700))
def test_it_is_never_too_long_and_always_the_same(
    facts: list[str], entities: list[str], episodes: list[str], chars: int
) -> None:
    found = Material(
        [fact(f"f{n}", text) for n, text in enumerate(facts)],
        [entity(f"n{n}", text) for n, text in enumerate(entities)],
        episodes=[episode(text) for text in episodes],
    )
    text = composed(found, chars)
    assert len(text) <= chars
    assert text == composed(found, chars)
    whole = composed(found, ANY).split("\n")
    rest = iter(whole)
    assert all(line in rest for line in text.split("\n") if line), "in the order of the whole"
    assert len(composed(found, len("\n".join(whole)))) == len("\n".join(whole)), "all of it where it fits"
