"""Lists of people in minutes, teams, lists of authors: a line each, "* Ann Holm (chair)", or all on one,
"Present: Ann Holm, Ole Dahl, Tom Lund"."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from kgsvc.models.rules import english as en

_ITEM = re.compile(r"[ \t]*(?:[*+•-]|\d{1,3}[.)])[ \t]+(?:\[[ xX]?\][ \t]*)?(.*\S)")
_WORD = r"[^\W\d_][\w.'’-]*"
_PERSON = re.compile(rf"(?:\*\*)?({_WORD}(?: {_WORD}){{1,3}})(?:\*\*)?[ \t]*(?:[(\[@,:/–—-].*)?")
_ONE_LINE = re.compile(r"(?:[^\W\d][\w()/ ]{1,30}(?<! ): ?)?(\S.{8,2000}?)\.?")
_BETWEEN = re.compile(r" ?[,;] (?:(?:and|&) )?| (?:and|&) ")
_PARTICLES = frozenset(["van", "von", "der", "den", "de", "del", "di", "da", "du", "la", "le", "bin", "al"])
_LEAST = 3  # of them in a list
_PART, _PART_OF_ALL = 3, 6  # one of so many has a given name that is known; of these if every line is a name
_NO_PART = en.COMMON | en.STOP | en.PLACES | en.CALENDAR


def people_listed(text: str) -> Iterator[str]:
    """Whom the lists name that are lists of people."""
    lines = filter(str.strip, text.split("\n"))
    for _, group in groupby(map(_ITEM.match, lines), bool):
        items = [item[1] for item in group if item]
        names = [name for name in map(_person, items) if name]
        if _are_people(names, _PART_OF_ALL if len(names) == len(items) else _PART):
            yield from names
    for line in text.split("\n"):
        yield from _on_one_line(line)


def _on_one_line(line: str) -> list[str]:
    """Nobody, unless names and a word for them are all that is on the line."""
    line = " ".join(line.split())
    item = _ITEM.fullmatch(line)
    found = _ONE_LINE.fullmatch(item[1] if item else line)
    parts = _BETWEEN.split(found[1]) if found else []
    names = [name for name in map(_person, parts) if name]
    return names if len(names) == len(parts) and _are_people(names, _PART_OF_ALL) else []


def _person(item: str) -> str:
    found = _PERSON.fullmatch(item)
    words = found[1].split() if found else []
    named = all(word[0].isupper() or word in _PARTICLES for word in words)
    known = found is not None and words[0].lower() in en.GIVEN_NAMES
    ordinary = not known and not _NO_PART.isdisjoint(word.lower() for word in words)
    return found[1] if found and named and not ordinary else ""


def _are_people(names: Sequence[str], part: int) -> bool:
    given = sum(name.split()[0].lower() in en.GIVEN_NAMES for name in names)
    return len(names) >= _LEAST and given * part >= len(names)
