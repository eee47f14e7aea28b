"""MergeEntityNodes and UndoMerge: a caller merges two entities, or undoes a merge."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kgsvc.commands.core import Core, no_entities, until_applied
from kgsvc.domain.errors import Conflict, EmbedderUnavailable, InvalidArgument, NotFound, StepError, Violation
from kgsvc.domain.facts.summary import OF_EPISODE, with_parts
from kgsvc.domain.model.delta import FactTombstone, GraphDelta, MergeRecord, NameView
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.model.keys import digest, mint, name_key
from kgsvc.domain.names.forgetting import is_collected, lost_tokens, without_words
from kgsvc.domain.names.merging import (
    Said,
    called,
    entity_in,
    folded_apart,
    own_name,
    said_in,
    slots_of,
    still_called,
    teachers_of,
    unmerged_entity,
    unmerged_facts,
)
from kgsvc.domain.names.splitting import is_split
from kgsvc.pipeline.joining import Joining, mentions_of
from kgsvc.pipeline.summaries import summarised
from kgsvc.stores.protocol import MergesWhere

OPERATION = "MergeEntityNodes"
TOO_LATE = "was too long ago: what is needed to undo it is no longer kept"
_UNKNOWN: Said = ((), ())


@dataclass(frozen=True, slots=True)
class Merged:
    """The entity as it is afterwards, the merge, and how many facts it moved."""

    entity: Entity
    merge_id: str
    facts_moved: int


@until_applied
async def merge_entity_nodes(
    core: Core, group_id: str, keep: str, merged: str, key: str | None = None
) -> Merged:
    """Move facts, mentions, names and summary of `merged` over to `keep`.

    Raises NotFound (either does not exist), InvalidArgument (they are the same entity), LimitExceeded (too
    much belongs to the merged one), Conflict (the idempotency key was used with another input),
    EmbedderUnavailable, Overloaded, StoreUnavailable.
    """
    if keep == merged:
        raise InvalidArgument.of([Violation("merge_uuid", "must not be the entity that stays")])
    view = await core.store.names(group_id, (), [keep, merged])
    system_ms = core.system_ms(view.head)
    merge_id = mint("merge", group_id, digest(keep, merged, key or system_ms))
    kept, gone = view.by_uuid.get(keep), view.by_uuid.get(merged)
    if kept is None or gone is None:
        return await _first_outcome(core, view, keep, merged, merge_id if key else None)
    try:
        joining = Joining(core.store, core.embedder, core.limits)
        joined = await joining.joined(kept, gone, merge_id, system_ms)
    except StepError as error:
        raise EmbedderUnavailable("a text could not be embedded; nothing was written") from error
    delta = replace(joined.delta, claim=core.claim(OPERATION, key, digest(keep, merged)))
    await core.apply(delta, view.head)
    (after,) = (entity for entity in delta.entities if entity.uuid == kept.uuid)
    return Merged(after, merge_id, joined.facts_moved)


@until_applied
async def undo_merge(core: Core, group_id: str, merge_id: str) -> Merged:
    """Give back what the merge moved, and return the entity that had been merged; what was stated since then
    stays with the entity that was kept. Raises NotFound, Conflict (the merged entity's uuid or a name of it
    belongs to another entity now, or the kept entity is gone), EmbedderUnavailable, Overloaded,
    StoreUnavailable."""
    store = core.store
    record = next(iter(await store.merges(group_id, MergesWhere(merge_id))), None)
    if record is None or is_split(record):
        raise NotFound("there is no such merge", [Violation("merge_id", "names no merge of the group")])
    data: dict[str, Any] = json.loads(record.data)
    if is_collected(data):
        raise too_late("merge_id")
    view = await store.names(group_id, data["names"], [record.kept_uuid, record.merged_uuid])
    system_ms = core.system_ms(view.head)
    kept = _still_kept(view, record, data)
    returning = dict.fromkeys(data["episodes"], _UNKNOWN) | said_in(data, "said")
    gone = await _as_it_went(core, entity_in(data), system_ms)
    gone = still_called(gone, kept, returning, view.by_key)
    involved = data["ends"].keys() | data["changed"].keys() | data["made"].keys()
    facts = await store.facts(group_id, involved)
    back, removed = unmerged_facts(data, kept, gone, facts, system_ms)
    parts = tuple(p for p in gone.summary_parts if p.key in back or p.key.startswith(OF_EPISODE))
    gone = with_parts(gone, parts)
    around = await store.slots(group_id, slots_of(facts) | slots_of(back.values()))
    after = folded_apart(group_id, around, back, removed, system_ms)
    known = {fact.uuid for fact in (*around.facts, *facts)}
    texts = {uuid: fact.fact for uuid, fact in after.items() if uuid not in known}
    own = [part for part in kept.summary_parts if part.key not in data["ends"]]
    left = replace(with_parts(unmerged_entity(kept, gone, data), own), updated_ms=system_ms)
    renamed = {left.uuid: left.name} if left.name != kept.name else {}
    owned = await store.entity_names(group_id, kept.uuid, 2 * core.limits.merge_bound)
    lost = lost_tokens(view.by_key, set(owned) - view.by_key.keys())
    delta = GraphDelta(
        group_id=group_id,
        system_ms=system_ms,
        entities=(left, gone),
        names=dict.fromkeys(view.by_key or [name_key(gone.name)], gone.uuid),
        facts=tuple(called(fact, renamed) for fact in after.values()),
        mentions=(
            *mentions_of(group_id, returning, gone.uuid, system_ms),
            *mentions_of(group_id, said_in(data, "kept_said"), kept.uuid, system_ms),
        ),
        remove_name_tokens=tuple((token, kept.uuid) for token in sorted(lost)),
        remove_mentions=tuple((episode, kept.uuid) for episode in data["mentions"]),
        remove_facts=tuple(FactTombstone(fact.uuid, fact.slot, "", system_ms) for fact in removed),
        remove_merges=(merge_id,),
        vectors=await core.vectors(group_id, {**texts, gone.uuid: gone.name, **renamed}),
        space=core.space,
    )
    delta = await summarised(store, delta, {}, removed)
    await core.apply(delta, view.head)
    (returned,) = (entity for entity in delta.entities if entity.uuid == gone.uuid)
    return Merged(returned, merge_id, sum(uuid in back for uuid in data["ends"]))


def too_late(field: str) -> Conflict:
    """What would undo it was collected."""
    return Conflict(TOO_LATE, [Violation(field, TOO_LATE)])


async def _first_outcome(core: Core, view: NameView, keep: str, merged: str, merge_id: str | None) -> Merged:
    """The outcome when the idempotency key was used first. Raises NotFound without a merge of this id."""
    group_id, kept = view.head.group_id, view.by_uuid.get(keep)
    if merge_id is not None and kept is not None:
        for record in await core.store.merges(group_id, MergesWhere(merge_id)):
            return Merged(kept, record.merge_id, len(json.loads(record.data).get("ends", ())))
    named = [("keep_uuid", keep), ("merge_uuid", merged)]
    raise no_entities(field for field, uuid in named if uuid not in view.by_uuid)


async def _as_it_went(core: Core, gone: Entity, system_ms: int) -> Entity:
    """The merged entity as it was before, without the words of episodes that were deleted since."""
    teachers = teachers_of(gone)
    known = await core.store.citations(gone.group_id, teachers)
    for episode in sorted(teachers - known.keys()):
        gone = without_words(gone, episode, system_ms)
    return replace(gone, updated_ms=system_ms)


def _still_kept(view: NameView, record: MergeRecord, data: Mapping[str, Any]) -> Entity:
    """The entity that was kept. Raises Conflict when the merge can no longer be undone."""
    kept = view.by_uuid.get(record.kept_uuid)
    problem = merge_stays(view, record, data)
    if kept is None or problem is not None:
        raise Conflict(str(problem), [Violation("merge_id", str(problem))])
    return kept


def merge_stays(view: NameView, record: MergeRecord, data: Mapping[str, Any]) -> str | None:
    """Why a merge can no longer be undone; None: it can. `view` has both entities, and the owners of the
    names of the merged one."""
    kept, names = view.by_uuid.get(record.kept_uuid), set(data["names"])
    if kept is None:
        return "the entity that stayed was deleted or merged itself"
    if record.merged_uuid in view.by_uuid:
        return "the uuid of the merged entity is in use again"
    taken = any(key in names and owner.uuid != kept.uuid for key, owner in view.by_key.items())
    if taken or name_key(own_name(kept, data)) in names:
        return "a name of the merged entity belongs to another entity now"
    return None
