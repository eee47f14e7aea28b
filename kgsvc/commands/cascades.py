"""DeleteEpisode with `cascade`: an episode goes with all that only it told, and nothing keeps its words."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from kgsvc.commands.core import Core, the_one, until_applied
from kgsvc.commands.episodes import refuse_chunk
from kgsvc.commands.merges import undo_merge
from kgsvc.domain.errors import Conflict, EmbedderUnavailable, NotFound
from kgsvc.domain.facts.amendments import quotation_end, unquoted, without_episode, without_quotations
from kgsvc.domain.model.delta import Erased, GraphDelta, GroupHead, MergeRecord, NameView, SlotView
from kgsvc.domain.model.erasures import Erasure, ErasureKind
from kgsvc.domain.model.graph import Entity, Fact
from kgsvc.domain.names.forgetting import (
    Forgotten,
    Leaving,
    Saying,
    doubtful,
    forgotten,
    marks,
    redacted,
    removable,
    without_words,
)
from kgsvc.domain.names.merging import called
from kgsvc.domain.names.namesakes import heirs, shared_keys
from kgsvc.domain.names.similarity import lost_identities
from kgsvc.pipeline.summaries import summarised
from kgsvc.stores.protocol import MergesWhere, ReadStore

log = logging.getLogger(__name__)

_NAMES = 100_000  # of one entity


@dataclass(frozen=True, slots=True)
class Cascaded:
    """What was removed together with an episode, and what was restored."""

    facts_removed: int
    facts_restored: int
    entities_removed: int
    erasure_id: str


async def cascade_episode(core: Core, uuid: str, group_id: str | None) -> Cascaded | None:
    """Delete an episode with everything that only it supports, and restore the facts that it alone ended;
    None when it did not exist. Merges of entities that it caused are undone where that is still possible.
    Raises as `delete_episode`."""
    episode = the_one(await core.store.episode(uuid, group_id), "an episode")
    if episode is None:
        return None
    refuse_chunk(episode)
    now_ms = core.clock.now_ms()
    erasure = Erasure(core.new_id(), episode.group_id, ErasureKind.EPISODE, now_ms, uuid)
    await core.begin_erasures([erasure])
    done = await erase_episode(core, erasure)
    core.activity.poke()
    return done


@until_applied
async def erase_episode(core: Core, erasure: Erasure) -> Cascaded | None:
    """Carry out an erasure that is written down; None if the episode is gone. May be repeated."""
    episodes = await core.store.episode(erasure.uuid, erasure.group_id)
    if not episodes:
        await core.store.removed(erasure.erasure_id, erasure.group_id, {})
        return None
    return await _cascade(core, erasure, episodes[0].body)


@until_applied
async def erase_part(core: Core, erasure: Erasure, uuid: str) -> None:
    """Carry out the part of an erasure that is one episode or chunk. May be repeated. One that was sent anew
    since then stays."""
    episodes = await core.store.episode(uuid, erasure.group_id)
    if episodes and episodes[0].created_ms <= erasure.asked_ms:
        await _cascade(core, replace(erasure, uuid=uuid), episodes[0].body, over=False)


async def _undo_merges(core: Core, group_id: str, uuid: str) -> GroupHead:
    """Undo every merge that the episode caused, where possible; the group's record at which none is left.

    The record is read before the merges: the guard catches one that is made later.
    """
    tried: set[str] = set()
    while True:
        head = (await core.store.names(group_id, ())).head
        merges = await core.store.merges(group_id, MergesWhere(by_episode=uuid))
        untried = [record.merge_id for record in merges if record.merge_id not in tried]
        if not untried:
            return head
        for merge_id in untried:
            tried.add(merge_id)
            try:
                await undo_merge(core, group_id, merge_id)
            except (Conflict, NotFound) as error:
                log.info(
                    "a merge could not be undone",
                    extra={"group_id": group_id, "item": uuid, "reason": str(error)},
                )


async def _cascade(core: Core, erasure: Erasure, body: str, over: bool = True) -> Cascaded:
    """Remove the episode of the erasure, which is `over` then or goes on; what the caller is told."""
    store, group_id, uuid = core.store, erasure.group_id, erasure.uuid
    head = await _undo_merges(core, group_id, uuid)
    system_ms = core.system_ms(head)
    traces = await store.traces(group_id, uuid)
    view = await store.slots(group_id, traces.slots) if traces.slots else SlotView()
    sayings = await store.sayings(group_id, uuid)
    without = without_episode(view, uuid, system_ms)
    gone = {stone.uuid for stone in without.removed}
    loose = await store.unheld(group_id, [e.uuid for e in removable(traces.entities)], uuid, gone)
    kept = [entity for entity in traces.entities if entity.uuid not in loose]
    lost = [entity for entity in traces.entities if entity.uuid in loose]
    namesakes = await store.names(group_id, shared_keys(lost)) if lost else NameView(head, {})
    left = [
        await _forgotten(store, without_words(entity, uuid, system_ms), uuid, sayings, system_ms)
        for entity in kept
    ]
    renamed = {
        each.entity.uuid: each.entity.name
        for each, entity in zip(left, kept, strict=True)
        if each.entity.name != entity.name
    }
    facts = {fact.uuid: fact for fact in without.facts}
    quoting = {
        fact.uuid: unquoted(facts.get(fact.uuid, fact), body, system_ms)
        for fact in await _quoting(store, group_id, body, gone)
    }
    reworded = {**without.reworded, **{uuid: fact.fact for uuid, fact in quoting.items()}}
    vectors, space = await _new_vectors(core, group_id, {**renamed, **reworded})
    records, merges = await _records(store, group_id, Leaving(uuid, gone, reworded))
    delta = GraphDelta(
        group_id=group_id,
        system_ms=system_ms,
        entities=tuple(each.entity for each in left if each.entity not in kept),
        facts=tuple(called(fact, renamed) for fact in (facts | quoting).values()),
        names=heirs(namesakes, loose),
        remove_names=tuple(key for each in left for key in each.names),
        remove_name_tokens=_lost_tokens(left, kept),
        unsaid=tuple(sorted({*vectors, *(each.entity.uuid for each in left if each.names)})),
        remove_facts=without.removed,
        remove_entities=tuple(sorted(loose)),
        remove_episodes=(uuid,),
        vectors=vectors,
        space=space,
        merges=merges,
        remove_merges=records,
    )
    erased = Erased(erasure.erasure_id, _counts(delta, reworded), over)
    removed = [fact for fact in view.facts if fact.uuid in gone]
    delta = await summarised(store, delta, {entity.uuid: entity for entity in kept}, removed)
    await core.apply(replace(delta, erased=erased), head)
    return Cascaded(len(gone), without.restored, len(loose), erasure.erasure_id)


def _lost_tokens(left: Sequence[Forgotten], kept: Sequence[Entity]) -> tuple[tuple[str, str], ...]:
    """Tokens by which entities were found, and are no more."""
    return tuple(
        (token, each.entity.uuid)
        for each, entity in zip(left, kept, strict=True)
        for token in {*each.tokens, *lost_identities(entity, each.entity)}
    )


def _counts(delta: GraphDelta, reworded: Collection[str]) -> dict[str, int]:
    """What the receipt tells."""
    return {
        "episodes": len(delta.remove_episodes),
        "facts": len(delta.remove_facts),
        "facts_reworded": len(reworded),
        "entities": len(delta.remove_entities),
        "entities_reworded": len(delta.entities),
        "merge_records": len(delta.remove_merges) - len(delta.merges),
        "merge_records_reworded": len(delta.merges),
    }


async def _records(
    store: ReadStore, group_id: str, leaving: Leaving
) -> tuple[tuple[str, ...], tuple[MergeRecord, ...]]:
    """Ids of the records of merges and splits that hold something of the episode, and what stays of them."""
    held = await store.merges(group_id, MergesWhere(text=marks(leaving.episode)))
    left = (redacted(each, leaving) for each in held)
    return tuple(each.merge_id for each in held), tuple(each for each in left if each is not None)


async def _quoting(store: ReadStore, group_id: str, body: str, gone: Collection[str]) -> list[Fact]:
    """The facts of other episodes that quote this one."""
    end = quotation_end(body)
    held = await store.facts_holding(group_id, end) if end else []
    return [f for f in held if f.uuid not in gone and without_quotations(f.fact, body) != f.fact]


async def _forgotten(
    store: ReadStore, entity: Entity, uuid: str, sayings: Mapping[str, Saying], system_ms: int
) -> Forgotten:
    """The entity without the names and types that only the deleted episode gave it."""
    saying = sayings.get(entity.uuid)
    if saying is None:
        return Forgotten(entity)
    owned: list[str] = []
    if doubtful(entity, saying):
        owned = await store.entity_names(entity.group_id, entity.uuid, _NAMES)
    return forgotten(entity, saying, owned, uuid, system_ms)


async def _new_vectors(core: Core, group_id: str, texts: Mapping[str, str]) -> tuple[dict[str, bytes], str]:
    """Vectors of texts that changed, and their space. An old vector would still encode deleted words: where
    no new one can be made it is removed, and keywords alone find the text."""
    removed = dict.fromkeys(texts, b"")
    try:
        vectors = await core.vectors(group_id, texts)
    except EmbedderUnavailable:
        return removed, ""
    return removed | vectors, core.space
