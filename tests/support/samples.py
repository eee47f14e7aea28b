"""What tests of stores are made of: episodes, facts, deltas, and the steps that bring a group to a state."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from kgsvc.domain.model.delta import FactTombstone, GraphDelta, GroupHead, Guard
from kgsvc.domain.model.graph import Entity, Episode, Fact, FactKind, Mention, Source
from kgsvc.domain.model.items import (
    AcceptBatch,
    Accepted,
    GroupWork,
    ItemState,
    ItemStatus,
    Lease,
    NewItem,
    QueuedItem,
    Transition,
)
from kgsvc.domain.model.keys import content_hash, digest, fact_key, name_key, slot_of
from kgsvc.domain.text import normalise
from kgsvc.stores.protocol import QueueStore, Store

NOW = 1_760_000_000_000  # 2025-10-09; checks count system time from here
MANY = 100_000  # a limit that nothing in a check reaches
HUGE = 1 << 40  # bytes, likewise
_T = TypeVar("_T")


def present(found: _T | None) -> _T:
    """What must be there."""
    assert found is not None
    return found


def episode(group_id: str, uuid: str, *, body: str | None = None, at: int = 0, **fields: Any) -> Episode:
    """An episode whose reference time is NOW + `at`."""
    made = Episode(
        uuid=uuid,
        group_id=group_id,
        body=f"body of {uuid}" if body is None else body,
        source=fields.pop("source", Source.TEXT),
        reference_ms=fields.pop("reference_ms", NOW + at),
        created_ms=fields.pop("created_ms", NOW),
        **fields,
    )
    return replace(made, content_hash=content_hash(made))


def episodes(group_id: str, count: int, *, step: int = 0, **fields: Any) -> list[Episode]:
    """Episodes e0, e1 and so on, each `step` later than the one before."""
    return [episode(group_id, f"e{n}", at=n * step, **fields) for n in range(count)]


def batch(*episodes: Episode, **fields: Any) -> AcceptBatch:
    """One ingestion call with a receipt id of its own."""
    group_id = fields.pop("group_id", None) or episodes[0].group_id
    defaults: dict[str, Any] = {
        "receipt_id": str(uuids.uuid4()),
        "operation": "AddEpisodes",
        "now_ms": NOW,
        "input_hash": digest(*[e.content_hash for e in episodes]),
    }
    return AcceptBatch(group_id=group_id, items=tuple(map(NewItem, episodes)), **{**defaults, **fields})


async def accepted(store: Store, *episodes: Episode, **fields: Any) -> Accepted:
    """Accept one batch; an Exception among the results is raised."""
    return await answer(store, batch(*episodes, **fields))


async def answer(store: Store, call: AcceptBatch) -> Accepted:
    """The answer to one batch that must be accepted."""
    (result,) = await store.accept([call])
    if isinstance(result, Exception):
        raise result
    return result


async def head(store: Store, group_id: str) -> GroupHead:
    """The group's head; a group without record has zeros."""
    return (await store.heads([group_id])).get(group_id, GroupHead(group_id))


async def guard(store: Store, group_id: str, token: int | None = None) -> Guard:
    """A guard that holds now."""
    now = await head(store, group_id)
    return Guard(rev=now.rev, epoch=now.epoch, token=token)


async def work(store: Store, group_id: str, now_ms: int = NOW) -> GroupWork | None:
    """The group as `ready_groups` shows it, or None when it is not ready."""
    ready = await store.ready_groups(now_ms, MANY)
    return next((seen for seen in ready if seen.group_id == group_id), None)


async def leased(store: Store, group_id: str, owner_id: str = "worker-a", now_ms: int = NOW) -> Lease:
    """A lease on a group that has work."""
    seen = present(await work(store, group_id, now_ms))
    return present(await claim(store, seen, owner_id, now_ms))


async def claim(store: QueueStore, seen: GroupWork, owner_id: str, now_ms: int = NOW) -> Lease | None:
    """Take the lease of a group and start nothing; None: somebody was faster."""
    (claimed,) = await store.begin([seen], owner_id, now_ms, 0, 0)
    return None if claimed is None else claimed.lease


async def started(store: Store, lease: Lease, now_ms: int = NOW) -> list[str]:
    """Start whatever is due; the uuids in the order given."""
    return [item.episode.uuid for item in await store.start_items(lease, now_ms, MANY, HUGE, ())]


async def due(store: Store, lease: Lease) -> list[QueuedItem]:
    """Start whatever is due at NOW."""
    return await store.start_items(lease, NOW, MANY, HUGE, ())


async def queued(store: Store, *episodes: Episode, **fields: Any) -> Lease:
    """Accept items of one group and take its lease."""
    await accepted(store, *episodes, **fields)
    return await leased(store, episodes[0].group_id)


async def begun(store: Store, *episodes: Episode) -> Lease:
    """Accept items of one group, take its lease and start them."""
    await accepted(store, *episodes)
    return await working(store, episodes[0].group_id)


