"""Which words of a document stand in no sentence: code, cells, references, lists of links, headings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from kgsvc.models.rules import english as en
from kgsvc.models.rules.text import Word

LONGEST_NAME = 8  # words
_TITLE_WORDS = r"(?:[A-Z][\w'’-]*|and|of|the|to|in|for|with|a)"
_OUTSIDE = re.compile(  # code, addresses, and what refers to another place of the text, by its title too
    r"`[^`]*`|https?://\S+|\S+@\S+"
    r"|(?i:\b(?:section|chapter|appendix|figure|table|step|page|plate|series|volume|vol\.?|book|part|act|scene|category"
    r"|chart|graph|box|annex(?:ure)?))"
    r" (?:[A-Z]?\d[\d.]*|[A-Z]\b|[IVXLC]+[A-C]?\b)[,:.]?"
    rf"(?: [“\"][^”\"]{{1,80}}[”\"]| {_TITLE_WORDS}(?: {_TITLE_WORDS}){{0,8}})?"
)
_NO_PROSE = re.compile(  # references, a table of contents, and code that nothing marks as such
    r"^\^|\b\d{1,3} \d{1,2}\.\d[\d.]* [A-Z]"
    r"|[a-z.], \d{1,3}(?: \(note\))?, \d{1,3}\b(?! [a-z])"  # an index
    r"|\(\d{4}[a-z]?\)\.|\bISBN\b|\bdoi:|\(PDF\)|^(?:Retrieved|Archived)\b|[{}]\s*$|\);\s*$|^(?://|\$ )|::|->"
)
_BORDERS = ("|", "•", "·")
_PARTING = (";", "—")
_LISTED = 3  # of them, which no longer part clauses but the items of a list
_SHORT = 4  # words of an item that may be a sentence
_LEAST_LOWER = 0.45  # of the words of a sentence, where a name counts as one


def is_sentence(words: Sequence[Word]) -> bool:
    """Whether the words are one: a verb in lower case, and not mainly capitals. Without a stop at its end the
    verb is an auxiliary or stands behind its subject, since "reports" and "uses" are nouns too."""
    letters = [word for word in words if word.text[0].isalpha()]
    lower = sum(word.text.islower() for word in letters)
    runs = [len(list(group)) for capital, group in groupby(words, lambda word: word.capital) if capital]
    if lower < max(1, _LEAST_LOWER * (lower + len(runs) - 2)) or max(runs, default=0) > LONGEST_NAME:
        return False
    stops = words[-1].text[0] in ".!?;" and words[-1].start == words[-2].end
    for before, word in zip([None, *letters], letters, strict=False):
        form = en.FORMS.get(word.text)
        if word.text in en.AUXILIARIES and before is not None:
            return True
        subject = before is not None and (before.capital or before.low in en.PRONOUNS)
        if form is not None and ((stops and not form.ing) or (subject and (form.third or form.past))):
            return True
    return False


def fragments(sentence: str, words: Sequence[Word]) -> Iterator[int]:
    """The words of code, of cells and of lines that are no sentences."""
    start, other = 0, _NO_PROSE.search(sentence) is not None
    borders = (*_BORDERS, *(mark for mark in _PARTING if sentence.count(mark) >= _LISTED))
    for after in [*(n for n, word in enumerate(words) if word.text in borders), len(words)]:
        item = after - start < min(_SHORT, len(words))
        if other or item or not is_sentence(words[start:after]):
            yield from range(start, after)
        start = after + 1
    for found in _OUTSIDE.finditer(sentence):
        yield from (n for n, word in enumerate(words) if found.start() <= word.start < found.end())
