"""Tags the words of a sentence and joins them to noun phrases and verb groups: one pass, left to right."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kgsvc.models.rules.lexicon import (
    ADVERBS,
    BE,
    COMMON,
    DO,
    HAVE,
    MODALS,
    PRONOUNS,
    UNSURE_MODALS,
    Tag,
    closed_class,
)
from kgsvc.models.rules.names import Name
from kgsvc.models.rules.text import Word, word_set
from kgsvc.models.rules.times import Time
from kgsvc.models.rules.verbs import VerbForm, verb

_BEFORE_NOUN = frozenset({Tag.DET, Tag.POSS, Tag.NUM, Tag.GEN})
_LONGEST_PHRASE = 12  # units of a noun phrase
_CLITICS = frozenset({"'m", "'s", "'re", "'ve", "'ll", "'d", "&"})
_QUOTES = frozenset('"“”«»')
OBJECT_PRONOUNS = word_set("me him us them myself himself herself themselves ourselves yourself itself mine")
LETS_BASE = word_set("help let make makes made lets helps helped watch see saw hear heard")
REDUCED_ACTIVE = word_set("star feature")  # "a film starring X"
_NOUNS_IN_ING = word_set("painting meeting wedding training building feeling reading hiking camping")


class Unit(NamedTuple):
    """A word, or a whole name or time, with its tag; at characters `start`..`end` of its sentence."""

    tag: str
    low: str
    start: int
    end: int
    name: Name | None = None
    time: Time | None = None
    form: VerbForm | None = None


def units_of(words: Sequence[Word], names: Sequence[Name], times: Sequence[Time]) -> list[Unit]:
    """The sentence as tagged units; a name or time expression is one unit."""
    return _Tagger(words, names, times).run()


class _Tagger:
    """Tags from left to right, by the unit before a word and one or two words after it."""

    def __init__(self, words: Sequence[Word], names: Sequence[Name], times: Sequence[Time]) -> None:
        self.words = words
        self.names = {name.first: name for name in names}
        self.times = {time.start: time for time in times}
        self.units: list[Unit] = []
        self.before: Unit | None = None  # the unit before, asides skipped; None at the beginning of a clause
        self.seen_verb = False

    def run(self) -> list[Unit]:
        at = 0
        while at < len(self.words):
            at = self._step(at)
        return self.units

    def _add(self, unit: Unit) -> None:
        self.units.append(unit)
        self.seen_verb = self.seen_verb or unit.tag in (Tag.VERB, Tag.AUX)
        if unit.tag not in (Tag.ADV, Tag.TIME, Tag.UH):
            self.before = None if unit.tag == Tag.MARK else unit

    def _step(self, at: int) -> int:
        """Tag what stands at word `at`; the word to go on with."""
        word, time, name = self.words[at], self.times.get(self.words[at].start), self.names.get(at)
        if time is not None:
            self._add(Unit(Tag.TIME, "", word.start, time.end, time=time))
            while at < len(self.words) and self.words[at].start < time.end:
                at += 1
            return at
        if name is not None:
            self._add(
                Unit(Tag.NAME, name.text.lower(), word.start, self.words[name.after - 1].end, name=name)
            )
            return name.after
        if word.low == "no" and self._low(at + 1) == "longer":
            self._add(Unit(Tag.NEG, "no longer", word.start, self.words[at + 1].end))
            return at + 2
        if word.text not in _QUOTES:
            tag, form = self._tag(at, word.low)
            self._add(Unit(tag, word.low, word.start, word.end, form=form))
        return at + 1

    def _tag(self, at: int, low: str) -> tuple[str, VerbForm | None]:
        closed = self._closed(at, low)
        if closed:
            return closed, verb(low) if closed == Tag.VERB else None
        form = verb(low)
        if form is not None and self._acts(at, form):
            return Tag.VERB, form
        return Tag.NOUN, form if form is not None and form.ing else None

    # words that may be only a few things

    def _closed(self, at: int, low: str) -> str:
        """The tag of a word of a closed class, a number or a mark; "" for nouns and verbs."""
        if not low[0].isalnum():
            tag = _clitic(low)
            return (Tag.AUX if self._is_be(at) else Tag.GEN) if low == "'s" else tag
        if low == "to":
            return Tag.TO if self._infinitive(at) else Tag.PREP
        tag = self._like(low) if low == "like" else closed_class(low)
        if low == "last" and self._tag_before() in (Tag.PRON, Tag.NAME) and verb(self._low(at + 1)):
            return Tag.ADV
        if tag == Tag.UH and self.units and self.units[-1].tag != Tag.MARK:
            return Tag.ADV if low in ADVERBS else ""
        if tag == Tag.AUX and low in HAVE | DO and self._tag_before() in _BEFORE_NOUN:
            return ""
        return Tag.NUM if not tag and low[0].isdigit() else tag

    def _like(self, low: str) -> str:
        """ "I like tea" against "like a dream"."""
        last, before = self.units[-1] if self.units else None, self.before
        if last is None:
            return closed_class(low)
        subject = before is not None and before.tag == Tag.PRON and before.low not in OBJECT_PRONOUNS
        helped = last.tag == Tag.AUX and last.low in MODALS | DO
        verbal = last.tag in (Tag.TO, Tag.NEG) or helped or (subject and last.tag in (Tag.PRON, Tag.ADV))
        return Tag.VERB if verbal else closed_class(low)

    def _tag_before(self) -> str:
        return "" if self.before is None else self.before.tag

    def _low(self, at: int) -> str:
        return self.words[at].low if at < len(self.words) else ""

    def _is_be(self, at: int) -> bool:
        """Whether 's is "is" or "has", and not a genitive."""
        tag = self.units[-1].tag if self.units else Tag.MARK
        if tag in (Tag.PRON, Tag.SUB, Tag.DET, Tag.PREP, Tag.ADV) or self._low(at - 1) in PRONOUNS:
            return True
        following = self._low(at + 1)
        form = verb(following)
        if self.names.get(at + 1) or following in _NOUNS_IN_ING:
            return False
        closed = closed_class(following)
        return (
            closed in (Tag.DET, Tag.ADV, Tag.NEG, Tag.PREP) or following == "been" or bool(form and form.ing)
        )

    def _infinitive(self, at: int) -> bool:
        following = self._low(at + 1)
        if following in ADVERBS:
            following = self._low(at + 2)
        form = verb(following)
        return following in ("be", "have", "do") or bool(form and form.base and at + 1 not in self.names)

    # words that may be verbs

    def _acts(self, at: int, form: VerbForm) -> bool:
        """Whether a word that may be a verb is one here, by the unit before it."""
        tag = self._tag_before()
        if tag in _BEFORE_NOUN:
            return False
        if tag in (Tag.TO, Tag.NEG, Tag.SUB):
            return True
        if tag == Tag.AUX:
            acts = self._after_auxiliary(form)
        elif tag == Tag.PRON:
            acts = self._after_pronoun(form)
        elif tag == Tag.NAME:
            acts = form.third or form.past or form.participle or form.ing or self._takes_object(at)
        elif tag == Tag.PREP:
            acts = form.ing
        elif tag == Tag.VERB:
            acts = form.ing or (form.base and self.units[-1].low in LETS_BASE)
        else:
            acts = self._after_noun(at, form) if tag == Tag.NOUN else self._at_beginning(at, form)
        return acts

    def _after_auxiliary(self, form: VerbForm) -> bool:
        auxiliary = "" if self.before is None else self.before.low
        if auxiliary in BE or auxiliary == "'s":
            return form.ing or form.participle
        return form.participle or form.past if auxiliary in HAVE else True

    def _after_pronoun(self, form: VerbForm) -> bool:
        if self.before is not None and self.before.low in OBJECT_PRONOUNS:
            return form.ing or (form.base and any(u.low in LETS_BASE for u in self.units[-3:]))
        return True

    def _after_noun(self, at: int, form: VerbForm) -> bool:
        if form.ing:
            return self._takes_object(at) or not self._low(at + 1).isalpha()
        if form.past or form.participle:
            return True
        plural = self.units[-1].low.endswith("s")
        if form.third and form.lemma not in COMMON and form.lemma + "s" not in COMMON:
            return True  # "the project migrates": no noun
        if not (form.third or (form.base and plural)) or not self._takes_object(at):
            return False
        first = last = len(self.units) - 1
        while first > max(0, last - _LONGEST_PHRASE) and self.units[first].tag in (Tag.NOUN, Tag.ADV):
            first -= 1
        return self.units[first].tag != Tag.NUM  # "250 feature films in": a count needs no verb

    def _after_conjunction(self, at: int, form: VerbForm) -> bool:
        if form.ing:
            active = any(u.form and u.form.ing and u.tag == Tag.VERB for u in self.units[-6:])
            return active or form.lemma in REDUCED_ACTIVE
        return self.seen_verb and (form.past or form.third or self._takes_object(at, plainly=True))

    def _at_beginning(self, at: int, form: VerbForm) -> bool:
        if self.units and self.units[-1].tag == Tag.CONJ:
            return self._after_conjunction(at, form)
        if form.ing:
            return bool(self.units) and self.seen_verb
        return ((form.past or form.participle) and not form.base) or self._takes_object(at)

    def _takes_object(self, at: int, plainly: bool = False) -> bool:
        """Whether what follows suits a verb; `plainly`: an adverb or preposition does not prove it."""
        if at + 1 in self.names:
            return True
        following = self._low(at + 1)
        closed, form = closed_class(following), verb(following)
        if closed in (Tag.ADV, Tag.PREP, Tag.SUB):
            return not plainly
        return (
            closed in (Tag.DET, Tag.POSS, Tag.PRON, Tag.NUM) or following == "to" or bool(form and form.ing)
        )


