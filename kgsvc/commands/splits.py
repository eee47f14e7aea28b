"""SplitEntityNode and UndoSplit: a caller takes an entity apart, or makes it one again."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kgsvc.commands.core import Core, no_entities, until_applied
from kgsvc.commands.merges import too_late
from kgsvc.domain.errors import Conflict, InvalidArgument, LimitExceeded, NotFound, Violation
from kgsvc.domain.model.delta import FactTombstone, GraphDelta, MergeRecord, NameView
from kgsvc.domain.model.graph import Entity, Fact, Mention
from kgsvc.domain.model.keys import digest, mint, name_key
from kgsvc.domain.names.forgetting import is_collected, lost_tokens
from kgsvc.domain.names.merging import Hanging, Said, both, folded_apart, said_in, slots_of
from kgsvc.domain.names.namesakes import namesake, namesakes_of, plain
from kgsvc.domain.names.similarity import lost_identities
from kgsvc.domain.names.splitting import (
    Going,
    apart,
    back_together,
    divided,
    is_split,
    names_that_go,
    new_entity,
    record_of_split,
    rejoined_entity,
    reserved,
    split_entity,
    split_facts,
)
from kgsvc.pipeline.joining import hanging_of, mentions_of
from kgsvc.pipeline.summaries import summarised
from kgsvc.runtime import STATEMENTS, offload
from kgsvc.stores.protocol import MergesWhere

OPERATION = "SplitEntityNode"
SPLIT_STAYS = "one of the two entities was deleted, or merged into another"


@dataclass(frozen=True, slots=True)
class SplitInput:
    """What goes to a new entity: all that some episodes state, or some facts; one of the two. `name`: what it
    is called, None: as the entity."""

    group_id: str
    uuid: str
    episodes: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    name: str | None = None

    @property
    def going(self) -> Going:
        """As the domain has it."""
        return Going(frozenset(self.episodes), frozenset(self.facts))


@dataclass(frozen=True, slots=True)
class Split:
    """The entity that was taken out, the split, and the facts that the new entity has, by uuid."""

    entity: Entity
    split_id: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rejoined:
    """The entity that is whole again, and how many facts came back to it."""

    entity: Entity
    facts_moved: int


@until_applied
async def split_entity_node(core: Core, wanted: SplitInput, key: str | None = None) -> Split:
    """Take a new entity out of an entity. A repeated idempotency key with the same input writes nothing and
    returns the first outcome.

    Raises NotFound (no such entity), InvalidArgument (an episode or a fact is not the entity's, or nothing
    would stay), LimitExceeded (too much belongs to it), Conflict (another entity owns the name; the key was
    used with another input, or for a split that was undone), EmbedderUnavailable, Overloaded,
    StoreUnavailable.
    """
    group_id, store = wanted.group_id, core.store
    values = digest(wanted.uuid, sorted(wanted.episodes), sorted(wanted.facts), wanted.name)
    names = namesakes_of(wanted.name) if wanted.name else ()
    view = await store.names(group_id, names, [wanted.uuid])
    system_ms = core.system_ms(view.head)
    split_id = mint("split", group_id, digest(values, key or system_ms))
    if key is not None:
        for known in await store.merges(group_id, MergesWhere(split_id)):
            return await _first_outcome(core, known)
    entity = view.by_uuid.get(wanted.uuid)
    if entity is None:
        raise no_entities(["uuid"])
    hanging = await _hanging(core, entity, "uuid")
    _check(wanted, hanging)
    delta, facts = await _taken_out(core, view, entity, hanging, wanted, split_id)
    delta = replace(delta, claim=core.claim(OPERATION, key, values))
    head = await core.apply(delta, view.head)
    if head.rev == view.head.rev:
        raise Conflict("the idempotency key was used for a split that was undone")
    (made,) = (each for each in delta.entities if each.uuid == delta.merges[0].merged_uuid)
    return Split(made, split_id, facts)


@until_applied
async def undo_split(core: Core, group_id: str, split_id: str) -> Rejoined:
    """Make one of the two again, with all that either has by now. Raises NotFound, Conflict (one of the two
    is gone), LimitExceeded (too much belongs to what was taken out), EmbedderUnavailable, Overloaded,
    StoreUnavailable."""
    store = core.store
    record = next(iter(await store.merges(group_id, MergesWhere(split_id))), None)
    if record is None or not is_split(record):
        raise NotFound("there is no such split", [Violation("split_id", "names no split of the group")])
    view = await store.names(group_id, (), [record.kept_uuid, record.merged_uuid])
    entity, other = view.by_uuid.get(record.kept_uuid), view.by_uuid.get(record.merged_uuid)
    if entity is None or other is None:
        raise Conflict(SPLIT_STAYS, [Violation("split_id", SPLIT_STAYS)])
    data: dict[str, Any] = json.loads(record.data)
    if is_collected(data):
        raise too_late("split_id")
    hanging = await _hanging(core, other, "split_id")
    delta = await _put_back(core, entity, other, hanging, data, core.system_ms(view.head))
    delta = replace(delta, remove_merges=(split_id,))
    await core.apply(delta, view.head)
    (whole,) = (each for each in delta.entities if each.uuid == entity.uuid)
    return Rejoined(whole, len(hanging.facts))


async def _hanging(core: Core, entity: Entity, field: str) -> Hanging:
    bound = core.limits.merge_bound
    found = await hanging_of(core.store, entity, bound)
    if found is None:
        says = f"it has more than {bound} facts and mentions"
        raise LimitExceeded(says, [Violation(field, says)])
    return found


def _check(wanted: SplitInput, hanging: Hanging) -> None:
    """Raises InvalidArgument unless what is named is the entity's, and not all of it."""
    field, named = ("episode_uuids", wanted.episodes) if wanted.episodes else ("fact_uuids", wanted.facts)
    if wanted.episodes:
        what, own = "an episode that tells of the entity", set(hanging.episodes)
        own |= {episode for fact in hanging.facts for episode in fact.episodes}
    else:
        what, own = "a fact of the entity", {fact.uuid for fact in hanging.facts}
    strange = [at for at, uuid in enumerate(named) if uuid not in own]
    if strange:
        raise InvalidArgument.of([Violation(f"{field}[{at}]", f"is not {what}") for at in strange])
    if own <= set(named):
        raise InvalidArgument.of([Violation(field, "names all that the entity has: nothing would stay")])


