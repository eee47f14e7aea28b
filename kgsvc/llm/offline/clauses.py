"""Clauses of a sentence: which verb group has which subject and which objects. Shallow, and linear in effect:
every look around is bounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kgsvc.llm.offline.lexicon import BE, CONDITIONALS, DO, HAVE, HEDGES, UNSURE_MODALS
from kgsvc.llm.offline.phrases import (
    ADV,
    AUX,
    CONJ,
    DET,
    GEN,
    MARK,
    NAME,
    NEG,
    NOUN,
    NUM,
    POSS,
    PREP,
    PRON,
    REDUCED_ACTIVE,
    SUB,
    TIME,
    TO,
    UH,
    VERB,
    Unit,
)

NP, VG = "np", "vg"
_NP_STARTS = frozenset({NAME, NOUN, PRON, DET, POSS, NUM})
_SKIPPED = frozenset({ADV, TIME, UH, NEG})
_LONGEST_PHRASE = 12  # units
_MOST_CHAIN = 3  # verbs as in "would love to start learning"
_CHAIN_PREPOSITIONS = frozenset("about of on to for forward at in up from".split())
_ASIDES = frozenset("when once since while because until than how what where whenever why as cause".split())
_CALLING = frozenset("call name title entitle nickname".split())
_ANTECEDENTS = frozenset("who which that".split())

# Verbs that lead over to another one: "want to go", "stop smoking", "think about moving".
CHAINING = frozenset(
    "want hope wish plan intend decide try need like love hate enjoy prefer start begin continue keep stop quit finish "
    "avoid consider think dream look use get manage learn help agree promise dislike go be have work aim expect miss "
    "give adore fancy suggest recommend".split()
)


class Phrase(NamedTuple):
    """A noun phrase: units `first`..`after`."""

    first: int
    after: int


class Argument(NamedTuple):
    """A noun phrase after a verb; `prep` is "" for an object; `joined` is "and" or "," for what such a word adds
    to the argument before ("tea and coffee")."""

    prep: str
    phrase: Phrase
    joined: str = ""
    apposition: bool = False


@dataclass(slots=True)
class VerbGroup:
    """Auxiliaries, negation, adverbs and the main verb. `via` holds the lemmas that led to it."""

    first: int
    after: int
    lemma: str
    tense: str  # present, past, perfect, progressive, future, unsure, gerund, participle, infinitive
    negated: bool = False
    no_longer: bool = False
    passive: bool = False
    bare: bool = False  # a present form without auxiliary: takes an -s for one person
    reducible: bool = False  # a participle without auxiliary: "directed by X"
    via: tuple[str, ...] = ()
    particle: str = ""

    @property
    def finite(self) -> bool:
        """Whether it can have a subject of its own."""
        return self.tense not in ("gerund", "participle", "infinitive")


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
    kind: str
    first: int
    after: int
    low: str
    verb: VerbGroup | None = None


def clauses_of(units: Sequence[Unit]) -> list[Clause]:
    """The clauses of a statement in order. Questions are not for this reading."""
    return _Reader(units).run()


def noun_phrase(units: Sequence[Unit], first: int) -> int:
    """Where the noun phrase that begins at `first` ends; `first` itself if none begins there."""
    last = min(len(units), first + _LONGEST_PHRASE)
    at, head = first, False
    while at < last:
        step = _phrase_step(units, at, head, at == first)
        if step == 0:
            break
        head = units[at].tag in (NAME, NOUN, PRON) or (head and units[at].tag not in (GEN, PREP))
        at += step
        if units[at - 1].tag == PRON and not _is_possessive(units, at - 1):
            break
    if not head and at > first and not any(u.tag in (DET, NUM) for u in units[first:at]):
        return first
    return at


def _is_possessive(units: Sequence[Unit], at: int) -> bool:
    """ "her daughter" against "saw her"."""
    return units[at].low == "her" and at + 1 < len(units) and units[at + 1].tag in (NOUN, NAME, NUM)


def _phrase_step(units: Sequence[Unit], at: int, head: bool, begins: bool) -> int:
    unit = units[at]
    if unit.tag == PRON:
        return int(begins)
    if unit.tag in (NAME, NOUN):
        return 1
    if unit.tag in (DET, POSS, NUM):
        return int(not head)
    following = units[at + 1].tag if at + 1 < len(units) else ""
    if unit.tag == GEN:
        return int(head and following in (NOUN, NAME, NUM))
    if unit.tag == CONJ:  # "a safe and loving home"
        last = units[at + 2].tag if at + 2 < len(units) else ""
        return int(head and not begins and following == NOUN and last == NOUN)
    if unit.tag == ADV:
        return int(not begins and not head and following == NOUN)
    if unit.tag == PREP and unit.low == "of" and head:
        return int(following in (NAME, NOUN, DET, POSS, NUM))
    return 0


class _Reader:
    def __init__(self, units: Sequence[Unit]) -> None:
        self.units = units
        self.items = list(self._items())
        self._mark_reduced()
        self.used: set[int] = set()
        self.clauses: list[Clause] = []
        self.condition = False
        self.subordinate = False

    def run(self) -> list[Clause]:
        for index, item in enumerate(self.items):
            if item.low in CONDITIONALS or item.low in HEDGES:
                self.condition = True
            elif item.kind == MARK and item.low in (".", ";", "!"):
                self.condition = False
            if item.kind == SUB and item.low in _ASIDES:
                self.subordinate = True
            if item.verb is not None and index not in self.used:
                self._read(index, item.verb)
        return self.clauses

    def _items(self) -> Iterator[_Item]:
        at, units = 0, self.units
        while at < len(units):
            unit = units[at]
            if unit.tag in _NP_STARTS:
                after = noun_phrase(units, at)
                if after > at:
                    yield _Item(NP, at, after, unit.low)
                    at = after
                    continue
            group = self._group(at) if unit.tag in (AUX, VERB, NEG, ADV) else None
            if group is not None:
                yield _Item(VG, at, group.after, unit.low, group)
                at = group.after
                continue
            yield _Item(unit.tag, at, at + 1, unit.low)
            at += 1

    def _mark_reduced(self) -> None:
        """Tell "a film directed by X" from "the film directed itself"."""
        for index, item in enumerate(self.items):
            if item.verb is None or not item.verb.reducible or index == 0:
                continue
            following = self._skip(index + 1)
            by = following < len(self.items) and self.items[following].low == "by"
            complement = index > 1 and self.items[index - 1].kind == NP and self._is_copula(index - 2)
            called = item.verb.lemma in _CALLING and self.items[index - 1].kind == NP
            if by or complement or called or self.items[index - 1].low in (",", "("):
                item.verb.tense, item.verb.passive = "participle", True

    def _is_copula(self, at: int) -> bool:
        verb = self.items[at].verb
        return verb is not None and verb.lemma == "be"

    def _group(self, first: int) -> VerbGroup | None:
        at, auxiliaries, main = first, list[str](), None
        negated = no_longer = False
        last = first
        while at < len(self.units):
            unit = self.units[at]
            if unit.tag == AUX:
                auxiliaries.append(unit.low)
            elif unit.tag == NEG:
                negated, no_longer = True, no_longer or unit.low == "no longer"
            elif unit.tag == VERB:
                main, last = unit, at + 1
                break
            elif unit.tag != ADV:
                break
            at += 1
            last = at if unit.tag != ADV else last
        if main is None and not auxiliaries:
            return None
        last = max(last, first + 1)
        infinitive = first > 0 and self.units[first - 1].tag == TO
        group = _verb_group(first, last, auxiliaries, main, infinitive)
        group.negated, group.no_longer = negated, no_longer
        return group

    def _read(self, index: int, verb: VerbGroup) -> None:
        unsure = self.condition or verb.tense == "unsure"
        end, verb = self._chain(index, verb)
        subject, inherited, dropped = self._subject(index, verb)
        if not verb.finite and subject is None:
            return
        arguments, after = self._arguments(end + 1, verb)
        start = self.items[index].first
        if subject is not None and not inherited and subject.after <= start:
            start = subject.first
        last = self.items[after - 1].after if after > end + 1 else self.items[end].after
        self.clauses.append(Clause(subject, verb, arguments, start, last, inherited, dropped, unsure))
        self.clauses[-1].subordinate, self.subordinate = self.subordinate, False

    def _chain(self, index: int, verb: VerbGroup) -> tuple[int, VerbGroup]:
        """Follow "want to", "stop …ing" to the last verb; the first one's tense and negation count."""
        end = index
        for _ in range(_MOST_CHAIN):
            step = self._next_verb(end, verb)
            if step is None:
                break
            following = self.items[step].verb
            assert following is not None
            self.used.add(step)
            verb = VerbGroup(
                first=verb.first,
                after=following.after,
                lemma=following.lemma,
                tense=verb.tense,
                negated=verb.negated or following.negated,
                no_longer=verb.no_longer,
                passive=following.passive,
                bare=verb.bare,
                via=(*verb.via, verb.lemma),
            )
            end = step
        return end, verb

    def _next_verb(self, end: int, verb: VerbGroup) -> int | None:
        if verb.lemma not in CHAINING:
            return None
        at = self._skip(end + 1)
        if at < len(self.items) and self.items[at].kind == PREP and self.items[at].low in _CHAIN_PREPOSITIONS:
            if verb.lemma == "work" and self.items[at].low != "on":
                return None
            at = self._skip(at + 1)
            if at < len(self.items) and self.items[at].kind == PREP:  # "looking forward to going"
                at = self._skip(at + 1)
            wanted: tuple[str, ...] = ("gerund",)
        elif at < len(self.items) and self.items[at].kind == TO:
            at, wanted = self._skip(at + 1), ("infinitive",)
        else:
            wanted = ("gerund",)
        if at >= len(self.items) or at in self.used:
            return None
        following = self.items[at].verb
        return at if following is not None and following.tense in wanted else None

    def _skip(self, at: int) -> int:
        while at < len(self.items) and self.items[at].kind in _SKIPPED:
            at += 1
        return at

    def _back(self, at: int) -> int:
        """The item before, adverbs, times and brackets skipped; -1 if there is none."""
        while at >= 0 and (self.items[at].kind in _SKIPPED or self.items[at].low == ")"):
            if self.items[at].low == ")":
                while at > 0 and self.items[at].low != "(":
                    at -= 1
            at -= 1
        return at

    def _subject(self, index: int, verb: VerbGroup) -> tuple[Phrase | None, bool, bool]:
        """The subject, whether it is an earlier clause's, whether none is written."""
        before = self._back(index - 1)
        if not verb.finite:
            return self._subject_of_reduced(before, verb), True, False
        if before < 0:
            return None, False, True
        item = self.items[before]
        if item.kind == NP:
            return self._subject_phrase(before), False, False
        if item.kind == SUB and item.low in _ANTECEDENTS:
            antecedent = self._back(before - 1)
            if antecedent >= 0 and self.items[antecedent].low == ",":
                antecedent = self._back(antecedent - 1)
            found = antecedent >= 0 and self.items[antecedent].kind == NP
            return (self._phrase(antecedent) if found else None), True, False
        if item.kind == CONJ or item.low == ",":
            return (None, False, False) if self._parallel(index, verb) else self._inherited(before)
        return None, False, item.kind in (MARK, UH)

    def _parallel(self, index: int, verb: VerbGroup) -> bool:
        """ "to work hard and make": the verb goes on with an infinitive, not with a clause."""
        if not verb.bare:
            return False
        earlier = next((i.verb for i in reversed(self.items[:index]) if i.verb is not None), None)
        return earlier is not None and (earlier.tense == "infinitive" or not earlier.bare)

    def _inherited(self, before: int) -> tuple[Phrase | None, bool, bool]:
        for clause in reversed(self.clauses):
            if clause.verb.finite:
                return clause.subject, True, clause.dropped
        phrases = [i for i in range(before) if self.items[i].kind == NP]
        if not phrases or self.items[before].kind == CONJ:
            return None, False, False
        inner = self._phrase(phrases[-1])
        named = any(unit.tag == NAME for unit in self.units[inner.first : inner.after])
        return (inner if named else self._phrase(phrases[0])), False, False  # "one of them, Laura, wrote"

    def _subject_phrase(self, at: int) -> Phrase | None:
        """The noun phrase at `at`, or the one that a "that" or a prepositional phrase hangs on."""
        before = self._back(at - 1)
        item = self.items[at]
        if item.low == "that" and item.after - item.first == 1:
            return self._phrase(before) if before >= 0 and self.items[before].kind == NP else None
        if before >= 0 and self.items[before].kind == PREP:
            outer = self._back(before - 1)
            if outer >= 0 and self.items[outer].kind == NP and not self._has_verb(outer):
                return self._phrase(outer)
        return self._phrase(at)

    def _has_verb(self, before: int) -> bool:
        return any(item.verb is not None for item in self.items[max(0, before - 4) : before])

    def _phrase(self, at: int) -> Phrase:
        return Phrase(self.items[at].first, self.items[at].after)

    def _subject_of_reduced(self, before: int, verb: VerbGroup) -> Phrase | None:
        """Of "a film directed by X" and "starring Y": the subject of the clause that says what it is."""
        if verb.tense == "gerund" and verb.lemma not in REDUCED_ACTIVE:
            return None
        if verb.tense == "infinitive" or before < 0:
            return None
        if self.items[before].low == "(":
            before = self._back(before - 1)
            return self._phrase(before) if before >= 0 and self.items[before].kind == NP else None
        listed = self.items[before].kind == CONJ or self.items[before].low == ","
        for clause in reversed(self.clauses):
            if clause.verb.lemma == "be" or clause.inherited or (listed and clause.verb.passive):
                return clause.subject
        return self._phrase(before) if self.items[before].kind == NP else None

    def _arguments(self, at: int, verb: VerbGroup) -> tuple[list[Argument], int]:
        found: list[Argument] = []
        prep, joined = "", ""
        last_end = at
        while at < len(self.items):
            item = self.items[at]
            if item.kind == NP:
                if self._starts_clause(at, bool(prep)):
                    break
                apposition = bool(joined) and self._is_apposition(at, found)
                found.append(Argument(prep, self._phrase(at), joined, apposition))
                joined, last_end = "", at + 1
            elif item.kind == PREP:
                following = self._skip(at + 1)
                if following < len(self.items) and self.items[following].verb is not None:
                    break
                if not found and following < len(self.items) and self.items[following].kind == PREP:
                    verb.particle = item.low
                elif not found and (following >= len(self.items) or self.items[following].kind != NP):
                    verb.particle = item.low
                prep = item.low
                at += 1
                continue
            elif item.low == "(":
                at = self._closing(at)
            elif (item.kind == CONJ or item.low == ",") and found and self._lists(at):
                joined = "and" if item.kind == CONJ else joined or ","
                at += 1
                continue
            elif item.kind not in _SKIPPED:
                break
            else:
                last_end = at + 1
            if item.kind == NP and not (at + 1 < len(self.items) and self.items[at + 1].kind in (CONJ, MARK)):
                prep = ""
            at += 1
        return found, last_end

    def _closing(self, at: int) -> int:
        for index in range(at, min(at + 30, len(self.items))):
            if self.items[index].low == ")":
                return index
        return at

    def _starts_clause(self, at: int, after_preposition: bool) -> bool:
        """Whether the noun phrase is the subject of a verb that follows."""
        following = self._skip(at + 1)
        if following >= len(self.items) or after_preposition:
            return False
        verb = self.items[following].verb
        return verb is not None and verb.finite

    def _lists(self, at: int) -> bool:
        """Whether a comma or conjunction goes on with another noun phrase of the same list."""
        following = at + 1
        if following < len(self.items) and self.items[following].kind == CONJ:
            following += 1
        if following >= len(self.items) or self.items[following].kind != NP:
            return False
        return not self._starts_clause(following, False)

    def _is_apposition(self, at: int, found: list[Argument]) -> bool:
        """ ", a major initiative" after a name tells what it is; "and a cat" does not."""
        if self.items[at - 1].kind == CONJ or self.items[at].low not in ("a", "an", "the", "our", "my", "his"):
            return False
        last = found[-1].phrase
        return any(unit.tag == NAME for unit in self.units[last.first : last.after])


