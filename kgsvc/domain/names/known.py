"""Names known in a group that words of an episode may mean: a full name told long ago, what an id stands for.

A model that reads an episode is shown them, as short names alone would become things of their own. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kgsvc.domain.model.graph import Entity
from kgsvc.domain.names.namesakes import plain
from kgsvc.domain.names.similarity import identities, identity_terms, name_tokens
from kgsvc.domain.resolution.decisions import CandidateQuery, NameCandidates
from kgsvc.domain.text import is_cjk, normalise, tokens

SHOWN = 8  # names of an episode
SHOWN_CHARS = 300  # of them together
TERMS = 128  # of an episode, those of capital letters and figures first
_COMMON = 5  # entities that a term leads to, from which on it tells nothing
_NAMES = 4  # of an entity
_ID_CHARS = 40
_WORDS = re.compile(r"""[^\s"'“”‘’„«»{}\[\](),:;!?<>、。「」]+""")
_SHORTEST = 3  # letters of a word
_EMPTY = frozenset(
    tokens(
        """about after all also and any are back been before but can day did for from get good got had has
        have her here him his how its just last like made make may month more morning new next not now
        off one only our out over she should some than thanks that the their them then there they this
        time today tomorrow too two use very was week well went were what when where which who will with
        would year yes yesterday you your name type date status note value text user assistant"""
    )
)


def terms_of(body: str) -> list[str]:
    """The search terms of the words of a body that may be a part of a name, or an id."""
    words = dict.fromkeys(word.strip(".-–—…/") for word in _WORDS.findall(body))
    ranked = sorted(filter(None, words), key=lambda word: not (word[0].isupper() or _has_figure(word)))
    found: dict[str, None] = {}
    for word in ranked:
        long = len(word) >= _SHORTEST or is_cjk(word)
        own = [term for term in tokens(word) if term not in _EMPTY] if long else []
        found |= dict.fromkeys([*identity_terms(word), *own])
        if len(found) >= TERMS:
            break
    return list(found)[:TERMS]


def query(terms: Iterable[str]) -> CandidateQuery:
    """What to read for these terms."""
    return CandidateQuery(sorted(set(terms)), entities_per_token=_COMMON, names_per_entity=_NAMES)


def shown(body: str, terms: Iterable[str], found: NameCandidates) -> tuple[str, ...]:
    """The names that words of the body may mean, the likeliest first, each with what it is known by too. What
    the body calls by its full name need not be shown."""
    scores: dict[str, float] = {}
    for term in terms:
        uuids = found.by_token.get(term, ())
        if len(uuids) < _COMMON:
            scores |= {uuid: scores.get(uuid, 0.0) + 1 / len(uuids) for uuid in uuids}
    said, has = normalise(body), set(terms)
    lines: list[str] = []
    for uuid in sorted(scores, key=lambda uuid: (-round(scores[uuid], 6), found.entities[uuid].name, uuid)):
        entity = found.entities[uuid]
        beside = [*_aliases(entity, found, has), *_ids(entity, has)]
        if beside or normalise(plain(entity.name)) not in said:
            lines.append(f"{plain(entity.name)} ({'; '.join(beside)})" if beside else plain(entity.name))
        if len(lines) == SHOWN or sum(map(len, lines)) > SHOWN_CHARS:
            break
    return tuple(lines if sum(map(len, lines)) <= SHOWN_CHARS else lines[:-1])


def _aliases(entity: Entity, found: NameCandidates, terms: set[str]) -> list[str]:
    names = dict.fromkeys(plain(name) for name in found.names.get(entity.uuid, ()))
    own = normalise(plain(entity.name))
    return [name for name in names if name != own and not terms.isdisjoint(name_tokens(name))][:_NAMES]


def _ids(entity: Entity, terms: set[str]) -> list[str]:
    known = dict.fromkeys(name for term, name in identities(entity.attributes).items() if term in terms)
    return [f"{name}: {str(entity.attributes[name])[:_ID_CHARS]}" for name in known]


def _has_figure(word: str) -> bool:
    return any(letter.isdigit() for letter in word)
