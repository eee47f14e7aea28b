"""Random operations on the graph: planned as the service plans them, and raw rows beside."""

from dataclasses import replace
from typing import Any

from kgsvc.commands.entities import EntityInput, upsert
from kgsvc.commands.facts import without_fact
from kgsvc.domain.errors import Conflict
from kgsvc.domain.facts.plan import plan, statements_of
from kgsvc.domain.model.delta import Claim, FactTombstone, GraphDelta, MergeRecord, NameView, SlotView
from kgsvc.domain.model.graph import Closure, Entity, Fact, Mention
from kgsvc.domain.model.items import ItemState, Transition
from kgsvc.domain.model.keys import digest, name_key
from kgsvc.domain.names.entities import candidate_uuids, keys_of, resolve
from kgsvc.domain.names.meanings import BatchItem
from kgsvc.domain.resolution import questions
from kgsvc.domain.resolution.decisions import CandidateQuery, Decisions, VectorPage, VectorsAfter
from tests.support.model_rows import Group
from tests.support.samples import fact as sample_fact
from tests.support.stateful.queue_operations import begin, work_on
from tests.support.stateful.twins import Comparable, Side
from tests.support.stateful.words import PEOPLE, PLACES, extraction
from tests.support.stateful.world import START, World


async def commit(world: World) -> None:
    """Plan a micro-batch of items as the pipeline does and apply it under a lease, perhaps a lost one."""
    group = world.busy_group()
    place = await work_on(world, group.group_id)
    if place is not None and world.rng.random() < 0.95:
        await begin(world, group, place)
    waiting = world.items(group, unfinished=True)
    if place is None or not waiting:
        await rewrite(world)
        return
    if world.rng.random() < 0.9:  # else the store is asked for what nobody began
        waiting = [item for item in waiting if item.started] or waiting
    chosen = [
        item.queued() for item in world.rng.sample(waiting, min(len(waiting), world.rng.randrange(1, 5)))
    ]
    items = [BatchItem(q.episode, extraction(world.rng, START), q.accepted_ms) for q in chosen]
    uuids = tuple(item.episode.uuid for item in items)
    delta = replace(
        await _planned(world, group.group_id, items),
        transitions=tuple(Transition(uuid, ItemState.COMPLETED, world.now_ms) for uuid in uuids),
        requires_items=uuids,
    )
    await world.write("a planned batch", delta, place=place)


async def _planned(world: World, group_id: str, items: list[BatchItem]) -> GraphDelta:
    keys = keys_of(items)
    candidates = candidate_uuids(group_id, keys)
    await world.twins.agree("names", lambda side: _names(side, group_id, keys, candidates))
    names = await world.model.names(group_id, keys, candidates)
    system_ms = world.system_ms(names.head)
    resolved = resolve(names, group_id, items, system_ms)
    statements = statements_of(resolved, items)
    query = _query(world, items, names)
    await world.twins.agree("candidates", lambda side: _candidates(side, group_id, query))
    slots = {entry.slot for entry in statements}
    await world.twins.agree("slots", lambda side: _slots(side, group_id, slots))
    view = await world.model.slots(group_id, slots)
    delta = plan(group_id, items, resolved, statements, view, system_ms)
    return replace(delta, **_vectors(world, delta, names, view))


async def _names(side: Side, group_id: str, keys: set[str], uuids: set[str]) -> Comparable:
    view = await side.store.names(group_id, keys, uuids)
    return side.relative(view.head), dict(view.by_key), dict(view.by_uuid)


def _query(world: World, items: list[BatchItem], names: NameView) -> CandidateQuery:
    """What resolution asks for: about names, as if they were new, and facts; mostly more than fits."""
    asked = questions.new_names(items, NameView(names.head, {}), Decisions())
    query = questions.query(asked, items, names, facts=True)
    bounds = [world.rng.randrange(1, 5) for _ in range(6)]
    return replace(
        query,
        uuids=[*world.some(sorted(entity.uuid for entity in names.by_key.values()), 2), "nobody"],
        vectors=VectorsAfter(world.embedder.space, limit=bounds[4]),
        entities_per_token=bounds[0],
        names_per_entity=bounds[1],
        facts_per_source=bounds[2],
        facts_per_pair=bounds[3],
        facts_per_target=bounds[5],
    )


async def _candidates(side: Side, group_id: str, query: CandidateQuery) -> Comparable:
    found = await side.store.candidates(group_id, query)
    vectors = found.vectors or VectorPage(0)
    told = dict(found.by_token), dict(found.entities), dict(found.names), found.facts, dict(found.labels)
    return *told, vectors.rows, vectors.more


async def _slots(side: Side, group_id: str, slots: set[str]) -> Comparable:
    view = await side.store.slots(group_id, slots)
    facts = tuple(sorted(view.facts, key=lambda f: f.uuid))
    return facts, tuple(sorted(view.tombstones, key=lambda t: t.uuid))


