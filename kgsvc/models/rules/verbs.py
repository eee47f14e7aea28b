"""English verbs and their forms: which words may be verbs, and how to inflect one."""

from __future__ import annotations

import re
from typing import NamedTuple

from kgsvc.models.rules.text import listed, word_list, word_set

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
    if lemma in _AUXILIARY_THIRD:
        return _AUXILIARY_THIRD[lemma]
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


_AUXILIARY_THIRD = {"be": "is", "have": "has", "do": "does"}


def _table() -> dict[str, VerbForm]:
    table: dict[str, VerbForm] = {}

    def learn(word: str, *forms: str) -> None:
        known = table.setdefault(word, VerbForm(lemma))
        if known.lemma == lemma:
            flags = [known[i] or name in forms for i, name in enumerate(VerbForm._fields[1:], start=1)]
            table[word] = VerbForm(lemma, *map(bool, flags))

    for lemma, past, participle in (row.split(":") for row in _IRREGULAR):
        learn(lemma, "base")
        learn(past, "past")
        learn(participle, "participle")
        learn(third_person(lemma), "third")
        learn(_ing(lemma), "ing")
        learn(_ing(lemma)[:-1], "ing")  # thinkin'
    for lemma in ("learn", "dream", "burn", "get", *_REGULAR):
        learn(lemma, "base")
        learn(third_person(lemma), "third")
        learn(_past(lemma), "past", "participle")
        learn(_ing(lemma), "ing")
    lemma = "get"
    learn("got", "past", "participle")
    return table


FORMS = _table()  # what each lower-case word may be a form of
