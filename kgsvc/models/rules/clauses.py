"""The clauses of a sentence: which verb group has which subject and objects. All look-ups are bounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kgsvc.models.rules.lexicon import CONDITIONALS, HEDGES, Tag
from kgsvc.models.rules.phrases import (
    NP_STARTS,
    REDUCED_ACTIVE,
    Phrase,
    Unit,
    VerbGroup,
    noun_phrase,
    verb_group,
)
from kgsvc.models.rules.text import word_set

NP, VG = "np", "vg"
_SKIPPED = frozenset({Tag.ADV, Tag.TIME, Tag.UH, Tag.NEG})
_MOST_CHAIN = 3  # verbs as in "would love to start learning"
_NEAR = 30  # items that a look back or into brackets goes
_CHAIN_PREPOSITIONS = word_set("about of on to for forward at in up from")
_ASIDES = word_set("when once since while because until than how what where whenever why as cause")
_CALLING = word_set("call name title entitle nickname")
_ANTECEDENTS = word_set("who which that")
_APPOSED = word_set("a an the our my his")

# Verbs that lead over to another one: "want to go", "stop smoking", "think about moving".
_CHAINING = word_set("""
want hope wish plan intend decide try need like love hate enjoy prefer start begin continue keep stop quit
finish avoid consider think dream look use get manage learn help agree promise dislike go have work aim expect
miss give adore fancy suggest recommend
""")


class Argument(NamedTuple):
    """A noun phrase after a verb. `prep` is "" for an object; `joined` is "and" or "," for what such a word
    adds to the argument before ("tea and coffee")."""

    prep: str
    phrase: Phrase
    joined: str = ""
    apposition: bool = False


@dataclass(slots=True)
class Clause:
    """A verb with its subject (None: not written) and arguments; units `start`..`end`."""

    subject: Phrase | None
    verb: VerbGroup
    arguments: list[Argument]
    start: int
    end: int
    inherited: bool = False  # the subject is that of an earlier clause
    dropped: bool = False  # no subject anywhere: "Went to Paris"
    unsure: bool = False
    subordinate: bool = False  # "when I saw it": an aside of another clause


class _Item(NamedTuple):
    """A phrase, a verb group, or a single unit under its tag; units `first`..`after`."""

    kind: str
    first: int
    after: int
    low: str
    verb: VerbGroup | None = None


class _Subject(NamedTuple):
    phrase: Phrase | None = None
    inherited: bool = False
    dropped: bool = False


def clauses_of(units: Sequence[Unit]) -> list[Clause]:
    """The clauses of a statement in order. Questions are not for this reading."""
    return _ClauseReader(units).run()


def _items(units: Sequence[Unit]) -> Iterator[_Item]:
    at = 0
    while at < len(units):
        unit = units[at]
        if unit.tag in NP_STARTS:
            after = noun_phrase(units, at)
            if after > at:
                yield _Item(NP, at, after, unit.low)
                at = after
                continue
        group = verb_group(units, at) if unit.tag in (Tag.AUX, Tag.VERB, Tag.NEG, Tag.ADV) else None
        after = at + 1 if group is None else group.after
        yield _Item(unit.tag if group is None else VG, at, after, unit.low, group)
        at = after


class _ClauseReader:
    def __init__(self, units: Sequence[Unit]) -> None:
        self.units = units
        self.items = list(_items(units))
        self.used: set[int] = set()
        self.clauses: list[Clause] = []

    def run(self) -> list[Clause]:
        self._mark_reduced()
        unsure = aside = False
        for index, item in enumerate(self.items):
            if item.low in CONDITIONALS or item.low in HEDGES:
                unsure = True
            elif item.kind == Tag.MARK and item.low in (".", ";", "!"):
                unsure = False
            aside = aside or (item.kind == Tag.SUB and item.low in _ASIDES)
            if item.verb is not None and index not in self.used:
                clause = self._clause(index, item.verb)
                if clause is not None:
                    clause.unsure, clause.subordinate = unsure or item.verb.tense == "unsure", aside
                    self.clauses.append(clause)
                    aside = False
        return self.clauses

    def _clause(self, index: int, verb: VerbGroup) -> Clause | None:
        end, verb = self._chain(index, verb)
        subject = self._subject(index, verb)
        if not verb.finite and subject.phrase is None:
            return None
        arguments, after = _Arguments(self, verb).read(end + 1)
        start = self.items[index].first
        if subject.phrase is not None and not subject.inherited and subject.phrase.after <= start:
            start = subject.phrase.first
        last = self.items[after - 1].after if after > end + 1 else self.items[end].after
        return Clause(subject.phrase, verb, arguments, start, last, subject.inherited, subject.dropped)

    # looking around

    def kind(self, at: int) -> str:
        """The kind of an item; "" outside the sentence."""
        return self.items[at].kind if 0 <= at < len(self.items) else ""

    def low(self, at: int) -> str:
        """The first word of an item; "" outside the sentence."""
        return self.items[at].low if 0 <= at < len(self.items) else ""

    def verb(self, at: int) -> VerbGroup | None:
        """The verb group at an item."""
        return self.items[at].verb if 0 <= at < len(self.items) else None

    def skip(self, at: int) -> int:
        """The next item from `at` on that is no adverb, time, interjection or negation."""
        while self.kind(at) in _SKIPPED:
            at += 1
        return at

    def _back(self, at: int) -> int:
        """The item at or before `at`, adverbs, times and brackets skipped; -1 if there is none."""
        while at >= 0 and (self.kind(at) in _SKIPPED or self.low(at) == ")"):
            if self.low(at) == ")":
                opening = range(at, max(-1, at - _NEAR), -1)
                at = next((i for i in opening if self.low(i) == "("), at)
            at -= 1
        return at

    def phrase(self, at: int) -> Phrase | None:
        """The noun phrase at an item."""
        return Phrase(self.items[at].first, self.items[at].after) if self.kind(at) == NP else None

    def _is_named(self, at: int) -> bool:
        item = self.items[at]
        return any(unit.tag == Tag.NAME for unit in self.units[item.first : item.after])

    # verbs

    def _mark_reduced(self) -> None:
        """Tell "a film directed by X" from "the film directed itself"."""
        for index, item in enumerate(self.items):
            if item.verb is None or not item.verb.reducible or index == 0:
                continue
            copula = self.verb(index - 2)
            follows = self.kind(index - 1) == NP
            complement = follows and copula is not None and copula.lemma == "be"
            called = follows and item.verb.lemma in _CALLING
            by = self.low(self.skip(index + 1)) == "by"
            if by or complement or called or self.low(index - 1) in (",", "("):
                item.verb.tense, item.verb.passive = "participle", True

    def _chain(self, index: int, verb: VerbGroup) -> tuple[int, VerbGroup]:
        """Follow "want to", "stop …ing" to the last verb; the first one's tense and negation count."""
        end = index
        for _ in range(_MOST_CHAIN):
            step = self._next_verb(end, verb)
            following = self.verb(step)
            if following is None:
                break
            self.used.add(step)
            verb, end = verb.leading_to(following), step
        return end, verb

    def _next_verb(self, end: int, verb: VerbGroup) -> int:
        """The item of the verb that `verb` leads to; -1 if it leads to none."""
        if verb.lemma not in _CHAINING:
            return -1
        at, wanted = self.skip(end + 1), "gerund"
        if self.kind(at) == Tag.TO:
            at, wanted = self.skip(at + 1), "infinitive"
        elif self.kind(at) == Tag.PREP and self.low(at) in _CHAIN_PREPOSITIONS:
            if verb.lemma == "work" and self.low(at) != "on":
                return -1
            at = self.skip(at + 1)
            if self.kind(at) == Tag.PREP:  # "looking forward to going"
                at = self.skip(at + 1)
        following = self.verb(at)
        fits = following is not None and following.tense == wanted and at not in self.used
        return at if fits else -1

    # subjects

    def _subject(self, index: int, verb: VerbGroup) -> _Subject:
        before = self._back(index - 1)
        if not verb.finite:
            return _Subject(self._subject_of_reduced(before, verb), inherited=True)
        if before < 0:
            return _Subject(dropped=True)
        kind, low = self.kind(before), self.low(before)
        if kind == NP:
            return _Subject(self._subject_phrase(before))
        if kind == Tag.SUB and low in _ANTECEDENTS:
            return _Subject(self._antecedent(before), inherited=True)
        if kind == Tag.CONJ or low == ",":
            return _Subject() if self._parallel(index, verb) else self._inherited(before)
        return _Subject(dropped=kind in (Tag.MARK, Tag.UH))

    def _antecedent(self, relative: int) -> Phrase | None:
        """ "Bob, who …": Bob."""
        at = self._back(relative - 1)
        return self.phrase(self._back(at - 1) if self.low(at) == "," else at)

    def _parallel(self, index: int, verb: VerbGroup) -> bool:
        """ "to work hard and make": the verb goes on with an infinitive, not with a clause."""
        if not verb.bare:
            return False
        nearby = reversed(self.items[max(0, index - _NEAR) : index])
        earlier = next((item.verb for item in nearby if item.verb is not None), None)
        return earlier is not None and (earlier.tense == "infinitive" or not earlier.bare)

    def _inherited(self, before: int) -> _Subject:
        for clause in reversed(self.clauses[-_NEAR:]):
            if clause.verb.finite:
                return _Subject(clause.subject, inherited=True, dropped=clause.dropped)
        phrases = [i for i in range(min(before, _NEAR)) if self.kind(i) == NP]
        if not phrases or self.kind(before) == Tag.CONJ:
            return _Subject()
        inner = phrases[-1]  # "one of them, Laura, wrote"
        return _Subject(self.phrase(inner if self._is_named(inner) else phrases[0]))

    def _subject_phrase(self, at: int) -> Phrase | None:
        """The noun phrase at `at`, or the one that a "that" or a prepositional phrase hangs on."""
        before = self._back(at - 1)
        item = self.items[at]
        if item.low == "that" and item.after - item.first == 1:
            return self.phrase(before)
        if self.kind(before) == Tag.PREP:
            outer = self._back(before - 1)
            if self.kind(outer) == NP and all(self.verb(i) is None for i in range(outer - 4, outer)):
                return self.phrase(outer)
        return self.phrase(at)

    def _subject_of_reduced(self, before: int, verb: VerbGroup) -> Phrase | None:
        """Of "a film directed by X" and "starring Y": the subject of the clause that says what it is."""
        if before < 0 or verb.tense == "infinitive":
            return None
        if verb.tense == "gerund" and verb.lemma not in REDUCED_ACTIVE:
            return None
        if self.low(before) == "(":
            return self.phrase(self._back(before - 1))
        listed = self.kind(before) == Tag.CONJ or self.low(before) == ","
        for clause in reversed(self.clauses[-_NEAR:]):
            if clause.verb.lemma == "be" or clause.inherited or (listed and clause.verb.passive):
                return clause.subject
        return self.phrase(before)