@dataclass(frozen=True, slots=True)
class _SplitNames:
    """By which names what was taken out is known. `keys` are new name keys, each with the one of the entity
    that it stands for ("": none); `moved` led to the entity before."""

    keys: Mapping[str, str]
    moved: frozenset[str] = frozenset()


async def _names(
    core: Core, view: NameView, entity: Entity, other: Entity, owned: Collection[str], name: str | None
) -> _SplitNames:
    """Raises Conflict when a third entity owns the name."""
    key = name_key(name or entity.name)
    if key != name_key(entity.name):
        owner = view.by_key.get(key)
        if owner is not None and owner.uuid != entity.uuid:
            problem = "belongs to another entity"
            raise Conflict("another entity of the group owns this name", [Violation("name", problem)])
        return _SplitNames({}, frozenset([key])) if owner else _SplitNames({key: ""})
    taken = await core.store.names(entity.group_id, namesakes_of(entity.name))
    marked = namesake(other.name, other.labels, entity, taken.by_key)
    base = min((each for each in owned if plain(each) == key), default="")
    return _SplitNames({name_key(marked): base})


async def _taken_out(
    core: Core, view: NameView, whole: Entity, hanging: Hanging, wanted: SplitInput, split_id: str
) -> tuple[GraphDelta, tuple[str, ...]]:
    """The change, and the facts that the new entity has."""
    group_id, store, system_ms = wanted.group_id, core.store, core.system_ms(view.head)
    gone = apart(hanging, wanted.going)
    said = await store.mentions(group_id, whole.uuid, hanging.episodes)
    goes = {episode: each for episode, each in said.items() if episode in gone.some}
    stays = {episode: each for episode, each in said.items() if episode not in gone.whole}
    other = new_entity(whole, mint("entity", group_id, split_id), wanted.name, hanging, gone, system_ms)
    left, other = split_entity(whole, other, gone, stays, goes)
    names = await _names(core, view, left, other, hanging.names, wanted.name)
    moved = names.moved | names_that_go(whole, hanging.names, stays, goes)
    parts = divided(hanging, whole.uuid, other, wanted.going)
    around = await store.slots(group_id, slots_of(hanging.facts) | slots_of(parts.after.values()))
    before = {fact.uuid: fact for fact in around.facts}

    def understand() -> tuple[dict[str, Fact], str, tuple[str, ...]]:
        after = split_facts(group_id, parts, around, system_ms)
        record = record_of_split(whole, other, parts, before, after, goes, names.keys)
        return after, json.dumps(record, ensure_ascii=False, separators=(",", ":")), tuple(record["facts"])

    size = len(hanging.episodes) + sum(len(fact.evidence) for fact in before.values())
    after, data, facts = await offload(size / STATEMENTS, understand)
    marks = {base: key for key, base in names.keys.items() if base}
    delta = GraphDelta(
        group_id=group_id,
        system_ms=system_ms,
        entities=(left, other),
        names=dict.fromkeys([*names.keys, *moved], other.uuid),
        facts=tuple(after.values()),
        reserve_facts=reserved(parts, after, system_ms),
        mentions=mentions_of(group_id, _said(goes, marks), other.uuid, system_ms),
        episode_edges=await _edges(core, group_id, before, after, set(parts.copies.values())),
        remove_mentions=tuple((episode, whole.uuid) for episode in goes if episode in gone.whole),
        remove_name_tokens=_lost(moved, hanging.names, whole, left),
        merges=(MergeRecord(split_id, group_id, other.uuid, whole.uuid, system_ms, data),),
        vectors=await core.vectors(group_id, {**_new_words(before, after), other.uuid: other.name}),
        space=core.space,
    )
    return await summarised(store, delta, {}, parts.moved), facts