def _clitic(low: str) -> str:
    """The tag of what begins with no letter or digit: a contracted verb, "&", or a mark."""
    return closed_class(low) or Tag.MARK if low in _CLITICS else Tag.MARK


NP_STARTS = frozenset({Tag.NAME, Tag.NOUN, Tag.PRON, Tag.DET, Tag.POSS, Tag.NUM})


class Phrase(NamedTuple):
    """A noun phrase: units `first`..`after`."""

    first: int
    after: int


def noun_phrase(units: Sequence[Unit], first: int) -> int:
    """Where the noun phrase that begins at `first` ends; `first` itself if none begins there."""
    if units[first].tag == Tag.PRON and not _is_possessive(units, first):
        return first + 1
    at, head = first, False
    while at < min(len(units), first + _LONGEST_PHRASE):
        step = _step(units, at, head, at == first)
        if step == 0:
            break
        head = units[at].tag in (Tag.NAME, Tag.NOUN) or (head and units[at].tag not in (Tag.GEN, Tag.PREP))
        at += step
    if not head and not any(unit.tag in (Tag.DET, Tag.NUM) for unit in units[first:at]):
        return first
    return at


def _is_possessive(units: Sequence[Unit], at: int) -> bool:
    """ "her daughter" against "saw her"."""
    return units[at].low == "her" and _tag_of(units, at + 1) in (Tag.NOUN, Tag.NAME, Tag.NUM)


