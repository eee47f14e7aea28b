"""Verb groups: "has not been working" as one thing with a verb, a tense and a negation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kgsvc.models.rules.lexicon import BE, HAVE, UNSURE_MODALS
from kgsvc.models.rules.phrases import ADV, AUX, NEG, TO, VERB, Unit
from kgsvc.models.rules.verbs import Form

_FUTURE = frozenset({"will", "'ll", "wo", "gonna", "sha"})
_PAST = frozenset({"was", "were", "did", "had"})
_UNSURE = UNSURE_MODALS | {"can", "ca"}
_LONGEST = 8  # units


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
        return VerbGroup(
            first=self.first,
            after=following.after,
            lemma=following.lemma,
            tense=self.tense,
            negated=self.negated or following.negated,
            no_longer=self.no_longer,
            passive=following.passive,
            bare=self.bare,
            via=(*self.via, self.lemma),
        )


def verb_group(units: Sequence[Unit], first: int) -> VerbGroup | None:
    """The verb group that begins at `first`, if one does."""
    auxiliaries: list[str] = []
    negations: list[str] = []
    main: Unit | None = None
    last = at = first
    while at < min(len(units), first + _LONGEST):
        unit = units[at]
        if unit.tag == VERB:
            main, last = unit, at + 1
            break
        if unit.tag == AUX:
            auxiliaries.append(unit.low)
        elif unit.tag == NEG:
            negations.append(unit.low)
        elif unit.tag != ADV:
            break
        at += 1
        last = at if unit.tag != ADV else last
    if main is None and not auxiliaries:
        return None
    infinitive = first > 0 and units[first - 1].tag == TO
    group = VerbGroup(first, max(last, first + 1), "", "present", bool(negations), "no longer" in negations)
    if main is None or main.form is None:
        _without_main(group, auxiliaries, infinitive)
    else:
        _with_main(group, auxiliaries, main.form, infinitive)
    return group


def _without_main(group: VerbGroup, auxiliaries: Sequence[str], infinitive: bool) -> None:
    """be, have and do as verbs of their own: the last auxiliary is the verb."""
    last = auxiliaries[-1]
    if last in BE or last == "'s":
        group.lemma = "be"
    else:
        group.lemma = "have" if last in HAVE else "do"
    others = auxiliaries[:-1] or auxiliaries
    group.tense = "infinitive" if infinitive else _tense(others, last, ing=False, full=False)
    group.bare = last in ("have", "do")


def _with_main(group: VerbGroup, auxiliaries: Sequence[str], form: Form, infinitive: bool) -> None:
    group.lemma = form.lemma
    has_be = any(auxiliary in BE or auxiliary == "'s" for auxiliary in auxiliaries)
    group.passive = has_be and form.participle and not form.ing
    if auxiliaries:
        group.tense = _tense(auxiliaries, auxiliaries[0], ing=form.ing, full=True)
    elif infinitive:
        group.tense = "infinitive"
    else:
        group.tense = _tense_of_form(form)
        group.bare = form.base
        group.reducible = form.participle and not form.base


def _tense_of_form(form: Form) -> str:
    if form.ing:
        return "gerund"
    if form.base:
        return "present"
    if form.past:
        return "past"
    return "participle" if form.participle else "present"


def _tense(auxiliaries: Collection[str], first: str, ing: bool, full: bool) -> str:
    """The tense that auxiliaries make; `full`: a main verb follows them."""
    if any(auxiliary in _UNSURE for auxiliary in auxiliaries):
        return "unsure"
    if any(auxiliary in _FUTURE for auxiliary in auxiliaries):
        return "future"
    if first in _PAST or any(auxiliary in _PAST for auxiliary in auxiliaries):
        return "past"
    having = any(auxiliary in ("have", "has", "'ve") for auxiliary in auxiliaries)
    if having and (full or "been" in auxiliaries or first == "been"):
        return "perfect"
    return "progressive" if ing else "present"
