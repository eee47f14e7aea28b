"""Hard deletes (spec 004 §4.4): of what is not there they are done already."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from kgsvc.commands.contention import Contention
from kgsvc.commands.lookup import the_one
from kgsvc.commands.merges import Merging
from kgsvc.domain.clock import Clock
from kgsvc.domain.errors import Conflict, EmbedderUnavailable, NotFound
from kgsvc.domain.facts.amendments import without_episode
from kgsvc.domain.facts.plan import text_digest
from kgsvc.domain.model.delta import FactTombstone, GraphDelta, GroupHead, Guard, SlotView
from kgsvc.domain.model.graph import Entity, Fact
from kgsvc.domain.names.forgetting import Forgotten, Saying, doubtful, forgotten, removable, without_words
from kgsvc.domain.names.merging import called
from kgsvc.pipeline.summaries import summarised
from kgsvc.stores.protocol import AdminStore, ReadStore

log = logging.getLogger(__name__)

_NAMES = 100_000  # of one entity


@dataclass(frozen=True, slots=True)
class Cascaded:
    """What went with an episode, and what came back."""

    facts_removed: int
    facts_restored: int
    entities_removed: int


class Deletions:
    """Deletes facts and episodes on a caller's behalf, under the group's lock."""

    def __init__(self, store: ReadStore, merging: Merging, clock: Clock, contention: Contention) -> None:
        self._store = store
        self._merging = merging
        self._clock = clock
        self._contention = contention

    async def fact(self, uuid: str, group_id: str | None) -> bool:
        """Delete a fact; whether it was there. It leaves a tombstone: items accepted before cannot bring it
        back. Raises Conflict (uuid in several groups), Overloaded, StoreUnavailable."""

        async def attempt() -> bool:
            found = the_one(await self._store.fact(uuid, group_id), "a fact")
            if found is None:
                return False
            head, system_ms = await self._head(found.group_id)
            delta = await summarised(self._store, without_fact(found, head, system_ms), {}, [found])
            await self._store.apply(delta, Guard(head.rev, head.epoch))
            return True

        return await self._contention.settle(attempt)

    async def episode(self, uuid: str, group_id: str | None) -> bool:
        """Delete an episode with its mentions and cancel work on it; whether it was there. Facts and
        entities read from it stay. Raises Conflict (uuid in several groups), Overloaded, StoreUnavailable."""

        async def attempt() -> bool:
            found = the_one(await self._store.episode(uuid, group_id), "an episode")
            if found is None:
                return False
            head, system_ms = await self._head(found.group_id)
            delta = GraphDelta(found.group_id, system_ms, remove_episodes=(uuid,))
            await self._store.apply(delta, Guard(head.rev, head.epoch))
            return True

        return await self._contention.settle(attempt)

    async def cascade(self, uuid: str, group_id: str | None) -> Cascaded | None:
        """Delete an episode with everything that only it supports, and bring back what it alone had ended;
        None when it was not there. Entities that it showed to be one are two again, where a merge can still
        be taken back. Raises as `episode`, and EmbedderUnavailable."""
        seen: set[str] = set()

        async def attempt() -> Cascaded | None:
            found = the_one(await self._store.episode(uuid, group_id), "an episode")
            return None if found is None else await self._cascade(found.group_id, uuid, seen)

        return await self._contention.settle(attempt)

    async def _parted(self, group_id: str, uuid: str, seen: set[str]) -> tuple[GroupHead, int]:
        """The group's record, as `_head`, at which every merge that the episode caused has been taken back or
        cannot be. It is read before the merges: one made later is caught by the guard."""
        while True:
            head = await self._head(group_id)
            merges = await self._store.merges_by(group_id, uuid)
            fresh = [record.merge_id for record in merges if record.merge_id not in seen]
            if not fresh:
                return head
            for merge_id in fresh:
                seen.add(merge_id)
                await self._part(group_id, uuid, merge_id)

    async def _part(self, group_id: str, uuid: str, merge_id: str) -> None:
        try:
            await self._merging.undo(group_id, merge_id)
        except (Conflict, NotFound) as error:
            log.info("a merge stays", extra={"group_id": group_id, "item": uuid, "reason": str(error)})

    async def _cascade(self, group_id: str, uuid: str, seen: set[str]) -> Cascaded:
        head, system_ms = await self._parted(group_id, uuid, seen)
        traces = await self._store.traces(group_id, uuid)
        view = await self._store.slots(group_id, traces.slots) if traces.slots else SlotView()
        sayings = await self._store.sayings(group_id, uuid)
        without = without_episode(view, uuid, system_ms)
        gone = {stone.uuid for stone in without.removed}
        loose = await self._store.unheld(group_id, [e.uuid for e in removable(traces.entities)], uuid, gone)
        kept = [entity for entity in traces.entities if entity.uuid not in loose]
        left = [
            await self._forgotten(without_words(entity, uuid, system_ms), uuid, sayings, system_ms)
            for entity in kept
        ]
        renamed = {
            each.entity.uuid: each.entity.name
            for each, entity in zip(left, kept, strict=True)
            if each.entity.name != entity.name
        }
        vectors, space = await self._vectors(group_id, {**renamed, **without.reworded})
        delta = GraphDelta(
            group_id=group_id,
            system_ms=system_ms,
            entities=tuple(each.entity for each in left if each.entity not in kept),
            facts=tuple(called(fact, renamed) for fact in without.facts),
            remove_names=tuple(key for each in left for key in each.names),
            remove_name_tokens=tuple((token, each.entity.uuid) for each in left for token in each.tokens),
            unsaid=tuple(sorted({*vectors, *(each.entity.uuid for each in left if each.names)})),
            remove_facts=without.removed,
            remove_entities=tuple(sorted(loose)),
            remove_episodes=(uuid,),
            vectors=vectors,
            space=space,
        )
        removed = [fact for fact in view.facts if fact.uuid in gone]
        delta = await summarised(self._store, delta, {entity.uuid: entity for entity in kept}, removed)
        await self._store.apply(delta, Guard(head.rev, head.epoch))
        return Cascaded(len(gone), without.restored, len(loose))

    async def _forgotten(
        self, entity: Entity, uuid: str, sayings: Mapping[str, Saying], system_ms: int
    ) -> Forgotten:
        saying = sayings.get(entity.uuid)
        if saying is None:
            return Forgotten(entity)
        owned: list[str] = []
        if doubtful(entity, saying):
            owned = await self._store.entity_names(entity.group_id, entity.uuid, _NAMES)
        return forgotten(entity, saying, owned, uuid, system_ms)

    async def _vectors(self, group_id: str, texts: Mapping[str, str]) -> tuple[dict[str, bytes], str]:
        """A vector tells of the words that are gone: where it cannot be made anew there is none, and what it
        was of is found by its words."""
        none = dict.fromkeys(texts, b"")
        try:
            return none | await self._merging.vectors(group_id, texts), self._merging.space
        except EmbedderUnavailable:
            return none, ""

    async def _head(self, group_id: str) -> tuple[GroupHead, int]:
        """The group's record, and the system time of its next change."""
        head = (await self._store.names(group_id, ())).head
        return head, max(self._clock.now_ms(), head.last_ms + 1)


def without_fact(fact: Fact, head: GroupHead, system_ms: int) -> GraphDelta:
    """The change that deletes `fact` for good."""
    stone = FactTombstone(fact.uuid, fact.slot, text_digest(fact.fact), system_ms)
    return GraphDelta(head.group_id, system_ms, remove_facts=(stone,))


async def clear(store: AdminStore, clock: Clock) -> int:
    """Delete every group; how many there were. Raises StoreUnavailable: then some may be left."""
    group_ids = await store.group_ids()
    for group_id in group_ids:
        await store.delete_group(group_id, clock.now_ms())
    return len(group_ids)
