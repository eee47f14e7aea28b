"""Times that a sentence states, resolved against the episode's reference time (spec 004 §2.2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timezone
from typing import NamedTuple

from kgsvc.llm.offline.calendar import (
    checked,
    day_of,
    floor_to,
    make_day,
    ms_of,
    shift,
    shift_ms,
    words_for,
)
from kgsvc.llm.offline.lexicon import MONTHS, WEEKDAYS


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


_MONTH = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
_WEEKDAY = r"(?:mon(?:day)?|tues?(?:day)?|wed(?:nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
_UNIT = r"(?:second|minute|hour|day|night|week|weekend|fortnight|month|quarter|year|decade)"
_COUNTS = {
    word: number
    for number, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
} | {"a": 1, "an": 1, "couple": 2, "few": 3, "several": 3, "dozen": 12, "fifteen": 15, "twenty": 20, "thirty": 30}
_MAGNITUDES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_COUNT = (
    r"(?:(?:a\ )?(?:couple|few)(?:\ of)?|(?:a\ )?dozen|several|\d{1,9}|"
    + "|".join(word for word in _COUNTS if word not in ("couple", "few", "dozen", "several"))
    + r")(?:\ (?:hundred|thousand|million|billion))?"
)
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_HINT = re.compile(
    rf"(?i)\d|\b(?:yesterday|today|tonight|tomorrow|last|past|next|coming|this|{_UNIT}s?|{_WEEKDAY}s?|{_MONTH})\b"
)
_TIMES = re.compile(
    rf"""(?ix)
    (?P<iso>\b\d{{4}}-\d\d-\d\d(?:[T\ ]\d\d:\d\d(?::\d\d(?:\.\d{{1,9}})?)?\ ?(?:Z|[+-]\d\d:?\d\d)?)?(?![\w-]))
    |(?P<slash>\b\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{4}}\b)
    |(?P<years>\b\d{{4}}\ ?[-–—]\ ?(?:\d{{4}}|present|now)\b)
    |(?P<dmy>\b\d{{1,2}}(?:st|nd|rd|th)?\ (?:of\ )?{_MONTH}(?![a-z])(?:,?\ (?:of\ )?\d{{3,5}}\b)?)
    |(?P<mdy>\b{_MONTH}\ (?:the\ )?\d{{1,2}}(?:st|nd|rd|th)?(?![\w:])(?:,?\ \d{{4}}\b)?)
    |(?P<my>\b{_MONTH},?\ (?:of\ )?\d{{4}}\b)
    |(?P<ago>\b{_COUNT}\ {_UNIT}s?\ (?:ago|back|earlier)\b)
    |(?P<hence>\b(?:in\ {_COUNT}\ {_UNIT}s?(?:['’]s?\ time)?|{_COUNT}\ {_UNIT}s?\ from\ now)\b)
    |(?P<for>\b(?:for|over|during|in)\ (?:the\ )?(?:(?:last|past)\ )?(?:(?:about|almost|nearly|over|around)\ )?{_COUNT}\ {_UNIT}s?\b)
    |(?P<night>\blast\ night\b)
    |(?P<relative>\b(?:early\ |late\ |earlier\ |later\ )?(?:last|past|this|next|coming|this\ past|this\ coming)\ (?:{_UNIT}|{_WEEKDAY}|{_MONTH}|spring|summer|autumn|fall|winter)(?![a-z]))
    |(?P<day>\b(?:the\ day\ before\ yesterday|the\ day\ after\ tomorrow|yesterday|today|tonight|tomorrow|this\ (?:morning|afternoon|evening))\b)
    |(?P<month>\b(?:in|since|until|till|by|from|to|of|early|late|mid)\ {_MONTH}(?![\w’'-])(?!,?\ (?:of\ )?\d))
    |(?P<weekday>\b(?:on|since|until|till|by|from|to)\ {_WEEKDAY}(?:s\b|\b))
    |(?P<decade>\b(?:the\ )?(?:early\ |late\ |mid-?\ ?)?\d{{3}}0['’]?s\b)
    |(?P<year>\b(?:year\ )?\d{{1,6}}\b)
    """
)
_JOINED = re.compile(r"\s*(?:to|until|till|through|and|-|–|—)\s*")
_LAST_WORD = re.compile(r"([A-Za-z]+|\()[\s,]*\Z")
_YEAR_LEADS = frozenset("in since until till from during by to between of early late mid before after year circa around (".split())
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[a-z]+")


def find_times(sentence: str, reference_ms: int) -> list[Time]:
    """Every time expression of `sentence` in order; those that name no possible time have no begin_ms."""
    today = day_of(reference_ms)
    if today is None or not _HINT.search(sentence):
        return []
    found: list[Time] = []
    for match in _TIMES.finditer(sentence):
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
    opens = left.role == "since" or lead in ("from", "between") or sentence[left.start :][:4].lower() == "from"
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
        if word in _MAGNITUDES:
            count *= _MAGNITUDES[word]
        elif not digits and word in _COUNTS:
            count = max(count, _COUNTS[word])
    return count


def _unit(words: str) -> str:
    return next(w.removesuffix("s") for w in _WORD.findall(words) if w.removesuffix("s") in _ALL_UNITS)


_ALL_UNITS = frozenset("second minute hour day night week weekend fortnight month quarter year decade".split())


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


_ROLES = {"since": "since", "until": "until", "till": "until", "to": "until", "through": "until", "from": "since"}


def _span(first: int | None, unit: str) -> Span | None:
    return None if first is None else Span(first, shift(first, unit, 1), unit)


def _nearest(month: int, day: int, today: int, unit: str) -> tuple[Span | None, Span | None]:
    """A date without a year: the latest one not after today, and the next one not before it."""
    year = int(words_for(today, "year"))
    days = [make_day(y, month, day) for y in range(year - 8, year + 9)]
    past = [d for d in days if d is not None and d <= today]
    ahead = [d for d in days if d is not None and (_span(d, unit) or Span(d, d, unit)).after != d and d >= today]
    return _span(past[-1] if past else None, unit), _span(ahead[0] if ahead else None, unit)


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
    moment = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
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
    if thing in MONTHS or thing in _SEASONS:
        month, unit = (MONTHS[thing], "month") if thing in MONTHS else (_SEASONS[thing], "season")
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
    if not explicit and (lead not in _YEAR_LEADS or not 1000 <= year <= 2999 or follows in (",", "%") and
                         sentence[match.end() + 1 : match.end() + 2].isdigit()):
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
