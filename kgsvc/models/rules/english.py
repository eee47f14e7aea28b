"""The English that the rules know: word classes, names of places and people, verb forms."""

from __future__ import annotations

import re
from typing import NamedTuple

from kgsvc.models.rules.days import MONTHS, WEEKDAYS
from kgsvc.models.rules.text import listed, name_set, word_list, word_set

PLACES = listed("places", name_set)
MEN = listed("men", name_set)
WOMEN = listed("women", name_set)
ORGANISATION_WORDS = listed("organisation_words", word_set)
ORGANISATION_HEADS = word_set("university ministry bank institute department")
ORGANISATION_MARKS = ("corp", "tech", "soft", "labs", "works", "bank", "systems", ".com", ".io", ".ai")
PLACE_WORDS = listed("place_words", word_set)
PLACE_HEADS = word_set("mount lake river port fort")
# What a name in front of it names: "the Payments project", "the Pro plan".
SORTS = word_set("project team squad programme program initiative campaign plan tier edition package")
PROJECT_WORDS = word_set("project initiative programme operation campaign")
EVENT_WORDS = listed("event_words", word_set)
WORK_WORDS = listed("work_words", word_set)
_MAKERS = listed("makers", word_set)
ROLES = (_MAKERS - listed("no_roles", word_set)) | listed("chiefs", word_set)
FIRST_PERSON = word_set("i me my mine myself we us our ours ourselves")
SECOND_PERSON = word_set("you your yours yourself ya u ur y'all")
THIRD_PERSON = listed("third_person", word_set)
PRONOUNS = FIRST_PERSON | SECOND_PERSON | THIRD_PERSON
DETERMINERS = listed("determiners", word_set)
BE = word_set("am is are was were be been being 'm 're ain't")
HAVE = word_set("have has had having 've")
DO = word_set("do does did doing done")
MODALS = word_set("will would can could may might must shall should 'll 'd wo ca sha gonna gotta ought need")
AUXILIARIES = BE | HAVE | DO | MODALS
NEGATIONS = word_set("not n't never")
PREPOSITIONS = listed("prepositions", word_set)
CONJUNCTIONS = word_set("and or but & plus nor yet")
RELATIVES = word_set("who which whom whose that")
SUBORDINATORS = listed("subordinators", word_set)
ADVERBS = listed("adverbs", word_set)
INTERJECTIONS = listed("interjections", word_set)

# Capitalised, yet no names: adjectives of peoples, which may still be things ("speaks Hungarian").
DEMONYMS = listed("demonyms", word_set)
HONORIFICS = listed("honorifics", word_set)
# Nouns too vague to name anything.
VAGUE = listed("vague", word_set)
KIN = listed("kin", word_set)
# Words that start sentences, titles of sections, notes and letters, and are no names there.
COMMON = listed("common", word_set).union(
    VAGUE, KIN, HONORIFICS, _MAKERS, WORK_WORDS, EVENT_WORDS, PLACE_WORDS, ORGANISATION_WORDS
)

STOP = PRONOUNS.union(
    *(DETERMINERS, BE, HAVE, DO, MODALS, NEGATIONS, PREPOSITIONS, CONJUNCTIONS, RELATIVES),
    *(SUBORDINATORS, ADVERBS, INTERJECTIONS),
)
GIVEN_NAMES = MEN | WOMEN
CALENDAR = frozenset([*MONTHS, *WEEKDAYS, *(f"{day}s" for day in WEEKDAYS)])
# Never names, even if capitalised.
NEVER_NAMES = PRONOUNS.union(INTERJECTIONS, MODALS, BE, HAVE, DO, CONJUNCTIONS, DETERMINERS) - {"may", "will"}


def type_of(name: str, quoted: bool = False, before: str = "") -> str:
    """What kind of thing `name` is, by its words and the lower-case word before; "Entity" if unclear."""
    low = name.lower()
    parts = low.replace(".", "").split() or [low]
    first, last, several = parts[0], parts[-1], len(parts) > 1
    signs = (
        ("Project", {first, last, before} & PROJECT_WORDS),
        ("Work", quoted or before in WORK_WORDS),
        ("Location", low in PLACES and (len(low) > 2 or name.isupper())),
        ("Organization", last in ORGANISATION_WORDS or first in ORGANISATION_HEADS),
        ("Location", last in PLACE_WORDS or (several and first in PLACE_HEADS)),
        ("Event", last in EVENT_WORDS),
        ("Person", first in GIVEN_NAMES or (several and first in HONORIFICS)),
        ("Organization", not several and len(low) > 5 and low.endswith(ORGANISATION_MARKS)),
    )
    return next((kind for kind, sign in signs if sign), "Entity")


_REGULAR = listed("regular", word_list)
_IRREGULAR = listed("irregular", word_list)

_DOUBLING = word_set("""
admit begin commit control enroll forbid forget kidnap occur prefer refer regret submit transfer upset
""")
_ONE_SYLLABLE_CVC = re.compile(r"(?:qu|[^aeiou])*[aeiou][bdfgklmnprtvz]")
_SIBILANT = re.compile(r"(?:s|x|z|ch|sh|o)\Z")
_CONSONANT_Y = re.compile(r"[^aeiou]y\Z")


class VerbForm(NamedTuple):
    """What a written verb form may be."""

    lemma: str
    base: bool = False
    third: bool = False  # works
    past: bool = False  # worked, went
    participle: bool = False  # worked, gone
    ing: bool = False


def third_person(lemma: str) -> str:
    """work → works, carry → carries, go → goes."""
    if _CONSONANT_Y.search(lemma):
        return f"{lemma[:-1]}ies"
    return f"{lemma}es" if _SIBILANT.search(lemma) else f"{lemma}s"


def _stem(lemma: str) -> str:
    if lemma in _DOUBLING or _ONE_SYLLABLE_CVC.fullmatch(lemma):
        return lemma if lemma.endswith("ll") else lemma + lemma[-1]
    return lemma


def _past(lemma: str) -> str:
    if lemma.endswith("e"):
        return f"{lemma}d"
    if _CONSONANT_Y.search(lemma):
        return f"{lemma[:-1]}ied"
    return f"{_stem(lemma)}ed"


def _ing(lemma: str) -> str:
    if lemma.endswith("ie"):
        return f"{lemma[:-2]}ying"
    if lemma.endswith("e") and not lemma.endswith(("ee", "ye", "oe")):
        return f"{lemma[:-1]}ing"
    return f"{_stem(lemma)}ing"


def _table() -> dict[str, VerbForm]:
    table: dict[str, VerbForm] = {}

    def learn(lemma: str, **words: str) -> None:
        for form, word in words.items():
            known = table.setdefault(word, VerbForm(lemma))
            if known.lemma == lemma:
                table[word] = VerbForm(**{**known._asdict(), form: True})

    for lemma, past, participle in (row.split(":") for row in _IRREGULAR):
        learn(lemma, base=lemma, past=past, participle=participle, third=third_person(lemma))
        learn(lemma, ing=_ing(lemma))
        learn(lemma, ing=_ing(lemma)[:-1])  # thinkin'
    for lemma in _REGULAR:
        learn(lemma, base=lemma, past=_past(lemma), third=third_person(lemma), ing=_ing(lemma))
        learn(lemma, participle=_past(lemma))
    return table


FORMS = _table()  # what each lower-case word may be a form of
