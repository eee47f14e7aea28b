"""Identities: an id, a number, an e-mail or another address, by which a thing is known whatever it is called.

Pure.

They are attributes of an entity ("account number") or words of a name ("Account 4711-0815"). They only widen
the search for what a new name may mean; whether two are one is for a model to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from kgsvc.domain.model.delta import GraphDelta
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.names.similarity import name_tokens
from kgsvc.domain.names.speakers import WITH_NAME, is_speaker
from kgsvc.domain.text import normalise

_MARK = "="  # before an identity among the search terms of names, which are letters and digits
_KINDS = "email mail phone telephone tel mobile fax iban isbn url uri website homepage handle username login"
_ANYWHERE = frozenset(_KINDS.split())  # in the name of an attribute
_AT_ITS_END = frozenset({"id", "number", "no", "nr", "address", "account", "serial"})
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_WRITTEN_APART = re.compile(r"[\s()\[\]-]+|^https?://(?:www\.)?|/+$|^#")
_SHORTEST, _LONGEST = 4, 64  # characters
_FIGURES = 4  # of a word of a name
_MOST = 32  # identities of one entity
_UNTOLD = frozenset({"none", "null", "unknown", "n/a"})


def identities(attributes: Mapping[str, Any]) -> dict[str, str]:
    """The search terms of those attributes that tell who or what it is, each with the attribute's name."""
    found: dict[str, str] = {}
    for name, value in sorted(attributes.items()):
        for each in _texts(value) if _tells(name) else ():
            term = _term(each)
            if term and len(found) < _MOST:
                found.setdefault(term, name)
    return found


def lost_identities(before: Entity, after: Entity) -> set[str]:
    """The search terms of attributes by which an entity is found no more."""
    lost = identities(before.attributes).keys() - identities(after.attributes).keys()
    return lost - identities_in(after.name)


def identities_in(name: str) -> frozenset[str]:
    """The search terms of words of a name that look like a number or an address, of runs of them together."""
    words = [word.strip(".,;:()<>#") for word in normalise(name).split()]
    runs = ("".join(run) for numbers, run in groupby(words, _has_digits) if numbers)
    return frozenset(term for each in (*words, *runs) if _is_figures(each) and (term := _term(each)))


def told(attributes: Mapping[str, Any]) -> str:
    """The attributes that tell who or what it is, in words."""
    names = dict.fromkeys(identities(attributes).values())
    return ", ".join(f"{name}: {'; '.join(_texts(attributes[name]))}" for name in names)


def search_terms(delta: GraphDelta) -> set[tuple[str, str]]:
    """By which terms entities are found from here on: (term, entity uuid)."""
    found = {(term, uuid) for key, uuid in delta.names.items() for term in name_terms(key)}
    found |= {(WITH_NAME, entity.uuid) for entity in delta.entities if is_speaker(entity)}
    return found | {(term, e.uuid) for e in delta.entities for term in identities(e.attributes)}


def name_terms(key: str) -> frozenset[str]:
    """By which terms whatever bears a name is found."""
    return name_tokens(key) | identities_in(key)


def _tells(attribute: str) -> bool:
    words = [word.lower() for word in _WORD.findall(attribute)]
    words = [word if word in _AT_ITS_END else word.removesuffix("s") for word in words]
    return bool(words) and (words[-1] in _AT_ITS_END or not _ANYWHERE.isdisjoint(words))


def _texts(value: Any) -> Iterator[str]:
    """The values that can be compared."""
    values: Iterable[Any] = value if isinstance(value, list) else (value,)
    for each in values:
        if isinstance(each, float) and each.is_integer():
            yield str(int(each))
        elif isinstance(each, (str, int)) and not isinstance(each, bool):
            yield str(each)


def _term(text: str) -> str:
    """Empty where it is too short, too long, or says nothing."""
    flat = _WRITTEN_APART.sub("", normalise(text))
    fits = _SHORTEST <= len(flat) <= _LONGEST and flat not in _UNTOLD
    return _MARK + flat if fits else ""


def _has_digits(word: str) -> bool:
    return any(each.isdigit() for each in word)


def _is_figures(word: str) -> bool:
    return "@" in word or sum(each.isdigit() for each in word) >= _FIGURES
