"""What a sentence names: runs of capitalised words, quoted titles, names known before; and further names for
those: "call me Gus", "Harbour Credit Union (HCU)", "EX-07, known as Bob".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kgsvc.domain.model.extraction import ExtractedEdge
from kgsvc.domain.model.graph import FactKind
from kgsvc.domain.names.similarity import RELATED, folded
from kgsvc.models.rules.english import (
    ADVERBS,
    BE,
    CALENDAR,
    COMMON,
    CONJUNCTIONS,
    DO,
    DEMONYMS,
    FORMS,
    GIVEN_NAMES,
    HAVE,
    HONORIFICS,
    MODALS,
    NEVER_NAMES,
    PLACES,
    PREPOSITIONS,
    PRONOUNS,
    STOP,
    VAGUE,
    type_of,
)
from kgsvc.models.rules.scene import NodeDraft, Scene
from kgsvc.models.rules.text import Word, word_set

_LONGEST = 8  # words of a name
_INSIDE_MARKS = frozenset([",", "'s", "’s", ")", "&", "/", "(", "-", ";"])
_CONNECTORS = word_set("of de la le les van von der den di da do dos del du bin ibn al el the y e ap")
_QUOTES = {'"': '"', "“": "”", "”": "”", "«": "»"}
_ORDINARY_ENDINGS = (
    *("ing", "ly", "ed", "tion", "sion", "ness", "ment", "ity", "ism", "ful", "less", "ous", "able"),
    *("ible", "est", "ies", "ers", "ants", "ents"),
)
_POSTS = word_set("ceo cto cfo coo vp")
_LANGUAGE_LEADS = word_set("""
speak speaks speaking spoke learn learns learning learned study studies studying teach teaches taught know in
""")
_ADJECTIVE_ENDINGS = ("ean", "ian", "ese", "ish")
_ARTICLES = ("a", "an", "the")
_NO_INITIALS = word_set("ps pps am pm nb us uk un eu dc ad bc")
_SEVERAL = word_set("two three four five both several many all these those")
_SAYING = word_set("said say says saying like goes went asked shouted yelled told replied")


_CODE = re.compile(r"`[^`]*`|https?://\S+")
_IDENTIFIER = re.compile(r"_|[./]\w*[A-Z]|^[A-Z]+\d+[A-Z]|\+\w|^[A-Z]+(?:-[A-Z]{3,})+$")
_INITIALS = re.compile(r"(?:[A-Z]\.)+[A-Z]?")
_BRAND = re.compile(r"[a-z][A-Z]\w+|[a-z]{2,5}[A-Z]{2,}")  # iPhone, macOS; not errorDescription
_REFERENCE = re.compile(r"^\^|\bISBN\b|\bdoi:|\(PDF\)|^(?:Retrieved|Archived)\b")
_BORDERS = ("|", ";", "•", "·")
_FINITE = BE | HAVE | DO | MODALS
_SHOUTED = 5  # letters from which on a word in capitals is no abbreviation
_LEAST_LOWER = 0.45  # of the words of a sentence


def is_sentence(words: Sequence[Word]) -> bool:
    """Whether the words are one: a verb in lower case, and not mainly capitals. Without a stop at its end, the
    verb must be an auxiliary or stand behind its subject, since "reports" and "uses" are nouns too."""
    letters = [word for word in words if word.text[0].isalpha()]
    lower = [word for word in letters if word.text.islower()]
    if len(lower) < max(1, _LEAST_LOWER * (len(letters) - 2)):
        return False
    stops = words[-1].text[0] in ".!?;" and words[-1].start == words[-2].end
    for before, word in zip([None, *letters], letters, strict=False):
        form = FORMS.get(word.low) if word.text.islower() else None
        if word.text.islower() and word.low in _FINITE:
            return True
        subject = before is not None and (before.capital or before.low in PRONOUNS)
        if form is not None and ((stops and not form.ing) or (subject and (form.third or form.past))):
            return True
    return False


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
    in lower case elsewhere, which therefore are no names at the beginning of a sentence; `titles` are names
    wherever they stand exactly so. `strict`: as in documents, where headings, cells, lists of links and
    references are full of capitals, only what stands in a sentence is a name, and no code is one.
    """
    if not titles and not any(_may_begin(word.text) for word in words):
        return []
    return _Finder(sentence, words, known, ordinary, titles, strict).find()