def _tag_of(units: Sequence[Unit], at: int) -> str:
    return units[at].tag if at < len(units) else ""


def _step(units: Sequence[Unit], at: int, head: bool, begins: bool) -> int:
    """1 if the phrase goes on with the unit at `at`, else 0. `head`: it has its noun already."""
    tag, following = units[at].tag, _tag_of(units, at + 1)
    if tag in (Tag.NAME, Tag.NOUN):
        goes_on = True
    elif tag in (Tag.DET, Tag.POSS, Tag.NUM):
        goes_on = not head
    elif tag == Tag.PRON:  # a possessive "her"
        goes_on = begins
    elif tag == Tag.GEN:
        goes_on = head and following in (Tag.NOUN, Tag.NAME, Tag.NUM)
    elif tag == Tag.CONJ:  # "safe and loving home"
        goes_on = head and following == Tag.NOUN and _tag_of(units, at + 2) == Tag.NOUN
    elif tag == Tag.ADV:
        goes_on = not begins and not head and following == Tag.NOUN
    else:
        of = tag == Tag.PREP and units[at].low == "of"
        goes_on = of and head and following in (Tag.NAME, Tag.NOUN, Tag.DET, Tag.POSS, Tag.NUM)
    return int(goes_on)


_FUTURE = frozenset({"will", "'ll", "wo", "gonna", "sha"})
_PAST = frozenset({"was", "were", "did", "had"})
_UNSURE = UNSURE_MODALS | {"can", "ca"}
_LONGEST_GROUP = 8  # units of a verb group


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

    def leading_to(self, following: VerbGroup) -> VerbGroup:
        """ "want" and "to visit" as one: the second's verb in the first's tense."""
        return replace(
            self,
            after=following.after,
            lemma=following.lemma,
            negated=self.negated or following.negated,
            passive=following.passive,
            via=(*self.via, self.lemma),
            reducible=False,
        )


