"""GetEntityEdge, GetFactHistory, UpdateFact, RetractFact and DeleteEntityEdge.

A fact is answered with its sources: the episodes that state it, in the order of `episodes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kgsvc.commands.core import Core, no_entities, the_one, until_applied
from kgsvc.domain.errors import Conflict, InvalidArgument, NotFound, RevisionChanged, Violation
from kgsvc.domain.facts.amendments import FactInput, correct, retracted, says_so, successor
from kgsvc.domain.facts.plan import text_digest
from kgsvc.domain.facts.slots import UPDATED
from kgsvc.domain.model.delta import Claim, Erased, FactTombstone, GraphDelta, GroupHead, NameView
from kgsvc.domain.model.graph import Citation, Fact
from kgsvc.domain.model.keys import digest, mint
from kgsvc.pipeline.summaries import summarised
from kgsvc.stores.protocol import GraphStore, HistoryStore, ReadStore

OPERATION = "UpdateFact"
RETRACTION = "RetractFact"
_CORRECTIONS = 100  # that are followed from a fact, in both directions together
_EPISODES = 10  # of the fact, whose traces are searched for facts that it superseded in other slots


@dataclass(frozen=True, slots=True)
class CitedFact:
    """A fact and where it was read. Deleted episodes are absent."""

    fact: Fact
    citations: tuple[Citation, ...]


async def cited(store: HistoryStore, group_id: str, facts: Sequence[Fact]) -> list[CitedFact]:
    """The facts of one group in their order, each with its sources. Raises StoreUnavailable."""
    uuids = {uuid for fact in facts for uuid in fact.episodes}
    known = await store.citations(group_id, uuids) if uuids else {}
    return [CitedFact(fact, tuple(known[uuid] for uuid in fact.episodes if uuid in known)) for fact in facts]


async def find_fact(store: GraphStore, uuid: str, group_id: str | None) -> Fact:
    """The fact with this uuid, also an expired one. Raises NotFound, Conflict (several groups have one),
    StoreUnavailable."""
    fact = the_one(await store.fact(uuid, group_id), "a fact")
    if fact is None:
        raise NotFound("there is no fact with this uuid")
    return fact


async def get_fact(store: ReadStore, uuid: str, group_id: str | None) -> CitedFact:
    """The fact with its sources. Raises as `find_fact`."""
    fact = await find_fact(store, uuid, group_id)
    return (await cited(store, fact.group_id, [fact]))[0]


async def get_fact_history(store: ReadStore, uuid: str, group_id: str | None, limit: int) -> list[CitedFact]:
    """The fact, its corrections before and after it, the other rows of their slots, and the facts elsewhere
    that superseded them or were superseded by them; in the order they were written.

    Of more than `limit` rows the corrections and the latest of the others. Raises as `find_fact`.
    """
    fact = await find_fact(store, uuid, group_id)
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
    """The fact with its corrections by UpdateFact, before and after it, by uuid."""
    chain = {fact.uuid: fact}
    latest = [fact]
    while latest and len(chain) < _CORRECTIONS:
        linked = {each.previous_uuid for each in latest}
        linked |= {each.expired_by_fact for each in latest if each.expired_reason == UPDATED}
        latest = await store.facts(fact.group_id, _texts(linked - chain.keys()))
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


@dataclass(frozen=True, slots=True)
class FactUpdate:
    """The outcome of UpdateFact. The uuid of `fact` is `old_uuid` if it stated this already."""

    old_uuid: str
    fact: Fact

    @property
    def changed(self) -> bool:
        """Whether a new fact replaced the old one."""
        return self.old_uuid != self.fact.uuid


@until_applied
async def update_fact(core: Core, wanted: FactInput, key: str | None = None) -> FactUpdate:
    """Replace a fact under the group's lock. A repeated idempotency key with the same input writes nothing
    and returns the first outcome.

    Raises NotFound (no such fact, or no such entity for an end), Conflict (it is expired already; uuid in
    several groups; the key was used with another input), InvalidArgument (both ends are one entity),
    EmbedderUnavailable, Overloaded, StoreUnavailable.
    """
    old = await find_fact(core.store, wanted.uuid, wanted.group_id)
    view = await core.store.names(old.group_id, (), _ends(wanted))
    ends = [wanted.source_uuid, wanted.target_uuid]
    values = digest(wanted.uuid, wanted.fact, ends, wanted.attributes, wanted.reason)
    claim = core.claim(OPERATION, key, values)
    system_ms = core.system_ms(view.head)
    new_uuid = _new_uuid(old, claim, system_ms)
    if old.expired_ms is not None:
        return await _first_outcome(core.store, old, new_uuid, claim is not None)
    if says_so(old, wanted):
        if claim is not None:
            delta = GraphDelta(old.group_id, view.head.last_ms, bumps_rev=False, claim=claim)
            await core.apply(delta, view.head)
        return FactUpdate(old.uuid, old)
    _check_ends(old, wanted, view)
    new = successor(old, wanted, view.by_uuid, new_uuid, system_ms)
    slots = await core.store.slots(old.group_id, {old.slot, new.slot})
    if old not in slots.facts:  # it changed between the reads
        raise RevisionChanged("the fact changed since it was read")
    facts = {fact.uuid: fact for fact in correct(old, new, slots, system_ms)}
    edges = await core.store.episode_edges(old.group_id, old.episodes)
    delta = await _delta(core, old.group_id, facts, system_ms)
    stating = {uuid: tuple(sorted({*stated, new.uuid})) for uuid, stated in edges.items()}
    delta = replace(delta, episode_edges=stating)
    after = await core.apply(replace(delta, claim=claim), view.head)
    if after.rev == view.head.rev:  # the key was used before, and the fact stated this already then
        return FactUpdate(old.uuid, old)
    return FactUpdate(old.uuid, facts[new.uuid])


@until_applied
async def retract_fact(
    core: Core, uuid: str, group_id: str | None, reason: str, key: str | None = None
) -> Fact:
    """Say under the group's lock that a fact was never true; the fact as it is then. A repeated idempotency
    key with the same input writes nothing and returns the fact.

    Raises NotFound, Conflict (it is expired already; uuid in several groups; the key was used with another
    input), EmbedderUnavailable (only where a row is new), Overloaded, StoreUnavailable.
    """
    old = await find_fact(core.store, uuid, group_id)
    head = (await core.store.names(old.group_id, ())).head
    claim = core.claim(RETRACTION, key, digest(uuid, reason))
    if old.expired_ms is not None:
        if claim is None or old.retract_reason != reason:
            raise _expired_already()
        await core.apply(GraphDelta(old.group_id, head.last_ms, bumps_rev=False, claim=claim), head)
        return old
    corrected = (await _corrections(core.store, old)).keys() - {old.uuid}
    view = await core.store.slots(old.group_id, await _slots_around(core.store, old))
    if old not in view.facts:  # it changed between the reads
        raise RevisionChanged("the fact changed since it was read")
    system_ms = core.system_ms(head)
    facts = retracted(old, corrected, reason, view, system_ms)
    delta = await _delta(core, old.group_id, facts, system_ms)
    await core.apply(replace(delta, claim=claim), head)
    return facts[old.uuid]


async def _slots_around(store: ReadStore, fact: Fact) -> set[str]:
    """The fact's slot, and every other in which its episodes stated or ended something."""
    slots = {fact.slot}
    for episode in fact.episodes:
        slots.update((await store.traces(fact.group_id, episode)).slots)
    return slots