def _may_begin(text: str) -> bool:
    return text[0].isupper() or text in _QUOTES or _inner_capital(text)


def _inner_capital(text: str) -> bool:
    return not text.islower() and any(c.isupper() for c in text[1:]) and text[0].isalpha()


@dataclass
class _Finder:
    sentence: str
    words: Sequence[Word]
    known: Collection[str]
    ordinary: Collection[str]
    titles: Sequence[str]
    strict: bool

    def __post_init__(self) -> None:
        self.code = [match.span() for match in _CODE.finditer(self.sentence)] if self.strict else []
        self.closed = set(self._fragments()) if self.strict else set()
        self.titled = dict(self._titled())
        letters = [word.text for word in self.words if word.text.isalpha() and len(word.text) > 1]
        self.shouting = len(letters) > 2 and sum(text.isupper() for text in letters) * 2 > len(letters)

    def find(self) -> list[Name]:
        found: list[Name] = []
        at = 0
        while at < len(self.words):
            name = self.titled.get(at) or self._quoted(at) or self._run(at)
            if name is not None:
                found.append(name)
                at = name.after + (1 if name.quoted else 0)
            else:
                at += 1
        return found

    def _fragments(self) -> Iterator[int]:
        """The words of cells and lines that are no sentences."""
        start, cited = 0, _REFERENCE.search(self.sentence) is not None
        for after in [*(n for n, word in enumerate(self.words) if word.text in _BORDERS), len(self.words)]:
            if cited or not is_sentence(self.words[start:after]):
                yield from range(start, after)
            start = after + 1

    def _titled(self) -> Iterator[tuple[int, Name]]:
        """Where a title begins, at the first place of each."""
        for title in self.titles:
            start = self.sentence.find(title)
            if start < 0:
                continue
            inside = [i for i, w in enumerate(self.words) if start <= w.start and w.end <= start + len(title)]
            if inside and self.words[inside[0]].start == start:
                yield inside[0], Name(inside[0], inside[-1] + 1, title)

    def _quoted(self, at: int) -> Name | None:
        closing = _QUOTES.get(self.words[at].text)
        if closing is None:
            return None
        for end in range(at + 2, min(at + 12, len(self.words))):
            if self.words[end].text == closing:
                return self._title(at + 1, end)
        return None

    def _title(self, first: int, after: int) -> Name | None:
        """The quoted words, if they look like a title and not like speech."""
        inside = self.words[first:after]
        if (
            first in self.closed
            or (self.strict and after - first < 2)
            or not inside[0].capital
            or inside[-1].text in (".", ",", "...")
        ):
            return None
        if first >= 2 and self.words[first - 2].low in _SAYING | {","}:
            return None
        telling = [word for word in inside if word.text[0].isalpha() and word.low not in STOP]
        if not all(word.capital for word in telling):
            return None
        return Name(first, after, self._text(first, after), quoted=True)

    def _run(self, at: int) -> Name | None:
        if not self._starts(at):
            return None
        after = self._extend(at)
        while after > at and self.words[after - 1].low in _CONNECTORS:
            after -= 1
        first = at
        if self.words[at].low in HONORIFICS and self._low(at + 1) not in _CONNECTORS:  # Dr. Jane Smith
            behind = at + 2 if self._low(at + 1) == "." else at + 1
            first = behind if after - behind > 1 else at
        low = " ".join(word.low for word in self.words[first:after])
        if after - first > _LONGEST or not self._names(first, after, low):
            return None
        return Name(at, after, self._text(first, after))

    def _names(self, first: int, after: int, low: str) -> bool:
        """Whether the run is a name and not a day, an adjective of a people or a letter."""
        words = self.words[first:after]
        if len(low) < 2 or all(word.low in CALENDAR or word.text.isdigit() for word in words):
            return False
        if len(words) == 1 and not self._names_alone(first, words[0]):
            return False
        if self.strict and type_of(low) == "Entity" and all(self._is_word(word) for word in words):
            return False
        return not self.shouting or low in self.known or low in PLACES or words[0].low in GIVEN_NAMES

    def _is_word(self, word: Word) -> bool:
        """Whether it is an ordinary word, that documents write with a capital in titles and terms too."""
        low, text = word.low, word.text
        if (
            low in self.known
            or low in PLACES
            or (text.isupper() and len(text) < _SHOUTED)
            or _inner_capital(text)
        ):
            return False
        return self._is_ordinary(low) or low in STOP or FORMS.get(low) is not None

    def _names_alone(self, at: int, word: Word) -> bool:
        """Whether a single capitalised word is a name."""
        low, before = word.low, self.words[at - 1].low if at else ""
        if low in HONORIFICS:
            return False
        if low in DEMONYMS and low not in PLACES:
            return before in _LANGUAGE_LEADS
        if before in _SEVERAL and low.endswith("s") and at + 1 < len(self.words):  # "two Toms"
            return self._capital(at + 1)
        if low.endswith(_ADJECTIVE_ENDINGS) and before in _ARTICLES:  # "a Singaporean filmmaker"
            return not self._low(at + 1).isalpha()
        return not word.text.isupper() or not (low in COMMON or low in VAGUE)

    def _starts(self, at: int) -> bool:
        word = self.words[at]
        text, low = word.text, word.low
        if not text[0].isalpha() or not (text[0].isupper() or _inner_capital(text)):
            return False
        if any(start <= word.start < end for start, end in self.code):
            return False
        if low in self.known or (at not in self.closed and self._is_initialled(at)):
            return True
        if at in self.closed or (self.strict and _IDENTIFIER.search(text) and not _INITIALS.fullmatch(text)):
            return False
        if (
            low in NEVER_NAMES
            or low in _POSTS
            or (low in STOP and (self.strict or not self._capital(at + 1)))
        ):
            return False
        if (
            self.strict
            and text.isupper()
            and len(text) >= _SHOUTED
            and (self._capital(at + 1) or len(text) > 6)
        ):
            return False  # "PREAMBLE The purpose", "the ENCODED file"
        if not text[0].isupper():
            return _BRAND.fullmatch(text) is not None
        return self._starts_sentence(at) if self._is_first(at) else self._starts_inside(at)

    def _is_first(self, at: int) -> bool:
        if at == 0:
            return True
        before = self.words[at - 1].text
        if before == ":":
            return (
                self.strict
                or self._is_ordinary(self.words[at].low)
                or FORMS.get(self.words[at].low) is not None
            )
        return not before[-1].isalnum() and before not in _INSIDE_MARKS

    def _starts_inside(self, at: int) -> bool:
        low = self.words[at].low
        return low not in PREPOSITIONS and not (low in CALENDAR and not self._capital(at + 1))

    def _starts_sentence(self, at: int) -> bool:
        """At the beginning every word is capitalised: it must look like a name otherwise."""
        word = self.words[at]
        low = word.low
        if low in STOP or low in CALENDAR:
            return False
        may_act = FORMS.get(low) is not None
        if low in GIVEN_NAMES:
            return self._capital(at + 1) or not may_act or self._acts(at + 1)
        if _inner_capital(word.text) and not word.text.isupper():
            return True
        many = self.strict and low.endswith("s") and self._low(at + 1) in ("are", "were", "have")
        if low in VAGUE or may_act or many:
            return False
        if f"{low} {self._low(at + 1)}" in PLACES:
            return True
        return self._capital(at + 1) or low in PLACES or (not self._is_ordinary(low) and self._stands(at))

    def _is_ordinary(self, low: str) -> bool:
        if low in DEMONYMS or low in self.ordinary or low.endswith(_ORDINARY_ENDINGS):
            return True
        return low in COMMON or low.removesuffix("s") in COMMON

    def _stands(self, at: int) -> bool:
        text = self.words[at].text
        return self._acts(at + 1) or (text.isupper() and len(text) > 2)

    def _acts(self, at: int) -> bool:
        """Whether the word at `at` lets the one before it be somebody: a verb, a comma, a genitive."""
        if at >= len(self.words):
            return False
        while at + 1 < len(self.words) and (self.words[at].low in ADVERBS or self.words[at].low == "no"):
            at += 1
        low = self.words[at].low
        form = FORMS.get(low)
        if low in ("'s", ",", "(", "and") or low in BE or low in HAVE or low in MODALS:
            return low != "and" or self._capital(at + 1)
        return form is not None and (form.third or form.past)

    def _capital(self, at: int) -> bool:
        if at >= len(self.words):
            return False
        word = self.words[at]
        return word.capital and word.low not in NEVER_NAMES and word.low not in CALENDAR

    def _low(self, at: int) -> str:
        return self.words[at].low if at < len(self.words) else ""

    def _extend(self, at: int) -> int:
        after = at + 1
        given = self.words[at].low in GIVEN_NAMES
        while after < min(len(self.words), at + _LONGEST + 2):
            step = self._continues(at, after, given)
            if step == 0:
                break
            after += step
        return after

    def _continues(self, first: int, at: int, given: bool) -> int:
        """How many words from `at` on still belong to the name that begins at `first`."""
        word = self.words[at]
        last = self.words[at - 1]
        if self._capital(at) or (word.capital and word.low in CALENDAR and first < at - 1):
            two = given and word.low in self.known and last.low in self.known
            return 0 if two and f"{last.low} {word.low}" not in self.known else 1
        inner = _inner_capital(word.text) and word.low not in STOP
        if inner or self._is_middle(at) or self._is_regnal(at):
            return 1
        if word.text == "." and (len(last.text) == 1 or last.low in HONORIFICS):
            return 2 if self._capital(at + 1) or self._initials(at + 1) else 0
        if (word.text == "&" or (word.text == "-" and word.start == last.end)) and self._capital(at + 1):
            return 2
        if word.low in _CONNECTORS:
            return self._connected(at)
        return 1 if not given and self._numbered(at) else 0

    def _initials(self, at: int) -> int:
        """How many initials stand at `at` and before a name."""
        count = 0
        while self._low(at + 1) == "." and len(self.words[at].text) == 1 and self.words[at].text.isupper():
            at += 2
            count += 1
        return count if self._capital(at) and self._low(at) not in STOP else 0

    def _is_initialled(self, at: int) -> bool:
        """Whether a name begins with several initials: "A. A. Milne", but not "P. S. Tell Anna"."""
        count = self._initials(at)
        letters = "".join(self._low(each) for each in range(at, at + 2 * count, 2))
        name = self._low(at + 2 * count)
        ordinary = FORMS.get(name) is not None or name in VAGUE or self._is_ordinary(name)
        return count > 1 and letters not in _NO_INITIALS and not ordinary

    def _is_middle(self, at: int) -> bool:
        """Whether this is the A of "John A. Smith": no article, nor that of "Vitamin A. Anna took it"."""
        before = self.words[at - 1].low
        given = before in self.known or folded(before) in GIVEN_NAMES
        return given and self._initials(at) > 0 and self._low(at + 2) not in GIVEN_NAMES

    def _is_regnal(self, at: int) -> bool:
        """Whether this is the I of "Charles I of Spain" and "Boris I the Tall", who is nobody speaking."""
        if self.words[at].text != "I" or self._is_ordinary(self.words[at - 1].low):
            return False
        return (self._low(at + 1) == "of" and self._capital(at + 2)) or self._is_epithet(at + 1)

    def _is_epithet(self, at: int) -> bool:
        """Whether "the" and one more word end a name: not so "the NDA", "the Germans", "the Great Gatsby"."""
        if self._low(at) != "the" or at + 1 >= len(self.words):
            return False
        word, behind = self.words[at + 1], self.words[at + 2 : at + 3]
        if not word.capital or word.text.isupper() or (behind and behind[0].capital):
            return False
        return word.low == "great" or (self._capital(at + 1) and word.low.removesuffix("s") not in DEMONYMS)

    def _connected(self, at: int) -> int:
        if self._low(at) == "the":
            following = self.words[at + 1 : at + 2]
            if following and (following[0].text.isupper() or following[0].low == "great"):
                return 2 if self._is_epithet(at) else 0
        for width in (1, 2):
            if self._capital(at + width):
                return width + 1
            if self._low(at + width) not in _CONNECTORS:
                break
        return 0

    def _numbered(self, at: int) -> bool:
        """ "iPhone 15", "Fallout 4", but not "Bob 3 apples" nor a year."""
        text = self.words[at].text
        if not text.isdigit() or len(text) > 3:
            return False
        following = self._low(at + 1)
        form = FORMS.get(following)
        return (
            not following.isalnum()
            or following in PREPOSITIONS | BE | CONJUNCTIONS
            or bool(form and form.third)
        )

    def _text(self, first: int, after: int) -> str:
        return " ".join(self.sentence[self.words[first].start : self.words[after - 1].end].split())


