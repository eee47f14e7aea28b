"""A heading that names its day dates what stands below; a line that announces others stays with them."""

from dataclasses import replace

import pytest

from kgsvc.domain.model.graph import Source
from kgsvc.models.rules.sections import Sections
from tests.unit.models_rules.support import ms, read, text_episode

DAY = ms(2022, 5, 2)
NOTES = """# Mill notes

## 2022-05-02

* Wheel:
  * mended with new wood
* the owner was content with the work done

### Costs

* forty silver coins for the wood

## Sayings

* a mill that rests earns nothing
"""


def _day_below(title: str) -> int | None:
    sections = Sections()
    sections.enter(1, title)
    return sections.day(ms(2023))


@pytest.mark.parametrize(
    "title",
    [
        "2022-05-02",
        "Monday, 2 May 2022",
        "Board meeting, May 2nd, 2022",
        "[1.2.0] - 2022-05-02",
        "v1.2.0 (2022-05-02)",
        "Minutes of 2022-05-02",
    ],
)
def test_titles_of_a_day(title: str) -> None:
    assert _day_below(title) == DAY


@pytest.mark.parametrize(
    "title",
    [
        "Ida Holm (2 May 1932)",
        "Meeting in May 2022",
        "Minutes",
        "Meeting of 2 May",
        "Report from 2022-05-02 to 2022-06-02",
        "Version 2",
    ],
)
def test_other_titles_name_none(title: str) -> None:
    assert _day_below(title) is None


def test_an_empty_heading_is_none() -> None:
    chunk = replace(
        text_episode("The wheel is mended.", Source.DOCUMENT), source_description="Mill ›  › Wheel"
    )
    assert [fact.fact for fact in read(chunk).facts] == ["Wheel: The wheel is mended."]


def test_a_day_holds_for_its_section_and_what_is_deeper() -> None:
    found = read(text_episode(NOTES, Source.DOCUMENT))
    days = {fact.fact.removeprefix("Mill notes: "): fact.valid_ms for fact in found.facts}
    assert days == {
        "2022-05-02: Wheel: mended with new wood; the owner was content with the work done": DAY,
        "Costs: forty silver coins for the wood": DAY,
        "Sayings: a mill that rests earns nothing": None,
    }


def test_a_day_to_come_dates_nothing() -> None:
    sections = Sections()
    sections.enter(1, "2022-05-02")
    assert sections.day(DAY) == DAY
    assert sections.day(DAY - 1) is None


def test_chunks_are_dated_by_the_headings_above_them() -> None:
    body = "The wheel was mended with new wood."
    chunk = text_episode(body, Source.DOCUMENT, name="Mill meetings")
    found = read(replace(chunk, source_description="Mill meetings › 2022-05-02 › Wheel"))
    assert {fact.valid_ms for fact in found.facts} == {DAY}


MEETING = """# Mill club

## Minutes of 2022-05-02

# Topic: The wheel

Since yesterday the wheel of the mill stands still in the water.

# Topic: The pond

The pond of the mill was cleaned by all members.
"""


def test_the_day_of_a_meeting_holds_for_all_its_topics() -> None:
    found = read(text_episode(MEETING, Source.DOCUMENT))
    assert {fact.valid_ms for fact in found.facts if "pond" in fact.fact} == {DAY}


def test_words_of_a_section_count_from_its_day() -> None:
    found = read(text_episode(MEETING, Source.DOCUMENT))
    assert {fact.valid_ms for fact in found.facts if "wheel" in fact.fact} == {ms(2022, 5, 1)}


def test_two_meetings_have_their_own_days() -> None:
    sections = Sections()
    sections.enter(1, "Minutes of 2022-05-02")
    sections.enter(1, "Minutes of 2022-05-09")
    sections.enter(1, "Appendix")
    assert sections.day(ms(2023)) is None
