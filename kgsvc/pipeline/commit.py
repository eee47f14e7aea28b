"""One micro-batch becomes one atomic change of the graph, after the merges that it calls for."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from kgsvc.domain.errors import LeaseLost, Overloaded, RevisionChanged, StepError, StoreUnavailable
from kgsvc.domain.facts.plan import plan, statements_of
from kgsvc.domain.facts.statements import SlotStatement
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.delta import GraphDelta, Guard, NameView, SlotView
from kgsvc.domain.model.extraction import Extraction, Ontology
from kgsvc.domain.model.graph import FREE, Entity, Episode, Usage
from kgsvc.domain.model.items import ItemState, Lease, Transition
from kgsvc.domain.names.entities import ResolvedNames, candidate_uuids, keys_of, resolve
from kgsvc.domain.names.meanings import BatchItem, bridges
from kgsvc.domain.names.namesakes import (
    keys_of_node,
    speakers_query,
    told_apart,
    told_by_conversation,
    unnamed_keys,
)
from kgsvc.domain.resolution.decisions import Decisions
from kgsvc.domain.resolution.settling import as_decided, settle, slots_of
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.models.protocol import Resolver
from kgsvc.pipeline.joining import Joining
from kgsvc.pipeline.ontologies import Ontologies
from kgsvc.pipeline.preparing import PreparedItem, encode
from kgsvc.pipeline.resolving import Resolution, Resolving
from kgsvc.pipeline.summaries import Rewriter, SummaryStore, WriteTurn, summarised
from kgsvc.runtime import STATEMENTS, Clock, offload
from kgsvc.stores.protocol import QueueStore, ResolutionStore
from kgsvc.tracing import NOT_TRACED, Traced, Tracer

_TRIES = 20  # plans of one batch that others may overtake
_RETRY_AFTER_MS = 500
MERGES = 8  # entities that one micro-batch may take away by merges
MOVED = 1_000  # facts and mentions that such a merge moves: the batch and its group wait meanwhile
_LIMITS = Limits()


class _Batch:
    """What is committed together, and what was decided about it."""

    def __init__(self, works: Sequence[PreparedItem]) -> None:
        self.works = works
        self.said = [
            BatchItem(w.item.episode, w.stage.extraction, w.item.accepted_ms, w.item.sequence) for w in works
        ]
        self.items = self.said  # with namesakes told apart
        self.vectors = {text: v for work in works for text, v in (work.stage.vectors or {}).items()}
        self.merges = 0  # of entities, in all plans of the batch
        self.apart: set[tuple[str, str]] = set()  # pairs of entities that stay two
        self.decisions = Decisions(
            {key: decision for work in works for key, decision in work.stage.names.items()},
            {(w.item.episode.uuid, n): decision for w in works for n, decision in w.stage.facts.items()},
        )

    @property
    def passages(self) -> dict[str, bytes]:
        """The vectors of passages, by episode."""
        found = {work.uuid: [self.vectors.get(text) for text in work.passages] for work in self.works}
        return {uuid: b"".join(filter(None, each)) for uuid, each in found.items() if any(each)}

    @property
    def traced(self) -> list[Traced]:
        """Of each item, for spans."""
        return [work.item.traced for work in self.works]

    @property
    def told(self) -> list[tuple[Episode, Extraction]]:
        """Who tells what."""
        return [(item.episode, item.extraction) for item in self.said]

    def tell_apart(self, names: NameView, asks: bool, speakers: Collection[Entity]) -> None:
        """Set `items` by the namesakes in `names`, and by the conversations of speakers without a name."""
        extractions = told_apart([item.extraction for item in self.said], names, asks)
        told = [(item.episode, each) for item, each in zip(self.said, extractions, strict=True)]
        extractions = told_by_conversation(told, names, speakers)
        self.items = [
            replace(item, extraction=each) for item, each in zip(self.said, extractions, strict=True)
        ]


class LeasedStore(ResolutionStore, QueueStore, SummaryStore, Protocol):
    """Where decisions are kept too, and what summaries are composed from."""


class Committer:
    """Reads the context of a batch, resolves, plans, applies under the lease; plans again if the group
    changed meanwhile."""

    def __init__(
        self,
        store: LeasedStore,
        embedder: CachingEmbedder | None,
        clock: Clock,
        resolver: Resolver | None = None,
        limits: Limits = _LIMITS,
        ontologies: Ontologies | None = None,
        rewriter: Rewriter | None = None,
        tracer: Tracer = NOT_TRACED,
    ) -> None:
        self._tracer = tracer
        self._store = store
        bound = min(MOVED, limits.merge_bound)
        self._joining = Joining(store, embedder, replace(limits, merge_bound=bound))
        self._limits = limits
        self._embedder = embedder
        self._clock = clock
        self._resolving = Resolving(store, resolver, embedder)
        self._asks = resolver is not None
        self._ontologies = ontologies if resolver is not None else None
        self._rewriter = rewriter

    async def commit(self, lease: Lease, works: Sequence[PreparedItem], releases: bool = False) -> None:
        """All of `works` or nothing, and with it the lease is given up if `releases`. Raises StepError,
        StaleItems, LeaseLost, Overloaded (the group changes without a pause), StoreUnavailable."""
        batch = _Batch(works)
        turn = self._rewriter.turn(lease.group_id) if self._rewriter else WriteTurn()
        rewrites = turn.rewrites
        # A model may be asked now, not while the rewriter waits for its turn.
        with self._tracer.step("resolve", batch.traced):
            names = await self._decide(lease, batch, await self._read(lease, batch))
        with self._tracer.step("commit", batch.traced):
            await self._write(lease, batch, names, turn, rewrites, releases)

    async def _write(
        self,
        lease: Lease,
        batch: _Batch,
        decided: NameView,
        turn: WriteTurn,
        rewrites: int,
        releases: bool,
    ) -> None:
        """Plan and apply, again while others are faster."""
        names: NameView | None = decided
        delta: GraphDelta | None = None
        for _ in range(_TRIES):
            try:
                async with turn.lock:
                    if turn.rewrites != rewrites:  # then the guard would refuse what was planned from it
                        names = None
                    delta, guard = await self._plan(lease, batch, names or await self._read(lease, batch))
                    await self._store.apply(delta, replace(guard, releases=releases))
            except RevisionChanged:
                names = None
                continue
            # Written, though the answer was lost, or the lease was found given up before the answer came.
            except (StoreUnavailable, asyncio.CancelledError):
                self._offer(delta, lease)
                raise
            self._offer(delta, lease)
            return
        # Nothing is wrong with the items: no attempt is counted against them.
        raise Overloaded(f"the group changed under {_TRIES} plans in a row", _RETRY_AFTER_MS)

    def _offer(self, written: GraphDelta | None, lease: Lease) -> None:
        if self._rewriter is not None and written is not None:
            self._rewriter.offer(written, lease.epoch)

    async def _read(self, lease: Lease, batch: _Batch) -> NameView:
        """The entities that the batch may mean. Raises LeaseLost."""
        unnamed = unnamed_keys(batch.told)
        keys, uuids = keys_of(batch.said) | batch.decisions.keys | unnamed, batch.decisions.uuids
        names = await self._store.names(lease.group_id, keys, candidate_uuids(lease.group_id, keys) | uuids)
        if names.head.epoch != lease.epoch:
            raise LeaseLost("the group was deleted")
        known = unnamed and not names.head.is_new
        speakers = await self._store.candidates(lease.group_id, speakers_query()) if known else None
        batch.tell_apart(names, self._asks, speakers.entities.values() if speakers else ())
        return names

    async def _decide(self, lease: Lease, batch: _Batch, names: NameView) -> NameView:
        """Decide about what is new, once a batch; what a model decided is stored before it is used. Returns
        the entities that the decisions may mean, too."""
        resolution = await self._resolve(lease, batch, names)
        if resolution.asked.names or resolution.asked.facts or resolution.usage:
            await self._keep(lease, batch.works, resolution)
        before = keys_of(batch.said) | batch.decisions.keys
        batch.decisions = batch.decisions.with_more(resolution.by_rule).with_more(resolution.asked)
        # The guard holds what was read later to the same revision.
        more = batch.decisions.keys - before
        borne = resolution.borne(more)
        if not more <= borne.keys():  # a full name that nobody bears in this batch
            return await self._read(lease, batch)
        entities = resolution.candidates.entities
        later = {uuid: entities[uuid] for uuid in batch.decisions.uuids & entities.keys()}
        return replace(names, by_key={**borne, **names.by_key}, by_uuid={**later, **names.by_uuid})

    async def _resolve(self, lease: Lease, batch: _Batch, names: NameView) -> Resolution:
        items, types = as_decided(batch.items, batch.decisions), await self._types(lease, batch)
        try:
            return await self._resolving.decide(
                lease.group_id, items, names, batch.decisions, batch.vectors, types
            )
        except StepError as error:
            if error.usage and len(batch.works) > 1:  # of a single item it is counted with its failure
                await self._count(lease, batch.works, error.usage)
                error.usage = FREE
            raise

    async def _types(self, lease: Lease, batch: _Batch) -> Ontology:
        if self._ontologies is None:
            return Ontology()
        return await self._ontologies.of(lease.group_id, max(work.item.ontology for work in batch.works))

    async def _keep(self, lease: Lease, works: Sequence[PreparedItem], resolution: Resolution) -> None:
        asked = resolution.asked
        for work in works:
            stage = work.stage
            keys = {key for node in stage.extraction.nodes for key in keys_of_node(node)}
            names = {key: decision for key, decision in asked.names.items() if key in keys}
            facts = {index: decision for (uuid, index), decision in asked.facts.items() if uuid == work.uuid}
            work.stage = replace(stage, names={**stage.names, **names}, facts={**stage.facts, **facts})
        await self._count(lease, works, resolution.usage, with_stages=True)

    async def _count(
        self, lease: Lease, works: Sequence[PreparedItem], usage: Usage, with_stages: bool = False
    ) -> None:
        """Count model work for the items, in equal parts, and store their stages too if wanted. Vectors are
        stored only where they cost something."""
        now_ms, costly = self._clock.now_ms(), self._embedder is not None and self._embedder.costs_model_calls
        state = ItemState.EMBEDDED if costly else ItemState.EXTRACTED
        transitions: list[Transition] = []
        for work, part in zip(works, usage.split(len(works)), strict=True):
            kept = work.stage if costly else replace(work.stage, vectors=None, space="")
            stage = encode(kept) if with_stages else None
            transitions.append(
                Transition(work.uuid, state, now_ms, stage=stage, keep_stage=not with_stages, usage=part)
            )
        await self._store.save_transitions(lease, transitions)

    async def _plan(self, lease: Lease, batch: _Batch, names: NameView) -> tuple[GraphDelta, Guard]:
        group_id, now_ms = lease.group_id, self._clock.now_ms()
        decisions = batch.decisions
        items = as_decided(batch.items, decisions)
        names = await self._merged(lease, batch, items, names)
        items = as_decided(batch.items, decisions)
        system_ms = max(now_ms, names.head.last_ms + 1)
        size = sum(len(item.extraction.nodes) + len(item.extraction.edges) for item in items)

        def resolved_names() -> tuple[ResolvedNames, list[SlotStatement]]:
            resolved = resolve(
                names, group_id, items, system_ms, decisions.names, self._limits.attributes_bytes
            )
            return resolved, statements_of(resolved, items)

        resolved, statements = await offload(size / STATEMENTS, resolved_names)
        slots = slots_of(items, statements, decisions, resolved)
        view = SlotView() if names.head.is_new else await self._slots(group_id, slots, decisions)
        known = sum(len(fact.evidence) for fact in view.facts)

        def planned() -> GraphDelta:
            done = settle(items, statements, decisions, resolved, view, system_ms)
            planned = plan(
                group_id,
                items,
                resolved,
                done.statements,
                done.view,
                system_ms,
                contradictions=done.contradictions,
            )
            return replace(planned, facts=(*planned.facts, *done.updated))

        delta = await offload((size + known) / STATEMENTS, planned)
        uuids = tuple(item.episode.uuid for item in items)
        delta = replace(
            delta,
            vectors=await self._vectors(delta, names, view, batch.vectors),
            passages=batch.passages,
            space=self._embedder.space if self._embedder else "",
            transitions=tuple(Transition(uuid, ItemState.COMPLETED, now_ms) for uuid in uuids),
            requires_items=uuids,
            found=uuids,
            bumps_rev=True,
        )
        present = {entity.uuid: entity for entity in resolved.by_key.values()}
        delta = await summarised(self._store, delta, present)
        return delta, Guard(names.head.rev, lease.epoch, lease.token)

    async def _merged(
        self, lease: Lease, batch: _Batch, items: Sequence[BatchItem], names: NameView
    ) -> NameView:
        """The entities once those are merged that the batch shows to be one, a bounded number."""
        while batch.merges < MERGES:
            pairs = bridges(items, names, batch.decisions.names)
            bridge = next((each for each in pairs if each.pair not in batch.apart), None)
            if bridge is None:
                break
            if await self._joining.merge(lease, names, bridge, self._clock.now_ms()):
                batch.merges += 1
                names = await self._read(lease, batch)
            else:
                batch.apart.add(bridge.pair)
        return names

    async def _slots(self, group_id: str, slots: set[str], decisions: Decisions) -> SlotView:
        """What the batch touches; facts that a merge has moved since they were decided about included."""
        view = await self._store.slots(group_id, slots) if slots else SlotView()
        missing = decisions.stored.difference(fact.uuid for fact in view.facts)
        moved = {fact.slot for fact in await self._store.facts(group_id, missing)} if missing else set()
        return await self._store.slots(group_id, slots | moved) if moved else view

    async def _vectors(
        self, delta: GraphDelta, names: NameView, view: SlotView, known: Mapping[str, bytes]
    ) -> dict[str, bytes]:
        """Vectors of new facts, new words and new names. The words of a fact that was split from an older one
        are no item's."""
        if self._embedder is None:
            return {}
        stored = {fact.uuid: fact.fact for fact in view.facts}
        named = {e.uuid: e.name for e in (*names.by_uuid.values(), *names.by_key.values())}
        wanted = {fact.uuid: fact.fact for fact in delta.facts if stored.get(fact.uuid) != fact.fact}
        wanted |= {e.uuid: e.name for e in delta.entities if named.get(e.uuid) != e.name}
        missing = set(wanted.values()) - known.keys()
        extra = await self._embedder.vectors(missing, delta.group_id) if missing else {}
        return {uuid: known[text] if text in known else extra[text] for uuid, text in wanted.items()}