_AFTER = r"(?=[,.:!?;)]|\Z|\n| (?:for short|here|btw|and|at|is|was)\b)"
_ALIAS = rf"[\"'“‘]?(?P<alias>[A-Z][\w&’'-]{{1,20}}?)[\"'”’]?{_AFTER}"
_SIGNS = re.compile(r"[Cc]alls? me|I['’ ]|this is|」|\(|known as|a\.?k\.?a|nicknamed|calls? [A-Z\"“]")
_OWN = re.compile(
    rf"\b(?:[Cc]alls? me|I go by|I['’]m known as|(?P<maybe>I['’]m|I am|it['’]s|this is)) {_ALIAS}"
    r"|「(?P<named>[^「」]{1,12}?)(?:さん|くん|ちゃん)?」(?:で通って|と呼ばれて|と呼んで)"
)
_WORD = r"[A-Z][\w'’&-]{0,30}"
_FULL = rf"(?P<full>{_WORD}(?: (?:of |and |for |the )?{_WORD}){{0,5}})"
_BRACKETED = re.compile(rf"\b(?:The )?{_FULL} \([\"“]?(?P<alias>[A-Z][A-Za-z&]{{1,9}})[\"”]?\)")
_KNOWN_AS = r"(?:also |better |commonly |otherwise )?(?:known as|a\.?k\.?a\.?|nicknamed)"
_THEY_CALL = r"(?:which|whom|who) (?:\w{1,20} ){1,4}calls?"
_CALLED = re.compile(rf"\b(?:The )?{_FULL}(?:,| \() ?(?:{_KNOWN_AS}|{_THEY_CALL}) {_ALIAS}")


