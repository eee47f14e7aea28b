"""Which fuller name that a model gives an entity is kept.

One that nobody has used yet is given only where no other entity could bear it: whoever took it would be
found by it without a question, and anything else that it fits would stay apart for ever. Once an episode uses
the name, the model is asked who bears it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from kgsvc.domain.model.keys import name_key
from kgsvc.domain.names.similarity import asked_tokens
from kgsvc.domain.resolution.decisions import CandidateQuery, NameCandidates, NameDecision
from kgsvc.domain.resolution.questions import NewName, Sharing, ranked, share


def full_name(asked: str, proposed: str | None, others: Collection[str]) -> str:
    """The fullest name that may stand for it: only one that shares words with names known for it."""
    named = [asked, *others]
    fits = bool(proposed) and any(share(proposed or "", name) for name in named)
    return (proposed or "").strip() if fits else ""


@dataclass(frozen=True, slots=True)
class Compared:
    """What new names were compared with, by name key: entity uuids, and keys of other new names."""

    entities: Mapping[str, Collection[str]]
    peers: Mapping[str, Collection[str]]


def unused(
    decided: Mapping[str, NameDecision], names: Sequence[NewName], candidates: NameCandidates
) -> dict[str, str]:
    """Full names that neither the batch nor the entity uses, by the key of the name they were decided for."""
    said = {new.key for new in names}
    found: dict[str, str] = {}
    for key, decision in decided.items():
        entity = candidates.entities.get(decision.uuid or "")
        own = {name_key(entity.name), *candidates.names.get(entity.uuid, ())} if entity else set()
        full = name_key(decision.full_name)
        if full and full not in said | own:
            found[key] = decision.full_name
    return found


def query(full_names: Collection[str]) -> CandidateQuery:
    """What to read to see whom they fit."""
    return CandidateQuery({token for name in full_names for token in asked_tokens(name)})


def keeping(
    decided: Mapping[str, NameDecision],
    full_names: Mapping[str, str],
    names: Sequence[NewName],
    compared: Compared,
    found: NameCandidates,
) -> dict[str, NameDecision]:
    """The decisions without those of `full_names` that fit something else, known or new, with which their
    name was not compared."""
    by_token = Sharing(names)
    fits: set[str] = set()
    for key, full in full_names.items():
        seen = {*compared.entities.get(key, ()), decided[key].uuid}
        if any(entity.uuid not in seen for entity in ranked(full, found)) or any(
            new.key != key and not _met(key, new.key, compared, decided) for new in by_token.sharing(full)
        ):
            fits.add(key)
    return without(decided, fits)


def without(decided: Mapping[str, NameDecision], keys: Collection[str]) -> dict[str, NameDecision]:
    """The decisions, those about `keys` without their full names."""
    return {key: replace(each, full_name="") if key in keys else each for key, each in decided.items()}


def _met(one: str, other: str, compared: Compared, decided: Mapping[str, NameDecision]) -> bool:
    """Whether two new names were compared, or one is decided to be the other."""
    alike = {name_key(decided[key].name) for key in (one, other) if key in decided}
    peers = compared.peers
    return other in peers.get(one, ()) or one in peers.get(other, ()) or not alike.isdisjoint({one, other})
