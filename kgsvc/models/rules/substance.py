"""Which words of a sentence say something, so that they are worth keeping."""

from __future__ import annotations

import re

from kgsvc.models.rules import english as en
from kgsvc.models.rules.marking import is_mark
from kgsvc.models.rules.text import listed, word_set

_OF_THEMSELVES = re.compile(
    r"(?:I|we|(?:my|our) [a-z]+) "
    r"(?:(?:also|still|always|usually|often|never|do|does|n't|not|'ve|have|has) ){0,4}"
    r"(?:(?:have|has|had|got|take|takes|own|owns|drink|drinks|eat|eats|smoke|smokes|collect|collects|ride|rides"
    r"|teach|teaches|cook|cooks|paint|paints|speak|speaks|keep|keeps|grow|grows|wear|wears|write|writes) "
    r"|(?:am|'m|are|'re|is|'s) on )"
)
_HABIT = re.compile(
    r"(?:I|we|(?:my|our) [a-z]+|N\d+) (?:.* )?"
    r"(?:every|each|daily|nightly|weekly|monthly|(?:once|twice) an?)\b"
)
_PASSING = listed("passing", word_set)
_SLIGHT = en.STOP | en.VAGUE | en.INTERJECTIONS


def content(text: str) -> list[str]:
    """Its words without those that every sentence has."""
    words = (word.strip(".,;:!?()\"'").lower() for word in text.split())
    return [word for word in words if len(word) > 2 and word not in _SLIGHT and not is_mark(word.upper())]


def of_themselves(text: str) -> bool:
    """Whether few words tell what somebody has, takes or does: "I have asthma", "I run every morning"."""
    if _HABIT.match(text):
        return True
    found = _OF_THEMSELVES.match(text)
    return found is not None and bool(set(content(text[found.end() :])) - _PASSING)