def _vectors(world: World, delta: GraphDelta, names: NameView, view: SlotView) -> dict[str, Any]:
    """Vectors of what is new, as the pipeline gives them; sometimes none, as without an embedder."""
    if world.rng.random() < 0.2:
        return {}
    stored = {fact.uuid for fact in view.facts} | {entity.uuid for entity in names.by_key.values()}
    texts = {f.uuid: f.fact for f in delta.facts} | {e.uuid: e.name for e in delta.entities}
    vectors = {uuid: world.embedder.vector(text) for uuid, text in texts.items() if uuid not in stored}
    return {"vectors": vectors, "space": world.embedder.space}


async def assert_entity(world: World) -> None:
    """Create, change or rename an entity as AddEntityNode does, at times with an idempotency key."""
    group, rng = world.group(), world.rng
    known = sorted(group.entities)
    wanted = EntityInput(
        uuid=rng.choice([*known, "n-own"]),
        group_id=group.group_id,
        name=rng.choice((*PEOPLE, *PLACES, "Ada the Great", "ADA", "Bob & Sons")),
        summary=rng.choice((None, "by hand", "")),
        attributes=rng.choice((None, {"asserted": [1, {"deep": None}]})),
    )
    view = await world.model.names(group.group_id, [name_key(wanted.name)], [wanted.uuid])
    try:
        delta = upsert(view, wanted, world.system_ms(view.head))
    except Conflict:
        names = {name_key(wanted.name): wanted.uuid}
        delta = GraphDelta(
            group.group_id, world.now_ms, entities=(_entity(world, group, wanted),), names=names
        )
    claim = Claim("AddEntityNode", "k1", wanted.name, world.now_ms, 20_000) if rng.random() < 0.3 else None
    delta = delta or GraphDelta(group.group_id, view.head.last_ms, bumps_rev=False)
    await world.write("an entity", replace(delta, claim=claim))


def _entity(world: World, group: Group, wanted: EntityInput) -> Entity:
    old = group.entities.get(wanted.uuid)
    return old or Entity(wanted.uuid, group.group_id, wanted.name, world.now_ms)


async def delete_fact(world: World) -> None:
    """Delete a fact for good, as DeleteEntityEdge does; or one that is not there."""
    group = world.group()
    system_ms = world.system_ms(group.head)
    if group.facts and world.rng.random() < 0.9:
        doomed = group.facts[world.rng.choice(sorted(group.facts))]
        await world.write("a deleted fact", without_fact(doomed, group.head, system_ms))
        return
    stone = FactTombstone("f-never", "a slot", digest("text"), system_ms)
    await world.write("a tombstone", GraphDelta(group.group_id, system_ms, remove_facts=(stone,)))


async def delete_episode(world: World) -> None:
    """Delete an episode as DeleteEpisode does."""
    group = world.group()
    uuid = world.rng.choice([*group.items, "nobody"])
    delta = GraphDelta(group.group_id, world.system_ms(group.head), remove_episodes=(uuid,))
    await world.write("a deleted episode", delta)


async def remove_entity(world: World) -> None:
    """Remove an entity with its facts, its names to another one at times, as cascades and merges do."""
    group, rng = world.group(), world.rng
    if not group.entities:
        return
    uuid = rng.choice(sorted(group.entities))
    facts = [f for f in group.facts.values() if uuid in (f.source_uuid, f.target_uuid)]
    others = sorted(group.entities.keys() - {uuid})
    heir = rng.choice(others) if others and rng.random() < 0.5 else None
    keys = [key for key, owner in group.names.items() if owner == uuid]
    system_ms = world.system_ms(group.head)
    record = MergeRecord(world.fresh("m"), group.group_id, uuid, heir or "", system_ms, '{"é": []}')
    delta = GraphDelta(
        group.group_id,
        system_ms,
        names={} if heir is None else dict.fromkeys(keys, heir),
        remove_facts=tuple(_stone(world, fact) for fact in facts),
        remove_mentions=tuple(sorted(world.some(sorted(group.mentions), 2))),
        merges=() if heir is None else (record,),
        remove_merges=tuple(world.some(sorted(group.merges), 1)),
        remove_names=tuple(keys[:1]) if heir is None else (),
        remove_name_tokens=tuple(sorted(world.some(sorted(group.name_tokens), 2))),
        remove_entities=(uuid,),
    )
    await world.write("a removed entity", delta)


async def rewrite(world: World) -> None:
    """Rows as no plan would write them together: replaced, renamed, moved, removed, all in one delta."""
    await world.write("raw rows", raw_delta(world, world.group()))


