"""GetEpisodes (spec 004 §4.3.3, design §2) and DeleteEpisode (§4.4).

Episodes are listed in chronological order, in pages if asked. Deleting an episode that does not exist
succeeds.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from kgsvc.commands.core import Core, page_token, parts_of, the_one, until_applied, wrong_token
from kgsvc.commands.merges import undo_merge
from kgsvc.domain.errors import Conflict, EmbedderUnavailable, LimitExceeded, NotFound, Violation
from kgsvc.domain.facts.amendments import without_episode
from kgsvc.domain.facts.quoting import quotation_end, unquoted, without_quotations
from kgsvc.domain.model.delta import Erased, GraphDelta, GroupHead, NameView, SlotView
from kgsvc.domain.model.erasures import Erasure, ErasureKind
from kgsvc.domain.model.graph import Entity, Episode, Fact, source_url_of
from kgsvc.domain.model.keys import digest
from kgsvc.domain.names.forgetting import Forgotten, Saying, doubtful, forgotten, removable, without_words
from kgsvc.domain.names.identity import lost_identities
from kgsvc.domain.names.merging import called
from kgsvc.domain.names.namesakes import heirs, shared_keys
from kgsvc.domain.names.redacting import Leaving, marks, redacted
from kgsvc.pipeline.summaries import summarised
from kgsvc.stores.protocol import EpisodeCut, ReadStore

log = logging.getLogger(__name__)

_OVERHEAD_BYTES = 128  # of an episode's message without its texts, rounded up
_TAG_BYTES = 3  # of an entry of a list
_ANY_MS = 2**53  # beyond every time that can be accepted
_NAMES = 100_000  # of one entity
Key = tuple[int, str]


@dataclass(frozen=True, slots=True)
class EpisodePage:
    """Some episodes, oldest first, and the token of the next page (None: these were the last)."""

    episodes: tuple[Episode, ...]
    next_token: str | None = None
    edges: Mapping[str, Sequence[str]] = field(default_factory=dict)  # episode -> the facts it states


async def get_episodes(
    core: Core, group_id: str, last_n: int, page_size: int | None, token: str | None
) -> EpisodePage:
    """The latest `last_n` episodes: all at once without page size and token, else one page.

    Raises LimitExceeded (too much for one answer), InvalidArgument (not a token of this listing),
    StoreUnavailable.
    """
    most = core.limits.response_bytes
    if page_size is None and token is None:
        return await _all_at_once(core.store, group_id, last_n, most)
    return await _one_page(core.store, group_id, last_n, page_size or last_n, token, most)


async def _all_at_once(store: ReadStore, group_id: str, last_n: int, max_bytes: int) -> EpisodePage:
    rows = await store.recent_episodes(group_id, last_n, EpisodeCut(max_bytes=max_bytes))
    edges = await _edges(store, group_id, rows)
    if sum(_size(episode, edges) for episode in rows) > max_bytes:
        problem = f"these episodes have more than {max_bytes} bytes; "
        problem += "read them in pages, with page_size and page_token"
        raise LimitExceeded(problem, [Violation("page_token", problem)])
    return EpisodePage(tuple(rows), edges=edges)


async def _one_page(
    store: ReadStore, group_id: str, last_n: int, page_size: int, token: str | None, max_bytes: int
) -> EpisodePage:
    """Up to `page_size` of the latest `last_n`, fewer where `max_bytes` are reached, at least one. The first
    page fixes the range: later episodes are not in it."""
    upto: Key | None
    after: Key | None
    if token is None:
        newest = await store.recent_episodes(group_id, 1)
        upto, after = (_key(newest[0]) if newest else None), None
    else:
        upto, after = _decoded(token, group_id, last_n)
    if upto is None:
        return EpisodePage(())
    rows = await store.recent_episodes(group_id, last_n, EpisodeCut(upto, after, max_bytes))
    edges = await _edges(store, group_id, rows[:page_size])
    page = _fitting(rows[:page_size], edges, max_bytes)
    if not page or _key(page[-1]) == upto:
        return EpisodePage(page, edges=edges)
    next_token = page_token(_listing(group_id, last_n), *upto, *_key(page[-1]))
    return EpisodePage(page, next_token, edges)


async def _edges(store: ReadStore, group_id: str, episodes: Sequence[Episode]) -> dict[str, tuple[str, ...]]:
    return await store.episode_edges(group_id, [episode.uuid for episode in episodes]) if episodes else {}


def _fitting(
    episodes: list[Episode], edges: Mapping[str, Sequence[str]], max_bytes: int
) -> tuple[Episode, ...]:
    taken: list[Episode] = []
    total = 0
    for episode in episodes:
        total += _size(episode, edges)
        if taken and total > max_bytes:
            break
        taken.append(episode)
    return tuple(taken)


def _size(episode: Episode, edges: Mapping[str, Sequence[str]]) -> int:
    about = episode.source_description
    texts = (episode.body, episode.name, about, source_url_of(about), episode.uuid, episode.group_id)
    stated = sum(len(uuid.encode()) + _TAG_BYTES for uuid in edges.get(episode.uuid, ()))
    return _OVERHEAD_BYTES + stated + sum(len(text.encode()) for text in texts if text)


def _key(episode: Episode) -> Key:
    return episode.reference_ms, episode.uuid


def _listing(group_id: str, last_n: int) -> str:
    return digest(group_id, last_n)[:12]


def _decoded(token: str, group_id: str, last_n: int) -> tuple[Key, Key]:
    match parts_of(token):
        case [str(listing), int(a), str(b), int(c), str(d)] if listing == _listing(group_id, last_n):
            if max(abs(a), abs(c)) < _ANY_MS:
                return (a, b), (c, d)
    raise wrong_token()


@dataclass(frozen=True, slots=True)
class Cascaded:
    """What was removed together with an episode, and what was restored."""

    facts_removed: int
    facts_restored: int
    entities_removed: int
    erasure_id: str


@until_applied
async def delete_episode(core: Core, uuid: str, group_id: str | None) -> bool:
    """Delete an episode with its mentions and cancel work on it; whether it existed. Facts and entities that
    were read from it stay. Raises Conflict (uuid in several groups), Overloaded, StoreUnavailable."""
    episode = the_one(await core.store.episode(uuid, group_id), "an episode")
    if episode is None:
        return False
    head = (await core.store.names(episode.group_id, ())).head
    delta = GraphDelta(episode.group_id, core.system_ms(head), remove_episodes=(uuid,))
    await core.apply(delta, head)
    core.activity.poke()
    return True


async def cascade_episode(core: Core, uuid: str, group_id: str | None) -> Cascaded | None:
    """Delete an episode with everything that only it supports, and restore the facts that it alone ended;
    None when it did not exist. Merges of entities that it caused are undone where that is still possible.
    Raises as `delete_episode`."""
    episode = the_one(await core.store.episode(uuid, group_id), "an episode")
    if episode is None:
        return None
    now_ms = core.clock.now_ms()
    erasure = Erasure(core.new_id(), episode.group_id, ErasureKind.EPISODE, now_ms, uuid)
    await core.store.begin_erasures([erasure])
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


async def _undo_merges(core: Core, group_id: str, uuid: str) -> GroupHead:
    """Undo every merge that the episode caused, where possible; the group's record at which none is left.

    The record is read before the merges: the guard catches one that is made later.
    """
    tried: set[str] = set()
    while True:
        head = (await core.store.names(group_id, ())).head
        merges = await core.store.merges_by(group_id, uuid)
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


async def _cascade(core: Core, erasure: Erasure, body: str) -> Cascaded:
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
    reworded = dict(without.reworded)
    for fact in await _quoting(store, group_id, body, gone):
        facts[fact.uuid] = unquoted(facts.get(fact.uuid, fact), body, system_ms)
        reworded[fact.uuid] = facts[fact.uuid].fact
    vectors, space = await _new_vectors(core, group_id, {**renamed, **reworded})
    records = await store.merges_holding(group_id, marks(uuid))
    leaving = Leaving(uuid, gone, reworded)
    merges = tuple(left_of for each in records if (left_of := redacted(each, leaving)) is not None)
    delta = GraphDelta(
        group_id=group_id,
        system_ms=system_ms,
        entities=tuple(each.entity for each in left if each.entity not in kept),
        facts=tuple(called(fact, renamed) for fact in facts.values()),
        names=heirs(namesakes, loose),
        remove_names=tuple(key for each in left for key in each.names),
        remove_name_tokens=tuple(
            (token, each.entity.uuid)
            for each, entity in zip(left, kept, strict=True)
            for token in {*each.tokens, *lost_identities(entity, each.entity)}
        ),
        unsaid=tuple(sorted({*vectors, *(each.entity.uuid for each in left if each.names)})),
        remove_facts=without.removed,
        remove_entities=tuple(sorted(loose)),
        remove_episodes=(uuid,),
        vectors=vectors,
        space=space,
        merges=merges,
        remove_merges=tuple(record.merge_id for record in records),
        erased=Erased(
            erasure.erasure_id,
            {
                "episodes": 1,
                "facts": len(gone),
                "facts_reworded": len(reworded),
                "entities": len(loose),
                "merge_records": len(records) - len(merges),
                "merge_records_reworded": len(merges),
                "entities_reworded": sum(each.entity not in kept for each in left),
            },
        ),
    )
    removed = [fact for fact in view.facts if fact.uuid in gone]
    delta = await summarised(store, delta, {entity.uuid: entity for entity in kept}, removed)
    await core.apply(delta, head)
    return Cascaded(len(gone), without.restored, len(loose), erasure.erasure_id)


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
