"""Times in sentences, resolved against Thursday 25 May 2023, 13:00 UTC."""

from __future__ import annotations

import pytest

from kgsvc.models.rules.times import Time, find_times
from tests.unit.models_rules.support import NOW, ms, say

HOUR = 3_600_000


def only(sentence: str, at: int = NOW) -> Time:
    """The one time of a sentence."""
    (time,) = find_times(sentence, at)
    return time


@pytest.mark.parametrize(
    ("words", "begin", "finish"),
    [
        ("yesterday", ms(2023, 5, 24), ms(2023, 5, 25)),
        ("today", ms(2023, 5, 25), ms(2023, 5, 26)),
        ("tomorrow", ms(2023, 5, 26), ms(2023, 5, 27)),
        ("the day before yesterday", ms(2023, 5, 23), ms(2023, 5, 24)),
        ("last night", ms(2023, 5, 24), ms(2023, 5, 25)),
        ("last week", ms(2023, 5, 15), ms(2023, 5, 22)),
        ("next week", ms(2023, 5, 29), ms(2023, 6, 5)),
        ("last weekend", ms(2023, 5, 20), ms(2023, 5, 22)),
        ("last month", ms(2023, 4), ms(2023, 5)),
        ("next month", ms(2023, 6), ms(2023, 7)),
        ("last year", ms(2022), ms(2023)),
        ("this year", ms(2023), ms(2024)),
        ("last Saturday", ms(2023, 5, 20), ms(2023, 5, 21)),
        ("last Thursday", ms(2023, 5, 18), ms(2023, 5, 19)),
        ("next Friday", ms(2023, 5, 26), ms(2023, 5, 27)),
        ("last May", ms(2022, 5), ms(2022, 6)),
        ("last summer", ms(2022, 6), ms(2022, 9)),
        ("3 days ago", ms(2023, 5, 22), ms(2023, 5, 23)),
        ("a couple of weeks ago", ms(2023, 5, 11), ms(2023, 5, 18)),
        ("two months ago", ms(2023, 3, 25), ms(2023, 4, 25)),
        ("ten years ago", ms(2013, 5, 25), ms(2014, 5, 25)),
        ("2 hours ago", NOW - 2 * HOUR, NOW - HOUR),
        ("in two weeks", ms(2023, 6, 8), ms(2023, 6, 15)),
        ("on 7 May 2023", ms(2023, 5, 7), ms(2023, 5, 8)),
        ("May 7th, 2023", ms(2023, 5, 7), ms(2023, 5, 8)),
        ("the 7th of May 2021", ms(2021, 5, 7), ms(2021, 5, 8)),
        ("in May 2020", ms(2020, 5), ms(2020, 6)),
        ("in 2019", ms(2019), ms(2020)),
        ("2021-03-04", ms(2021, 3, 4), ms(2021, 3, 5)),
        ("2021-03-04T10:00:00Z", ms(2021, 3, 4, 10), ms(2021, 3, 5)),
        ("2021-03-04T10:00:00+02:00", ms(2021, 3, 4, 8), ms(2021, 3, 5)),
        ("on 9999-12-31", ms(9999, 12, 31), None),
        ("on 1 January 1000", ms(1000), ms(1000, 1, 2)),
    ],
)
def test_what_words_mean(words: str, begin: int, finish: int | None) -> None:
    time = only(f"It happened {words}.")
    assert (time.begin_ms, time.finish_ms) == (begin, finish)


@pytest.mark.parametrize(
    ("words", "role", "begin", "finish"),
    [
        ("since 2019", "since", ms(2019), ms(2020)),
        ("since last May", "since", ms(2022, 5), ms(2022, 6)),
        ("until June 2024", "until", ms(2024, 6), ms(2024, 7)),
        ("from 2019 to 2021", "range", ms(2019), ms(2022)),
        ("between 1962 and 1987", "range", ms(1962), ms(1988)),
        ("from May 2020 until 3 June 2021", "range", ms(2020, 5), ms(2021, 6, 4)),
        ("2015-2018", "range", ms(2015), ms(2019)),
        ("2015–present", "range", ms(2015), None),
        ("for five years", "for", ms(2018, 5, 25), None),
        ("for the last 3 months", "for", ms(2023, 2, 25), None),
    ],
)
def test_the_part_that_a_time_plays(words: str, role: str, begin: int, finish: int | None) -> None:
    time = only(f"I worked there {words}.")
    assert (time.role, time.begin_ms, time.finish_ms) == (role, begin, finish)


def test_a_date_without_a_year_is_the_latest_or_the_next_one() -> None:
    time = only("It is on February 15th.")
    assert (time.begin_ms, time.ahead_ms) == (ms(2023, 2, 15), ms(2024, 2, 15))
    leap = only("It was on 29 February.")
    assert (leap.begin_ms, leap.ahead_ms) == (ms(2020, 2, 29), ms(2024, 2, 29))


@pytest.mark.parametrize(
    "words",
    [
        "1000000 years ago",
        "999999999 years ago",
        "in the year 0",
        "in the year 99999",
        "on 31 February 2023",
        "on 0000-01-01",
        "on 2023-13-45",
        "in 100000 months",
    ],
)
def test_times_beyond_the_calendar_are_no_times(words: str) -> None:
    assert all(time.begin_ms is None for time in find_times(f"He lived {words}.", NOW))
    assert say(f"I went to Rome {words}.").fact("VISITED").valid_ms is None


@pytest.mark.parametrize(
    "sentence", ["I may march.", "It has 2000 people.", "Call 5551234.", "On Mondays we swim.", "a mar"]
)
def test_words_and_numbers_that_are_no_times(sentence: str) -> None:
    assert find_times(sentence, NOW) == []


@pytest.mark.parametrize("at", [-(10**18), 10**18, ms(9999, 12, 31), -62_135_596_800_000])
def test_any_reference_time_is_borne(at: int) -> None:
    for words in ("tomorrow", "yesterday", "next year", "last week", "on Friday", "in May", "for ten years"):
        find_times(f"It was {words}.", at)


@pytest.mark.parametrize(
    ("text", "valid", "invalid"),
    [
        ("I have worked at Globex since 2019.", ms(2019), None),
        ("I have worked at Globex for five years.", ms(2018, 5, 25), None),
        ("I work at Globex.", NOW, None),
        ("I started at Globex in 2020.", ms(2020), None),
        ("I worked at Globex between 2015 and 2018.", ms(2015), ms(2019) - 1),
        ("I started at Globex 1000000 years ago.", NOW, None),
    ],
)
def test_times_become_the_interval_of_a_fact(text: str, valid: int, invalid: int | None) -> None:
    fact = say(text).fact("WORKS_AT")
    assert (fact.valid_ms, fact.invalid_ms) == (valid, invalid)
