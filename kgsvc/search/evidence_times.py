"""Times that a question names, and which episodes are from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DAY_MS = 86_400_000
TOLD_LATER_DAYS = 7  # people tell of things for some days after
_EPOCH = date(1970, 1, 1).toordinal()
_MOST = 8  # times of one question that are looked at
_YEARS = 50  # back from the latest episode, in which a month without a year is looked for
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_LEAD = r"(?:in|of|during|since|by|early|late|mid|until|from|before|after)"
_NAMED = re.compile(
    rf"""(?aix)
    \b(?:
      (?P<y1>\d{{4}})-(?P<n1>\d\d)(?:-(?P<d1>\d\d))?
      |(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\ (?:of\ )?(?P<m2>{_MONTH})\b\.?(?:,?\ (?P<y2>\d{{4}}))?
      |(?P<m3>{_MONTH})\.?\ (?:the\ )?(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\ (?P<y3>\d{{4}}))?
      |(?P<m4>{_MONTH})\.?,?\ (?:of\ )?(?P<y4>\d{{4}})
      |{_LEAD}\ (?P<m5>{_MONTH})(?!\.?,?\ (?:of\ |the\ )?\d)
      |(?P<y6>(?:19|20)\d\d)
    )\b"""
)


class Named(NamedTuple):
    """A time as far as it is named. A month or a day without its year is that of every year."""

    year: int | None
    month: int | None
    day: int | None


def named_times(question: str) -> list[Named]:
    """Dates, months and years in English words or as ISO, at most 8; impossible ones are left out."""
    found: list[Named] = []
    for match in _NAMED.finditer(question):
        if len(found) == _MOST:
            break
        parts = {name[0]: text for name, text in match.groupdict().items() if text is not None}
        month = _MONTHS.index(parts["m"][:3].lower()) + 1 if "m" in parts else int(parts.get("n", 0))
        named = Named(int(parts.get("y", 0)) or None, month or None, int(parts.get("d", 0)) or None)
        if _days(named, named.year or 2000) is not None:
            found.append(named)
    return found


def from_times(named: Sequence[Named], times_ms: NDArray[np.int64], latest_ms: int) -> NDArray[np.bool_]:
    """Which of these times lie in one of the named ones, or in the week behind it (UTC).

    A time named without its year is looked for in the years up to `latest_ms`.
    """
    days = times_ms // DAY_MS
    inside = np.zeros(len(days), np.bool_)
    for first, last in _windows(named, latest_ms // DAY_MS):
        inside |= (days >= first) & (days <= last + TOLD_LATER_DAYS)
    return inside


def _windows(named: Sequence[Named], latest: int) -> Iterator[tuple[int, int]]:
    """First and last day of the named times, counted from 1970; those without a year in many years."""
    newest = date.fromordinal(min(max(latest + _EPOCH, 1), date.max.toordinal())).year
    for each in named:
        for year in range(newest - _YEARS, newest + 1) if each.year is None else (each.year,):
            days = _days(each, year)
            if days is not None:
                yield days


def _days(named: Named, year: int) -> tuple[int, int] | None:
    """First and last day from 1970; None where there is no such time."""
    try:
        first = date(year, named.month or 1, named.day or 1)
        if named.day:
            after = first.toordinal() + 1
        elif named.month:
            after = date(year + named.month // 12, named.month % 12 + 1, 1).toordinal()
        else:
            after = date(year + 1, 1, 1).toordinal()
    except ValueError:
        return None
    return first.toordinal() - _EPOCH, after - _EPOCH - 1
