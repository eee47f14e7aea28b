"""GetFactHistory (spec 000): what a fact said over time."""

from __future__ import annotations

from collections.abc import Iterable

from kgsvc.domain.model import Fact
from kgsvc.domain.plan import UPDATED
from kgsvc.retrieval.citing import CitedFact, cited
from kgsvc.stores.protocol import ReadStore

_CORRECTIONS = 100  # that are followed from a fact, in both directions together


async def history_of(store: ReadStore, fact: Fact, limit: int) -> list[CitedFact]:
    """What the fact replaced and was replaced by, the other rows of their slots, and what superseded them
    from elsewhere; the first to be written first. Of more than `limit` rows the latest beside the
    corrections. Raises StoreUnavailable.
    """
    chain = await _corrections(store, fact)
    view = await store.slots(fact.group_id, {each.slot for each in chain.values()})
    around = {each.uuid: each for each in view.facts} | chain
    outside = {each.expired_by_fact for each in chain.values()} - around.keys() - {None}
    around |= {each.uuid: each for each in await store.facts(fact.group_id, _texts(outside))}
    others = sorted((f for uuid, f in around.items() if uuid not in chain), key=_written)
    kept = [*chain.values(), *others[max(0, len(chain) + len(others) - limit) :]]
    return await cited(store, fact.group_id, sorted(kept, key=_written)[-limit:])


async def _corrections(store: ReadStore, fact: Fact) -> dict[str, Fact]:
    """The fact with those before and behind it that UpdateFact joined, by uuid."""
    chain = {fact.uuid: fact}
    latest = [fact]
    while latest and len(chain) < _CORRECTIONS:
        beside = {each.previous_uuid for each in latest}
        beside |= {each.expired_by_fact for each in latest if each.expired_reason == UPDATED}
        latest = await store.facts(fact.group_id, _texts(beside - chain.keys()))
        chain |= {each.uuid: each for each in latest}
    return chain


def _texts(uuids: Iterable[str | None]) -> list[str]:
    return [uuid for uuid in uuids if uuid is not None]


def _written(fact: Fact) -> tuple[int, str]:
    return fact.created_ms, fact.uuid
