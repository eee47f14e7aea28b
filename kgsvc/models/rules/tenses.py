"""When what a clause says holds: its tense, and the times that stand beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kgsvc.domain.model.graph import Polarity
from kgsvc.models.rules.english import FORMS
from kgsvc.models.rules.patterns import STARTS, STOPS
from kgsvc.models.rules.scene import Drafted
from kgsvc.models.rules.times import Time

_BY_BIRTH = "son daughter child kid father mother parent brother sister sibling twin uncle aunt cousin"
# What stays true when it is told in the past tense.
_LASTING = frozenset(("BORN_IN", *(f"HAS_{kin.upper()}" for kin in _BY_BIRTH.split())))

_NOT_YET = frozenset({"until", "before"})  # nothing begins then
_STARTS, _STOPS = (re.compile(rf"\b(?:{words})\b") for words in (STARTS, STOPS))
_DONE = frozenset({"started", "began", "begun", "stopped", "quit", "gave up", "given up"})

Reading = Callable[[Time, int], int | None]  # of a time that may have no year, and now


@dataclass(frozen=True, slots=True)
class Tense:
    """past, present, perfect, ongoing ("is leaving"), bare, future or started ("began working"); negated;
    over ("no longer"); stops ("quit working")."""

    name: str
    negated: bool
    over: bool
    stops: bool = False

    def reading(self, lasts: bool) -> Reading:
        """How a date without a year is read; `lasts`: of what lasts ("I'm working"), not of a change."""
        if self.name == "future" or (self.name == "ongoing" and not lasts):
            return coming
        return nearer if self.name in ("ongoing", "present") else gone


def tense_of(match: re.Match[str]) -> Tense:
    groups = match.groupdict()
    around = f"{groups.get('aux') or ''} {groups.get('after') or ''}"
    words = set(around.split())
    verb = groups.get("verb") or "is"
    form = FORMS.get(verb.split(" ")[0])
    name = "present"
    if words & {"will", "'ll"} or "going to" in around:
        name = "future"
    elif words & {"have", "'ve", "has"} or ("been" in words and "'s" in words):
        name = "perfect"
    elif verb in ("was", "were") or words & {"was", "were", "did", "had"}:
        name = "past"
    elif form is not None and form.ing:
        name = "ongoing" if words & {"am", "'m", "is", "'s", "are", "'re"} else "bare"
    elif form is not None and (form.past or form.participle) and not form.base:
        name = "past"
    negated = bool(words & {"not", "n't", "never"})
    starts, stops = _STARTS.search(around), _STOPS.search(around)
    if (aspect := starts or stops) and name != "perfect":
        name = "started" if aspect[0] in _DONE else "future"
    return Tense(name, negated, "no longer" in around or "used to" in around, stops is not None)


def begins(times: Sequence[Time], now: int, reading: Reading) -> int | None:
    """From when: a since or for, else an at; dates without a year as they are read in this tense."""
    for roles in (("since", "range", "for"), ("at",)):
        for time in times:
            if time.role in roles and time.begin_ms is not None:
                return reading(time, now) if time.role in ("since", "at") else time.begin_ms
    return None


def gone(time: Time, _now: int) -> int | None:
    """A date without a year in a past tense: the last one."""
    return time.begin_ms


def nearer(time: Time, now: int) -> int | None:
    """A date without a year in a present tense: the nearer of the last and the next one."""
    if time.begin_ms is None or time.ahead_ms is None or time.begin_ms == time.ahead_ms:
        return time.begin_ms
    return time.ahead_ms if time.ahead_ms - now <= now - time.begin_ms else time.begin_ms


def coming(time: Time, now: int) -> int | None:
    """A date without a year of what is to come: the next one, or the month that is not over."""
    if time.begin_ms is None or time.ahead_ms is None:
        return time.begin_ms
    over = time.finish_ms is not None and time.finish_ms <= now
    return time.ahead_ms if over else time.begin_ms


def told_at(times: Sequence[Time], now: int) -> int | None:
    begun = (time.begin_ms for time in times if time.role not in _NOT_YET)
    return next((begin_ms for begin_ms in begun if begin_ms is not None and begin_ms <= now), None)


def last_ms(finish_ms: int | None) -> int | None:
    """The last millisecond before a time: "until 31 May" includes that day."""
    return None if finish_ms is None else finish_ms - 1


def ends(times: Sequence[Time], tense: str) -> int | None:
    for time in times:
        if time.role in ("until", "range"):
            return last_ms(time.finish_ms if tense == "past" else time.ahead_finish_ms)
    return None


def ended(draft: Drafted, tense: Tense, times: Sequence[Time], now: int) -> Drafted | None:
    """The end of a statement, at the time that is told."""
    dated = [time for time in times if time.role in ("at", "since")]
    dated = [time for time in dated if time.role == "at"] or dated
    when = begins(dated, now, tense.reading(lasts=False))
    unsure = tense.negated or tense.over or (when is None and tense.name in ("future", "ongoing"))
    return None if unsure else draft._replace(polarity=Polarity.ENDS, valid_ms=when)


def begun(draft: Drafted, tense: Tense, times: Sequence[Time], now: int, lasts: bool) -> Drafted | None:
    """A statement from when it holds; `lasts`: it tells of something that lasts, not of its beginning."""
    when = begins(times, now, tense.reading(lasts))
    if when is None and (tense.name == "future" or (tense.name == "ongoing" and not lasts)):
        return None
    if tense.name == "past" and lasts and draft.relation not in _LASTING:
        return _past(draft, times, now)
    return draft._replace(valid_ms=now if when is None else when, invalid_ms=ends(times, tense.name))


def _past(draft: Drafted, times: Sequence[Time], now: int) -> Drafted:
    """ "lived in Rome": over by now; told with its end it closes nothing."""
    timed = next((t for t in times if t.begin_ms is not None and t.begin_ms <= now), None)
    if timed is None:
        return draft._replace(invalid_ms=now)
    begin = None if timed.role in _NOT_YET else timed.begin_ms
    end = last_ms(timed.finish_ms) if timed.role in ("range", "at", "until") else None
    end = last_ms(timed.begin_ms) if timed.role == "before" else end
    end = now if end is None or end > now else end
    return draft._replace(valid_ms=begin, invalid_ms=None if begin is not None and end <= begin else end)
