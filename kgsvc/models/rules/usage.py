"""What a whole text shows of its words: which stand in lower case too, and which it uses as names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kgsvc.models.rules import english as en
from kgsvc.models.rules.text import word_set

_LONG = 10  # sentences of a text that shows in other places too what its sentences begin with
_MARKS = ".,;:!?()[]\"'“”‘’*_"
_OPENING = '"“‘«'
_CLOSING = (".", "!", "?", ":", ".”", '."', "!”", "?”")
_POSSESSIVES = word_set("my your his her its our their whose")
# What may stand right before a name: no article, no adjective, no other noun than what somebody is.
_LEADS = (en.STOP - en.DETERMINERS - _POSSESSIVES) | en.ROLES | en.KIN | {"that", "both", "than"}


@dataclass(frozen=True, slots=True)
class NameUsage:
    """Words in lower case, and abbreviations that name a kind ("a PDF"); how often a long text uses words as
    names, None of a short one, in which too little is seen."""

    ordinary: frozenset[str] = frozenset()
    named: Mapping[str, int] | None = None


UNSEEN = NameUsage()


def usage_of(sentences: Iterable[str], before: str = "", document: bool = False) -> NameUsage:
    """How the sentences of a text and those before it use words."""
    said = [sentence.split() for sentence in sentences]
    long = document and len(said) >= _LONG
    said += [line.split() for line in before.split("\n") if line]
    ordinary = {word.strip(_MARKS) for words in said for word in words if word.islower()}
    ordinary.update(kind for words in said for kind in _kinds(words) if document)
    named: Counter[str] = Counter()
    for name, times in (each for words in said for each in _names(words)) if long else ():
        named[name] += times
    return NameUsage(frozenset(ordinary), +named if long else None)


def _kinds(words: list[str]) -> Iterator[str]:
    """Words that name a kind: "a PDF", "PDFs", "the gross product (GP)", "an Allegro"."""
    for before, word, behind in zip(["", *words], words, [*words[1:], ""], strict=False):
        text, one = word.strip(_MARKS), before in ("a", "an")
        if text.isupper() and (one or (word[0] == "(" and before.islower())):
            yield text
        elif text.endswith("s") and text[:-1].isupper() and len(text) > 2:
            yield text[:-1]
        elif one and text[:1].isupper() and bare("", "" if word[-1] in _MARKS else behind):
            yield from (text, text.lower())


def _names(words: list[str]) -> Iterator[tuple[str, int]]:
    """Single words that stand inside a sentence as names do (1) or, with an article, as others do (-1); in
    lower case."""
    if sum(word.islower() for word in words) * 2 < len(words):
        return  # a heading, a cell, a reference
    for before, word, behind in zip(words, words[1:], [*words[2:], ""], strict=False):
        text = word.strip(_MARKS)
        own = text.removesuffix("'s").removesuffix("’s")
        numbered = before[0].isdigit() and before is words[0]  # "8.4 Method of work"
        opened = before == "|" or word[0] in _OPENING or numbered
        inside = not (opened or before.endswith(_CLOSING)) or before.lower().strip(".") in en.HONORIFICS
        last = word[-1] in _MARKS or own != text
        if text[:1].isupper() and inside and (last or not behind[:1].isupper()):
            lead = "" if before[-1] in _MARKS else before
            article = lead in ("a", "an", "the")
            if bare("" if article else lead, "" if last else behind.rstrip(_MARKS)):
                yield own.lower(), -1 if article else 1


def bare(before: str, behind: str) -> bool:
    """Whether a word between these stands as a name does: without an article, and before no noun."""
    form = en.FORMS.get(before)
    if before[:1].isalpha() and before not in _LEADS and not (form and (form.third or form.past or form.ing)):
        return False
    form = en.FORMS.get(behind)
    acts = bool(form and (form.third or form.past)) or behind.endswith("ed")
    return not (behind[:1].isalpha() and behind.islower()) or behind in en.STOP or acts
