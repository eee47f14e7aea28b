"""Random operations on items and leases."""

import random
from dataclasses import replace

from kgsvc.domain.model.graph import FREE, Episode, RoleType, Source, Usage
from kgsvc.domain.model.items import (
    AcceptBatch,
    GroupWork,
    ItemState,
    ItemWarning,
    NewItem,
    Step,
    Transition,
)
from kgsvc.domain.model.keys import content_hash, digest
from tests.support.model_rows import Group
from tests.support.stateful.twins import Comparable, Side, answer, queued
from tests.support.stateful.words import HOUR
from tests.support.stateful.world import START, World

STATES = tuple(state for state in ItemState if state is not ItemState.DELETED)
_MANY, _HUGE = 100_000, 1 << 40


async def accept(world: World) -> None:
    """One to three calls: new items, replays, conflicts, idempotency keys old and new."""
    batches = [_batch(world, world.group()) for _ in range(world.rng.choice((1, 1, 2, 3)))]

    async def call(side: Side) -> Comparable:
        return tuple(map(answer, await side.store.accept(batches)))

    await world.twins.agree("accept", call)
    world.receipts += [batch.receipt_id for batch in batches]


def _batch(world: World, group: Group) -> AcceptBatch:
    rng = world.rng
    episodes = [_episode(world, group.group_id) for _ in range(rng.choice((1, 2, 3, 4)))]
    return AcceptBatch(
        group_id=group.group_id,
        items=tuple(map(NewItem, episodes)),
        receipt_id=f"{world.groups[0]}/{world.fresh('r')}",
        operation=rng.choice(("AddEpisodes", "AddMessages")),
        now_ms=world.now_ms,
        idempotency_key=rng.choice((None, None, "k1", "k2")),
        input_hash=digest(*[e.uuid for e in episodes]) if rng.random() < 0.5 else "same",
        dedup_window_ms=20_000,
    )


def _episode(world: World, group_id: str) -> Episode:
    rng = world.rng
    number = rng.randrange(14)
    of_item = random.Random(number)  # an item's content follows from its uuid, so that replays are replays
    text = "😀 other content" if rng.random() < 0.06 else f"body {number} " * of_item.randrange(4)
    made = Episode(
        uuid=f"e{number:02}",
        group_id=group_id,
        body=text,
        source=of_item.choice(tuple(Source)),
        reference_ms=START + of_item.randrange(-4, 4) * HOUR,
        created_ms=world.now_ms,
        name=of_item.choice((None, f"name {number}")),
        role_type=of_item.choice((None, *RoleType)),
        role=of_item.choice((None, "Ada")),
    )
    return replace(made, content_hash=content_hash(made))


async def claim(world: World) -> None:
    """Claim a group as it is, or as it was when it was seen some time ago."""
    group_id = world.busy_group().group_id
    sights = world.twins.model.sights
    if sights and world.rng.random() < 0.15:
        await _claim_sight(world, world.rng.randrange(len(sights)))
    elif await _look(world, group_id):
        await _claim_sight(world, -1)


async def work_on(world: World, group_id: str) -> int | None:
    """Where the lease to work under is, mostly a held one: a free group is claimed first."""
    if (
        world.model.peek(group_id).owner_id is None
        and world.rng.random() < 0.9
        and await _look(world, group_id)
    ):
        await _claim_sight(world, -1)
    return world.lease_place(group_id)


async def lapse(world: World) -> None:
    """Somebody else takes a group that has an owner: its started items become suspect."""
    owned = [g for g in world.groups if world.model.peek(g).owner_id is not None]
    if owned and await _look(world, world.rng.choice(owned)):
        await _claim_sight(world, -1)


async def _look(world: World, group_id: str) -> bool:
    """See a group through ready_groups on both sides; whether it is ready."""

    async def call(side: Side) -> Comparable:
        ready = [w for w in await side.store.ready_groups(world.now_ms, _MANY) if w.group_id in world.groups]
        order = [(w.owner_id is None, w.served_ms) for w in ready]
        assert order == sorted(order), "order of ready_groups"
        found = [work for work in ready if work.group_id == group_id]
        side.sights += found[:1]
        return tuple(sorted((w.group_id, w.owner_id or "") for w in ready)), bool(found)

    return bool((await world.twins.agree("ready_groups", call))[1])


