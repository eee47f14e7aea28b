"""Tagging the words of a sentence and joining them to phrases: a shallow reading, left to right, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kgsvc.llm.offline.lexicon import (
    ADVERBS,
    BE,
    CONJUNCTIONS,
    DETERMINERS,
    DO,
    HAVE,
    INTERJECTIONS,
    MODALS,
    NEGATIONS,
    NUMBERS,
    POSSESSIVES,
    PREPOSITIONS,
    PRONOUNS,
    SUBORDINATORS,
)
from kgsvc.llm.offline.names import Name
from kgsvc.llm.offline.times import Time
from kgsvc.llm.offline.verbs import Form, verb
from kgsvc.llm.offline.words import Word

# Tags of units. NAME, PRON and NOUN may head a noun phrase; NOUN is also every word of unknown class.
NAME, PRON, POSS, DET, NUM, NOUN, GEN = "name", "pron", "poss", "det", "num", "noun", "gen"
VERB, AUX, NEG, ADV, TO, PREP, CONJ, SUB, TIME, UH, MARK = (
    *("verb", "aux", "neg", "adv", "to", "prep", "conj", "sub", "time", "uh", "mark"),
)
_AUXILIARIES = BE | HAVE | DO | (MODALS - {"need"})
_BEFORE_NOUN = frozenset({DET, POSS, NUM, GEN})
_QUOTES = frozenset("\"“”«»")
OBJECT_PRONOUNS = frozenset("me him us them myself himself herself themselves ourselves yourself itself mine".split())
LETS_BASE = frozenset("help let make makes made lets helps helped watch see saw hear heard".split())
REDUCED_ACTIVE = frozenset("star feature".split())  # "a film starring X"
_NOT_PLAIN_NOUNS = frozenset("painting meeting wedding training building feeling reading hiking camping".split())


class Unit(NamedTuple):
    """A word, or a whole name or time, with its tag. `first`..`after` index words, `start`..`end` characters."""

    tag: str
    low: str
    start: int
    end: int
    name: Name | None = None
    time: Time | None = None
    form: Form | None = None


def units_of(words: Sequence[Word], names: Sequence[Name], times: Sequence[Time]) -> list[Unit]:
    """The sentence as tagged units; a name or time expression is one unit."""
    return _Tagger(words, names, times).run()


class _Tagger:
    def __init__(self, words: Sequence[Word], names: Sequence[Name], times: Sequence[Time]) -> None:
        self.words = words
        self.names = {name.first: name for name in names}
        self.times = {time.start: time for time in times}
        self.units: list[Unit] = []
        self.seen_verb = False

    def run(self) -> list[Unit]:
        at = 0
        while at < len(self.words):
            at = self._step(at)
        return self.units

    def _step(self, at: int) -> int:
        word = self.words[at]
        time = self.times.get(word.start)
        if time is not None:
            while at < len(self.words) and self.words[at].start < time.end:
                at += 1
            self.units.append(Unit(TIME, "", word.start, time.end, time=time))
            return at
        name = self.names.get(at)
        if name is not None:
            end = self.words[name.after - 1].end
            self.units.append(Unit(NAME, name.text.lower(), word.start, end, name=name))
            return name.after
        if word.low == "no" and self._low(at + 1) == "longer":
            self.units.append(Unit(NEG, "no longer", word.start, self.words[at + 1].end))
            return at + 2
        if word.text in _QUOTES:
            return at + 1
        tag, form = self._tag(at, word)
        if tag in (VERB, AUX):
            self.seen_verb = True
        self.units.append(Unit(tag, word.low, word.start, word.end, form=form))
        return at + 1

    def _tag(self, at: int, word: Word) -> tuple[str, Form | None]:
        low = word.low
        if not low[0].isalnum() and low not in ("'m", "'s", "'re", "'ve", "'ll", "'d", "&"):
            return MARK, None
        if low == "'s":
            return (AUX, None) if self._is_be(at) else (GEN, None)
        if low == "to":
            return (TO if self._infinitive(at) else PREP), None
        closed = _closed_class(low)
        if closed == UH and self.units and self.units[-1].tag != MARK:
            closed = ADV if low in ADVERBS else ""
        if closed == AUX and low in HAVE | DO and self._previous() in _BEFORE_NOUN:
            closed = ""
        if closed == SUB and low == "like" and self._previous() in (PRON, NAME, AUX, ADV):
            closed = ""
        if closed == PREP and low == "like" and self._verbal_like():
            return VERB, verb(low)
        if closed:
            return closed, None
        if low[0].isdigit():
            return NUM, None
        form = verb(low)
        if low == "last" and self._previous() in (PRON, NAME) and verb(self._low(at + 1)):
            return ADV, None
        if form is not None and self._acts(at, word, form):
            return VERB, form
        return NOUN, form if form is not None and form.ing else None

    def _previous(self) -> str:
        """The tag before, adverbs and times skipped; "" at the beginning and after a mark."""
        for unit in reversed(self.units):
            if unit.tag == MARK:
                return ""
            if unit.tag not in (ADV, TIME, UH):
                return unit.tag
        return ""

    def _low(self, at: int) -> str:
        return self.words[at].low if at < len(self.words) else ""

    def _verbal_like(self) -> bool:
        previous = self.units[-1] if self.units else None
        return previous is not None and (
            previous.tag in (TO, NEG) or (previous.tag == PRON and previous.low not in OBJECT_PRONOUNS)
            or (previous.tag == AUX and previous.low in MODALS | DO)
            or (previous.tag == ADV and self._previous() == PRON)
        )

    def _is_be(self, at: int) -> bool:
        """Whether 's is "is" or "has", and not a genitive."""
        previous = self.units[-1].tag if self.units else MARK
        if previous in (PRON, SUB, DET, PREP, ADV) or self._low(at - 1) in PRONOUNS:
            return True
        following = self._low(at + 1)
        form = verb(following)
        if self.names.get(at + 1) or (form and form.ing and following in _NOT_PLAIN_NOUNS):
            return False
        closed = _closed_class(following)
        return closed in (DET, ADV, NEG, PREP) or following == "been" or bool(form and form.ing)

    def _infinitive(self, at: int) -> bool:
        following = self._low(at + 1)
        if following in ADVERBS:
            following = self._low(at + 2)
        form = verb(following)
        return following in ("be", "have", "do") or bool(form and form.base and at + 1 not in self.names)

    def _acts(self, at: int, word: Word, form: Form) -> bool:
        """Whether a word that may be a verb is one here."""
        previous = self._previous()
        if previous in _BEFORE_NOUN:
            return False
        if previous == AUX:
            return self._after_auxiliary(form)
        if previous in (TO, NEG):
            return True
        if previous == PRON:
            pronoun = next(u.low for u in reversed(self.units) if u.tag == PRON)
            if pronoun in OBJECT_PRONOUNS:
                return form.ing or (form.base and any(u.low in LETS_BASE for u in self.units[-3:]))
            return True
        if previous == NAME:
            return form.third or form.past or form.participle or form.ing or self._takes_object(at)
        if previous == PREP:
            return form.ing
        if previous == NOUN:
            return self._after_noun(at, form)
        if previous == VERB:
            return form.ing or (form.base and self.units[-1].low in LETS_BASE)
        if previous == SUB:
            return True
        return self._at_beginning(at, word, form)

    def _after_auxiliary(self, form: Form) -> bool:
        auxiliary = next(u.low for u in reversed(self.units) if u.tag == AUX)
        if auxiliary in BE or auxiliary == "'s":
            return form.ing or form.participle
        return form.participle or form.past if auxiliary in HAVE else True

    def _after_noun(self, at: int, form: Form) -> bool:
        if form.ing:
            return self._takes_object(at) or not self._low(at + 1).isalpha()
        if form.past or form.participle:
            return True
        plural = self.units[-1].low.endswith("s")
        if not (form.third or (form.base and plural)) or not self._takes_object(at):
            return False
        first = len(self.units) - 1
        while first > 0 and self.units[first].tag in (NOUN, ADV):
            first -= 1
        return self.units[first].tag != NUM  # "250 feature films in": a count needs no verb

    def _at_beginning(self, at: int, word: Word, form: Form) -> bool:
        """After nothing, a mark or a conjunction."""
        if self.units and self.units[-1].tag == CONJ:
            if form.ing:
                active = any(u.form and u.form.ing and u.tag == VERB for u in self.units[-6:])
                return active or form.lemma in REDUCED_ACTIVE
            return self.seen_verb and (form.past or form.third or self._takes_object(at, plainly=True))
        if form.ing:
            return bool(self.units) and self.seen_verb
        if (form.past or form.participle) and not form.base:
            return True
        return self._takes_object(at)

    def _takes_object(self, at: int, plainly: bool = False) -> bool:
        """Whether what follows suits a verb; `plainly`: an adverb does not prove it."""
        if at + 1 in self.names:
            return True
        following = self._low(at + 1)
        closed = _closed_class(following)
        form = verb(following)
        if closed in (ADV, PREP, SUB) and plainly:
            return False
        return closed in (DET, POSS, PRON, PREP, NUM, ADV, SUB) or following == "to" or bool(form and form.ing)