async def _put_back(
    core: Core, entity: Entity, other: Entity, hanging: Hanging, data: Mapping[str, Any], system_ms: int
) -> GraphDelta:
    group_id, store = entity.group_id, core.store
    involved = data["ends"].keys() | data["changed"].keys() | data["made"].keys()
    facts = await store.facts(group_id, involved | {fact.uuid for fact in hanging.facts})
    back, removed = back_together(data, other, entity, facts, system_ms)
    around = await store.slots(group_id, slots_of(facts) | slots_of(back.values()))
    after = folded_apart(group_id, around, back, removed, system_ms)
    before = {fact.uuid: fact for fact in around.facts}
    said = await store.mentions(group_id, other.uuid, hanging.episodes)
    had = await store.mentions(group_id, entity.uuid, hanging.episodes)
    since = {episode: each for episode, each in said.items() if episode not in data["said"]}
    told = _said(since, data["keys"]) | {e: s for e, s in said_in(data, "said").items() if e in said}
    mentions = mentions_of(group_id, told, entity.uuid, system_ms)
    heard = {name_key(name) for names, _types in told.values() for name in names}
    dropped = {key for key, base in data["keys"].items() if base or key not in heard}
    whole = rejoined_entity(entity, other, dropped, core.limits.attributes_bytes)
    return await summarised(
        store,
        GraphDelta(
            group_id=group_id,
            system_ms=system_ms,
            entities=(replace(whole, updated_ms=system_ms),),
            names=dict.fromkeys(set(hanging.names) - dropped, entity.uuid),
            facts=tuple(after.values()),
            mentions=tuple(both(each, had.get(each.episode_uuid)) for each in mentions),
            episode_edges=await _edges(core, group_id, before, after, set(data["copies"].values()), removed),
            remove_facts=tuple(FactTombstone(fact.uuid, fact.slot, "", system_ms) for fact in removed),
            remove_entities=(other.uuid,),
            vectors=await core.vectors(group_id, _new_words(before, after)),
            space=core.space,
        ),
        {},
        removed,
    )


async def _first_outcome(core: Core, record: MergeRecord) -> Split:
    """The outcome when the idempotency key was used first. Raises Conflict if what was taken out is gone."""
    view = await core.store.names(record.group_id, (), [record.merged_uuid])
    entity = view.by_uuid.get(record.merged_uuid)
    if entity is None:
        raise Conflict("the idempotency key was used for an entity that no longer exists")
    return Split(entity, record.merge_id, tuple(json.loads(record.data).get("facts", ())))


async def _edges(
    core: Core,
    group_id: str,
    before: Mapping[str, Fact],
    after: Mapping[str, Fact],
    divided: Collection[str],
    removed: Collection[Fact] = (),
) -> dict[str, tuple[str, ...]]:
    """What the episodes state of facts that were divided, and of the rows that came or went by that."""
    touched = {uuid for uuid in after if uuid in divided or uuid not in before}
    touched |= {fact.uuid for fact in removed}
    rows = [each[uuid] for uuid in touched for each in (before, after) if uuid in each]
    stated = await core.store.episode_edges(group_id, {episode for row in rows for episode in row.episodes})
    gone = {fact.uuid for fact in removed}

    def states(uuid: str, episode: str) -> bool:
        return uuid in after and uuid not in gone and episode in after[uuid].episodes

    return {
        episode: tuple(sorted({*facts} - touched | {uuid for uuid in touched if states(uuid, episode)}))
        for episode, facts in stated.items()
    }


def _new_words(before: Mapping[str, Fact], after: Mapping[str, Fact]) -> dict[str, str]:
    """The texts of rows that are new or have other words, by uuid."""
    return {u: f.fact for u, f in after.items() if u not in before or before[u].fact != f.fact}


def _said(mentions: Mapping[str, Mention], keys: Mapping[str, str]) -> dict[str, Said]:
    """What episodes say, with names of other marks: `keys` has the present name key of each that changes."""

    def called(name: str) -> str:
        key = keys.get(name_key(name))
        return plain(name) + key[len(plain(key)) :] if key else name

    return {e: (tuple(map(called, each.names)), each.types) for e, each in mentions.items()}


def _lost(
    gone: Collection[str], owned: Collection[str], before: Entity, after: Entity
) -> tuple[tuple[str, str], ...]:
    """The search terms that lead to the entity no more without these name keys."""
    terms = lost_tokens(gone, set(owned) - set(gone)) | lost_identities(before, after)
    return tuple((term, after.uuid) for term in sorted(terms))
