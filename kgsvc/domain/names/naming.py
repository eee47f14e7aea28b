"""Full names that nobody has said: given only where none but the entity they are given to could bear them.

An entity that took such a name would be found by it without a question, and whoever else it fits would stay
another for ever. Once somebody says the name, who bears it is asked. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from kgsvc.domain.model.identity import name_key
from kgsvc.domain.names.similarity import asked_tokens
from kgsvc.domain.resolution.decisions import CandidateQuery, Candidates, NameDecision
from kgsvc.domain.resolution.questions import NewName, Sharing, ranked


@dataclass(frozen=True, slots=True)
class Compared:
    """What new names were compared with, by name key: entity uuids, and keys of other new names."""

    entities: Mapping[str, Collection[str]]
    peers: Mapping[str, Collection[str]]


def unheard(
    decided: Mapping[str, NameDecision], names: Sequence[NewName], candidates: Candidates
) -> dict[str, str]:
    """The full names, by the key of the name they were found for, that neither the batch says nor the entity
    goes by."""
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


def named(
    decided: Mapping[str, NameDecision],
    full_names: Mapping[str, str],
    names: Sequence[NewName],
    compared: Compared,
    found: Candidates,
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