async def stale_write(world: World) -> None:
    """A delta under a guard that no longer holds, or that needs items which are gone: nothing is written."""
    group, rng = world.group(), world.rng
    delta = raw_delta(world, group)
    place = world.lease_place(group.group_id)
    wrong = rng.choice(("rev", "rev", "epoch", "items", "name", "token"))
    if wrong == "items":
        uuids = ("nobody", *(item.episode.uuid for item in world.some(world.items(group), 3)))
        await world.write("stale items", replace(delta, requires_items=uuids))
    elif wrong == "name" and len(group.names) > 1:
        key = rng.choice(sorted(group.names))
        thief = Entity(world.fresh("n-thief"), group.group_id, "Thief", world.now_ms)
        theft = {key: thief.uuid}
        delta = replace(delta, entities=(thief,), names=theft)
        await world.write("a stolen name", delta)
    elif wrong == "token" and place is not None:
        await world.write("a token", delta, place=place)
    else:
        shift = {"rev": (rng.choice((-1, 1)), 0), "epoch": (0, rng.choice((-1, 1)))}
        rev, epoch = shift.get(wrong, (1, 1))
        await world.write("a stale guard", delta, rev=rev, epoch=epoch)


def raw_delta(world: World, group: Group) -> GraphDelta:
    """A consistent delta of random rows."""
    rng, group_id = world.rng, group.group_id
    renamed = tuple(
        replace(
            group.entities[uuid],
            name=world.fresh(rng.choice(("Ada ", "Zoë "))),
            attributes={"n": world.now_ms},
        )
        for uuid in world.some(sorted(group.entities), 2)
    )
    new = (Entity(world.fresh("n"), group_id, world.fresh("Name "), world.now_ms, labels=("Thing",)),)
    entities = {**group.entities, **{e.uuid: e for e in (*renamed, *new)}}
    replaced, removed = _split(world.some(sorted(group.facts), 4))
    facts = [_replaced(world, group.facts[uuid], entities) for uuid in replaced]
    ends = sorted(entities)
    made = sample_fact(world.fresh("f"), entities[rng.choice(ends)], entities[rng.choice(ends)])
    facts += [made] if rng.random() < 0.7 else []
    episodes = world.some(list(group.items), 3)
    gone = episodes[:1] if rng.random() < 0.2 else []
    kept = [uuid for uuid in episodes if uuid not in gone]
    vectors = {f.uuid: world.embedder.vector(f.fact) for f in facts if rng.random() < 0.5}
    return GraphDelta(
        group_id=group_id,
        system_ms=world.system_ms(group.head),
        entities=(*renamed, *new),
        names={name_key(e.name): e.uuid for e in (*renamed, *new)},
        facts=tuple(facts),
        mentions=tuple(_mention(world, group_id, uuid, rng.choice(ends)) for uuid in kept),
        episode_edges={uuid: tuple(f.uuid for f in facts) for uuid in kept},
        unsaid=tuple(world.some(replaced, 1)),
        remove_facts=tuple(_stone(world, group.facts[uuid]) for uuid in removed),
        remove_episodes=tuple(gone),
        vectors=vectors,
        space=world.embedder.space if vectors else "",
        transitions=tuple(Transition(u, ItemState.COMPLETED, world.now_ms) for u in kept[:1]),
    )


def _split(uuids: list[str]) -> tuple[list[str], list[str]]:
    return uuids[: len(uuids) // 2 + 1], uuids[len(uuids) // 2 + 1 :]


def _replaced(world: World, fact: Fact, entities: dict[str, Entity]) -> Fact:
    """The fact with some of its fields changed, under the present names of its ends."""
    changes: dict[str, Any] = world.rng.choice(
        (
            {"weight": world.rng.random(), "keywords": ("again",)},
            {"expired_ms": world.now_ms, "expired_reason": "retracted", "expired_by_episode": "e00"},
            {"expired_ms": None, "invalid_ms": world.now_ms + 5, "attributes": {"by": "hand"}},
            {"episodes": (*fact.episodes, "e01"), "slot": digest("another slot")},
            {"closures": (Closure(world.now_ms, world.now_ms, "f-any", "e02"),)},
            {"updated_ms": world.now_ms, "original_fact": "før", "previous_uuid": "f-0", "asserted": True},
        )
    )
    source, target = entities[fact.source_uuid], entities[fact.target_uuid]
    return replace(fact, source_name=source.name, target_name=target.name, **changes)


def _mention(world: World, group_id: str, episode_uuid: str, entity_uuid: str) -> Mention:
    made = (world.fresh(f"{group_id}-m"), group_id, episode_uuid, entity_uuid, world.now_ms)
    return Mention(*made, *(tuple(sorted(world.some(["Ada", "ada", "Åda"], 2))) for _ in range(2)))


def _stone(world: World, fact: Fact) -> FactTombstone:
    return FactTombstone(fact.uuid, fact.slot, digest(fact.fact), world.now_ms)
