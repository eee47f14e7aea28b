"""Whether a run of capitalised words in a document is one whole name: no term, no part, not two names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from kgsvc.models.rules import english as en
from kgsvc.models.rules.runs import ADJECTIVES, CONNECTORS, NEVER, RANKS, SAINTS, SHOUTED, Runs, low_of
from kgsvc.models.rules.text import Word, word_set

IDENTIFIER = re.compile(  # a variable, a path, a format, a unit, a reference ("F.2d"), several ("CPUs")
    r"_|[./]\w*[A-Z]|/|^[A-Z]+\d+[A-Za-z]|\+\w|^[A-Z]+(?:-[A-Z]{3,})+$|-[a-z]+$|\w-[A-Z]\w+$"
    r"|[a-z]\.\d+$|^[A-Z](?:\.\d+\w*)+$|^YY|^[KMG]i?B$|Hz$|^[A-Z]{2,}s$|^[A-Z][a-z]+\d+$|\ds$"
)
INITIALS = re.compile(r"(?:[A-Z]\.)+[A-Z]?")
_NOTED = re.compile(r"[A-Z]{2,}\d+|\w+\+|(?:Street|River|Avenue)s")  # no last words: "QC163", with a note
_ROMAN = re.compile(r"[IVXLC]+")
_LINKS = ("e", "y", "et", "und")  # "and", where they do not join the names of one person
_FIRM = en.ORGANISATION_WORDS | word_set("sons brothers bros daughters")
_GIVEN = en.GIVEN_NAMES - en.PLACES
_MORE = en.STOP - {"the", "a", "an", "i"}  # with a capital inside a sentence they belong to what follows
_TITLED = en.GIVEN_NAMES | RANKS
_HUMAN = en.GIVEN_NAMES | en.HONORIFICS
_MISTER = ("mr", "mrs", "ms", "miss", "sir")
_ONE = ("a", "an", "any", "every", "each", "no")
_JOINERS = ("and", "&", "or")
_PLACING = en.PLACE_WORDS | en.ORGANISATION_WORDS


class Wholes(Runs):
    """Judges the runs of a sentence of a document."""

    def _is_whole(self, first: int, after: int) -> bool:
        """Whether the words are one name with nothing of it beside them."""
        words = self.words[first:after]
        near = self._low(first - 2) if self._low(first - 1) not in en.STOP else self._low(first - 1)
        kind = near in _ONE and after - first > 1  # "an old Umatilla Indian"
        parted = kind or self._is_part(first, after) or self._is_joined(first, after)
        return not (parted or _is_two(words) or self._are_two(first, after))

    def _role(self, first: int, after: int) -> int:
        """Behind what somebody is, with which the run begins: "Sheriff", "Campaign Director", "President of
        the College"; 0 if with nothing."""
        ends = (n for n in range(first, after) if self.words[n].low in CONNECTORS)
        end = next(ends, after)
        low = self._low(end - 1)
        role = not RANKS.isdisjoint((low, low.removesuffix("s"))) and all(
            self._is_term(word) or word.text.isupper() or word.low.endswith((*ADJECTIVES, "."))
            for word in self.words[first : end - 1]
        )
        return end if role else 0

    def _is_mere(self, words: Sequence[Word]) -> bool:
        """Whether all are ordinary words, which name something only if they name a kind of it too ("Mill
        Museum") or are joined ("House of Commons"); or words that are written in capitals."""
        several = len(words) > 1
        if all(word.text.isupper() for word in words):
            if several and any(len(word.text) >= SHOUTED for word in words):
                return True
            if not several and len(words[0].text) > 3 and words[0].low in self.usage.ordinary:
                return True
        if not all(self._is_plain(word, several) for word in words):
            return False
        if any(word.low in CONNECTORS or word.low == "for" for word in words):
            _, the, whole = low_of(words).partition(" of the ")  # "Power of the Winds"
            kind = len(words) > 3 or en.type_of(words[0].low) != "Entity" or words[0].low == "house"
            return (bool(the) and whole not in en.PLACES) or not kind
        return not several or words[0].low == "project" or en.type_of(low_of(words)) == "Entity"

    def _is_plain(self, word: Word, several: bool) -> bool:
        adjective = several and word.low.removesuffix("s").endswith(ADJECTIVES) and word.low not in en.PLACES
        number = word.text[0].isdigit() or _ROMAN.fullmatch(word.text) is not None
        return adjective or number or self._is_term(word)

    # parts of names

    def _is_part(self, first: int, after: int) -> bool:
        """Whether what stands beside the run belongs to its name: "The First Circle", "Moore's Creek", "Fry
        Guy", "Francis A. March", "Te Waka o Aoraki", "Physical Geography of the Sea"."""
        behind, last = self._low(after), self.words[after - 1]
        cut = behind == "." and len(last.text) == 1 and after + 1 < len(self.words)
        cut = cut or after == len(self.words)
        if cut or last.low in SAINTS:
            return True
        before = self.words[first - 1] if first else last
        if before.capital and (IDENTIFIER.search(before.text) or (before.low in _MORE and first > 1)):
            return True
        if self._is_governed(first):
            return True
        if behind == "of" and not self._is_human(first, after):
            return self._capital(after + (2 if self._low(after + 1) == "the" else 1))
        if not self._capital(after + 1):
            return behind in NEVER and self.words[after].capital
        particle = behind.isalpha() and len(behind) < 4 and self.words[after].text.islower()
        particle = particle and behind not in en.STOP and behind not in en.FORMS
        return particle or (behind == "'s" and self._is_term(self.words[after + 1]))

    def _is_governed(self, first: int) -> bool:
        """Whether the run begins with a term that a preposition joins to a name: "Basel Convention on the
        Control of Wastes", "Directorate of Legal Services"."""
        at = first - 2 if self._low(first - 1) == "the" else first - 1
        lead = at - 1
        if self._low(at) not in ("of", "for", "on") or not self._capital(lead) or self._is_first(lead):
            return False
        joins = self._low(at) == "of" or self._is_term(self.words[lead])
        return joins and self.words[first].low not in RANKS and self._is_term(self.words[first])

    def _is_joined(self, first: int, after: int) -> bool:
        """Whether "and" joins the run to a part of one name: "Fraud and Abuse Act", "Ministry for Culture and
        Heritage", "Holm and Son Old Sol"."""
        if self._low(after) in _JOINERS and self._capital(after + 1):
            begun = any(word.low in ("of", "for") for word in self.words[first:after])
            end = self._extend(after + 1)
            named = self._is_human(after + 1, end) or low_of(self.words[after + 1 : end]) in en.PLACES
            return (begun and not named) or self._ends_in_term(after + 1, end)
        human = self._is_human(first, after)
        if self._low(first - 1) not in _JOINERS or not self._capital(first - 2) or human:
            return False
        place = self.words[after - 1].low in en.PLACES or low_of(self.words[first:after]) in en.PLACES
        place = place and all(word.capital for word in self.words[first:after])
        begins = self._is_term(self.words[first]) and after - first > 1 and not place
        joined = self._low(first - 3) in ("of", "for") and self._capital(first - 4)
        return begins or joined or self._ends_in_term(first, after)

    def _is_human(self, first: int, after: int) -> bool:
        return not _HUMAN.isdisjoint(word.low for word in self.words[first:after])

    def _ends_in_term(self, first: int, after: int) -> bool:
        return not self._is_human(first, after) and self._is_term(self.words[after - 1])

    # two names

    def _are_two(self, first: int, after: int) -> bool:
        """Whether the run is more than one name: "in Mutual Care Holm wrote", "President of Norway Ole Lund",
        "after the Reformation St. Ole", "Ann Holm Conference"."""
        *title, last = words = self.words[first:after]
        if not title:
            return False
        placed = any(low_of(words[:n]) in en.PLACES and len(words) > n + 1 for n in (1, 2))
        dated = words[0].low in en.CALENDAR and self._low(first - 1) in en.PREPOSITIONS
        if dated or (placed and not any(map(self._is_term, words[1:]))):
            return True  # "in March Ole Lund"
        plural = words[0].low.endswith("s") and words[0].low not in _TITLED and not self._is_term(words[1])
        if plural and (words[0].low[:-1] in RANKS or words[1].low in _GIVEN):
            return True  # "Princes Ole and Knut"
        ordinary = (one for one, two in pairwise(words) if two.low in SAINTS and one.low not in CONNECTORS)
        if any(map(self._is_term, ordinary)):
            return True
        form = en.FORMS.get(self._low(after))
        lead = self._low(first - 2 if self._low(first - 1) == "the" else first - 1)
        acts = self._low(after) in en.AUXILIARIES or (form is not None and form.past)
        plain = all(self._is_term(word) and word.low not in CONNECTORS for word in title)
        if lead in en.PREPOSITIONS and acts and plain and not self._is_term(last):
            return True
        given = len(words[0].text) > 1 and any(word.low in _GIVEN for word in words[1:])
        return given and self._is_term(last)


