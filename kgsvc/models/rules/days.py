"""Days of the calendar, and moving by units of time.

A day is an ordinal of the proleptic Gregorian calendar in UTC, in the years 1 to 9999. A date outside of
these years is None, never an error.
"""

from __future__ import annotations

import calendar
from datetime import date

from kgsvc.domain.limits import DAY_MS
from kgsvc.models.rules.text import numbered

_EPOCH = date(1970, 1, 1).toordinal()
_LAST = date.max.toordinal()
_MONTHS_PER = {"month": 1, "quarter": 3, "season": 3, "year": 12, "decade": 120}
_DAYS_PER = {"day": 1, "night": 1, "week": 7, "weekend": 7, "fortnight": 14}
MS_PER = {"hour": 3_600_000, "minute": 60_000, "second": 1_000}
MONTHS = numbered(
    "january/jan february/feb march/mar april/apr may june/jun july/jul august/aug september/sept/sep "
    "october/oct november/nov december/dec",
    1,
)
WEEKDAYS = numbered(
    "monday/mon tuesday/tue/tues wednesday/wed thursday/thu/thur/thurs friday/fri saturday/sat sunday/sun", 0
)


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
    if unit in MS_PER:
        moved = ms + count * MS_PER[unit]
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