async def working(store: Store, group_id: str, owner_id: str = "worker-a") -> Lease:
    """A lease on a group that has work, all of it started."""
    lease = await leased(store, group_id, owner_id)
    await started(store, lease)
    return lease


async def items(store: Store, group_id: str) -> tuple[ItemStatus, ...]:
    """The group's items in order of acceptance."""
    return (await store.list_items(group_id, (), MANY, None)).rows


async def move(store: Store, lease: Lease, state: ItemState, *uuids: str, **fields: Any) -> None:
    """Save the same transition for each uuid."""
    now_ms = fields.pop("now_ms", NOW + 1)
    await store.save_transitions(lease, [Transition(uuid, state, now_ms, **fields) for uuid in uuids])


async def parked(store: Store, *episodes: Episode, reason: str = "cannot be read") -> Accepted:
    """Accept, park and release: items of one group that rest as PARKED."""
    group_id = episodes[0].group_id
    result = await accepted(store, *episodes)
    lease = await working(store, group_id)
    await move(store, lease, ItemState.PARKED, *[e.uuid for e in episodes], reason=reason)
    await store.release(lease)
    return result


def entity(group_id: str, uuid: str, name: str, **fields: Any) -> Entity:
    """A node."""
    return Entity(uuid=uuid, group_id=group_id, name=name, created_ms=fields.pop("created_ms", NOW), **fields)


def fact(uuid: str, source: Entity, target: Entity, text: str | None = None, **fields: Any) -> Fact:
    """An edge of relation KNOWS between two nodes; its text is unique to its uuid unless given."""
    words = f"{source.name} knows {target.name} by {uuid}" if text is None else text
    relation = fields.pop("name", "KNOWS")
    kind = fields.get("kind", FactKind.STATE)
    slot = slot_of(kind, source.uuid, relation, target.uuid, fields.get("qualifiers", {}))
    reference_ms = fields.pop("reference_ms", NOW)
    valid_ms = fields.get("valid_ms")
    start_ms = reference_ms if valid_ms is None else valid_ms
    return Fact(
        uuid=uuid,
        group_id=source.group_id,
        name=relation,
        fact=words,
        source_uuid=source.uuid,
        target_uuid=target.uuid,
        source_name=source.name,
        target_name=target.name,
        created_ms=fields.pop("created_ms", NOW),
        reference_ms=reference_ms,
        slot=slot,
        fact_key=fact_key(slot, target.uuid, start_ms, words),
        **fields,
    )


def tombstone(removed: Fact, deleted_ms: int = NOW + 5) -> FactTombstone:
    """What is left of a fact after its hard deletion."""
    return FactTombstone(removed.uuid, removed.slot, digest(normalise(removed.fact)), deleted_ms)


def mention(group_id: str, episode_uuid: str, entity_uuid: str) -> Mention:
    """An episode names an entity; a new uuid each time."""
    return Mention(str(uuids.uuid4()), group_id, episode_uuid, entity_uuid, NOW)


def delta(group_id: str, **fields: Any) -> GraphDelta:
    """A delta at NOW that puts the names of its entities, unless `names` are given."""
    entities: Iterable[Entity] = fields.get("entities", ())
    names = fields.pop("names", {name_key(e.name): e.uuid for e in entities})
    return GraphDelta(group_id=group_id, system_ms=fields.pop("system_ms", NOW), names=names, **fields)


async def write(store: Store, group_id: str, **fields: Any) -> GroupHead:
    """Apply a delta under a guard that holds."""
    return await store.apply(delta(group_id, **fields), await guard(store, group_id))


async def pair(store: Store, group_id: str) -> tuple[Entity, Entity]:
    """Two entities, Ada and Bob, written to the group."""
    ada, bob = entity(group_id, "n-ada", "Ada"), entity(group_id, "n-bob", "Bob")
    await write(store, group_id, entities=(ada, bob))
    return ada, bob


class Scratch:
    """The group that a check works in, and the functions above for it."""

    def __init__(self, store: Store, group_id: str) -> None:
        self.store = store
        self.id = group_id
        self.episode = partial(episode, group_id)
        self.episodes = partial(episodes, group_id)
        self.entity = partial(entity, group_id)
        self.mention = partial(mention, group_id)
        self.delta = partial(delta, group_id)
        self.accepted = partial(accepted, store)
        self.answer = partial(answer, store)
        self.parked = partial(parked, store)
        self.queued = partial(queued, store)
        self.begun = partial(begun, store)
        self.started = partial(started, store)
        self.due = partial(due, store)
        self.move = partial(move, store)
        self.head = partial(head, store, group_id)
        self.guard = partial(guard, store, group_id)
        self.work = partial(work, store, group_id)
        self.leased = partial(leased, store, group_id)
        self.working = partial(working, store, group_id)
        self.items = partial(items, store, group_id)
        self.write = partial(write, store, group_id)
        self.pair = partial(pair, store, group_id)

    def sibling(self, number: int = 2) -> Scratch:
        """Another group that the check may use, 2 or 3; its id begins with this one's."""
        return Scratch(self.store, f"{self.id}-{number}")