def read_aliases(scene: Scene, sentence: str) -> None:
    """Add the further names that a sentence gives to its speaker and to what it names. Each is a fact
    RENAMED_TO the name that stays shown: the two become one entity."""
    if _SIGNS.search(sentence) is None:
        return
    for match in _OWN.finditer(sentence) if scene.speaker is not None else ():
        alias = match["named"] or match["alias"]
        if not match["maybe"] or _is_form(alias, scene.speaker):
            _add(scene, alias, scene.speaker, sentence)
    for match in (*_CALLED.finditer(sentence), *_BRACKETED.finditer(sentence)):
        initials = "".join(word[0] for word in match["full"].split() if word[0].isupper())
        if match.re is _CALLED or match["alias"].upper() == initials:
            _add(scene, match["alias"], scene.found(match["full"]), sentence)


def _is_form(alias: str, whose: NodeDraft | None) -> bool:
    """Whether it is a first name cut short or a usual nickname."""
    first, short = folded(whose.name if whose else "").partition(" ")[0], folded(alias)
    ends = len(short) > 2 and (first.startswith(short) or first.endswith(short))
    return ends or first in RELATED.get(short, ())


def _add(scene: Scene, alias: str, full: NodeDraft | None, sentence: str) -> None:
    low = alias.lower()
    ordinary = low in CALENDAR or low in COMMON or low in STOP  # "call me Monday"
    node = None if full is None or ordinary else scene.node(alias, full.type)
    if node is not None and full is not None and node is not full:
        fact = f"{scene.speaker.name}: {sentence}" if scene.speaker is not None else sentence
        ends, now = (node.ref, full.ref), scene.reference_ms
        scene.add(ExtractedEdge("RENAMED_TO", fact, *ends, now, kind=FactKind.EVENT))
