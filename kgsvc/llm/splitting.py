"""Dividing a text that is too long to be read at once, where it hurts least."""

from __future__ import annotations

import re

_BREAKS = (
    re.compile(r"\n\s*\n"),  # paragraphs
    re.compile(r"\n"),
    re.compile(r"""[.!?…]["'”’)\]]*\s|[。！？]"""),  # sentences
    re.compile(r"\s"),
)


def parts(text: str, chars: int) -> list[str]:
    """`text` in order, in parts of at most `chars` characters: cut between paragraphs, else lines, sentences,
    words, else anywhere. Together they are `text`; parts of white space alone are left out."""
    found: list[str] = []
    while len(text) > chars:
        at = max(_breaks(text, chars // 2, chars), default=chars)
        found.append(text[:at])
        text = text[at:]
    return [part for part in (*found, text) if part.strip()]


def halves(text: str) -> list[str]:
    """Two parts of about the same length."""
    middle = len(text) // 2
    near = _breaks(text, middle * 2 // 3, middle * 4 // 3)
    at = min(near, key=lambda end: abs(end - middle), default=middle)
    return [part for part in (text[:at], text[at:]) if part.strip()]


def _breaks(text: str, first: int, last: int) -> list[int]:
    """Where the best kind of break that occurs between `first` and `last` ends."""
    for kind in _BREAKS:
        ends = [found.end() for found in kind.finditer(text, first, last)]
        if ends:
            return ends
    return []
