"""What a sentence names: runs of capitalised words, quoted titles, names known before."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from kgsvc.models.rules import english as en
from kgsvc.models.rules.fragments import LONGEST_NAME, fragments
from kgsvc.models.rules.runs import (
    ADJECTIVES,
    CONNECTORS,
    NEVER,
    NUMBER,
    ORDINARY_ENDINGS,
    RANKS,
    SAINTS,
    SHORTENED,
    SHOUTED,
    inner_capital,
    low_of,
)
from kgsvc.models.rules.text import Word, word_set
from kgsvc.models.rules.usage import UNSEEN, NameUsage, bare
from kgsvc.models.rules.wholes import IDENTIFIER, INITIALS, Wholes

_QUOTES = {'"': '"', "“": "”", "”": "”", "«": "»"}
_SMALL = CONNECTORS | en.PREPOSITIONS | en.CONJUNCTIONS | word_set("a an the 's that who")
_SAYING = word_set("said say says saying like goes went asked shouted yelled told replied ,")
_WHERE = word_set("in at near from towards")
_REFERENCE = re.compile(
    r"[IVXLC]+|[IVX]{1,5}[A-C]|(?:[A-Z]\.)+[A-Z]?"
)  # and degrees, orders, abbreviated titles
_BRAND = re.compile(r"[a-z][A-Z]\w+|[a-z]{2,5}[A-Z]{2,}")  # iPhone, macOS; not errorDescription
_ARTICLES = word_set("a an the de la le les des du")


class Name(NamedTuple):
    """A name at words `first`..`after` (exclusive) of its sentence."""

    first: int
    after: int
    text: str
    quoted: bool = False


def find_names(
    sentence: str,
    words: Sequence[Word],
    known: Collection[str] = (),
    usage: NameUsage = UNSEEN,
    titles: Sequence[str] = (),
    strict: bool = False,
) -> list[Name]:
    """The names in order, without overlap.

    `known` holds lower-case names that are names wherever they are capitalised; `usage` tells how the text
    around uses words; `titles` are names wherever they stand exactly so. `strict`: as in documents, where
    headings, cells, links and references are full of capitals, only what stands in a sentence is a name, no
    code is one, and words with capitals are taken together or not at all. A single word of a long document
    must stand as a name does, and at the beginning of a sentence do so elsewhere too.
    """
    if sentence.islower() and not any(mark in sentence for mark in _QUOTES):
        return []
    finder = _Finder(sentence, words, known, usage, strict, titles)
    found: list[Name] = []
    at = 0
    while at < len(words):
        name = finder.name(at)
        if name is not None:
            found.append(name)
        at = at + 1 if name is None else name.after + name.quoted
    return found


def _is_title(words: Sequence[Word]) -> bool:
    """Whether a title may be made of the words: of words with capitals and small ones."""
    stops = {word.text for before, word in pairwise(words) if before.low not in SAINTS}
    return stops.isdisjoint(".!?") and all(not word.text.islower() or word.low in _SMALL for word in words)


@dataclass
class _Finder(Wholes):
    titles: Sequence[str]

    def __post_init__(self) -> None:
        self.closed = set(fragments(self.sentence, self.words)) if self.strict else set()
        letters = [word.text for word in self.words if word.text.isalpha() and len(word.text) > 1]
        self.shouting = len(letters) > 2 and sum(text.isupper() for text in letters) * 2 > len(letters)

    def name(self, at: int) -> Name | None:
        """The name that begins at a word."""
        return self._titled(at) or self._quoted(at) or self._run(at)

    def _titled(self, at: int) -> Name | None:
        start = self.words[at].start
        for title in self.titles:
            if self.sentence.startswith(title, start):
                inside = [word for word in self.words[at:] if word.end <= start + len(title)]
                return Name(at, at + max(1, len(inside)), title)
        return None

    def _quoted(self, at: int) -> Name | None:
        """Quoted words, if they look like a title and not like speech."""
        closing = _QUOTES.get(self.words[at].text)
        behind = (n for n in range(at + 2, min(at + 12, len(self.words))) if self.words[n].text == closing)
        after = next(behind, 0) if closing else 0
        inside = self.words[at + 1 : after]
        if not inside or at + 1 in self.closed or (self.strict and len(inside) < 2):
            return None
        if self.strict and len(inside) > 3 and inside[-1].text in (".", ","):
            after, inside = after - 1, inside[:-1]  # "on "See the Wheel Turning." "
        if self.strict and (inside[0].low in en.PREPOSITIONS or not _is_title(inside)):
            return None
        telling = [word for word in inside if word.text[0].isalpha() and word.low not in en.STOP]
        if not inside[0].capital or not all(word.capital for word in telling):
            return None
        if self.strict and (len(telling) < 2 or all(word.text.isupper() for word in telling)):
            return None
        if inside[-1].text in (".", ",", "...") or (at and self.words[at - 1].low in _SAYING):
            return None
        return Name(at + 1, after, self._text(at + 1, after), quoted=True)

    def _run(self, at: int) -> Name | None:
        if not self._starts(at):
            return None
        after = self._extend(at)
        while after > at and self.words[after - 1].low in CONNECTORS:
            after -= 1
        first = at
        if self.words[at].low in en.HONORIFICS and self._low(at + 1) not in CONNECTORS:  # Dr. Jane Smith
            behind = at + 2 if self._low(at + 1) == "." else at + 1
            first = behind if after - behind > 1 else at
        role = self._role(first, after) if self.strict else 0
        named = not role and 0 < after - first <= LONGEST_NAME and self._names(first, after)
        if self.strict and not (named and self._is_whole(at, after)):
            self.closed.update(range(at, role or after))
            return None
        return Name(at, after, self._text(at, after)) if named else None

    # whether a run is a name

    def _names(self, first: int, after: int) -> bool:
        """Whether the run is a name and not a day, an adjective of a people, a letter or a mere term."""
        words = self.words[first:after]
        low = low_of(words)
        if max(len(word.text) for word in words) < 2:  # "P. S."
            return False
        if all(word.low in en.CALENDAR or word.text.isdigit() for word in words):
            return False
        of_sort = len(words) == 1 and self._is_of_sort(first)
        if len(words) == 1 and not of_sort and not self._names_alone(first, words[0]):
            return False
        if self.strict and not of_sort and self._is_mere(words):
            return False
        return not self.shouting or low in self.known or low in en.PLACES or words[0].low in en.GIVEN_NAMES

    def _is_of_sort(self, at: int) -> bool:
        """ "the Payments project": a capital inside a sentence of a document, and behind it what it is; not
        so "the French team", "the Olympic team"."""
        low = self._low(at)
        adjective = low in en.DEMONYMS or low.endswith(ADJECTIVES)
        named = self._low(at - 1) in ("the", "our") and self._low(at + 1) in en.SORTS
        return self.strict and named and not adjective

    def _names_alone(self, at: int, word: Word) -> bool:
        """Whether a single capitalised word is a name."""
        low, before = word.low, self._low(at - 1)
        people = low.removesuffix("man").removesuffix("men")  # "Frenchman"
        people = people.removesuffix("s") if self.strict else people
        if low in en.HONORIFICS or (people in en.DEMONYMS and low not in en.PLACES):
            return False
        given = low in en.PLACES or low in en.GIVEN_NAMES or low in self.known
        if self.strict and not given and low.removesuffix("s").endswith(ADJECTIVES):
            listed = self.usage.named is not None and self._low(at + 1) in ("and", ",", "(")
            return before not in en.DETERMINERS and self._acts(at + 1) and not listed
        if self.strict and not given and before in _ARTICLES and not inner_capital(word.text):
            return False  # "the Adagio", "du Monolithe"
        if self.usage.named is not None and not given and not (self._stands(at) and self._shown(at)):
            return False
        return not word.text.isupper() or not (low in en.COMMON or low in en.VAGUE)

    def _stands(self, at: int) -> bool:
        """Whether a single word stands as a name does; abbreviations may have an article."""
        text, before, behind = self.words[at].text, self._low(at - 1), self._low(at + 1)
        if text in self.usage.ordinary or _REFERENCE.fullmatch(text) or behind == "of":
            return False
        if before == "(" and behind == ")" and not text.isupper():
            return False  # "a man with a scythe (Sensenmann)"
        if text.isupper() and before == "the":
            before = ""
        return before != "'s" and bare(before, behind if behind != "'s" else "")

    def _shown(self, at: int) -> bool:
        """Whether a single word is used as a name elsewhere too, or stands where a place or somebody does."""
        word, before, behind = self.words[at], self._low(at - 1), self._low(at + 1)
        others = 0 if self._is_first(at) else 1  # that are not this one
        often = self.usage.named is not None and self.usage.named.get(word.low, 0) > others
        form = en.FORMS.get(behind)
        somebody = before in RANKS or before in en.KIN or behind == "'s" or (form is not None and form.past)
        return often or somebody or before in _WHERE or inner_capital(word.text)

    # where a run begins

    def _starts(self, at: int) -> bool:
        word = self.words[at]
        text, low = word.text, word.low
        if at in self.closed or not text[0].isalpha() or not (text[0].isupper() or inner_capital(text)):
            return False
        if low in self.known or (self._initial(at) and self._initial(at + 2)):
            return True
        if low in NEVER or (low in en.STOP and (self.strict or not self._capital(at + 1))):
            return False
        brand = text[0].isupper() or _BRAND.fullmatch(text) is not None
        if not brand or (self.strict and not self._may_be_named(at, text)):
            return False
        if self._is_first(at) and text[0].isupper():
            return self._starts_sentence(at, text, low)
        return low not in en.PREPOSITIONS and not (low in en.CALENDAR and not self._capital(at + 1))

    def _may_be_named(self, at: int, text: str) -> bool:
        """Whether this is no identifier, unit ("4 KiB") or adjective ("Imperial troops"), nor shouted."""
        before, low = self.words[at - 1].text if at else "", text.lower()
        if before.isdigit() and len(text) < 4 and not self._capital(at + 1):
            return False
        if text.isupper() and len(text) > 3 and low in en.COMMON:  # the label in "TOOL GitLab"
            return False
        if low in en.DEMONYMS and self._low(at + 1) in en.GIVEN_NAMES:  # "American Adam Lund"
            return False
        if IDENTIFIER.search(text) and not INITIALS.fullmatch(text):
            return False
        return not text.isupper() or len(text) < SHOUTED or (len(text) < 7 and not self._capital(at + 1))

    def _starts_sentence(self, at: int, text: str, low: str) -> bool:
        """At the beginning every word is capitalised: it must look like a name otherwise."""
        if low in en.STOP or low in en.CALENDAR:
            return False
        if text in SHORTENED and self._low(at + 1) == ".":
            return True
        if low in en.GIVEN_NAMES:
            return self._capital(at + 1) or en.FORMS.get(low) is None or self._acts(at + 1)
        inner = inner_capital(text) and not text.isupper()
        if inner or low in en.PLACES or f"{low} {self._low(at + 1)}" in en.PLACES:
            return True
        if low in en.VAGUE or en.FORMS.get(low) is not None or (self.strict and self._is_usual(at, low)):
            return False
        verb = at + 2 if NUMBER.fullmatch(self._low(at + 1)) else at + 1  # "Apollo 11 was"
        named = self.usage.named is None or low in self.usage.named
        alone = (text.isupper() and len(text) > 2) or (self._acts(verb) and named)
        return self._capital(at + 1) or (alone and not self._is_word(low))

    def _is_usual(self, at: int, low: str) -> bool:
        """ "Potatoes were", "Furthermore, it", "Secondary schools", "Treaty claims"."""
        behind = self._low(at + 1)
        several = low.endswith("s") and behind in ("are", "were", "have")
        single = several or behind in (",", "(")
        single = single or (low.endswith(ADJECTIVES) and not self._acts(at + 1))
        return (
            low in self.usage.ordinary
            or low.endswith(ORDINARY_ENDINGS)
            or (single and not self._capital(at + 1))
        )

    def _acts(self, at: int) -> bool:
        """Whether the word at `at` lets the one before it be somebody: a verb, a comma, a genitive."""
        while at + 1 < len(self.words) and (self.words[at].low in en.ADVERBS or self.words[at].low == "no"):
            at += 1
        low = self._low(at)
        if low == "and":
            return self._capital(at + 1)
        form = en.FORMS.get(low)
        return low in ("'s", ",", "(") or low in en.AUXILIARIES or bool(form and (form.third or form.past))

    def _text(self, first: int, after: int) -> str:
        return " ".join(self.sentence[self.words[first].start : self.words[after - 1].end].split())