_LY_NOUNS = frozenset(
    "family supply reply assembly italy butterfly friendly lovely lonely elderly monthly weekly daily early apply "
    "multiply comply rally bully fly ally belly jelly hourly yearly costly deadly ugly silly holy july emily kelly "
    "sally molly polly beverly kimberly anomaly homily monopoly".split()
)
_CLOSED: dict[str, str] = {}
for _tag, _class in (
    (UH, INTERJECTIONS - {"no", "right", "well", "same", "like"}),
    (ADV, ADVERBS),
    (SUB, SUBORDINATORS | {"who", "which", "whom", "whose"}),
    (PREP, PREPOSITIONS - {"to"}),
    (DET, DETERMINERS),
    (NUM, NUMBERS),
    (CONJ, CONJUNCTIONS),
    (PRON, PRONOUNS),
    (POSS, POSSESSIVES),
    (NEG, NEGATIONS),
    (AUX, _AUXILIARIES),
):
    _CLOSED.update(dict.fromkeys(_class, _tag))
_CLOSED["her"] = PRON  # possessive when a noun follows; see phrases


def _closed_class(low: str) -> str:
    found = _CLOSED.get(low)
    if found is None:
        return ADV if low.endswith("ly") and len(low) > 5 and low not in _LY_NOUNS else ""
    return found
