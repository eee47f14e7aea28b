"""When the words of a clause put what they claim: its tense, and which of its times begins or ends it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kgsvc.models.rules.times import Time
from kgsvc.models.rules.verbs import FORMS


@dataclass(frozen=True, slots=True)
class Tense:
    """past, present, perfect, ongoing ("is leaving") or future; negated; over ("no longer", "used to")."""

    name: str
    negated: bool
    over: bool


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
    return Tense(name, negated, "no longer" in around or "used to" in around)


def begins(times: list[Time], now: int, ahead: bool) -> int | None:
    """From when: a since or for, else an at, read as to come where the tense allows that."""
    for roles in (("since", "range", "for"), ("at",)):
        for time in times:
            if time.role not in roles or time.begin_ms is None:
                continue
            if ahead and time.role in ("since", "at") and time.ahead_ms is not None:
                return nearer(time, now)
            return time.begin_ms
    return None


def nearer(time: Time, now: int) -> int | None:
    """A date without a year in a present tense: the nearer of the last and the next one."""
    if time.begin_ms is None or time.ahead_ms is None or time.begin_ms == time.ahead_ms:
        return time.begin_ms
    return time.ahead_ms if time.ahead_ms - now <= now - time.begin_ms else time.begin_ms


def told_at(times: list[Time], now: int) -> int | None:
    return next(
        (t.begin_ms for t in times if t.role != "until" and t.begin_ms is not None and t.begin_ms <= now),
        None,
    )


def last_ms(finish_ms: int | None) -> int | None:
    """The last millisecond before a time: "until 31 May" includes that day."""
    return None if finish_ms is None else finish_ms - 1


def ends(times: list[Time], tense: str) -> int | None:
    for time in times:
        if time.role in ("until", "range"):
            return last_ms(time.finish_ms if tense == "past" else time.ahead_finish_ms)
    return None
