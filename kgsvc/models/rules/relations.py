"""The relations that the rules claim: the tables of patterns.py, read.

Few and strong: a clause that fits no row states no relation, its words are kept anyway.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from kgsvc.domain.model.graph import FactKind
from kgsvc.models.rules import patterns as p
from kgsvc.models.rules.english import FORMS


@dataclass(frozen=True, slots=True)
class RelationClaim:
    """What a rule claims: between which groups of its match; how: state, begin, end, value (an
    amount or a time) or told (in whatever words)."""

    relation: str
    kind: FactKind
    source: str
    target: str
    how: str = "state"
    types: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class RelationRule:
    """A pattern over lines (marking.py) and what it claims. A line without a trigger cannot fit."""

    written: str
    claims: tuple[RelationClaim, ...]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when a line first has a trigger: all 180 would take a process half a second."""
        return re.compile(rf"(?<![^ ]){self.written}(?![^ ])")


_Row = tuple[
    str, list[str], tuple[RelationClaim, ...]
]  # a pattern, words one of which it needs, what it claims


def _forms(lemma: str) -> list[str]:
    forms = [word for word, form in FORMS.items() if form.lemma == lemma and not word.endswith("in")]
    if not forms:
        raise ValueError(f"{lemma}: no verb of the word lists")
    return forms


def _acting(verb: str) -> tuple[str, list[str]]:
    """The pattern of a verb with its auxiliaries, and its forms."""
    forms = _forms(verb)
    return rf"{p.AUX}(?P<verb>{p.alternatives(forms)}) ", forms


def _phrase(words: str) -> tuple[str, list[str]]:
    """The pattern of a phrase of the table, and the words one of which it needs."""
    verb, _, rest = words.partition(" ")
    rest = f"{rest} " if rest else ""
    start = rf"(?:{p.SUBJECT}{p.ASIDE} |{p.ELIDED})"
    if verb == "be":
        return rf"{start}{p.AUX}{p.BE} {p.NOT}(?:{p.ADV}){rest}{p.OBJECT}", [rest.split()[0]]
    acting, forms = _acting(verb)
    if rest == "over ":  # "took Project Atlas over"
        between = p.OBJECT.replace("<o>", "<o2>").replace("<more>", "<more2>")
        return rf"{p.START}{acting}(?:over {p.OBJECT}|{between} over)", forms
    return rf"{start}{acting}{p.ADV}{rest}{p.OBJECT}", forms


def _table() -> Iterator[_Row]:
    rows = re.sub(r"\n {2,}", " ", p.PHRASES).strip().splitlines()
    for row in rows:
        head, _, phrases = row.partition(": ")
        name, kind, *ends = head.split()
        source, _, target = (ends[0] if ends else ">").partition(">")
        for number, part in enumerate(re.split(r" \| (?=begins|ends)", phrases)):
            how, _, listed = part.partition(": ") if number else ("state", "", part)
            for words in listed.split("; "):
                turned = words.startswith("< ")
                pattern, triggers = _phrase(words.removeprefix("< "))
                pair = ("o", "s") if turned else ("s", "o")
                claim = RelationClaim(name, FactKind(kind), *pair, how.removesuffix("s"), (source, target))
                yield pattern, triggers, (claim,)


_SPACED = ("START", "AUX", "NOT", "VERB")  # end in a space of their own
_PART = re.compile(rf"\b(?:({'|'.join(_SPACED)}) ?|({'|'.join(p.PARTS.keys() - set(_SPACED))})\b)")


def _patterns(table: str) -> Iterator[_Row]:
    """The rows of a table."""
    for row in re.sub(r"\n {2,}", " ", table).strip().splitlines():
        head, _, rest = row.partition("(")
        listed, _, pattern = rest.partition("): ")
        verbs = listed[1:].split() if listed[0] == "=" else ()
        triggers = [form for verb in verbs for form in _forms(verb)]
        triggers = triggers or [*p.TRIGGERS.get(listed, listed.split())]
        parts = p.PARTS | {"VERB": rf"{p.AUX}(?P<verb>{p.alternatives(triggers)}) "}
        written = _PART.sub(lambda part, parts=parts: parts[part[1] or part[2]], pattern)  # type: ignore[misc]
        yield written, triggers, tuple(map(_claim, head.split(" & ")))


def _attributes() -> Iterator[_Row]:
    """The rows of attributes."""
    claim = RelationClaim("HAS", FactKind.FUNCTIONAL, "s", "value", "told")
    for row in re.sub(r"\n {2,}", " ", p.ATTRIBUTES).strip().splitlines():
        triggers, _, rest = row[1:].partition("): ")
        names, _, value = rest.replace("PLAIN", p.PLAIN).partition(" = ")
        attribute, valued = rf"{p.MINE} {p.WHICH}(?P<attribute>{names})", f"(?P<value>{value})"
        for written in (rf"{attribute} {p.IS}{valued}", rf"{p.CHANGED} {attribute}{p.FORMER} to {valued}"):
            yield written, triggers.split(), (claim,)


def _claim(told: str) -> RelationClaim:
    """What the head of a row claims: "LIVES_IN functional s>o end Person>Location". One without a kind claims
    a value; without a name the match tells of which attribute."""
    name, *rest = told.split() or ["VALUE"]
    if not rest:
        return RelationClaim(name, FactKind.FUNCTIONAL, "s", "value", "value")
    kind, ends, how, types = (*rest, *("state", ">")[len(rest) - 2 :])
    (source, target), (one, other) = ends.split(">"), types.split(">")
    return RelationClaim(name, FactKind(kind), source, target, how, (one, other))


def _compiled() -> dict[str, tuple[RelationRule, ...]]:
    by_trigger: defaultdict[str, list[RelationRule]] = defaultdict(list)
    for pattern, triggers, claims in (*_patterns(p.CLAUSES), *_patterns(p.VALUES), *_attributes(), *_table()):
        rule = RelationRule(pattern, claims)
        for trigger in dict.fromkeys(triggers):
            by_trigger[trigger].append(rule)
    return {trigger: tuple(rules) for trigger, rules in by_trigger.items()}


_RULES = _compiled()


def rules_for(text: str) -> list[RelationRule]:
    """The rules that a line may fit, those of several relations at once first."""
    found: dict[int, RelationRule] = {}
    for word in text.split(" "):
        for rule in _RULES.get(word, ()):
            found[id(rule)] = rule
    return list(found.values())


_SCREAMING = re.compile(r"[^A-Z0-9]+")
_CAMEL = re.compile(r"([a-z0-9])([A-Z])")
_LONGEST_NAME = 64  # characters of a relation's name


def screaming(words: str) -> str:
    """ "first name", "firstName" → FIRST_NAME."""
    name = _SCREAMING.sub("_", _CAMEL.sub(r"\1_\2", words).upper()).strip("_")[:_LONGEST_NAME].strip("_")
    return name if name[:1].isalpha() else f"R_{name}"[:_LONGEST_NAME].strip("_")
