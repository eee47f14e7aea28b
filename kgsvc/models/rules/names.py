"""What a sentence names: runs of capitalised words, quoted titles, names known before."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kgsvc.domain.names.similarity import folded
from kgsvc.models.rules import english as en
from kgsvc.models.rules.fragments import LONGEST_NAME, fragments
from kgsvc.models.rules.text import Word, word_set

_INSIDE_MARKS = frozenset([",", "'s", "’s", ")", "&", "/", "(", "-", ";"])
_CONNECTORS = word_set("of de la le les van von der den di da do dos del du bin ibn al el the y e ap")
_QUOTES = {'"': '"', "“": "”", "”": "”", "«": "»"}
_ORDINARY_ENDINGS = (
    *("ing", "ly", "ed", "tion", "sion", "ness", "ment", "ity", "ism", "ful", "less", "ous", "able"),
    *("ible", "est", "ies", "ers", "ants", "ents", "ance", "ship", "hood", "sty", "ency", "ancy", "logue"),
)
_ADJECTIVES = ("al", "ent", "ary", "que", "ive", "alist", "xist", "chist", "unist")
_NEVER = en.NEVER_NAMES | word_set("ceo cto cfo coo vp")
_PEOPLES = ("ean", "ian", "ese", "ish")
_NO_INITIALS = word_set("ps pps am pm nb us uk un eu dc ad bc")
_SAYING = word_set("said say says saying like goes went asked shouted yelled told replied ,")
_IDENTIFIER = re.compile(  # a variable, a path, a format, a unit, several of a kind ("CPUs")
    r"_|[./]\w*[A-Z]|/[a-z]|^[A-Z]+\d+[A-Z]|\+\w|^[A-Z]+(?:-[A-Z]{3,})+$|-[a-z]+$"
    r"|[a-z]\.\d+$|^[A-Z](?:\.\d+)+$|^YY|^[KMG]i?B$|Hz$|^[A-Z]{2,}s$"
)
_NUMBER = re.compile(r"\d{1,5}|\d{1,3}(?:\.\d{1,3}){1,2}")
_JOINED = re.compile(r"[a-z]{2}/[A-Z][a-z]")
_INITIALS = re.compile(r"(?:[A-Z]\.)+[A-Z]?")
_BRAND = re.compile(r"[a-z][A-Z]\w+|[a-z]{2,5}[A-Z]{2,}")  # iPhone, macOS; not errorDescription
_SHOUTED = 5  # letters from which on a word in capitals may be no abbreviation; from 7 on it is none


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
    ordinary: Collection[str] = (),
    titles: Sequence[str] = (),
    strict: bool = False,
) -> list[Name]:
    """The names in order, without overlap.

    `known` holds lower-case names that are names wherever they are capitalised; `ordinary` holds words seen
    in lower case elsewhere, which therefore are no names at the beginning of a sentence, and after "^" those
    that a longer text has nowhere else; `titles` are names
    wherever they stand exactly so. `strict`: as in documents, where headings, cells, lists of links and
    references are full of capitals, only what stands in a sentence is a name, and no code is one.
    """
    if sentence.islower() and not any(mark in sentence for mark in _QUOTES):
        return []
    finder = _Finder(sentence, words, known, ordinary, titles, strict)
    found: list[Name] = []
    at = 0
    while at < len(words):
        name = finder.name(at)
        if name is not None:
            found.append(name)
        at = at + 1 if name is None else name.after + name.quoted
    return found


def _inner_capital(text: str) -> bool:
    return text[0].isalpha() and not text[1:].islower() and any(map(str.isupper, text[1:]))


@dataclass
class _Finder:
    sentence: str
    words: Sequence[Word]
    known: Collection[str]
    ordinary: Collection[str]
    titles: Sequence[str]
    strict: bool

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
        while after > at and self.words[after - 1].low in _CONNECTORS:
            after -= 1
        first = at
        if self.words[at].low in en.HONORIFICS and self._low(at + 1) not in _CONNECTORS:  # Dr. Jane Smith
            behind = at + 2 if self._low(at + 1) == "." else at + 1
            first = behind if after - behind > 1 else at
        if self.strict and after - at > 2 and self._is_two(at, after):
            self.closed.update(range(at, after - 1))
            return None
        named = 0 < after - first <= LONGEST_NAME and self._names(first, after)
        return Name(at, after, self._text(at, after)) if named else None

    def _names(self, first: int, after: int) -> bool:
        """Whether the run is a name and not a day, an adjective of a people, a letter or a mere term."""
        words = self.words[first:after]
        low = " ".join(word.low for word in words)
        if len(low) < 2 or all(word.low in en.CALENDAR or word.text.isdigit() for word in words):
            return False
        if len(words) == 1 and not self._names_alone(first, words[0]):
            return False
        if self.strict and len(words) > 1 and self._is_role(words):
            return False
        joined = any(word.low in _CONNECTORS or word.low == "for" for word in words)  # "House of Commons"
        terms = all(self._is_term(word) or word.text[0].isdigit() for word in words)  # "Vol 1" too
        if self.strict and (self._shouts(words) or (terms and not joined)):
            return len(words) > 1 and words[0].low != "project" and en.type_of(low) != "Entity"
        return not self.shouting or low in self.known or low in en.PLACES or words[0].low in en.GIVEN_NAMES

    def _is_role(self, words: Sequence[Word]) -> bool:
        """Whether this is what somebody is: "Campaign Director", "President of the Royal College"."""
        ends = (n for n, word in enumerate(words) if word.low in _CONNECTORS)
        *before, last = words[: next(ends, len(words))] or words
        return last.low in en.ROLES and all(self._is_term(word) for word in before)

    def _is_two(self, first: int, after: int) -> bool:
        """Whether two names stand side by side: "in Mutual Care Holm wrote", "Help Center/Safety Office"; or
        the label of a picture and its sentence, "Ann Holm Ann is"."""
        *title, last = words = self.words[first:after]
        if last.low == words[0].low or any(_JOINED.search(word.text) for word in words):
            return True
        form = en.FORMS.get(self._low(after))
        told = first > 0 and self.words[first - 1].low in en.PREPOSITIONS and form is not None and form.past
        return told and not self._is_term(last) and all(map(self._is_term, title))

    def _names_alone(self, at: int, word: Word) -> bool:
        """Whether a single capitalised word is a name."""
        low, before = word.low, self._low(at - 1) if at else ""
        if low in en.HONORIFICS or (low in en.DEMONYMS and low not in en.PLACES):
            return False
        if low.endswith(_PEOPLES) and before in ("a", "an", "the"):  # "a Singaporean filmmaker"
            return not self._low(at + 1).isalpha()
        return not word.text.isupper() or not (low in en.COMMON or low in en.VAGUE)

    def _shouts(self, words: Sequence[Word]) -> bool:
        """ "BIT STRING", and "FLASH" where flash is a word of the text."""
        if not all(word.text.isupper() for word in words):
            return False
        if len(words) == 1:
            return len(words[0].text) > 3 and words[0].low in self.ordinary
        return any(len(word.text) >= _SHOUTED for word in words)

    def _is_term(self, word: Word) -> bool:
        """Whether it is an ordinary word, which documents write with a capital in titles and terms too."""
        low, text = word.low, word.text
        short = text.isupper() and len(text) < _SHOUTED
        if short or low in self.known or low in en.PLACES or (_inner_capital(text) and not text.isupper()):
            return False
        return self._is_word(low) or low in en.STOP

    def _starts(self, at: int) -> bool:
        word = self.words[at]
        text, low = word.text, word.low
        if at in self.closed or not text[0].isalpha() or not (text[0].isupper() or _inner_capital(text)):
            return False
        great = low == "great" and self.strict and self._capital(at + 1)  # "Great Barrier Island"
        if great or low in self.known or self._is_initialled(at):
            return True
        described = self.strict and low in en.DEMONYMS and self._low(at + 1) in en.GIVEN_NAMES
        if described or low in _NEVER or (low in en.STOP and (self.strict or not self._capital(at + 1))):
            return False
        brand = text[0].isupper() or _BRAND.fullmatch(text) is not None
        if not brand or (self.strict and not self._may_be_named(at, text)):
            return False
        if self._is_first(at) and text[0].isupper():
            return self._starts_sentence(at, text, low)
        return low not in en.PREPOSITIONS and not (low in en.CALENDAR and not self._capital(at + 1))

    def _may_be_named(self, at: int, text: str) -> bool:
        """Whether this is no identifier, unit ("4 KiB") or adjective ("Imperial troops"), nor shouted."""
        behind, before = self._low(at + 1), self.words[at - 1].text if at else ""
        if before.isdigit() and len(text) < 4 and not self._capital(at + 1):
            return False
        if text.isupper() and len(text) > 3 and text.lower() in en.COMMON:  # the label in "TOOL GitLab"
            return False
        if text.endswith(_ADJECTIVES) and behind.isalpha() and behind == self.words[at + 1].text:
            return behind in en.STOP or text.lower() in en.PLACES
        if _IDENTIFIER.search(text) and not _INITIALS.fullmatch(text):
            return False
        return not text.isupper() or len(text) < _SHOUTED or (len(text) < 7 and not self._capital(at + 1))

    def _is_first(self, at: int) -> bool:
        before = self.words[at - 1].text if at else "."
        if before == ":":
            return self.strict or self._is_word(self.words[at].low)
        return not before[-1].isalnum() and before not in _INSIDE_MARKS

    def _starts_sentence(self, at: int, text: str, low: str) -> bool:
        """At the beginning every word is capitalised: it must look like a name otherwise."""
        if low in en.STOP or low in en.CALENDAR:
            return False
        if low in en.GIVEN_NAMES:
            return self._capital(at + 1) or en.FORMS.get(low) is None or self._acts(at + 1)
        inner = _inner_capital(text) and not text.isupper()
        if inner or low in en.PLACES or f"{low} {self._low(at + 1)}" in en.PLACES:
            return True
        if low in en.VAGUE or en.FORMS.get(low) is not None or (self.strict and self._is_usual(at, low)):
            return False
        verb = at + 2 if _NUMBER.fullmatch(self._low(at + 1)) else at + 1  # "Apollo 11 was"
        alone = (text.isupper() and len(text) > 2) or (self._acts(verb) and f"^{low}" not in self.ordinary)
        return self._capital(at + 1) or (alone and not self._is_word(low))

    def _is_usual(self, at: int, low: str) -> bool:
        """ "Potatoes were", "Furthermore, it", "Secondary schools", "Treaty claims"."""
        behind = self._low(at + 1)
        several = low.endswith("s") and behind in ("are", "were", "have")
        single = several or behind in (",", "(") or low.endswith(_ADJECTIVES)
        return (
            low in self.ordinary or low.endswith(_ORDINARY_ENDINGS) or (single and not self._capital(at + 1))
        )

    def _is_word(self, low: str) -> bool:
        """Whether a word is an ordinary one, as far as its form tells."""
        if low in en.DEMONYMS or low in self.ordinary or low.endswith(_ORDINARY_ENDINGS):
            return True
        single = low.removesuffix("s")
        return low in en.COMMON or single in en.COMMON or single in en.ROLES or en.FORMS.get(low) is not None

    def _acts(self, at: int) -> bool:
        """Whether the word at `at` lets the one before it be somebody: a verb, a comma, a genitive."""
        while at + 1 < len(self.words) and (self.words[at].low in en.ADVERBS or self.words[at].low == "no"):
            at += 1
        low = self._low(at)
        if low == "and":
            return self._capital(at + 1)
        form = en.FORMS.get(low)
        return low in ("'s", ",", "(") or low in en.AUXILIARIES or bool(form and (form.third or form.past))

    def _capital(self, at: int) -> bool:
        word = self.words[at] if at < len(self.words) else None
        return word is not None and word.capital and word.low not in _NEVER and word.low not in en.CALENDAR

    def _low(self, at: int) -> str:
        return self.words[at].low if at < len(self.words) else ""

    def _extend(self, at: int) -> int:
        after = at + 1
        given = self.words[at].low in en.GIVEN_NAMES
        while after < min(len(self.words), at + LONGEST_NAME + 2):
            step = self._continues(at, after, given)
            if step == 0:
                break
            after += step
        return after

    def _continues(self, first: int, at: int, given: bool) -> int:
        """How many words from `at` on still belong to the name that begins at `first`."""
        word, last = self.words[at], self.words[at - 1]
        if self._capital(at) or (word.capital and word.low in en.CALENDAR and first < at - 1):
            two = given and word.low in self.known and last.low in self.known
            return 0 if two and f"{last.low} {word.low}" not in self.known else 1
        inner = _inner_capital(word.text) and word.low not in en.STOP
        if inner or self._is_middle(at) or self._is_regnal(at):
            return 1
        if word.text == "." and (len(last.text) == 1 or last.low in en.HONORIFICS):
            return 2 if self._goes_on(first, at + 1) or self._initials(at + 1) else 0
        if (word.text == "&" or (word.text == "-" and word.start == last.end)) and self._capital(at + 1):
            return 2
        if word.low in _CONNECTORS or word.low == "for":
            return self._joined(first, at)
        return 1 if not given and self._numbered(at) else 0

    def _joined(self, first: int, at: int) -> int:
        """As `_continues`, for a word in lower case: no heading runs on into its sentence ("The Police The
        Swedish police"), and "for" joins terms alone ("Common Code for Information Exchange"), or follows an
        organisation ("Foundation for Mills")."""
        word, last = self.words[at], self.words[at - 1]
        if word.low == "for":
            if not self.strict or not self._capital(at + 1):
                return 0
            terms = at - first > 1 and self._is_term(last) and self._is_term(self.words[at + 1])
            return 2 if terms or (at - first == 1 and last.low in en.ORGANISATION_WORDS) else 0
        heading = self.strict and word.text == "The" and last.capital
        return 0 if heading or (word.low == "of" and self._is_person(first, at)) else self._connected(at)

    def _is_person(self, first: int, after: int) -> bool:
        """Whether these words are a whole name, of which "of" begins another: "Steve Kemp of Gandi", but not
        "Henry VII of England" and "Maria Antonia of Spain", who are of a country."""
        words = [word for word in self.words[first:after] if word.capital]
        if not self.strict or len(words) < 2 or words[0].low in en.HONORIFICS or words[-1].text.isupper():
            return False
        person = en.type_of(folded(self._text(first, after))) == "Person"
        return (
            person and folded(words[-1].low) not in en.GIVEN_NAMES and self._low(after + 1) not in en.PLACES
        )

    def _goes_on(self, first: int, at: int) -> bool:
        """Whether a name goes on behind a full stop, and no sentence begins: not so "in R. First choose"."""
        if not self._capital(at) or not self.strict or first < at - 2:
            return self._capital(at)
        return self._low(at) in en.GIVEN_NAMES or not self._is_term(self.words[at])

    def _initials(self, at: int) -> int:
        """How many initials stand at `at` and before a name."""
        count = 0
        while self._low(at + 1) == "." and len(self.words[at].text) == 1 and self.words[at].text.isupper():
            at += 2
            count += 1
        return count if self._capital(at) and self._low(at) not in en.STOP else 0

    def _is_initialled(self, at: int) -> bool:
        """Whether a name begins with several initials: "A. A. Milne", but not "P. S. Tell Anna"."""
        count = self._initials(at)
        letters = "".join(self._low(each) for each in range(at, at + 2 * count, 2))
        name = self._low(at + 2 * count)
        return count > 1 and letters not in _NO_INITIALS and not (name in en.VAGUE or self._is_word(name))

    def _is_middle(self, at: int) -> bool:
        """Whether this is the A of "John A. Smith": no article, nor that of "Vitamin A. Anna took it"."""
        before = self.words[at - 1].low
        given = before in self.known or folded(before) in en.GIVEN_NAMES
        return given and self._initials(at) > 0 and self._low(at + 2) not in en.GIVEN_NAMES

    def _is_regnal(self, at: int) -> bool:
        """Whether this is the I of "Charles I of Spain" and "Boris I the Tall", who is nobody speaking."""
        if self.words[at].text != "I" or self._is_word(self.words[at - 1].low):
            return False
        return (self._low(at + 1) == "of" and self._capital(at + 2)) or self._is_epithet(at + 1)

    def _is_epithet(self, at: int) -> bool:
        """Whether "the" and one more word end a name: not so "the NDA", "the Germans", "the Great Gatsby"."""
        if self._low(at) != "the" or at + 1 >= len(self.words):
            return False
        word, behind = self.words[at + 1], self.words[at + 2 : at + 3]
        if not word.capital or word.text.isupper() or (behind and behind[0].capital):
            return False
        low = word.low.removesuffix("s")
        return word.low == "great" or (
            self._capital(at + 1) and low not in en.DEMONYMS and not low.endswith(_PEOPLES)
        )

    def _connected(self, at: int) -> int:
        following = self.words[at + 1 : at + 2]
        if (
            self._low(at) == "the"
            and following
            and (following[0].text.isupper() or following[0].low == "great")
        ):
            return 2 if self._is_epithet(at) else 0
        for width in (1, 2):
            if self._capital(at + width):
                return width + 1
            if self._low(at + width) not in _CONNECTORS:
                break
        return 0

    def _numbered(self, at: int) -> bool:
        """ "iPhone 15", "RFC 9110", "Python 3.4", but not "Bob 3 apples" nor a year."""
        text, following = self.words[at].text, self._low(at + 1)
        long = len(text) > 3 and "." not in text and not self.words[at - 1].text.isupper()
        if long or _NUMBER.fullmatch(text) is None:
            return False
        form = en.FORMS.get(following)
        joins = following in en.PREPOSITIONS | en.AUXILIARIES | en.CONJUNCTIONS
        joins = joins or bool(form and (form.third or form.past))
        return joins or not (following.isalnum() or following == "%")

    def _text(self, first: int, after: int) -> str:
        return " ".join(self.sentence[self.words[first].start : self.words[after - 1].end].split())
