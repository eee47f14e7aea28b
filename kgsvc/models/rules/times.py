"""Time expressions of a sentence, resolved against the episode's reference time."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import NamedTuple

from kgsvc.models.rules.days import (
    MONTHS,
    MS_PER,
    WEEKDAYS,
    checked,
    day_of,
    floor_to,
    make_day,
    ms_of,
    shift,
    shift_ms,
)
from kgsvc.models.rules.text import numbered, word_list, word_set

MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?"
    r"|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
WEEKDAY = (
    r"(?:mon(?:day)?|tues?(?:day)?|wed(?:nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
)
UNITS = word_list("second minute hour day night week weekend fortnight month quarter year decade")
UNIT = rf"(?:{'|'.join(UNITS)})"
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # the month that each begins in
COUNTS = {
    **numbered("zero a/an/one two three four five six seven eight nine ten eleven twelve", 0),
    **{"couple": 2, "few": 3, "several": 3, "dozen": 12, "fifteen": 15, "twenty": 20, "thirty": 30},
}
COUNT = rf"(?:(?:a\ )?(?:couple|few)(?:\ of)?|(?:a\ )?dozen|\d{{1,9}}|{'|'.join(COUNTS)})"
_ABOUT = r"(?:(?:about|almost|nearly|over|around)\ )?"
_WHICH = r"(?:early\ |late\ |earlier\ |later\ )?(?:last|past|this|next|coming|this\ past|this\ coming)"
_NAMED_DAY = (
    r"(?:the\ day\ before\ yesterday|the\ day\ after\ tomorrow|yesterday|today|tonight|tomorrow"
    r"|last\ night|this\ (?:morning|afternoon|evening))"
)

# A sentence without any of these states no time: most do not.
HINT = re.compile(
    rf"(?i)\d|\b(?:yesterday|today|tonight|tomorrow|last|past|next|coming|this"
    rf"|{UNIT}s?|{WEEKDAY}s?|{MONTH})\b"
)
# Every repetition is bounded or begins with what the one before cannot end with: linear in the text.
TIMES = re.compile(
    rf"""(?ix)
    (?P<iso>\b\d{{4}}-\d\d-\d\d(?:[T\ ]\d\d:\d\d(?::\d\d(?:\.\d{{1,9}})?)?\ ?(?:Z|[+-]\d\d:?\d\d)?)?(?![\w-]))
    |(?P<years>\b\d{{4}}\ ?[-–—]\ ?(?:\d{{4}}|present|now)\b)
    |(?P<dmy>\b\d{{1,2}}(?:st|nd|rd|th)?\ (?:of\ )?{MONTH}(?![a-z])(?:,?\ (?:of\ )?\d{{3,5}}\b)?)
    |(?P<mdy>\b{MONTH}\ (?:the\ )?\d{{1,2}}(?:st|nd|rd|th)?(?![\w:])(?:,?\ \d{{4}}\b)?)
    |(?P<my>\b{MONTH},?\ (?:of\ )?\d{{4}}\b)
    |(?P<ago>\b{COUNT}\ {UNIT}s?\ (?:ago|back|earlier)\b)
    |(?P<hence>\b(?:in\ {COUNT}\ {UNIT}s?(?:['’]s?\ time)?|{COUNT}\ {UNIT}s?\ from\ now)\b)
    |(?P<for>\b(?:for|over|during|in)\ (?:the\ )?(?:(?:last|past)\ )?{_ABOUT}{COUNT}\ {UNIT}s?\b)
    |(?P<day>\b{_NAMED_DAY}\b)
    |(?P<relative>\b{_WHICH}\ (?:{UNIT}|{WEEKDAY}|{MONTH}|spring|summer|autumn|fall|winter)(?![a-z]))
    |(?P<month>\b(?:in|since|until|till|by|from|to|of|early|late|mid)\ {MONTH}(?![\w’'-])(?!,?\ (?:of\ )?\d))
    |(?P<weekday>\b(?:on|since|until|till|by|from|to)\ {WEEKDAY}(?:s\b|\b))
    |(?P<year>\b(?:year\ )?\d{{1,6}}\b)
    """
)


class DaySpan(NamedTuple):
    """From the first day to the day after the last, as ordinals, and the unit that it was named by."""

    first: int
    after: int | None
    unit: str


class Time(NamedTuple):
    """A time expression at characters `start`..`end` of its sentence.

    `role` is at, since, until, before, range or for. `begin_ms`..`finish_ms` read it as past where the words
    leave that open ("on Friday", "in May"), `ahead_ms`..`ahead_finish_ms` as to come. All None: it names no
    time within the years 1 to 9999.
    """

    start: int
    end: int
    role: str
    begin_ms: int | None = None
    finish_ms: int | None = None
    ahead_ms: int | None = None
    ahead_finish_ms: int | None = None


_UNTIL = dict.fromkeys(("until", "till", "to", "through"), "until")
_ROLES = {"since": "since", "from": "since", "before": "before", **_UNTIL}
_RANGE_MARKS = re.compile(r"\s*(?:to|until|till|through|and|-|–|—)\s*")
_RANGE_WORDS = ("", "to", "until", "till", "through", "and")
_LAST_WORD = re.compile(r"([A-Za-z]+|\()[\s,]*\Z")
_YEAR_LEADS = word_set(
    "in since until till from during by to between of early late mid before after year circa around ("
)
_DAY_OFFSETS = {
    **{"the day before yesterday": -2, "yesterday": -1, "last night": -1},
    **{"tomorrow": 1, "the day after tomorrow": 2},
}
_LEAP_GAP = 9  # years among which there is a 29 February
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[a-z]+")
_ASCII = str.maketrans("ſıİ\u212a", "siik")  # letters that (?i) takes for these


def find_times(sentence: str, reference_ms: int) -> list[Time]:
    """Every time expression of `sentence` in order; those that name no possible time have no begin_ms."""
    today = day_of(reference_ms)
    if today is None or not HINT.search(sentence):
        return []
    sentence = sentence.translate(_ASCII)
    found: list[Time] = []
    for match in TIMES.finditer(sentence):
        time = _Expression(sentence, match, today, reference_ms).read()
        joined = _joined(sentence, found[-1], time) if time and found else None
        if joined:
            found[-1] = joined
        elif time:
            found.append(time)
    return found


def _joined(sentence: str, left: Time, right: Time) -> Time | None:
    """One range from two times: "from 2019 to 2021", "between May and July"."""
    gap = sentence[left.end : right.start]
    begins = sentence[left.start : left.start + 4].lower() == "from"
    begins = begins or left.role == "since" or _lead(sentence, left.start) in ("from", "between")
    ends = right.role == "until" or _RANGE_MARKS.fullmatch(gap)
    if len(gap) > 10 or not (begins and ends) or gap.strip(" ,-–—").lower() not in _RANGE_WORDS:
        return None
    begin, finish = left.begin_ms, right.finish_ms
    if begin is None or finish is None or finish <= begin:
        finish = None
    return Time(left.start, right.end, "range", begin, finish, begin, finish)


def _lead(sentence: str, start: int) -> str:
    """The word before `start`, in lower case."""
    match = _LAST_WORD.search(sentence[max(0, start - 16) : start])
    return match[1].lower() if match else ""


def _count(words: str) -> int:
    """ "a couple of" → 2, "three" → 3."""
    digits = _NUMBER.search(words)
    return int(digits[0]) if digits else max(COUNTS.get(word, 1) for word in _WORD.findall(words))


def _span(first: int | None, unit: str) -> DaySpan | None:
    return None if first is None else DaySpan(first, shift(first, unit, 1), unit)


def nearest(month: int, day: int, today: int, unit: str) -> tuple[DaySpan | None, DaySpan | None]:
    """A date without a year: the latest one not after today, and the next one not before it."""
    year = date.fromordinal(today).year
    before = (make_day(y, month, day) for y in range(year, year - _LEAP_GAP, -1))
    after = (make_day(y, month, day) for y in range(year, year + _LEAP_GAP))
    past = next((found for found in before if found is not None and found <= today), None)
    ahead = next((found for found in after if found is not None and found >= today), None)
    return _span(past, unit), _span(ahead, unit)


class _Expression:
    """A match of TIMES; each of its groups has a method that reads it."""

    def __init__(self, sentence: str, match: re.Match[str], today: int, reference_ms: int) -> None:
        self.sentence, self.match, self.today, self.reference_ms = sentence, match, today, reference_ms
        self.words = match[0].lower()
        self.numbers = [int(number) for number in _NUMBER.findall(match[0])]
        self.lead = _lead(sentence, match.start())

    def read(self) -> Time | None:
        """The time; None if the words turn out to name none."""
        kind = str(self.match.lastgroup)
        read: Callable[[], Time | None] = getattr(self, f"_{kind}")
        return read()

    def _fixed(self, role: str, begin: int | None = None, finish: int | None = None) -> Time:
        """The expression with one reading, whether as past or as to come."""
        return Time(self.match.start(), self.match.end(), role, begin, finish, begin, finish)

    def _time(self, past: DaySpan | None, ahead: DaySpan | None = None) -> Time:
        """The expression with its readings; the words before and at its start give its role."""
        first_word = self.words.split(" ", 1)[0]
        role = _ROLES.get(first_word if first_word in _ROLES else self.lead, "at")
        if past is None:
            return self._fixed(role)
        ahead = ahead or past
        time = self._fixed(role, ms_of(past.first), past.after and ms_of(past.after))
        return time._replace(ahead_ms=ms_of(ahead.first), ahead_finish_ms=ahead.after and ms_of(ahead.after))

    def _month_named(self) -> int:
        return next(MONTHS[word] for word in _WORD.findall(self.words) if word in MONTHS)

    def _unit(self) -> str:
        """The unit that counts: "weeks" of "two weeks ago"."""
        words = (str(word).removesuffix("s") for word in _WORD.findall(self.words))
        return next(word for word in words if word in UNITS)

    def _iso(self) -> Time | None:
        text = self.match[0].replace(" ", "T", 1).replace(" ", "")
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return self._time(None)
        time = self._time(_span(moment.toordinal(), "day"))
        if len(text) == 10 or time.begin_ms is None:
            return time
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        exact = time.begin_ms + (moment.hour * 3600 + moment.minute * 60 + moment.second) * 1000
        exact += moment.microsecond // 1000 - int(moment.utcoffset().total_seconds() * 1000)  # type: ignore[union-attr]
        return time._replace(begin_ms=exact, ahead_ms=exact) if day_of(exact) else time

    def _years(self) -> Time | None:
        year, *end = self.numbers
        first = make_day(year)
        if first is None or (end and end[0] < year):
            return None
        after = make_day(end[0] + 1) if end else None
        return self._fixed("range", ms_of(first), after and ms_of(after))

    def _date(self) -> Time | None:
        """Day and month in either order, with or without a year."""
        day, *year = self.numbers
        if year:
            return self._time(_span(make_day(year[0], self._month_named(), day), "day"))
        return self._time(*nearest(self._month_named(), day, self.today, "day")) if 1 <= day <= 31 else None

    _dmy = _mdy = _date

    def _my(self) -> Time | None:
        return self._time(_span(make_day(self.numbers[0], self._month_named()), "month"))

    def _hence(self) -> Time | None:
        return self._ago(1)

    def _ago(self, sign: int = -1) -> Time:
        unit = self._unit()
        count = _count(self.words.split(unit)[0].removeprefix("in "))
        begin = shift_ms(self.reference_ms, unit, sign * count)
        if begin is None:
            return self._fixed("at")
        return self._fixed(_ROLES.get(self.lead, "at"), begin, shift_ms(begin, unit, 1))

    def _for(self) -> Time | None:
        unit = self._unit()
        count = _count(self.words.split(unit)[0].partition(" ")[2])
        return self._fixed("for", shift_ms(self.reference_ms, unit, -count))

    def _relative(self) -> Time | None:
        words = self.words.split()
        which = -1 if words[-2] in ("last", "past") else 0 if words[-2] == "this" else 1
        thing = words[-1].rstrip(".")
        if thing in WEEKDAYS:
            back = (self.today - 1) % 7 - WEEKDAYS[thing]  # ordinal 1 was a Monday
            day = self.today - (back % 7 or 7) if which < 0 else self.today + (-back % 7 or 7)
            return self._time(_span(checked(day), "day"))
        if thing in MONTHS or thing in SEASONS:
            month, unit = (MONTHS[thing], "month") if thing in MONTHS else (SEASONS[thing], "season")
            before = self.today if which >= 0 else max(1, floor_to(self.today, "month") - 1)
            past, ahead = nearest(month, 1, before, unit)
            span = past if which <= 0 else ahead
            return self._time(span, ahead if which == 0 else span)
        return self._relative_unit(thing, which)

    def _relative_unit(self, unit: str, which: int) -> Time | None:
        if unit == "weekend":
            saturday = floor_to(self.today, "week") + 5
            offset = -7 if which < 0 else 7 if which > 0 and saturday <= self.today else 0
            day = checked(saturday + offset)
            return self._time(None if day is None else DaySpan(day, checked(day + 2), "day"))
        if unit == "day":  # "my last day", "the next day": not from today
            return None
        if unit in MS_PER:
            return self._fixed("at")
        unit = "day" if unit == "night" else unit
        return self._time(_span(shift(floor_to(self.today, unit), unit, which), unit))

    def _day(self) -> Time | None:
        day = checked(self.today + _DAY_OFFSETS.get(self.words, 0))
        return self._time(_span(day, "day"))

    def _month(self) -> Time | None:
        word = self.match[0].split(" ")[-1]
        if not word[0].isupper():  # "may", "march" and "mar" are other words too
            return None
        return self._time(*nearest(self._month_named(), 1, self.today, "month"))

    def _weekday(self) -> Time | None:
        word = self.words.split(" ")[-1]
        if word not in WEEKDAYS:  # "on Mondays": a habit, no time
            return None
        back = ((self.today - 1) % 7 - WEEKDAYS[word]) % 7
        past, ahead = checked(self.today - (back or 7)), checked(self.today + (-back % 7))
        return self._time(_span(past, "day"), _span(ahead, "day"))

    def _year(self) -> Time | None:
        year, end = self.numbers[0], self.match.end()
        if not self.words.startswith("year"):
            number = self.sentence[end : end + 1] in (",", "%") and self.sentence[end + 1 : end + 2].isdigit()
            if not 1000 <= year <= 2999 or (self.lead != "and" and (self.lead not in _YEAR_LEADS or number)):
                return None
        return self._time(_span(make_day(year), "year"))
