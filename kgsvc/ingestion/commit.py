"""One micro-batch becomes one atomic change of the graph (design §4)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from kgsvc.domain.clock import Clock
from kgsvc.domain.delta import GraphDelta, Guard, NameView, SlotView
from kgsvc.domain.entities import BatchItem, Resolved, candidate_uuids, keys_of, resolve
from kgsvc.domain.errors import LeaseLost, Overloaded, RevisionChanged
from kgsvc.domain.items import ItemState, Lease, QueuedItem, Transition
from kgsvc.domain.plan import SlotStatement, plan, statements_of
from kgsvc.ingestion.embedding import CachingEmbedder
from kgsvc.ingestion.stages import Stage
from kgsvc.stores.protocol import GraphStore

_TRIES = 20  # plans of one batch that a caller's own writes may overtake
_RETRY_AFTER_MS = 500
_INLINE = 200  # nodes, edges and known statements; planning more than this is done off the event loop
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Work:
    """An item and all that is needed to commit it."""

    item: QueuedItem
    stage: Stage


class Committer:
    """Reads the context of a batch, plans, applies under the lease; plans again if the group moved on."""

    def __init__(self, store: GraphStore, embedder: CachingEmbedder | None, clock: Clock) -> None:
        self._store = store
        self._embedder = embedder
        self._clock = clock

    async def commit(self, lease: Lease, works: Sequence[Work]) -> None:
        """All of `works` or nothing. Raises StepError, StaleItems, LeaseLost, Overloaded (the group changes
        without a pause), StoreUnavailable."""
        items = [BatchItem(w.item.episode, w.stage.extraction, w.item.accepted_ms) for w in works]
        vectors = {text: v for work in works for text, v in (work.stage.vectors or {}).items()}
        for _ in range(_TRIES):
            delta, guard = await self._plan(lease, items, vectors)
            try:
                await self._store.apply(delta, guard)
            except RevisionChanged:
                continue
            return
        # Nothing is wrong with the items: no attempt is counted against them.
        raise Overloaded(f"the group changed under {_TRIES} plans in a row", _RETRY_AFTER_MS)

    async def _plan(
        self, lease: Lease, items: Sequence[BatchItem], vectors: Mapping[str, bytes]
    ) -> tuple[GraphDelta, Guard]:
        group_id, now_ms = lease.group_id, self._clock.now_ms()
        keys = keys_of(items)
        names = await self._store.names(group_id, keys, candidate_uuids(group_id, keys))
        if names.head.epoch != lease.epoch:
            raise LeaseLost("the group was deleted")
        system_ms = max(now_ms, names.head.last_ms + 1)
        said = sum(len(item.extraction.nodes) + len(item.extraction.edges) for item in items)

        def understand() -> tuple[Resolved, list[SlotStatement]]:
            resolved = resolve(names, group_id, items, system_ms)
            return resolved, statements_of(resolved, items)

        resolved, statements = await _computed(said, understand)
        slots = {entry.slot for entry in statements}
        view = await self._store.slots(group_id, slots) if slots else SlotView()
        known = sum(len(fact.evidence) for fact in view.facts)
        delta = await _computed(
            said + known, lambda: plan(group_id, items, resolved, statements, view, system_ms)
        )
        uuids = tuple(item.episode.uuid for item in items)
        delta = replace(
            delta,
            vectors=await self._vectors(delta, names, view, vectors),
            space=self._embedder.space if self._embedder else "",
            transitions=tuple(Transition(uuid, ItemState.COMPLETED, now_ms) for uuid in uuids),
            requires_items=uuids,
        )
        return delta, Guard(names.head.rev, lease.epoch, lease.token)

    async def _vectors(
        self, delta: GraphDelta, names: NameView, view: SlotView, known: Mapping[str, bytes]
    ) -> dict[str, bytes]:
        """Vectors of new facts and new names. A fact split from an older one says what no item here said."""
        if self._embedder is None:
            return {}
        stored = {fact.uuid for fact in view.facts}
        named = {entity.uuid: entity.name for entity in names.by_key.values()}
        wanted = {fact.uuid: fact.fact for fact in delta.facts if fact.uuid not in stored}
        wanted |= {e.uuid: e.name for e in delta.entities if named.get(e.uuid) != e.name}
        missing = set(wanted.values()) - known.keys()
        extra = await self._embedder.vectors(missing) if missing else {}
        return {uuid: known[text] if text in known else extra[text] for uuid, text in wanted.items()}


async def _computed(size: int, work: Callable[[], T]) -> T:
    """What `work` returns: at once if there is little to do, else from a thread."""
    return work() if size <= _INLINE else await asyncio.to_thread(work)
