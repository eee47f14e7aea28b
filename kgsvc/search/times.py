"""Times that a question names, which episodes are from them, and when facts must have held."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DAY_MS = 86_400_000
TOLD_LATER_DAYS = 7  # people tell of things for some days after
_FOREVER_MS = 2**62
_EPOCH = date(1970, 1, 1).toordinal()
_MOST = 8  # times of one question that are looked at
_YEARS = 50  # back from the latest episode, in which a month without a year is looked for
_SPELLED = {"mär": "mar", "mai": "may", "okt": "oct", "dez": "dec"}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary?)?|feb(?:ruary?)?|mar(?:ch)?|märz|apr(?:il)?|may|mai|june?|juni|july?|juli|aug(?:ust)?"
    r"|sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?)"
)
_LEAD = (
    r"(?:in|of|during|since|by|early|late|mid|until|from|before|after"
    r"|im|seit|ab|bis|vor|nach|anfang|ende|mitte)"
)
_NAMED = re.compile(
    rf"""(?aix)
    (?<!\d)(?P<y7>\d{{4}})年(?:(?P<n7>\d{{1,2}})月(?:(?P<d7>\d{{1,2}})日)?)?
    |(?<!\d)(?P<n8>\d{{1,2}})月(?:(?P<d8>\d{{1,2}})日)?
    |\b(?:
      (?P<y1>\d{{4}})-(?P<n1>\d\d)(?:-(?P<d1>\d\d))?
      |(?P<d2>\d{{1,2}})(?:st|nd|rd|th|\.)?\ (?:of\ )?(?P<m2>{_MONTH})\b\.?(?:,?\ (?P<y2>\d{{4}}))?
      |(?P<m3>{_MONTH})\.?\ (?:the\ )?(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\ (?P<y3>\d{{4}}))?
      |(?P<m4>{_MONTH})\.?,?\ (?:of\ )?(?P<y4>\d{{4}})
      |{_LEAD}\ (?P<m5>{_MONTH})(?!\.?,?\ (?:of\ |the\ )?\d)
      |(?P<y6>(?:19|20)\d\d)
    )\b"""
)
Times = NDArray[np.int64]
_BEFORE = re.compile(r"(?i)\b(?:before|until|till|prior to|vor|bis)\s(?:\w{1,8}\s)?\Z")
_SINCE = re.compile(r"(?i)\b(?:since|after|from|seit|nach|ab)\s(?:\w{1,8}\s)?\Z")
_LEAD_CHARS = 24


class Side(StrEnum):
    """Which part of time is meant by a named one."""

    WITHIN = "within"
    BEFORE = "before"
    SINCE = "since"


class Named(NamedTuple):
    """A time as far as it is named. A month or a day without its year is that of every year."""

    year: int | None
    month: int | None
    day: int | None
    side: Side = Side.WITHIN


def named_times(question: str) -> list[Named]:
    """Dates, months and years in English, German, Japanese or as ISO, at most 8; no impossible ones."""
    found: list[Named] = []
    for match in _NAMED.finditer(question):
        if len(found) == _MOST:
            break
        parts = {name[0]: text for name, text in match.groupdict().items() if text is not None}
        spelled = parts.get("m", "")[:3].lower()
        month = _MONTHS.index(_SPELLED.get(spelled, spelled)) + 1 if spelled else int(parts.get("n", 0))
        year, day = int(parts.get("y", 0)) or None, int(parts.get("d", 0)) or None
        named = Named(year, month or None, day, _side(question, match))
        if _days(named, named.year or 2000) is not None:
            found.append(named)
    return found


def words_of_times(question: str) -> str:
    """The words by which a question names times, but for days written as 2024-05-02: texts have them so."""
    return " ".join(match.group() for match in _NAMED.finditer(question) if not match["d1"])


def _side(question: str, match: re.Match[str]) -> Side:
    begin = match.start("m5") if match["m5"] else match.start()
    ahead = question[max(0, begin - _LEAD_CHARS) : begin]
    if _BEFORE.search(ahead):
        return Side.BEFORE
    return Side.SINCE if _SINCE.search(ahead) else Side.WITHIN


def held_in(named: Sequence[Named], start: Times, end: Times, now_ms: int) -> NDArray[np.bool_]:
    """Which facts that began and ended at these times held in one of the named ones; all, if none is named.

    One without its year is the last that had begun when the latest of the facts began.
    """
    begun = start <= now_ms
    if not named:
        return begun
    latest = int(start.max(where=begun, initial=0)) // DAY_MS
    held = np.zeros(len(start), np.bool_)
    for each in named:
        windows = [days for days in _windows([each], latest) if each.year or days[0] <= latest]
        for first, last in windows[-1:]:
            since = -_FOREVER_MS if each.side is Side.BEFORE else first * DAY_MS
            until = {Side.BEFORE: first * DAY_MS, Side.SINCE: now_ms}.get(each.side, (last + 1) * DAY_MS)
            held |= (start < until) & (end > since)
    return held


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