def _verb_group(first: int, after: int, auxiliaries: list[str], main: Unit | None, infinitive: bool) -> VerbGroup:
    form = main.form if main is not None else None
    group = VerbGroup(first, after, "", "present")
    if form is None:
        last = auxiliaries[-1]
        group.lemma = "be" if last in BE or last == "'s" else "have" if last in HAVE or last == "'d" else "do"
        if last not in BE | HAVE | DO and last != "'s":
            group.lemma = "do"
        auxiliaries = auxiliaries[:-1] if len(auxiliaries) > 1 else auxiliaries
        group.tense = "infinitive" if infinitive else _tense_of(auxiliaries, None, last)
        group.bare = last in ("have", "do")
        return group
    group.lemma = form.lemma
    has_be = any(aux in BE or aux == "'s" for aux in auxiliaries)
    group.passive = has_be and form.participle and not form.ing
    if infinitive and not auxiliaries:
        group.tense = "infinitive"
    elif not auxiliaries:
        group.tense = "gerund" if form.ing else "past" if form.past and not form.base else "present"
        if form.participle and not form.past and not form.base:
            group.tense = "participle"
        group.bare = form.base
        group.reducible = form.participle and not form.base
    else:
        group.tense = _tense_of(auxiliaries, form.ing, auxiliaries[0])
    return group


def _tense_of(auxiliaries: list[str], ing: bool | None, first: str) -> str:
    lows = set(auxiliaries)
    if lows & UNSURE_MODALS or "can" in lows or "ca" in lows:
        return "unsure"
    if lows & {"will", "'ll", "wo", "gonna", "sha"}:
        return "future"
    if "had" in lows or lows & {"was", "were", "did"} or first in ("was", "were", "had", "did"):
        return "past"
    if lows & {"have", "has", "'ve"} and (ing is not None or "been" in lows or first == "been"):
        return "perfect"
    return "progressive" if ing else "present"
