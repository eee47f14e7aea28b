"""Summaries follow the facts in the same change."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Protocol
from weakref import WeakValueDictionary

from kgsvc.domain.errors import (
    LeaseLost,
    ModelUnavailable,
    Overloaded,
    RevisionChanged,
    ServiceError,
    StepError,
)
from kgsvc.domain.facts.summary import (
    KEPT,
    SOURCES,
    has_news,
    is_due,
    lacks,
    recomposed,
    rewritten,
    sources_of,
    still_hold,
)
from kgsvc.domain.model.delta import GraphDelta, Guard, NameView
from kgsvc.domain.model.graph import Entity, Fact, SummaryPart, Usage
from kgsvc.models.protocol import Retold, Subject, SummaryWriter
from kgsvc.runtime import Clock
from kgsvc.stores.protocol import GraphStore, HistoryStore


class SummaryStore(GraphStore, HistoryStore, Protocol):
    """What summaries are composed from."""


async def summarised(
    store: SummaryStore, delta: GraphDelta, known: Mapping[str, Entity], removed: Sequence[Fact] = ()
) -> GraphDelta:
    """The delta with the summaries of all entities whose facts it changes.

    `known` are entities as they are, by uuid: they need not be read again. `removed` are the facts that the
    delta deletes, or takes from one of their ends. Raises StoreUnavailable.
    """
    touched = _by_end(delta.facts)
    gone = {fact.uuid for fact in removed}
    ends = {*touched, *_by_end(removed)}.difference(delta.remove_entities)
    entities = {entity.uuid: entity for entity in delta.entities}
    missing = ends - entities.keys() - known.keys()
    read = (await store.names(delta.group_id, (), missing)).by_uuid if missing else {}
    present = {**{uuid: each for uuid, each in known.items() if uuid in ends}, **read, **entities}

    async def made(entity: Entity) -> Entity:
        changed = touched.get(entity.uuid, ())
        away = gone.difference(fact.uuid for fact in changed)
        composed = recomposed(entity, changed, away, delta.system_ms)
        lacking = lacks(entity, composed)
        return await _rebuilt(store, composed, delta, changed, away) if lacking else composed

    before = [entity for _, entity in sorted(present.items())]
    after = await asyncio.gather(*map(made, before))
    changed = [new for old, new in zip(before, after, strict=True) if new is not old or new.uuid in entities]
    return replace(delta, entities=tuple(changed)) if changed else delta


async def _rebuilt(
    store: SummaryStore, entity: Entity, delta: GraphDelta, changed: Sequence[Fact], gone: set[str]
) -> Entity:
    """From the latest facts that are current once the delta is written."""
    stored = await store.entity_facts(entity.group_id, entity.uuid, KEPT + len(gone), delta.system_ms)
    overlaid = {fact.uuid: fact for fact in stored if fact.uuid not in gone}
    overlaid |= {fact.uuid: fact for fact in changed}
    return recomposed(entity, overlaid.values(), gone, delta.system_ms)


def _by_end(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    found: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        for end in {fact.source_uuid, fact.target_uuid}:
            found[end].append(fact)
    return found


log = logging.getLogger(__name__)
AT_ONCE = 2  # calls of one process: the pipeline's own have the rest of the model's time
ENTITIES = 8  # of one call
_READ = 4  # facts for each that the model is shown: a home may have begun before a hundred other things
_GROUPS = 1_000  # that wait; what is more is asked for again later
_WAITING = 64  # entities and items of each
_DEADLINE_S = 300.0  # of a call and its writing: extractions may stand before it in the model's queue
_AFTER_OUTAGE_S = 10.0
_OUTAGES = 6  # in a row that a group waits through; then it is asked for again with its next change
_TRIES = 6  # writes that the pipeline's may overtake
_PAUSE_S = 0.05


@dataclass(slots=True)
class _DueSummaries:
    """Entities of a group, by uuid, and the items that the cost is counted for."""

    epoch: int
    entities: dict[str, None] = field(default_factory=dict)
    items: dict[str, None] = field(default_factory=dict)
    outages: int = 0


@dataclass(frozen=True, slots=True)
class _Draft:
    """An entity, what the model is shown of it, and what it made of that."""

    entity: Entity
    sources: tuple[SummaryPart, ...]
    text: str = ""


class WriteTurn:
    """A group's turn to plan and write.

    Within a process the pipeline and the rewriter thereby do not overtake one another, which would cost a
    plan each time. Whether a write is right, the store's guards decide.
    """

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.rewrites = 0  # writes of the rewriter since somebody first held this


async def _at_once() -> None:
    """Nothing holds it back."""


class Rewriter:
    """Has summaries rewritten that are due, each time once `may_begin` has returned; after an outage a worker
    rests for `rest_s` seconds."""

    def __init__(
        self,
        store: SummaryStore,
        writer: SummaryWriter,
        clock: Clock,
        rng: random.Random,
        rest_s: float = _AFTER_OUTAGE_S,
        may_begin: Callable[[], Awaitable[None]] = _at_once,
    ) -> None:
        self._store = store
        self._writer = writer
        self._clock = clock
        self._rng = rng
        self._rest_s = rest_s
        self._may_begin = may_begin
        self._waiting: dict[str, _DueSummaries] = {}
        self._something = asyncio.Event()
        self._turns: WeakValueDictionary[str, WriteTurn] = WeakValueDictionary()

    def turn(self, group_id: str) -> WriteTurn:
        """The group's; the same for all who hold it at a time."""
        return self._turns.setdefault(group_id, WriteTurn())

    def offer(self, written: GraphDelta, epoch: int) -> None:
        """Queue the entities of an applied delta whose summaries are due for rewriting. Never waits."""
        due = [entity.uuid for entity in written.entities if is_due(entity)]
        if due:
            self._queue(written.group_id, epoch, due, written.requires_items)

    def _queue(
        self, group_id: str, epoch: int, due: Iterable[str], items: Iterable[str]
    ) -> _DueSummaries | None:
        """What waits of the group, with these; None where too many groups wait."""
        waiting = self._waiting.get(group_id)
        if waiting is None and len(self._waiting) >= _GROUPS:
            return None
        if waiting is None or waiting.epoch != epoch:
            waiting = self._waiting[group_id] = _DueSummaries(epoch)
        _add(waiting.entities, due)
        _add(waiting.items, items)
        self._something.set()
        return waiting

    async def run(self) -> None:
        """Rewrite until cancelled."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(AT_ONCE):
                workers.create_task(self._work())

    async def _work(self) -> None:
        while True:
            await self._something.wait()
            await self._may_begin()
            if not self._waiting:
                self._something.clear()
                continue
            group_id = next(iter(self._waiting))
            waiting = self._waiting.pop(group_id)
            try:
                await self.rewrite(group_id, waiting.epoch, list(waiting.entities), list(waiting.items))
            except (StepError, ServiceError, TimeoutError) as error:
                log.warning(
                    "summaries were not rewritten: %s", type(error).__name__, extra={"group_id": group_id}
                )
                self._put_back(group_id, waiting)
                await asyncio.sleep(self._rest_s)

    def _put_back(self, group_id: str, failed: _DueSummaries) -> None:
        """Behind the others: an outage takes no summary from a group that nothing new is told of."""
        now = self._waiting.get(group_id)
        if failed.outages + 1 < _OUTAGES and (now is None or now.epoch == failed.epoch):
            again = self._queue(group_id, failed.epoch, failed.entities, failed.items)
            if again is not None:
                again.outages = failed.outages + 1

    async def rewrite(self, group_id: str, epoch: int, uuids: Sequence[str], items: Sequence[str]) -> None:
        """Rewrite the summaries of those of these entities that are due, some a call; count the cost for the
        items. Raises ModelUnavailable, Overloaded, StoreUnavailable, TimeoutError."""
        for start in range(0, len(uuids), ENTITIES):
            async with asyncio.timeout(_DEADLINE_S):
                await self._rewrite_some(group_id, epoch, uuids[start : start + ENTITIES], items)

    async def _rewrite_some(
        self, group_id: str, epoch: int, uuids: Sequence[str], items: Sequence[str]
    ) -> None:
        drafts = await self._due(group_id, epoch, uuids)
        if drafts:
            retold = await self._retold(group_id, drafts)
            done = [
                _Draft(draft.entity, draft.sources, text)
                for draft, text in zip(drafts, retold.texts, strict=True)
            ]
            await self._write(group_id, epoch, done, retold.usage, items)

    async def _due(self, group_id: str, epoch: int, uuids: Sequence[str]) -> list[_Draft]:
        view = await self._store.names(group_id, (), uuids)
        if view.head.epoch != epoch:
            return []
        now_ms = self._clock.now_ms()
        due = [entity for _, entity in sorted(view.by_uuid.items()) if is_due(entity)]
        found = await asyncio.gather(
            *(self._store.entity_facts(group_id, each.uuid, _READ * SOURCES, now_ms) for each in due)
        )
        drafts = [
            _Draft(entity, sources_of(entity.uuid, facts, now_ms))
            for entity, facts in zip(due, found, strict=True)
        ]
        return [draft for draft in drafts if has_news(draft.entity, draft.sources)]

    async def _retold(self, group_id: str, drafts: Sequence[_Draft]) -> Retold:
        """The texts of the model; empty ones if its answer is not usable, which is recorded too: see
        `rewritten`."""
        subjects = [
            Subject(draft.entity.name, draft.entity.labels, tuple(part.text for part in draft.sources))
            for draft in drafts
        ]
        try:
            return await self._writer.retell(group_id, subjects, self._clock.now_ms())
        except ModelUnavailable:
            raise
        except StepError as error:
            log.warning("the model's summaries cannot be used: %s", error, extra={"group_id": group_id})
            return Retold(("",) * len(drafts), error.usage)

    async def _write(
        self, group_id: str, epoch: int, drafts: Sequence[_Draft], usage: Usage, items: Sequence[str]
    ) -> None:
        parts = usage.split(len(items)) if items else []
        spent = {uuid: part for uuid, part in zip(items, parts, strict=True) if part}
        turn = self.turn(group_id)
        for _ in range(_TRIES):
            try:
                async with turn.lock:
                    await self._written(group_id, epoch, drafts, spent)
                    turn.rewrites += 1
            except RevisionChanged:
                await asyncio.sleep(self._rng.uniform(0, _PAUSE_S))
                continue
            except LeaseLost:  # the group was deleted
                pass
            return
        raise Overloaded(
            f"the group changed under {_TRIES} rewritings in a row", int(_AFTER_OUTAGE_S * 1_000)
        )

    async def _written(
        self, group_id: str, epoch: int, drafts: Sequence[_Draft], spent: Mapping[str, Usage]
    ) -> None:
        view = await self._store.names(group_id, (), [draft.entity.uuid for draft in drafts])
        system_ms = max(self._clock.now_ms(), view.head.last_ms + 1)
        entities = await self._as_drafted(view, drafts, system_ms)
        delta = GraphDelta(group_id, system_ms, entities=entities, spent=spent)
        if not entities:
            delta = replace(delta, system_ms=view.head.last_ms, bumps_rev=False)
        await self._store.apply(delta, Guard(view.head.rev, epoch))

    async def _as_drafted(
        self, view: NameView, drafts: Sequence[_Draft], system_ms: int
    ) -> tuple[Entity, ...]:
        """The entities with their texts, without those whose sources have changed meanwhile."""
        wanted = {part.key for draft in drafts for part in draft.sources}
        facts = {fact.uuid: fact for fact in await self._store.facts(view.head.group_id, wanted)}
        present = [(view.by_uuid.get(draft.entity.uuid), draft) for draft in drafts]
        return tuple(
            rewritten(entity, draft.sources, draft.text, system_ms)
            for entity, draft in present
            if entity is not None and still_hold(entity, draft.sources, facts, system_ms)
        )


def _add(known: dict[str, None], more: Iterable[str]) -> None:
    for each in islice(more, _WAITING - len(known)):
        known[each] = None
