"""Where a noun phrase ends: "my sister", "a safe and loving home", "the capital of France"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kgsvc.llm.offline.phrases import ADV, CONJ, DET, GEN, NAME, NOUN, NUM, POSS, PREP, PRON, Unit

NP_STARTS = frozenset({NAME, NOUN, PRON, DET, POSS, NUM})
_LONGEST = 12  # units


class Phrase(NamedTuple):
    """A noun phrase: units `first`..`after`."""

    first: int
    after: int


def noun_phrase(units: Sequence[Unit], first: int) -> int:
    """Where the noun phrase that begins at `first` ends; `first` itself if none begins there."""
    if units[first].tag == PRON and not _is_possessive(units, first):
        return first + 1
    at, head = first, False
    while at < min(len(units), first + _LONGEST):
        step = _step(units, at, head, at == first)
        if step == 0:
            break
        head = units[at].tag in (NAME, NOUN) or (head and units[at].tag not in (GEN, PREP))
        at += step
    if not head and not any(unit.tag in (DET, NUM) for unit in units[first:at]):
        return first
    return at


def _is_possessive(units: Sequence[Unit], at: int) -> bool:
    """ "her daughter" against "saw her"."""
    return units[at].low == "her" and _tag(units, at + 1) in (NOUN, NAME, NUM)


def _tag(units: Sequence[Unit], at: int) -> str:
    return units[at].tag if at < len(units) else ""


def _step(units: Sequence[Unit], at: int, head: bool, begins: bool) -> int:
    """1 if the phrase goes on with the unit at `at`, else 0. `head`: it has its noun already."""
    tag, following = units[at].tag, _tag(units, at + 1)
    if tag in (NAME, NOUN):
        goes_on = True
    elif tag in (DET, POSS, NUM):
        goes_on = not head
    elif tag == PRON:  # a possessive "her"
        goes_on = begins
    elif tag == GEN:
        goes_on = head and following in (NOUN, NAME, NUM)
    elif tag == CONJ:  # "safe and loving home"
        goes_on = head and following == NOUN and _tag(units, at + 2) == NOUN
    elif tag == ADV:
        goes_on = not begins and not head and following == NOUN
    else:
        of = tag == PREP and units[at].low == "of"
        goes_on = of and head and following in (NAME, NOUN, DET, POSS, NUM)
    return int(goes_on)