def verb_group(units: Sequence[Unit], first: int) -> VerbGroup | None:
    """The verb group that begins at `first`, if one does."""
    auxiliaries: list[str] = []
    negations: list[str] = []
    main: Unit | None = None
    last = at = first
    while at < min(len(units), first + _LONGEST_GROUP):
        unit = units[at]
        if unit.tag == Tag.VERB:
            main, last = unit, at + 1
            break
        if unit.tag == Tag.AUX:
            auxiliaries.append(unit.low)
        elif unit.tag == Tag.NEG:
            negations.append(unit.low)
        elif unit.tag != Tag.ADV:
            break
        at += 1
        last = at if unit.tag != Tag.ADV else last
    if main is None and not auxiliaries:
        return None
    infinitive = first > 0 and units[first - 1].tag == Tag.TO
    group = VerbGroup(first, max(last, first + 1), "", "present", bool(negations), "no longer" in negations)
    if main is None or main.form is None:
        _without_main(group, auxiliaries, infinitive)
    else:
        _with_main(group, auxiliaries, main.form, infinitive)
    return group


def _without_main(group: VerbGroup, auxiliaries: Sequence[str], infinitive: bool) -> None:
    """be, have and do as verbs of their own: the last auxiliary is the verb."""
    last = auxiliaries[-1]
    group.lemma = "be" if last in BE or last == "'s" else "have" if last in HAVE else "do"
    others = auxiliaries[:-1] or auxiliaries
    group.tense = "infinitive" if infinitive else _tense(others, last, ing=False, full=False)
    group.bare = last in ("have", "do")


def _with_main(group: VerbGroup, auxiliaries: Sequence[str], form: VerbForm, infinitive: bool) -> None:
    group.lemma = form.lemma
    has_be = any(auxiliary in BE or auxiliary == "'s" for auxiliary in auxiliaries)
    group.passive = has_be and form.participle and not form.ing
    if auxiliaries:
        group.tense = _tense(auxiliaries, auxiliaries[0], ing=form.ing, full=True)
    elif infinitive:
        group.tense = "infinitive"
    else:
        tenses = ((form.ing, "gerund"), (form.base, "present"), (form.past, "past"))
        otherwise = "participle" if form.participle else "present"
        group.tense = next((tense for holds, tense in tenses if holds), otherwise)
        group.bare = form.base
        group.reducible = form.participle and not form.base


def _tense(auxiliaries: Collection[str], first: str, ing: bool, full: bool) -> str:
    """The tense that auxiliaries make; `full`: a main verb follows them."""
    for words, tense in ((_UNSURE, "unsure"), (_FUTURE, "future"), (_PAST, "past")):
        if not words.isdisjoint(auxiliaries):
            return tense
    if first in _PAST:
        return "past"
    having = not {"have", "has", "'ve"}.isdisjoint(auxiliaries)
    if having and (full or "been" in auxiliaries or first == "been"):
        return "perfect"
    return "progressive" if ing else "present"