class _Arguments:
    """Reads the noun phrases after a verb, up to the next clause."""

    def __init__(self, reader: _ClauseReader, verb: VerbGroup) -> None:
        self.reader, self.verb = reader, verb
        self.found: list[Argument] = []
        self.prep = self.joined = ""
        self.end = 0

    def read(self, at: int) -> tuple[list[Argument], int]:
        """The arguments from item `at` on, and the item after the last of them."""
        self.end = at
        while at < len(self.reader.items):
            step = self._step(at)
            if step == 0:
                break
            at += step
        return self.found, self.end

    def _step(self, at: int) -> int:
        """Take in an item; how far to go on, 0: no further."""
        reader, item = self.reader, self.reader.items[at]
        if item.kind == NP:
            return self._take_phrase(at)
        if item.kind == Tag.PREP:
            return self._take_preposition(at)
        if item.low == "(":
            closing = range(at, min(at + _NEAR, len(reader.items)))
            return next((i for i in closing if reader.low(i) == ")"), at) - at + 1
        if (item.kind == Tag.CONJ or item.low == ",") and self.found and self._lists(at):
            self.joined = "and" if item.kind == Tag.CONJ else self.joined or ","
            return 1
        if item.kind in _SKIPPED:
            self.end = at + 1
            return 1
        return 0

    def _take_phrase(self, at: int) -> int:
        phrase = self.reader.phrase(at)
        if phrase is None or (not self.prep and self._starts_clause(at)):
            return 0
        apposition = bool(self.joined) and self._is_apposition(at)
        self.found.append(Argument(self.prep, phrase, self.joined, apposition))
        self.joined, self.end = "", at + 1
        if self.reader.kind(at + 1) not in (Tag.CONJ, Tag.MARK):
            self.prep = ""
        return 1

    def _take_preposition(self, at: int) -> int:
        following = self.reader.skip(at + 1)
        if self.reader.verb(following) is not None:
            return 0
        self.prep = self.reader.low(at)
        if not self.found and self.reader.kind(following) != NP:
            self.verb.particle = self.prep
        return 1

    def _starts_clause(self, at: int) -> bool:
        """Whether the noun phrase is the subject of a verb that follows."""
        verb = self.reader.verb(self.reader.skip(at + 1))
        return verb is not None and verb.finite

    def _lists(self, at: int) -> bool:
        """Whether a comma or conjunction goes on with another noun phrase of the same list."""
        following = at + 2 if self.reader.kind(at + 1) == Tag.CONJ else at + 1
        return self.reader.kind(following) == NP and not self._starts_clause(following)

    def _is_apposition(self, at: int) -> bool:
        """ ", a major initiative" after a name tells what it is; "and a cat" does not."""
        if self.reader.kind(at - 1) == Tag.CONJ or self.reader.low(at) not in _APPOSED:
            return False
        last = self.found[-1].phrase
        return any(unit.tag == Tag.NAME for unit in self.reader.units[last.first : last.after])
