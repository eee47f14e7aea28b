"""GetFactHistory (spec 000): what a fact said over time."""

from __future__ import annotations

from collections.abc import Iterable

from kgsvc.domain.model import Fact
from kgsvc.domain.plan import UPDATED
from kgsvc.retrieval.citing import CitedFact, cited
from kgsvc.stores.protocol import ReadStore

_CORRECTIONS = 100  # that are followed from a fact, in both directions together
_EPISODES = 10  # of the fact, in whose traces it is looked for what it superseded in other slots


async def history_of(store: ReadStore, fact: Fact, limit: int) -> list[CitedFact]:
    """What the fact replaced and was replaced by, the other rows of their slots, and what superseded them or
    was superseded by them elsewhere; the first to be written first. Of more than `limit` rows the latest
    beside the corrections. Raises StoreUnavailable.
    """
    chain = await _corrections(store, fact)
    view = await store.slots(fact.group_id, {each.slot for each in chain.values()})
    around = {each.uuid: each for each in view.facts} | chain
    outside = {each.expired_by_fact for each in chain.values()} - around.keys() - {None}
    around |= {each.uuid: each for each in await store.facts(fact.group_id, _texts(outside))}
    around |= await _superseded(store, chain, {each.slot for each in around.values()})
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


async def _superseded(store: ReadStore, chain: dict[str, Fact], known: set[str]) -> dict[str, Fact]:
    """Facts of slots that are not `known`, which one of the chain closed."""
    (group_id,) = {each.group_id for each in chain.values()}
    episodes = dict.fromkeys(episode for each in chain.values() for episode in each.episodes)
    slots: set[str] = set()
    for episode in list(episodes)[:_EPISODES]:
        slots.update((await store.traces(group_id, episode)).slots)
    view = await store.slots(group_id, slots - known)
    return {each.uuid: each for each in view.facts if each.expired_by_fact in chain}


def _texts(uuids: Iterable[str | None]) -> list[str]:
    return [uuid for uuid in uuids if uuid is not None]


def _written(fact: Fact) -> tuple[int, str]:
    return fact.created_ms, fact.uuid
