"""Day arithmetic in UTC over the years 1 to 9999; what leaves them is None, never an error."""

from __future__ import annotations

import calendar
import re
from datetime import date

from kgsvc.models.rules.text import word_list

DAY_MS = 86_400_000
_EPOCH = date(1970, 1, 1).toordinal()
_LAST = date.max.toordinal()
_MONTHS_PER = {"month": 1, "quarter": 3, "season": 3, "year": 12, "decade": 120, "century": 1200}
_DAYS_PER = {"day": 1, "night": 1, "week": 7, "weekend": 7, "fortnight": 14}
_MS_PER = {"hour": 3_600_000, "minute": 60_000, "second": 1_000}


def day_of(ms: int) -> int | None:
    """The ordinal of the day that `ms` falls on."""
    return checked(_EPOCH + ms // DAY_MS)


def checked(day: int) -> int | None:
    """The ordinal itself if it is a day of the years 1 to 9999."""
    return day if 1 <= day <= _LAST else None


def ms_of(day: int) -> int:
    """The first millisecond of a day."""
    return (day - _EPOCH) * DAY_MS


def make_day(year: int, month: int = 1, day: int = 1) -> int | None:
    """The ordinal of a date; None if there is no such date."""
    if not (1 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]):
        return None
    return date(year, month, day).toordinal()


def shift(day: int, unit: str, count: int) -> int | None:
    """`day` moved by `count` units; 31 March less a month is 28 February."""
    if unit in _DAYS_PER:
        return checked(day + count * _DAYS_PER[unit])
    at = date.fromordinal(day)
    year, month0 = divmod(at.year * 12 + at.month - 1 + count * _MONTHS_PER[unit], 12)
    if not 1 <= year <= 9999:
        return None
    return date(year, month0 + 1, min(at.day, calendar.monthrange(year, month0 + 1)[1])).toordinal()


def shift_ms(ms: int, unit: str, count: int) -> int | None:
    """`ms` moved by `count` units; days and longer move to the start of their day."""
    if unit in _MS_PER:
        moved = ms + count * _MS_PER[unit]
        return None if day_of(moved) is None else moved
    day = day_of(ms)
    moved_day = None if day is None else shift(day, unit, count)
    return None if moved_day is None else ms_of(moved_day)


def floor_to(day: int, unit: str) -> int:
    """The first day of the week (Monday), month or year of `day`; `day` itself for other units."""
    at = date.fromordinal(day)
    if unit == "week":
        return max(1, day - at.weekday())
    if unit == "month":
        return at.replace(day=1).toordinal()
    if unit == "year":
        return at.replace(month=1, day=1).toordinal()
    return day


def words_for(day: int, unit: str) -> str:
    """A date as people write it: "7 May 2023", "May 2023", "2023"; weeks by their Monday."""
    at = date.fromordinal(day)
    if unit == "year":
        return str(at.year)
    month = f"{calendar.month_name[at.month]} {at.year}"
    if unit in ("month", "season", "quarter"):
        return month
    return f"week of {at.day} {month}" if unit == "week" else f"{at.day} {month}"


MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?"
    r"|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
WEEKDAY = (
    r"(?:mon(?:day)?|tues?(?:day)?|wed(?:nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
)
UNITS = frozenset(word_list("second minute hour day night week weekend fortnight month quarter year decade"))
UNIT = r"(?:second|minute|hour|day|night|week|weekend|fortnight|month|quarter|year|decade)"
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # the month that each begins in
COUNTS = {
    word: number
    for number, word in enumerate(
        word_list("zero one two three four five six seven eight nine ten eleven twelve")
    )
} | {"a": 1, "an": 1, "fifteen": 15, "twenty": 20, "thirty": 30}
ROUND_COUNTS = {"couple": 2, "few": 3, "several": 3, "dozen": 12}
MAGNITUDES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
COUNT = (
    r"(?:(?:a\ )?(?:couple|few)(?:\ of)?|(?:a\ )?dozen|several|\d{1,9}|"
    + "|".join(COUNTS)
    + r")(?:\ (?:hundred|thousand|million|billion))?"
)
_ABOUT = r"(?:(?:about|almost|nearly|over|around)\ )?"
_WHICH = r"(?:early\ |late\ |earlier\ |later\ )?(?:last|past|this|next|coming|this\ past|this\ coming)"
_NAMED_DAY = (
    r"(?:the\ day\ before\ yesterday|the\ day\ after\ tomorrow|yesterday|today|tonight|tomorrow"
    r"|this\ (?:morning|afternoon|evening))"
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
    |(?P<slash>\b\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{4}}\b)
    |(?P<years>\b\d{{4}}\ ?[-–—]\ ?(?:\d{{4}}|present|now)\b)
    |(?P<dmy>\b\d{{1,2}}(?:st|nd|rd|th)?\ (?:of\ )?{MONTH}(?![a-z])(?:,?\ (?:of\ )?\d{{3,5}}\b)?)
    |(?P<mdy>\b{MONTH}\ (?:the\ )?\d{{1,2}}(?:st|nd|rd|th)?(?![\w:])(?:,?\ \d{{4}}\b)?)
    |(?P<my>\b{MONTH},?\ (?:of\ )?\d{{4}}\b)
    |(?P<ago>\b{COUNT}\ {UNIT}s?\ (?:ago|back|earlier)\b)
    |(?P<hence>\b(?:in\ {COUNT}\ {UNIT}s?(?:['’]s?\ time)?|{COUNT}\ {UNIT}s?\ from\ now)\b)
    |(?P<for>\b(?:for|over|during|in)\ (?:the\ )?(?:(?:last|past)\ )?{_ABOUT}{COUNT}\ {UNIT}s?\b)
    |(?P<night>\blast\ night\b)
    |(?P<relative>\b{_WHICH}\ (?:{UNIT}|{WEEKDAY}|{MONTH}|spring|summer|autumn|fall|winter)(?![a-z]))
    |(?P<day>\b{_NAMED_DAY}\b)
    |(?P<month>\b(?:in|since|until|till|by|from|to|of|early|late|mid)\ {MONTH}(?![\w’'-])(?!,?\ (?:of\ )?\d))
    |(?P<weekday>\b(?:on|since|until|till|by|from|to)\ {WEEKDAY}(?:s\b|\b))
    |(?P<decade>\b(?:the\ )?(?:early\ |late\ |mid-?\ ?)?\d{{3}}0['’]?s\b)
    |(?P<year>\b(?:year\ )?\d{{1,6}}\b)
    """
)