async def _claim_sight(world: World, place: int) -> None:
    owner_id = world.rng.choice(("worker-a", "worker-b"))
    limit = world.rng.choice((0, 0, 0, 1, 4))  # of items that are started with the claim

    async def call(side: Side) -> Comparable:
        seen: GroupWork = side.sights[place]
        (claimed,) = await side.store.begin([seen], owner_id, world.now_ms, limit, _HUGE)
        if claimed is None:
            return None
        lease = claimed.lease
        side.leases.setdefault(lease.group_id, []).append(lease)
        assert lease.token == seen.owner_token + 1, "a claim makes the token one more"
        epoch = lease.epoch - side.bases[lease.group_id].epoch
        return lease.group_id, lease.owner_id, epoch, tuple(map(queued, claimed.items))

    await world.twins.agree("claim", call)


async def renew(world: World) -> None:
    """Renew leases, held and lost ones."""
    places = [(g, p) for g in world.groups if (p := world.lease_place(g)) is not None]

    async def call(side: Side) -> Comparable:
        return tuple(sorted(await side.store.renew([side.leases[g][p] for g, p in places])))

    await world.twins.agree("renew", call)


async def release(world: World) -> None:
    """Release a lease, perhaps one that is lost already."""
    group_id = world.group().group_id
    place = await work_on(world, group_id)
    if place is None:
        return

    async def call(side: Side) -> Comparable:
        return await side.store.release(side.leases[group_id][place])

    await world.twins.agree("release", call)


async def start(world: World) -> None:
    """Start items under a lease."""
    group = world.busy_group()
    place = await work_on(world, group.group_id)
    if place is not None:
        await begin(world, group, place)


async def begin(world: World, group: Group, place: int) -> None:
    """Start items; at times without those that are in work already."""
    rng = world.rng
    begun = [item.episode.uuid for item in world.items(group) if item.started]
    exclude = rng.choice(((), ("nobody", *begun)))
    limit = rng.randrange(1, 6)

    async def call(side: Side) -> Comparable:
        lease = side.leases[group.group_id][place]
        items = await side.store.start_items(lease, world.now_ms, limit, _HUGE, exclude)
        return tuple(map(queued, items))

    await world.twins.agree("start_items", call)


async def transition(world: World) -> None:
    """Any transitions of any items, also of finished, unknown and not started ones."""
    group = world.busy_group()
    place = await work_on(world, group.group_id)
    if place is None:
        return
    if world.rng.random() < 0.8:
        await begin(world, group, place)
    items = world.items(group)
    if world.rng.random() < 0.7:
        items = [item for item in items if item.started] or items
    chosen = world.some(items, 4)
    moves = [_transition(world, item.episode.uuid) for item in chosen] + [_transition(world, "nobody")]

    async def call(side: Side) -> Comparable:
        return await side.store.save_transitions(side.leases[group.group_id][place], moves)

    await world.twins.agree("save_transitions", call)


def _transition(world: World, uuid: str) -> Transition:
    rng = world.rng
    state = rng.choice((*STATES, *(step.failed for step in Step), ItemState.EXTRACTED, ItemState.PARKED))
    step = next((step for step in Step if step.failed is state), None)
    failing = step is not None or state is ItemState.PARKED
    return Transition(
        uuid,
        state,
        world.now_ms,
        step=step,
        attempts=rng.randrange(1, 6) if step else 0,
        reason=rng.choice(("timeout", "no verb")) if failing else None,
        next_ms=world.now_ms + rng.choice((0, 3_000, 60_000)) if step else 0,
        stage=rng.choice((None, b"stage", b"\0\xff")),
        keep_stage=failing,
        usage=Usage(1, rng.randrange(900), 7) if rng.random() < 0.3 else FREE,
        warnings=rng.choice((None, None, (), (ItemWarning("edges[0].name", "empty_value", dropped=True),))),
    )


async def retry(world: World) -> None:
    """Retry some items or all."""
    group = world.group()
    uuids = world.rng.choice((None, [i.episode.uuid for i in world.some(world.items(group), 2)]))

    async def call(side: Side) -> Comparable:
        return tuple(sorted(await side.store.retry_items(group.group_id, uuids, world.now_ms)))

    await world.twins.agree("retry_items", call)


async def delete_group(world: World) -> None:
    """Delete a group; its receipts stay, all of them terminal."""
    group_id = world.group().group_id

    async def call(side: Side) -> Comparable:
        before = await side.head(group_id)
        await side.store.delete_group(group_id, world.now_ms)
        await side.begin_epoch(group_id)
        return side.bases[group_id].epoch > before.epoch

    await world.twins.agree("delete_group", call)
