"""Times that a sentence states, resolved against the episode's reference time (spec 004 §2.2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from kgsvc.models.rules.calendar import (
    COUNTS,
    HINT,
    MAGNITUDES,
    ROUND_COUNTS,
    SEASONS,
    TIMES,
    UNITS,
    checked,
    day_of,
    floor_to,
    make_day,
    ms_of,
    shift,
    shift_ms,
    words_for,
)
from kgsvc.models.rules.lexicon import MONTHS, WEEKDAYS
from kgsvc.models.rules.text import word_set


class Span(NamedTuple):
    """From the first day to the day after the last, as ordinals, and the unit that it was named by."""

    first: int
    after: int | None
    unit: str


class Time(NamedTuple):
    """A time expression at characters `start`..`end` of its sentence.

    `role` is at, since, until, range or for. `begin_ms`..`finish_ms` read it as past where the words leave
    that open ("on Friday", "in May"), `ahead_ms`..`ahead_finish_ms` as to come. All None: it names no time
    within the years 1 to 9999. `label` words a relative expression as a date.
    """

    start: int
    end: int
    role: str
    begin_ms: int | None = None
    finish_ms: int | None = None
    ahead_ms: int | None = None
    ahead_finish_ms: int | None = None
    label: str = ""


_JOINED = re.compile(r"\s*(?:to|until|till|through|and|-|–|—)\s*")
_LAST_WORD = re.compile(r"([A-Za-z]+|\()[\s,]*\Z")
_YEAR_LEADS = word_set(
    """
    in since until till from during by to between of early late mid before after year circa around (
    """
)
_LEAP_GAP = 9  # years among which there is a 29 February
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[a-z]+")


def find_times(sentence: str, reference_ms: int) -> list[Time]:
    """Every time expression of `sentence` in order; those that name no possible time have no begin_ms."""
    today = day_of(reference_ms)
    if today is None or not HINT.search(sentence):
        return []
    found: list[Time] = []
    for match in TIMES.finditer(sentence):
        time = _READERS[str(match.lastgroup)](sentence, match, today, reference_ms)
        if time is None:
            continue
        joined = _joined(sentence, found[-1], time) if found else None
        if joined:
            found[-1] = joined
        else:
            found.append(time)
    return found


def _joined(sentence: str, left: Time, right: Time) -> Time | None:
    """One range from two times: "from 2019 to 2021", "between May and July"."""
    gap = sentence[left.end : right.start]
    lead = _lead(sentence, left.start)
    opens = (
        left.role == "since" or lead in ("from", "between") or sentence[left.start :][:4].lower() == "from"
    )
    closes = right.role == "until" or _JOINED.fullmatch(gap)
    if len(gap) > 10 or not (opens and closes) or gap.strip(" ,-–—").lower() not in _JOINERS:
        return None
    begin, finish = left.begin_ms, right.finish_ms
    if begin is None or finish is None or finish <= begin:
        finish = None
    return Time(left.start, right.end, "range", begin, finish, begin, finish)


_JOINERS = frozenset(["", "to", "until", "till", "through", "and"])


def _lead(sentence: str, start: int) -> str:
    match = _LAST_WORD.search(sentence[max(0, start - 16) : start])
    return match[1].lower() if match else ""


def _count(words: str) -> int:
    """ "a couple of" → 2, "three" → 3, "2 million" → 2,000,000."""
    digits = _NUMBER.search(words)
    count = int(digits[0]) if digits else 1
    for word in _WORD.findall(words):
        if word in MAGNITUDES:
            count *= MAGNITUDES[word]
        elif not digits:
            count = max(count, COUNTS.get(word, 1), ROUND_COUNTS.get(word, 1))
    return count


def _unit(words: str) -> str:
    """The unit that counts: "weeks" of "two weeks ago"."""
    found = [str(word).removesuffix("s") for word in _WORD.findall(words)]
    return next(word for word in found if word in UNITS)


def _time(
    sentence: str, match: re.Match[str], past: Span | None, ahead: Span | None = None, relative: bool = False
) -> Time:
    """The expression with its readings; the words before and at its start give its role."""
    first_word = match[0].split(" ", 1)[0].lower()
    lead = first_word if first_word in _ROLES else _lead(sentence, match.start())
    role = _ROLES.get(lead, "at")
    if past is None:
        return Time(match.start(), match.end(), role)
    ahead = ahead or past
    return Time(
        match.start(),
        match.end(),
        role,
        ms_of(past.first),
        None if past.after is None else ms_of(past.after),
        ms_of(ahead.first),
        None if ahead.after is None else ms_of(ahead.after),
        words_for(past.first, past.unit) if relative else "",
    )


_ROLES = {
    "since": "since",
    "until": "until",
    "till": "until",
    "to": "until",
    "through": "until",
    "from": "since",
}


def _span(first: int | None, unit: str) -> Span | None:
    return None if first is None else Span(first, shift(first, unit, 1), unit)


def _nearest(month: int, day: int, today: int, unit: str) -> tuple[Span | None, Span | None]:
    """A date without a year: the latest one not after today, and the next one not before it."""
    year = int(words_for(today, "year"))
    before = (make_day(y, month, day) for y in range(year, year - _LEAP_GAP, -1))
    after = (make_day(y, month, day) for y in range(year, year + _LEAP_GAP))
    past = next((found for found in before if found is not None and found <= today), None)
    ahead = next((found for found in after if found is not None and found >= today), None)
    return _span(past, unit), _span(ahead, unit)


_Reader = Callable[[str, "re.Match[str]", int, int], Time | None]


def _read_iso(sentence: str, match: re.Match[str], today: int, reference_ms: int) -> Time | None:
    text = match[0].replace(" ", "T", 1).replace(" ", "")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return _time(sentence, match, None)
    span = _span(make_day(moment.year, moment.month, moment.day), "day")
    time = _time(sentence, match, span)
    if len(text) == 10 or time.begin_ms is None:
        return time
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    exact = time.begin_ms + (moment.hour * 3600 + moment.minute * 60 + moment.second) * 1000
    exact += moment.microsecond // 1000 - int(moment.utcoffset().total_seconds() * 1000)  # type: ignore[union-attr]
    return time._replace(begin_ms=exact, ahead_ms=exact) if day_of(exact) else time


def _read_slash(sentence: str, match: re.Match[str], today: int, reference_ms: int) -> Time | None:
    first, second, year = (int(n) for n in _NUMBER.findall(match[0]))
    month, day = (first, second) if first <= 12 and "/" in match[0] else (second, first)
    return _time(sentence, match, _span(make_day(year, month, day), "day"))


def _read_years(sentence: str, match: re.Match[str], today: int, reference_ms: int) -> Time | None:
    years = [int(n) for n in _NUMBER.findall(match[0])]
    first = make_day(years[0])
    after = make_day(years[1] + 1) if len(years) == 2 else None
    if first is None or (len(years) == 2 and years[1] < years[0]):
        return None
    begin, finish = ms_of(first), None if after is None else ms_of(after)
    return Time(match.start(), match.end(), "range", begin, finish, begin, finish)


def _read_date(sentence: str, match: re.Match[str], today: int, reference_ms: int) -> Time | None:
    """Day and month in either order, with or without a year."""
    numbers = _NUMBER.findall(match[0])
    month = next(MONTHS[w] for w in _WORD.findall(match[0].lower()) if w in MONTHS)
    day = int(numbers[0])
    if len(numbers) > 1:
        return _time(sentence, match, _span(make_day(int(numbers[1]), month, day), "day"))
    if not 1 <= day <= 31:
        return None
    past, ahead = _nearest(month, day, today, "day")
    return _time(sentence, match, past, ahead)


def _read_my(sentence: str, match: re.Match[str], today: int, reference_ms: int) -> Time | None:
    month = next(MONTHS[w] for w in _WORD.findall(match[0].lower()) if w in MONTHS)
    return _time(sentence, match, _span(make_day(int(_NUMBER.findall(match[0])[0]), month), "month"))


def _read_ago(sentence: str, match: re.Match[str], today: int, reference_ms: int) -> Time | None:
    return _moved(sentence, match, reference_ms, -1)


def _read_hence(sentence: str, match: re.Match[str], today: int, reference_ms: int) -> Time | None:
    return _moved(sentence, match, reference_ms, 1)


def _moved(sentence: str, match: re.Match[str], reference_ms: int, sign: int) -> Time:
    words = match[0].lower()
    unit = _unit(words)
    begin = shift_ms(reference_ms, unit, sign * _count(words.split(unit)[0].removeprefix("in ")))
    if begin is None:
        return Time(match.start(), match.end(), "at")
    finish = shift_ms(begin, unit, 1)
    role = _ROLES.get(_lead(sentence, match.start()), "at")
    day = day_of(begin)
    label = words_for(day, "year" if unit in ("year", "decade") else unit) if day else ""
    label = label.removeprefix("week of ")
    return Time(match.start(), match.end(), role, begin, finish, begin, finish, label)


def _read_for(sentence: str, match: re.Match[str], today: int, reference_ms: int) -> Time | None:
    words = match[0].lower()
    unit = _unit(words)
    begin = shift_ms(reference_ms, unit, -_count(words.split(unit)[0].partition(" ")[2]))
    return Time(match.start(), match.end(), "for", begin, None, begin, None)


def _read_night(sentence: str, match: re.Match[str], today: int, reference_ms: int) -> Time | None:
    return _time(sentence, match, _span(checked(today - 1), "day"), relative=True)


def _read_relative(sentence: str, match: re.Match[str], today: int, reference_ms: int) -> Time | None:
    words = match[0].lower().split()
    which = -1 if words[-2] in ("last", "past") else 0 if words[-2] == "this" else 1
    thing = words[-1].rstrip(".")
    if thing in WEEKDAYS:
        back = (today - 1) % 7 - WEEKDAYS[thing]  # ordinal 1 was a Monday
        past, ahead = today - (back % 7 or 7), today + (-back % 7 or 7)
        day = past if which < 0 else ahead
        return _time(sentence, match, _span(checked(day), "day"), relative=True)
    if thing in MONTHS or thing in SEASONS:
        month, unit = (MONTHS[thing], "month") if thing in MONTHS else (SEASONS[thing], "season")
        before = today if which >= 0 else floor_to(today, "month") - 1
        past_span, ahead_span = _nearest(month, 1, before, unit)
        span = past_span if which <= 0 else ahead_span
        return _time(sentence, match, span, ahead_span if which == 0 else span, relative=which != 0)
    return _relative_unit(sentence, match, today, thing, which)


def _relative_unit(sentence: str, match: re.Match[str], today: int, unit: str, which: int) -> Time:
    if unit == "weekend":
        saturday = floor_to(today, "week") + 5
        offset = -7 if which < 0 else 7 if which > 0 and saturday <= today else 0
        day = checked(saturday + offset)
        span = None if day is None else Span(day, checked(day + 2), "day")
        return _time(sentence, match, span, relative=True)
    if unit in ("second", "minute", "hour"):
        return Time(match.start(), match.end(), "at")
    unit = "day" if unit == "night" else unit
    moved = shift(floor_to(today, unit), unit, which)
    return _time(sentence, match, _span(moved, unit), relative=True)


def _read_day(sentence: str, match: re.Match[str], today: int, reference_ms: int) -> Time | None:
    words = match[0].lower()
    offset = _DAY_OFFSETS.get(words, 0)
    return _time(sentence, match, _span(checked(today + offset), "day"), relative=True)


_DAY_OFFSETS = {"the day before yesterday": -2, "the day after tomorrow": 2, "yesterday": -1, "tomorrow": 1}


def _read_month(sentence: str, match: re.Match[str], today: int, reference_ms: int) -> Time | None:
    word = match[0].split(" ")[-1]
    if not word[0].isupper():  # "may", "march" and "mar" are other words too
        return None
    past, ahead = _nearest(MONTHS[word.lower().rstrip(".")], 1, today, "month")
    return _time(sentence, match, past, ahead)


def _read_weekday(sentence: str, match: re.Match[str], today: int, reference_ms: int) -> Time | None:
    word = match[0].lower().split(" ")[-1]
    if word not in WEEKDAYS:  # "on Mondays": a habit, no time
        return None
    back = ((today - 1) % 7 - WEEKDAYS[word]) % 7
    ahead = checked(today + (-back % 7))
    return _time(sentence, match, _span(checked(today - (back or 7)), "day"), _span(ahead, "day"))


def _read_decade(sentence: str, match: re.Match[str], today: int, reference_ms: int) -> Time | None:
    return _time(sentence, match, _span(make_day(int(_NUMBER.findall(match[0])[0])), "decade"))


def _read_year(sentence: str, match: re.Match[str], today: int, reference_ms: int) -> Time | None:
    lead = _lead(sentence, match.start())
    explicit = match[0].lower().startswith("year")
    year = int(_NUMBER.findall(match[0])[0])
    follows = sentence[match.end() : match.end() + 1]
    if not explicit and (
        lead not in _YEAR_LEADS
        or not 1000 <= year <= 2999
        or (follows in (",", "%") and sentence[match.end() + 1 : match.end() + 2].isdigit())
    ):
        if lead == "and" and 1000 <= year <= 2999:
            return _time(sentence, match, _span(make_day(year), "year"))
        return None
    return _time(sentence, match, _span(make_day(year), "year"))


_READERS: dict[str, _Reader] = {
    "iso": _read_iso,
    "slash": _read_slash,
    "years": _read_years,
    "dmy": _read_date,
    "mdy": _read_date,
    "my": _read_my,
    "ago": _read_ago,
    "hence": _read_hence,
    "for": _read_for,
    "night": _read_night,
    "relative": _read_relative,
    "day": _read_day,
    "month": _read_month,
    "weekday": _read_weekday,
    "decade": _read_decade,
    "year": _read_year,
}
