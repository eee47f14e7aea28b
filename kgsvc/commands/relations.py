"""GetRelation: all that is said between two entities, as one.

A view of the facts, which stay what they are: it is worked out anew at each call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from kgsvc.commands.core import Core
from kgsvc.commands.entities import find_entity
from kgsvc.commands.provenance import documents_of
from kgsvc.domain.facts.beliefs import as_known_at
from kgsvc.domain.facts.slots import SUPERSEDED
from kgsvc.domain.model.graph import Entity, Fact

_FACTS = 500  # of a pair, the latest
Place = tuple[str, set[int]]  # the document of a chunk, and at which places of it the chunk stands


@dataclass(frozen=True, slots=True)
class Relation:
    """What two entities have to do with each other, whichever way the facts point.

    `weight` is the sum over all statements. What the overlap of two neighbouring chunks says is one
    statement.
    """

    one: Entity
    other: Entity
    facts: tuple[Fact, ...]  # the oldest first
    statements: int
    weight: float
    documents: tuple[str, ...]  # by whose chunks facts are stated, in order
    truncated: bool  # there are more facts; the oldest ones are left out

    @property
    def names(self) -> list[str]:
        """Of the relations."""
        return list(dict.fromkeys(fact.name for fact in self.facts))

    @property
    def keywords(self) -> list[str]:
        """Of all facts, without repeats."""
        return list(dict.fromkeys(word for fact in self.facts for word in fact.keywords))

    @property
    def descriptions(self) -> list[str]:
        """The texts of the facts, without repeats."""
        return list(dict.fromkeys(fact.fact for fact in self.facts))

    @property
    def episodes(self) -> list[str]:
        """Those that state the facts, without repeats."""
        return list(dict.fromkeys(uuid for fact in self.facts for uuid in fact.episodes))


@dataclass(frozen=True, slots=True)
class Moment:
    """Which facts count: those that hold at a time, or with `ended` all. The times mean what they mean in
    searches (search/filters.py)."""

    ended: bool = False
    true_at_ms: int | None = None
    known_at_ms: int | None = None

    def needs_past(self) -> bool:
        """Whether facts must be read that do not hold now."""
        return self.ended or self.true_at_ms is not None or self.known_at_ms is not None

    def counts(self, fact: Fact, now_ms: int) -> bool:
        """Whether a fact counts, given as it was known at the time."""
        if self.known_at_ms is not None and fact.created_ms > self.known_at_ms:
            return False
        if self.ended:
            return True
        superseded = self.true_at_ms is not None and fact.expired_reason == SUPERSEDED
        asked = (self.true_at_ms, self.known_at_ms, now_ms)
        at_ms = next(each for each in asked if each is not None)
        over = fact.invalid_ms is not None and fact.invalid_ms <= at_ms
        return (fact.expired_ms is None or superseded) and fact.start_ms <= at_ms and not over


async def get_relation(core: Core, group_id: str, one: str, other: str, moment: Moment) -> Relation:
    """The relation of two entities, or of one to itself. Raises NotFound (naming the entity),
    StoreUnavailable."""
    near, far = [await find_entity(core.store, uuid, group_id) for uuid in (one, other)]
    now_ms = core.clock.now_ms()
    current_ms = None if moment.needs_past() else now_ms
    found = await core.store.entity_facts(group_id, near.uuid, _FACTS + 1, current_ms, far.uuid)
    known = await _as_known(core, group_id, found[:_FACTS], moment.known_at_ms)
    facts = tuple(fact for fact in reversed(known) if moment.counts(fact, now_ms))
    episodes = list(dict.fromkeys(uuid for fact in facts for uuid in fact.episodes))
    documents = {
        uuid: document
        for (uuid, _), document in (await documents_of(core, [(each, group_id) for each in episodes])).items()
    }
    places = await _places(core, group_id, dict.fromkeys(documents.values()))
    counts, weights = zip(*(_stated(fact, places) for fact in facts), strict=True) if facts else ((), ())
    cited = dict.fromkeys(documents[uuid] for uuid in episodes if uuid in documents)
    return Relation(near, far, facts, sum(counts), round(sum(weights), 9), tuple(cited), len(found) > _FACTS)


async def _as_known(core: Core, group_id: str, facts: list[Fact], known_ms: int | None) -> list[Fact]:
    """The facts as they were known at a time, latest first, without the episodes accepted later."""
    if known_ms is None:
        return facts
    then = [as_known_at(fact, known_ms) for fact in facts]
    told = await core.store.citations(group_id, {uuid for fact in then for uuid in fact.episodes})
    late = {uuid for uuid, citation in told.items() if citation.created_ms > known_ms}
    kept = [
        replace(fact, episodes=tuple(uuid for uuid in fact.episodes if uuid not in late)) for fact in then
    ]
    return sorted(kept, key=lambda fact: (fact.start_ms, fact.uuid), reverse=True)


async def _places(core: Core, group_id: str, documents: Iterable[str]) -> dict[str, Place]:
    """Where each chunk stands."""
    found: dict[str, Place] = {}
    for document_id in documents:
        for order, place in enumerate(await core.store.places(group_id, document_id)):
            found.setdefault(place.chunk_uuid, (document_id, set()))[1].add(order)
    return found


def _stated(fact: Fact, places: Mapping[str, Place]) -> tuple[int, float]:
    """How often a fact was stated, and what that weighs: by neighbouring chunks of a document once, in what
    both have. Statements that are no longer kept one by one count as they were."""
    said = dict.fromkeys(fact.episodes, fact.weight)
    kept = [each for each in fact.evidence if each.episode_uuid in said]
    said |= {each.episode_uuid: each.weight for each in reversed(kept) if each.weight is not None}
    chunks = sorted((uuid for uuid in said if uuid in places), key=lambda uuid: _first(places[uuid]))
    for one, other in pairwise(chunks):
        if _is_next(places[one], places[other]):
            del said[other]
    return (
        len(said) + sum(each.thinned for each in kept),
        sum(said.values()) + sum(each.thinned_weight for each in kept),
    )


def _first(place: Place) -> tuple[str, int]:
    document, orders = place
    return document, min(orders)


def _is_next(one: Place, other: Place) -> bool:
    return one[0] == other[0] and any(order + 1 in other[1] for order in one[1])
