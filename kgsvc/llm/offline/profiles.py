"""Dates of life in brackets after a name, as encyclopaedias write them: "X (2 May 1932 – 1 June 1987)"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgsvc.llm.offline.calendar import DAY_MS, make_day, ms_of
from kgsvc.llm.offline.phrases import NAME, TIME, VERB
from kgsvc.llm.offline.reading import Reading
from kgsvc.llm.offline.scene import Draft
from kgsvc.llm.offline.times import Time

_YEAR = re.compile(r"\d{4}")
_SPAN = 14  # units that the brackets may take


def life_dates(reading: Reading) -> Iterator[tuple[str, str, Draft, int | None]]:
    """(relation, fact, who, when) for each birth and death that brackets after a name tell."""
    units = reading.units
    for at in range(len(units) - 2):
        if units[at].tag == NAME and units[at + 1].low == "(":
            draft = reading.meant.get(at)
            if draft is not None:
                yield from _dates(reading, at + 2, draft)
                return


def _dates(reading: Reading, first: int, draft: Draft) -> Iterator[tuple[str, str, Draft, int | None]]:
    units = reading.units
    after = next((i for i in range(first, min(first + _SPAN, len(units))) if units[i].low == ")"), None)
    if after is None:
        return
    inside = units[first:after]
    times = [unit.time for unit in inside if unit.tag == TIME and unit.time is not None]
    if not times or any(unit.tag == VERB and unit.low not in ("born", "died") for unit in inside):
        return
    words = {unit.low for unit in inside}
    told = [("BORN_ON", "was born"), ("DIED_ON", "died")]
    if "born" in words or "died" in words or "b" in words or "d" in words:
        told = told[:1] if words & {"born", "b"} else told[1:]
    elif len(times) == 1 and times[0].role != "range":
        return
    if len(times) == 1 and times[0].role == "range":
        yield from _range(reading, draft, times[0])
        return
    for (relation, verb), time in zip(told, times, strict=False):
        if time.begin_ms is not None:
            yield relation, f"{draft.name} {verb} {_when(reading, time)}.", draft, time.begin_ms


def _range(reading: Reading, draft: Draft, time: Time) -> Iterator[tuple[str, str, Draft, int | None]]:
    """ "(1893–1964)" """
    years = _YEAR.findall(reading.sentence[time.start : time.end])
    if len(years) == 2:
        yield "BORN_ON", f"{draft.name} was born in {years[0]}.", draft, time.begin_ms
        died = make_day(int(years[1]))
        yield "DIED_ON", f"{draft.name} died in {years[1]}.", draft, None if died is None else ms_of(died)


def _when(reading: Reading, time: Time) -> str:
    words = reading.sentence[time.start : time.end]
    length = (time.finish_ms or 0) - (time.begin_ms or 0)
    return f"on {words}" if length == DAY_MS else f"in {words}"
