"""Which value a sentence states of a thing, so that the end of one value closes no other.

Facts from a thing to itself (its price, status, role) differ by what they say alone. Two sentences state one
value where their figures are the same or, without figures, their words: the thing's name, the relation,
periods ("until 1 May"), verbs of being and negations do not count. Where that is not sure, they differ: then
what was told is a row of its own, and what holds stays.
"""

from __future__ import annotations

import re

from kgsvc.domain.text import normalise, remembered, tokens

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
    *("november", "december", "januar", "februar", "märz", "mai", "juni", "juli", "oktober", "dezember"),
)
_SHORT_MONTHS = "jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
_MONTH = rf"(?:{'|'.join(sorted(_MONTHS, key=lambda name: (-len(name), name)))}|{_SHORT_MONTHS})\.?"
_YEAR = "(?:19|20)[0-9]{2}"
_DATE = (
    rf"(?:{_YEAR}-[0-9]{{2}}(?:-[0-9]{{2}})?(?:t[0-9:.]+z?)?"
    rf"|[0-9]{{1,2}}(?:st|nd|rd|th|\.)?(?: of)? {_MONTH}(?:,? {_YEAR})?"
    rf"|{_MONTH} [0-9]{{1,2}}(?:st|nd|rd|th)?(?:,? {_YEAR})?"
    rf"|{_MONTH}(?: {_YEAR})?"
    rf"|[0-9]{{1,2}}\.[0-9]{{1,2}}\.(?:{_YEAR}|[0-9]{{2}})?"
    rf"|{_YEAR})"
)
_PERIOD = re.compile(
    r"\b(?:since|from|until|till|up to|as of|through|effective|starting|before|after|seit|ab|bis(?: zum)?)"
    rf" (?:the )?(?:(?:end|start|beginning|middle) of )?{_DATE}(?![0-9])"
    r"|(?:[0-9]{4}年)?(?:[0-9]{1,2}月(?:[0-9]{1,2}日|末)?|[0-9]{4}年)(?:から|まで|以降|以前|より)"
)
# Not a part of a name such as T-9 or K881.
_FIGURE = re.compile(r"(?<![^\W\d_])(?<![^\W\d_]-)(?<![.:/-])[0-9]+(?:[.:/-][0-9]+)*[a-z%]*")
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")
_EMPTY = frozenset(
    tokens(
        """a an and are as at be been being by did do does for from had has have he her him his i in is it its
        of on or our she that the their there they this to was we were will with would
        no not never longer any more anymore isn't aren't wasn't weren't doesn't don't didn't hasn't haven't
        cease ceased stop stopped stops used former formerly previous previously once before now currently
        still already until till since
        ist sind war waren wird nicht kein keine mehr früher bisher seit bis der die das ein eine"""
    )
)


@remembered(16_384)
def value_of(fact: str, name: str, relation: str) -> str:
    """The value that a fact of the thing called `name` states by `relation`; equal for sentences that state
    the same one. Never empty."""
    text = normalise(fact)
    plain = _PERIOD.sub(" ", text)
    figures = _figures(plain, name)
    if figures:
        return f"#{' '.join(sorted(figures))}"
    words = set(tokens(plain)) - _EMPTY - set(tokens(name)) - set(tokens(relation.replace("_", " ")))
    return " ".join(sorted(words)) or text


def _figures(text: str, name: str) -> set[str]:
    """Its figures, with its months; years alone only where it has nothing else."""
    named = set(_FIGURE.findall(normalise(name)))
    found = {_plain(each) for each in _FIGURE.findall(_THOUSANDS.sub("", text)) if each not in named}
    years = {each for each in found if re.fullmatch(_YEAR, each)}
    if not found - years:
        return years
    months = {month for month in re.findall(r"[^\W\d_]+", text) if month in _MONTHS}
    return (found - years) | months


def _plain(figure: str) -> str:
    return re.sub(r"\.0+$", "", figure).lstrip("0") or "0"
