"""Where a run of capitalised words ends, and which of its words are ordinary ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kgsvc.models.rules import english as en
from kgsvc.models.rules.fragments import LONGEST_NAME
from kgsvc.models.rules.text import Word, word_set
from kgsvc.models.rules.usage import NameUsage

CONNECTORS = word_set("of de la le les van von der den di da do dos del du bin ibn al el the y e ap")
ORDINARY_ENDINGS = (
    *("ing", "ly", "ed", "tion", "sion", "ness", "ment", "ity", "ism", "ful", "less", "ous", "able"),
    *("ible", "est", "ies", "ers", "ants", "ents", "ance", "ship", "hood", "sty", "ency", "ancy", "logue"),
    *("ings", "tions", "sions", "ments", "isms"),
)
# Adjectives of peoples, faiths and schools: "Sudanese", "Methodist", "Platonic".
ADJECTIVES = ("al", "ent", "ary", "que", "ive", "ic", "ist", "can", "ese", "ian", "ean", "ish", "ern")
NEVER = en.NEVER_NAMES | word_set("ceo cto cfo coo vp esq jr sr bart see o")
NUMBER = re.compile(r"\d{1,4}|\d{1,3}(?:\.\d{1,3}){1,2}")
SHORTENED = frozenset({"Dr", "Mr", "Mrs", "Ms", "Prof"})  # with a stop, before a name alone
RANKS = en.ROLES | en.HONORIFICS
SAINTS = ("st", "ste")
SHOUTED = 5  # letters from which on a word in capitals may be no abbreviation; from 7 on it is none
_INSIDE_MARKS = frozenset([",", "'s", "’s", ")", "&", "/", "(", "-", ";"])
_TITLED = en.GIVEN_NAMES | RANKS


def low_of(words: Sequence[Word]) -> str:
    """The words in lower case, with a space between each."""
    return " ".join(word.low for word in words)


def inner_capital(text: str) -> bool:
    """Whether a word has a capital behind its first letter."""
    return text[0].isalpha() and not text[1:].islower() and any(map(str.isupper, text[1:]))


@dataclass
class Runs:
    """The words of a sentence. `known`, `usage` and `strict` are those of names.find_names."""

    sentence: str
    words: Sequence[Word]
    known: Collection[str]
    usage: NameUsage
    strict: bool

    def _low(self, at: int) -> str:
        return self.words[at].low if 0 <= at < len(self.words) else ""

    def _capital(self, at: int) -> bool:
        word = self.words[at] if 0 <= at < len(self.words) else None
        if word is None or not word.capital or word.low in en.CALENDAR:
            return False
        return word.low not in NEVER or self._initial(at)

    def _initial(self, at: int) -> bool:
        """Whether it is an initial before a name, as in "John A. Smith", not in "Vitamin A. Anna took it"."""
        if at + 2 >= len(self.words) or self._low(at + 1) != "." or len(self.words[at].text) > 1:
            return False
        behind = self.words[at + 2]
        return self._initial(at + 2) or (
            behind.capital and behind.low not in en.STOP and behind.low not in en.GIVEN_NAMES
        )

    def _is_first(self, at: int) -> bool:
        before = self.words[at - 1].text if at else "."
        if (at == 1 and before[0].isdigit()) or (before == ")" and at < 4):  # the mark of a note, "(a)"
            return True
        if before == ":":
            return self.strict or self._is_word(self.words[at].low)
        return not before[-1].isalnum() and before not in _INSIDE_MARKS

    # which words are ordinary

    def _is_term(self, word: Word) -> bool:
        """Whether it is an ordinary word, which documents write with a capital in titles and terms too."""
        low, text = word.low, word.text
        short = text.isupper() and len(text) < SHOUTED and text not in self.usage.ordinary
        if short or low in self.known or low in en.PLACES or (inner_capital(text) and not text.isupper()):
            return False
        return self._is_word(low) or low in en.STOP

    def _is_word(self, low: str) -> bool:
        """Whether a word is an ordinary one, as far as its form tells."""
        single = low.removesuffix("s")
        plain = not self.usage.ordinary.isdisjoint((low, single, f"{low}s"))
        if plain or low in en.DEMONYMS or low.endswith(ORDINARY_ENDINGS):
            return True
        return low in en.COMMON or single in en.COMMON or single in en.ROLES or en.FORMS.get(low) is not None

    # where a run ends

    def _extend(self, at: int) -> int:
        after = at + 1
        given = self.words[at].low in en.GIVEN_NAMES | en.HONORIFICS
        while after < min(len(self.words), at + LONGEST_NAME + 2):
            step = self._continues(at, after, given)
            if step == 0:
                break
            after += step
        return after

    def _continues(self, first: int, at: int, given: bool) -> int:
        """How many words from `at` on still belong to the name that begins at `first`."""
        word, last = self.words[at], self.words[at - 1]
        if self._capital(at):
            return 0 if self.strict and word.text == "The" and last.capital else 1
        if word.text == ".":
            return self._stopped(first, at)
        regnal = word.text == "I" and self._low(at + 1) == "of" and self._capital(at + 2)
        inner = inner_capital(word.text) and word.low not in en.STOP
        if inner or regnal:
            return 1
        if (word.text == "&" or (word.text == "-" and word.start == last.end)) and self._capital(at + 1):
            return 2
        if word.low in CONNECTORS or word.low == "for":
            return self._joined(first, at)
        return 1 if not given and self._numbered(at) else 0

    def _stopped(self, first: int, at: int) -> int:
        """As `_continues`, for the stop behind an initial, a title of honour or "St"."""
        last, more = self.words[at - 1], self._capital(at + 1)
        if last.low in SAINTS:
            return 2 if more else 0
        if len(last.text) > 1 and last.low not in en.HONORIFICS:
            return 0
        human = self.strict and not _TITLED.isdisjoint(each.low for each in self.words[first:at])
        human = human or (last.text in SHORTENED and self._low(at + 1) not in en.STOP)  # "Dr. Reed"
        goes_on = more and (human or not self._is_term(self.words[at + 1]))
        return 2 if goes_on or self._low(at + 1) in en.GIVEN_NAMES or self._initial(at + 1) else 0

    def _joined(self, first: int, at: int) -> int:
        """As `_continues`, for a word in lower case. In documents "of" joins behind a term ("House of
        Commons") and a person with a country ("Maria Antonia of Spain"), "for" terms alone ("Code for
        Information Exchange")."""
        low, last = self.words[at].low, self.words[at - 1]
        if low == "for" or (low == "of" and self.strict):
            country = at - first > 1 and self._low(at + 1) in en.PLACES
            kind = low == "for" and at - first == 1 and last.low in en.ORGANISATION_WORDS
            behind = low == "of" or (self._capital(at + 1) and (kind or self._is_term(self.words[at + 1])))
            joins = self.strict and behind and (self._is_term(last) or country)
            if low == "for" or not joins:
                return 2 if joins else 0
        for width in (1, 2) if low != "the" else ():
            if self._capital(at + width):
                return width + 1
            if self._low(at + width) not in CONNECTORS:
                break
        return 0

    def _numbered(self, at: int) -> bool:
        """ "iPhone 15", "RFC 9110", "Python 3.4", but not "Bob 3 apples", a year nor "U.S. 602"."""
        text, last, following = self.words[at].text, self.words[at - 1].text, self._low(at + 1)
        long = (len(text) > 3 and "." not in text and not last.isupper()) or last.endswith(".")
        if long or NUMBER.fullmatch(text) is None:
            return False
        form = en.FORMS.get(following)
        joins = following in en.PREPOSITIONS | en.AUXILIARIES | en.CONJUNCTIONS
        joins = joins or bool(form and (form.third or form.past))
        return joins or not (following.isalnum() or following == "%")
