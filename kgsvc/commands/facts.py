"""Facts with their sources (spec 000): the episodes that tell them, in the order of `episodes`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kgsvc.commands import lookup
from kgsvc.commands.contention import Contention
from kgsvc.domain.clock import Clock
from kgsvc.domain.errors import (
    Conflict,
    EmbedderUnavailable,
    InvalidArgument,
    NotFound,
    RevisionChanged,
    StepError,
    Violation,
)
from kgsvc.domain.facts.amendments import FactInput, correct, says_so, successor
from kgsvc.domain.facts.plan import UPDATED
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.delta import Claim, GraphDelta, GroupHead, Guard, NameView, SlotView
from kgsvc.domain.model.graph import Citation, Fact
from kgsvc.domain.model.identity import digest, mint
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.pipeline.summaries import summarised
from kgsvc.stores.protocol import HistoryStore, ReadStore


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


OPERATION = "UpdateFact"


@dataclass(frozen=True, slots=True)
class Corrected:
    """What became of it. `fact` says so now; its uuid is `old_uuid` where it did before."""

    old_uuid: str
    fact: Fact

    @property
    def changed(self) -> bool:
        """Whether another fact took over."""
        return self.old_uuid != self.fact.uuid


class Corrections:
    """Replaces facts on a caller's behalf, under the group's lock."""

    def __init__(
        self,
        store: ReadStore,
        embedder: CachingEmbedder | None,
        limits: Limits,
        clock: Clock,
        contention: Contention,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._limits = limits
        self._clock = clock
        self._contention = contention

    async def update(self, wanted: FactInput, idempotency_key: str | None = None) -> Corrected:
        """With a key that is known with the same input nothing is written and the first outcome told again.

        Raises NotFound (no such fact, or an end that is not there), Conflict (it is expired already; uuid in
        several groups; the key is known with another input), InvalidArgument (both ends are one entity),
        EmbedderUnavailable, Overloaded, StoreUnavailable.
        """
        return await self._contention.settle(lambda: self._attempt(wanted, idempotency_key))

    async def _attempt(self, wanted: FactInput, key: str | None) -> Corrected:
        found = await lookup.fact(self._store, wanted.uuid, wanted.group_id)
        view = await self._store.names(found.group_id, (), _ends(wanted))
        claim = None if key is None else self._claim(wanted, key, self._clock.now_ms())
        system_ms = max(self._clock.now_ms(), view.head.last_ms + 1)
        new_uuid = _uuid_of(found, claim, system_ms)
        if found.expired_ms is not None:
            return await self._told_before(found, new_uuid, claim is not None)
        if says_so(found, wanted):
            return await self._unchanged(found, view.head, claim)
        _check_ends(found, wanted, view)
        new = successor(found, wanted, view.by_uuid, new_uuid, system_ms)
        slots = await self._store.slots(found.group_id, {found.slot, new.slot})
        if found not in slots.facts:  # it changed between the reads
            raise RevisionChanged("the fact changed since it was read")
        return await self._write(found, new, slots, view.head, claim, system_ms)

    async def _write(
        self, old: Fact, new: Fact, slots: SlotView, head: GroupHead, claim: Claim | None, system_ms: int
    ) -> Corrected:
        facts = {fact.uuid: fact for fact in correct(old, new, slots, system_ms)}
        told = await self._store.episode_edges(old.group_id, old.episodes)
        delta = GraphDelta(
            group_id=old.group_id,
            system_ms=system_ms,
            facts=tuple(facts.values()),
            episode_edges={uuid: tuple(sorted({*edges, new.uuid})) for uuid, edges in told.items()},
            vectors=await self._vectors(
                old.group_id,
                {uuid: fact.fact for uuid, fact in facts.items() if fact.created_ms == system_ms},
            ),
            space=self._embedder.space if self._embedder else "",
            claim=claim,
        )
        delta = await summarised(self._store, delta, {})
        after = await self._store.apply(delta, Guard(head.rev, head.epoch))
        if after.rev == head.rev:  # the key was used for a fact that was as wanted already
            return Corrected(old.uuid, old)
        return Corrected(old.uuid, facts[new.uuid])

    async def _told_before(self, old: Fact, new_uuid: str, keyed: bool) -> Corrected:
        """The first outcome of a key whose uuid the new fact has. Conflict when the fact ended otherwise."""
        if keyed and old.expired_reason == UPDATED and old.expired_by_fact == new_uuid:
            for fact in await self._store.facts(old.group_id, [new_uuid]):
                return Corrected(old.uuid, fact)
        raise Conflict(
            "the fact is expired already; update the one that took over",
            [Violation("uuid", "names a fact that is expired already")],
        )

    async def _unchanged(self, fact: Fact, head: GroupHead, claim: Claim | None) -> Corrected:
        if claim is not None:
            delta = GraphDelta(fact.group_id, head.last_ms, bumps_rev=False, claim=claim)
            await self._store.apply(delta, Guard(head.rev, head.epoch))
        return Corrected(fact.uuid, fact)

    async def _vectors(self, group_id: str, texts: dict[str, str]) -> dict[str, bytes]:
        if self._embedder is None:
            return {}
        try:
            vectors = await self._embedder.vectors(set(texts.values()), group_id)
        except StepError as error:
            raise EmbedderUnavailable("the fact could not be embedded; nothing was written") from error
        return {uuid: vectors[text] for uuid, text in texts.items()}

    def _claim(self, wanted: FactInput, key: str, now_ms: int) -> Claim:
        ends = [wanted.source_uuid, wanted.target_uuid]
        values = digest(wanted.uuid, wanted.fact, ends, wanted.attributes, wanted.reason)
        return Claim(OPERATION, key, values, now_ms, self._limits.dedup_window_ms)


def _ends(wanted: FactInput) -> list[str]:
    return [uuid for uuid in (wanted.source_uuid, wanted.target_uuid) if uuid is not None]


def _uuid_of(old: Fact, claim: Claim | None, system_ms: int) -> str:
    """Under a key it follows from key and input, so that the first outcome is known again by it."""
    by = [system_ms] if claim is None else [claim.key, claim.input_hash]
    return mint("fact", old.group_id, digest(OPERATION, old.uuid, *by))


def _check_ends(old: Fact, wanted: FactInput, view: NameView) -> None:
    fields = {"source_node_uuid": wanted.source_uuid, "target_node_uuid": wanted.target_uuid}
    missing = [field for field, uuid in fields.items() if uuid is not None and uuid not in view.by_uuid]
    if missing:
        says = "names no entity of the group"
        raise NotFound(f"{missing[0]} {says}", [Violation(field, says) for field in missing])
    if (wanted.source_uuid or old.source_uuid) == (wanted.target_uuid or old.target_uuid):
        field = "target_node_uuid" if wanted.target_uuid else "source_node_uuid"
        raise InvalidArgument.of([Violation(field, "is the entity at the other end")])