@until_applied
async def delete_fact(core: Core, uuid: str, group_id: str | None, erased: Erased | None = None) -> bool:
    """Delete a fact for good, for an erasure if one is given; whether it existed. It leaves a
    tombstone, so that items accepted before cannot bring it back. Raises Conflict (uuid in several groups),
    Overloaded, StoreUnavailable."""
    fact = the_one(await core.store.fact(uuid, group_id), "a fact")
    if fact is None:
        return False
    head = (await core.store.names(fact.group_id, ())).head
    delta = await summarised(core.store, without_fact(fact, head, core.system_ms(head)), {}, [fact])
    await core.apply(replace(delta, erased=erased), head)
    return True


def without_fact(fact: Fact, head: GroupHead, system_ms: int) -> GraphDelta:
    """The change that deletes `fact` for good."""
    stone = FactTombstone(fact.uuid, fact.slot, text_digest(fact.fact), system_ms)
    return GraphDelta(head.group_id, system_ms, remove_facts=(stone,))


async def _delta(core: Core, group_id: str, facts: Mapping[str, Fact], system_ms: int) -> GraphDelta:
    """The change that writes these facts, with vectors of new ones and the summaries that follow."""
    created = {uuid: fact.fact for uuid, fact in facts.items() if fact.created_ms == system_ms}
    delta = GraphDelta(
        group_id=group_id,
        system_ms=system_ms,
        facts=tuple(facts.values()),
        vectors=await core.vectors(group_id, created),
        space=core.space,
    )
    return await summarised(core.store, delta, {})


async def _first_outcome(store: ReadStore, old: Fact, new_uuid: str, keyed: bool) -> FactUpdate:
    """The outcome when the key was used first. Raises Conflict when the fact expired for another reason."""
    if keyed and old.expired_reason == UPDATED and old.expired_by_fact == new_uuid:
        for fact in await store.facts(old.group_id, [new_uuid]):
            return FactUpdate(old.uuid, fact)
    raise _expired_already("; update the fact that replaced it")


def _expired_already(advice: str = "") -> Conflict:
    violation = Violation("uuid", "names a fact that is already expired")
    return Conflict(f"the fact is already expired{advice}", [violation])


def _ends(wanted: FactInput) -> list[str]:
    return [uuid for uuid in (wanted.source_uuid, wanted.target_uuid) if uuid is not None]


def _new_uuid(old: Fact, claim: Claim | None, system_ms: int) -> str:
    """With an idempotency key it follows from key and input, so that a repeated call recognises its fact."""
    by = [system_ms] if claim is None else [claim.key, claim.input_hash]
    return mint("fact", old.group_id, digest(OPERATION, old.uuid, *by))


def _check_ends(old: Fact, wanted: FactInput, view: NameView) -> None:
    fields = {"source_node_uuid": wanted.source_uuid, "target_node_uuid": wanted.target_uuid}
    missing = [field for field, uuid in fields.items() if uuid is not None and uuid not in view.by_uuid]
    if missing:
        raise no_entities(missing)
    ends = (wanted.source_uuid or old.source_uuid, wanted.target_uuid or old.target_uuid)
    if ends[0] == ends[1] and ends != (
        old.source_uuid,
        old.target_uuid,
    ):  # a rename is between one and itself
        field = "target_node_uuid" if wanted.target_uuid else "source_node_uuid"
        raise InvalidArgument.of([Violation(field, "must differ from the entity at the other end")])
