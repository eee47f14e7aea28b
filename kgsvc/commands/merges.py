"""MergeEntityNodes and UndoMerge: a caller makes one entity of two, or takes that back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kgsvc.commands.contention import Contention
from kgsvc.domain.clock import Clock
from kgsvc.domain.errors import Conflict, EmbedderUnavailable, InvalidArgument, NotFound, StepError, Violation
from kgsvc.domain.facts.summary import OF_EPISODE, with_parts
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.delta import Claim, FactTombstone, GraphDelta, Guard, MergeRecord, NameView
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.model.identity import digest, mint, name_key
from kgsvc.domain.names.forgetting import Said, lost_tokens, without_words
from kgsvc.domain.names.merging import (
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
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.pipeline.joining import Joining, mentions_of
from kgsvc.pipeline.summaries import summarised
from kgsvc.stores.protocol import ReadStore

MERGE = "MergeEntityNodes"
_UNKNOWN: Said = ((), ())


@dataclass(frozen=True, slots=True)
class Merged:
    """The entity as it is afterwards, the merge, and how many facts it moved."""

    entity: Entity
    merge_id: str
    facts_moved: int


class Merging:
    """Merges entities on a caller's behalf, under the group's lock."""

    def __init__(
        self,
        store: ReadStore,
        embedder: CachingEmbedder | None,
        limits: Limits,
        clock: Clock,
        contention: Contention,
    ) -> None:
        self._store = store
        self._joining = Joining(store, embedder, limits)
        self.space = embedder.space if embedder else ""  # of `vectors`
        self._limits = limits
        self._clock = clock
        self._contention = contention

    async def merge(self, group_id: str, keep: str, gone: str, key: str | None = None) -> Merged:
        """Facts, mentions, names and summary of `gone` go over to `keep`.

        Raises NotFound (either is not there), InvalidArgument (they are one), LimitExceeded (too much hangs
        on the one that goes), Conflict (the key is known with another input), EmbedderUnavailable,
        Overloaded, StoreUnavailable.
        """
        if keep == gone:
            raise InvalidArgument.of([Violation("merge_uuid", "is the entity that stays")])
        return await self._contention.settle(lambda: self._merge(group_id, keep, gone, key))

    async def undo(self, group_id: str, merge_id: str) -> Merged:
        """Give back what the merge moved; what was said since stays where it was said. The entity is the one
        that had gone. Raises NotFound, Conflict (its uuid or a name of it was given away since, or the entity
        that stayed is gone), EmbedderUnavailable, Overloaded, StoreUnavailable."""
        return await self._contention.settle(lambda: self._undo(group_id, merge_id))

    async def _merge(self, group_id: str, keep: str, gone_uuid: str, key: str | None) -> Merged:
        view = await self._store.names(group_id, (), [keep, gone_uuid])
        now_ms = self._clock.now_ms()
        system_ms = max(now_ms, view.head.last_ms + 1)
        merge_id = mint("merge", group_id, digest(keep, gone_uuid, key or system_ms))
        kept, gone = view.by_uuid.get(keep), view.by_uuid.get(gone_uuid)
        if kept is None or gone is None:
            return await self._merged_before(view, keep, gone_uuid, merge_id if key else None)
        try:
            joined = await self._joining.joined(kept, gone, merge_id, system_ms)
        except StepError as error:
            raise _unembedded() from error
        claim = None if key is None else self._claim(keep, gone_uuid, key, now_ms)
        delta = replace(joined.delta, claim=claim)
        await self._store.apply(delta, Guard(view.head.rev, view.head.epoch))
        (stays,) = (entity for entity in delta.entities if entity.uuid == kept.uuid)
        return Merged(stays, merge_id, joined.facts_moved)

    async def _merged_before(self, view: NameView, keep: str, gone: str, merge_id: str | None) -> Merged:
        """The first outcome of a key; NotFound for any other."""
        group_id, kept = view.head.group_id, view.by_uuid.get(keep)
        record = await self._store.merge(group_id, merge_id) if merge_id is not None else None
        if record is not None and kept is not None:
            return Merged(kept, record.merge_id, len(json.loads(record.data)["ends"]))
        missing = [("keep_uuid", keep), ("merge_uuid", gone)]
        fields = [field for field, uuid in missing if uuid not in view.by_uuid]
        says = "names no entity of the group"
        raise NotFound(f"{fields[0]} {says}", [Violation(field, says) for field in fields])

    async def _undo(self, group_id: str, merge_id: str) -> Merged:
        record = await self._store.merge(group_id, merge_id)
        if record is None:
            raise NotFound("there is no such merge", [Violation("merge_id", "names no merge of the group")])
        data: dict[str, Any] = json.loads(record.data)
        view = await self._store.names(group_id, data["names"], [record.kept_uuid, record.merged_uuid])
        system_ms = max(self._clock.now_ms(), view.head.last_ms + 1)
        kept = _still_kept(view, record, data)
        returning = dict.fromkeys(data["episodes"], _UNKNOWN) | said_in(data, "said")
        gone = still_called(await self._returning(entity_in(data), system_ms), kept, returning, view.by_key)
        involved = data["ends"].keys() | data["changed"].keys() | data["made"].keys()
        facts = await self._store.facts(group_id, involved)
        back, removed = unmerged_facts(data, kept, gone, facts, system_ms)
        parts = tuple(p for p in gone.summary_parts if p.key in back or p.key.startswith(OF_EPISODE))
        gone = with_parts(gone, parts)
        around = await self._store.slots(group_id, slots_of(facts) | slots_of(back.values()))
        after = folded_apart(group_id, around, back, removed, system_ms)
        known = {fact.uuid for fact in (*around.facts, *facts)}
        texts = {uuid: fact.fact for uuid, fact in after.items() if uuid not in known}
        own = [part for part in kept.summary_parts if part.key not in data["ends"]]
        left = replace(with_parts(unmerged_entity(kept, gone, data), own), updated_ms=system_ms)
        renamed = {left.uuid: left.name} if left.name != kept.name else {}
        owned = await self._store.entity_names(group_id, kept.uuid, 2 * self._limits.merge_bound)
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
            vectors=await self.vectors(group_id, {**texts, gone.uuid: gone.name, **renamed}),
            space=self.space,
        )
        delta = await summarised(self._store, delta, {}, removed)
        await self._store.apply(delta, Guard(view.head.rev, view.head.epoch))
        (returned,) = (entity for entity in delta.entities if entity.uuid == gone.uuid)
        return Merged(returned, merge_id, sum(uuid in back for uuid in data["ends"]))

    async def vectors(self, group_id: str, texts: Mapping[str, str]) -> dict[str, bytes]:
        """Of texts by uuid; none without an embedder. Raises EmbedderUnavailable."""
        try:
            return await self._joining.vectors(group_id, texts)
        except StepError as error:
            raise _unembedded() from error

    async def _returning(self, gone: Entity, system_ms: int) -> Entity:
        """The entity as it went, without the words of episodes that were deleted since."""
        known = await self._store.citations(gone.group_id, teachers_of(gone))
        for episode in sorted(teachers_of(gone) - known.keys()):
            gone = without_words(gone, episode, system_ms)
        return replace(gone, updated_ms=system_ms)

    def _claim(self, keep: str, gone: str, key: str, now_ms: int) -> Claim:
        return Claim(MERGE, key, digest(keep, gone), now_ms, self._limits.dedup_window_ms)


def _still_kept(view: NameView, record: MergeRecord, data: Mapping[str, Any]) -> Entity:
    """The entity that stayed. Conflict when the merge cannot be taken back any more."""
    kept = view.by_uuid.get(record.kept_uuid)
    says = None
    if kept is None:
        says = "the entity that stayed is gone or was merged itself"
    elif record.merged_uuid in view.by_uuid:
        says = "the uuid of the entity that went was given away since"
    elif name_key(own_name(kept, data)) in set(data["names"]) or any(
        owner.uuid != kept.uuid for owner in view.by_key.values()
    ):
        says = "a name of the entity that went was given away since"
    if kept is None or says is not None:
        raise Conflict(str(says), [Violation("merge_id", str(says))])
    return kept


def _unembedded() -> EmbedderUnavailable:
    return EmbedderUnavailable("a name could not be embedded; nothing was written")