def _is_two(words: Sequence[Word]) -> bool:
    """Whether several words are more than one name, or none, by themselves: "Holm & Dahl", "Ann Holm Ann",
    "Hudson Street New York", "Digital Mills Today", "Hearth Mrs. Holm", "Ann Holm Ole Lund"."""
    *title, last = words
    if not title:
        return False
    if any(IDENTIFIER.search(word.text) and not INITIALS.fullmatch(word.text) for word in words):
        return True
    if _NOTED.fullmatch(last.text):
        return True
    places = (at for at in (-1, -2) if len(words) > -at and words[at - 1].low in _PLACING)
    if any(low_of(words[at:]) in en.PLACES for at in places):
        return True
    inner = (one.low for one, two in pairwise(words[1:]) if two.text == "." or one.low in _MISTER)
    if words[0].low not in RANKS and not en.HONORIFICS.isdisjoint(inner):
        return True
    firm = last.low in _FIRM or all(word.text != "&" for word in words)
    linked = any(word.text in _LINKS for word in title) or last.low in en.STOP
    free = _TITLED.isdisjoint(word.low for word in words[1:2]) and words[0].low not in RANKS
    joined = any(word.low in CONNECTORS or not word.text[0].isalpha() for word in words)
    followed = free and not joined and any(word.low in _GIVEN for word in words[2:-1])
    return linked or not firm or words[0].low == last.low or followed
