"""Lists of people in documents: each is named, linked and known by first name; other lists are none."""

import pytest

from kgsvc.domain.model.graph import Source
from kgsvc.models.rules.rolls import people_listed
from tests.unit.models_rules.support import read, text_episode

PEOPLE = ("Ann Holm (chair)", "Ole van Dahl @ole", "Shigeki Ohno", "Tomas Lund: minutes")
NAMES = ["Ann Holm", "Ole van Dahl", "Shigeki Ohno", "Tomas Lund"]
MINUTES = f"""# Mill Board Meeting

## Present

* {PEOPLE[0]}
* {PEOPLE[1]}
* {PEOPLE[2]}
* {PEOPLE[3]}

## Agenda

* Shigeki: the wheel must be mended before winter comes.
"""


@pytest.mark.parametrize("bullet", ["* ", "- ", "1. ", "* [x] ", "  • "])
def test_a_line_for_each_names_people(bullet: str) -> None:
    assert list(people_listed("\n".join(f"{bullet}{who}" for who in PEOPLE))) == NAMES


@pytest.mark.parametrize(
    "lines",
    [
        ("Ann Holm", "Ole Dahl"),  # too few
        ("Bug Fixes", "New Features", "Windows Support", "Release Notes"),
        ("Mill Road", "Great Britain", "New York", "Ann Arbor"),
        ("Ann Holm mended the wheel", "Ole Dahl came late", "Tom Lund left"),
    ],
)
def test_other_lists_name_nobody(lines: tuple[str, ...]) -> None:
    assert list(people_listed("\n".join(f"* {line}" for line in lines))) == []


def test_each_person_of_minutes_was_present() -> None:
    found = read(text_episode(MINUTES, Source.DOCUMENT))
    present = {fact.target: fact.fact for fact in found.facts if "Present" in fact.fact}
    assert list(present) == NAMES
    assert present["Ann Holm"] == "Mill Board Meeting: Present: Ann Holm (chair)"


def test_who_stands_in_a_list_is_known_by_a_first_name() -> None:
    found = read(text_episode(MINUTES, Source.DOCUMENT))
    mended = [fact for fact in found.facts if "wheel" in fact.fact]
    assert [fact.target for fact in mended] == ["Shigeki Ohno"]
    assert "Shigeki" not in found.types


@pytest.mark.parametrize(
    "line",
    [
        "Present: Ann Holm, Ole van Dahl, Shigeki Ohno, Tomas Lund",
        "- Ann Holm, Ole van Dahl, Shigeki Ohno and Tomas Lund.",
        "Chair(s): Ann Holm; Ole van Dahl; Shigeki Ohno; Tomas Lund",
    ],
)
def test_one_line_names_people(line: str) -> None:
    assert list(people_listed(line)) == NAMES


@pytest.mark.parametrize(
    "line",
    [
        "Present: Ann Holm, Ole Dahl",
        "Ann Holm, Ole Dahl and Tom Lund mended the wheel",
        "Topics: Bug Fixes, New Features, Windows Support",
    ],
)
def test_other_lines_name_nobody(line: str) -> None:
    assert list(people_listed(line)) == []


def test_those_on_one_line_were_present() -> None:
    text = (
        "# Mill Board Meeting\n\nPresent:\n\n- Ann Holm, Ole van Dahl, Shigeki Ohno\n\nAnn Holm takes notes."
    )
    found = read(text_episode(text, Source.DOCUMENT))
    told = [fact.fact for fact in found.facts if "Present" in fact.fact]
    assert told == ["Mill Board Meeting: Present: Ann Holm, Ole van Dahl, Shigeki Ohno"]
