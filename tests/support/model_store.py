"""The simplest store that keeps the promises of stores/protocol.py: an oracle for tests, in memory."""

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from kgsvc.domain.errors import Conflict, LeaseLost, RevisionChanged
from kgsvc.domain.model.delta import GraphDelta, GroupHead, Guard, NameView, SlotView, StaleItems
from kgsvc.domain.model.erasures import GROUP_COUNTS
from kgsvc.domain.model.graph import FREE, Entity, Episode, Fact
from kgsvc.domain.model.items import ItemState
from kgsvc.domain.names.similarity import search_terms
from kgsvc.stores.consistency import OneCopy
from kgsvc.stores.protocol import WHOLE, EpisodeCut, GroupDump, GroupSize, StoreInfo
from kgsvc.stores.search_protocol import (
    TEXT_BYTES,
    Changes,
    FactCandidates,
    FactsAsked,
    IndexedFact,
    TextChanges,
)
from tests.support.cold_search import candidates_among
from tests.support.model_candidates import ModelCandidates
from tests.support.model_erasures import ModelErasures
from tests.support.model_history import ModelHistory
from tests.support.model_modes import ModelModes
from tests.support.model_rows import GROUP_DELETED, Answer, Group
from tests.support.model_texts import text_changes, touch_texts


class ModelGraph(ModelHistory, ModelCandidates):
    """Reading the context of a plan, writing its delta."""

    async def names(self, group_id: str, name_keys: Collection[str], uuids: Collection[str] = ()) -> NameView:
        group = self.peek(group_id)
        by_key = {key: group.entities[group.names[key]] for key in name_keys if key in group.names}
        by_uuid = {uuid: group.entities[uuid] for uuid in uuids if uuid in group.entities}
        return NameView(group.head, by_key, by_uuid)

    async def slots(self, group_id: str, slots: Collection[str]) -> SlotView:
        group = self.peek(group_id)
        facts = tuple(fact for fact in group.facts.values() if fact.slot in slots)
        return SlotView(facts, tuple(stone for stone in group.tombstones.values() if stone.slot in slots))

    async def apply(self, delta: GraphDelta, guard: Guard) -> GroupHead:
        group = self.peek(delta.group_id)
        if guard.epoch != group.epoch or guard.token not in (None, group.held_token):
            raise LeaseLost("another epoch or token")
        if guard.rev != group.rev:
            raise RevisionChanged("another revision")
        claim = delta.claim
        if claim is not None and group.known_answer(
            claim.operation, claim.key, claim.input_hash, claim.now_ms
        ):
            return group.head
        _check(group, delta, leased=guard.token is not None)
        group = self._group(delta.group_id)
        if claim is not None:
            until_ms = claim.now_ms + claim.dedup_window_ms
            group.answers[claim.operation, claim.key] = Answer(claim.input_hash, until_ms)
        group.rev += delta.bumps_rev
        group.last_ms = delta.system_ms
        touch_texts(group, delta)
        _write(group, delta)
        group.move(delta.transitions, leased=guard.token is not None)
        for uuid in delta.spent.keys() & group.items.keys():
            group.items[uuid].usage += delta.spent[uuid]
        for uuid in delta.remove_episodes:
            _remove_episode(group, uuid)
        if guard.releases:
            group.give_up()
        self._activity += 1
        return group.head

    async def entity(self, uuid: str, group_id: str | None) -> list[Entity]:
        return [g.entities[uuid] for g in self._among(group_id) if uuid in g.entities][:100]

    async def fact(self, uuid: str, group_id: str | None) -> list[Fact]:
        return [g.facts[uuid] for g in self._among(group_id) if uuid in g.facts][:100]

    async def episode(self, uuid: str, group_id: str | None) -> list[Episode]:
        return [g.items[uuid].episode for g in self._among(group_id) if uuid in g.items][:100]

    def _among(self, group_id: str | None) -> list[Group]:
        return [g for _, g in sorted(self._groups.items()) if group_id in (None, g.group_id)]

    async def recent_episodes(self, group_id: str, limit: int, cut: EpisodeCut = WHOLE) -> list[Episode]:
        return self.peek(group_id).cut(limit, cut)

    async def dump(self, group_id: str) -> GroupDump:
        group = self.peek(group_id)
        return GroupDump(
            head=group.head,
            episodes=tuple(sorted(group.episodes, key=lambda e: e.uuid)),
            entities=tuple(entity for _, entity in sorted(group.entities.items())),
            names=dict(sorted(group.names.items())),
            facts=tuple(fact for _, fact in sorted(group.facts.items())),
            mentions=tuple(sorted(group.mentions)),
            episode_edges=dict(sorted(group.episode_edges.items())),
        )


if TYPE_CHECKING:  # so that it may stand where a whole store is wanted
    from typing import Any as Lacking
else:
    Lacking = object


class ModelStore(ModelErasures, ModelModes, ModelGraph, OneCopy, Lacking):  # type: ignore[misc]
    """All of the protocol but communities, which no random operation touches."""

    async def apply(self, delta: GraphDelta, guard: Guard) -> GroupHead:
        head = await super().apply(delta, guard)
        if delta.erased is not None:
            self.note_erased(delta.group_id, delta.erased)
        return head

    async def ended_facts(self, group_id: str, before_ms: int, limit: int) -> list[str]:
        facts = self.peek(group_id).facts.values()
        ends = [(ms, f.uuid) for f in facts for ms in (f.invalid_ms, f.expired_ms) if ms is not None]
        ended = (uuid for ms, uuid in sorted(ends) if ms < before_ms)
        return list(dict.fromkeys(ended))[:limit]

    async def heads(self, group_ids: Collection[str]) -> dict[str, GroupHead]:
        return {name: self._groups[name].head for name in group_ids if name in self._groups}

    async def changes(self, group_id: str, after_rev: int, limit: int) -> Changes:
        group = self.peek(group_id)
        later = sorted((rev, uuid) for uuid, rev in group.fact_rev.items() if rev > after_rev)
        upto_rev = later[limit - 1][0] if len(later) > limit else group.rev
        shown = [_indexed(group, uuid) for rev, uuid in later if rev <= upto_rev]
        removed = sorted(uuid for uuid, rev in group.removed_rev.items() if after_rev < rev <= upto_rev)
        return Changes(group.head, tuple(shown), tuple(removed), upto_rev, more=upto_rev < group.rev)

    async def text_changes(
        self, group_id: str, after_rev: int, limit: int, max_bytes: int = TEXT_BYTES, after_uuid: str = ""
    ) -> TextChanges:
        group = self.peek(group_id)
        after = (after_rev + 1, after_uuid)
        return text_changes(group, after, limit, max_bytes)

    async def search_candidates(self, group_id: str, asked: FactsAsked) -> FactCandidates | None:
        group = self._groups.get(group_id)
        if group is None:
            return None
        return candidates_among(group.head, (_indexed(group, uuid) for uuid in group.facts), asked)

    async def migrate(self) -> int:
        return 1

    async def keyed(self, fingerprint: int) -> int:
        return 0

    async def info(self) -> StoreInfo:
        return StoreInfo("model", "1", 1)

    async def bad_indexes(self) -> list[str]:
        return []

    async def clock_ms(self) -> int:
        return max((group.last_ms for group in self._groups.values()), default=0)

    async def delete_group(self, group_id: str, now_ms: int, erasure_id: str = "") -> None:
        old = self._groups.get(group_id)
        items = len(old.items) if old else 0
        counts = {**dict.fromkeys(GROUP_COUNTS, 0), "episodes": items, "items": items}
        await self.removed(erasure_id, group_id, counts)
        if old is None:
            return
        self._groups[group_id] = Group(
            group_id,
            rev=old.rev + 1,
            epoch=old.epoch + 1,
            last_ms=max(now_ms, old.last_ms + 1),
            token=old.token,
            renewals=old.renewals,
            served_ms=old.served_ms,
            ontology_rev=old.ontology_rev + 1,
        )
        for item in old.items.values():
            gone = replace(item.episode, name=None, body="")
            item.reason = GROUP_DELETED if item.unfinished else None
            item.state = ItemState.DELETED
            item.episode, item.step, item.updated_ms, item.usage = gone, None, now_ms, FREE
            item.warnings = ()
        self._activity += 1

    async def forget_group(self, group_id: str) -> None:
        if group_id not in await self.group_ids() and self.peek(group_id).paused_ms is None:
            self._groups.pop(group_id, None)

    async def group_ids(self) -> list[str]:
        with_content = {n for n, g in self._groups.items() if g.items or g.entities or g.ontology is not None}
        return sorted(with_content)

    async def busiest_groups(self, limit: int) -> list[str]:
        changed = [group for group in self._groups.values() if group.rev]
        changed.sort(key=lambda group: (-group.rev, group.group_id))
        return [group.group_id for group in changed[:limit]]

    async def group_sizes(self, first: str, end: str, limit: int) -> list[GroupSize]:
        paused = {name for name, group in self._groups.items() if group.paused_ms is not None}
        named = sorted(paused.union(await self.group_ids()))
        return [_size(self._groups[name]) for name in named if first <= name < end][:limit]

    async def put_ontology(self, group_id: str, yaml: str | None) -> None:
        group = self._group(group_id)
        group.ontology = yaml
        group.ontology_rev += 1

    async def ontology(self, group_id: str) -> str | None:
        return self.peek(group_id).ontology

    async def close(self) -> None:
        """Nothing to release."""


def _size(group: Group) -> GroupSize:
    items = group.items.values()
    waiting = sum(item.unfinished for item in items)
    parked = sum(item.state is ItemState.PARKED for item in items)
    sizes = (len(items), len(group.entities), len(group.facts))
    return GroupSize(group.group_id, *sizes, group.last_ms, waiting, parked, group.paused_ms)


def _check(group: Group, delta: GraphDelta, *, leased: bool) -> None:
    stale = tuple(uuid for uuid in delta.requires_items if group.movable(uuid, leased=leased) is None)
    if stale:
        raise StaleItems(stale)
    written = {entity.uuid for entity in delta.entities}
    leaving = written.union(delta.remove_entities)
    for key, uuid in delta.names.items():
        owner = group.names.get(key, uuid)
        if owner != uuid and owner not in leaving:
            raise Conflict("a name belongs to another entity")


def _write(group: Group, delta: GraphDelta) -> None:
    for stone in delta.remove_facts:
        if group.facts.pop(stone.uuid, None):
            group.removed_rev[stone.uuid] = group.rev
        group.fact_rev.pop(stone.uuid, None)
        group.vectors.pop(stone.uuid, None)
        group.tombstones[stone.uuid] = stone
    for stone in delta.reserve_facts:
        group.tombstones.setdefault(stone.uuid, stone)
    for entity in delta.entities:
        old = group.entities.get(entity.uuid)
        group.entities[entity.uuid] = entity
        if old is not None and old.name != entity.name:
            _rename(group, entity)
    for key in delta.remove_names:
        group.names.pop(key, None)
    group.name_tokens -= set(delta.remove_name_tokens)
    group.names.update(delta.names)
    group.name_tokens |= search_terms(delta)
    for fact in delta.facts:
        group.facts[fact.uuid] = fact
        group.fact_rev[fact.uuid] = group.rev
        group.removed_rev.pop(fact.uuid, None)
    for mention in delta.mentions:
        pair = (mention.episode_uuid, mention.entity_uuid)
        there = group.mentions.setdefault(pair, mention)
        group.mentions[pair] = replace(there, names=mention.names, types=mention.types)
    group.episode_edges.update(delta.episode_edges)
    for uuid, vector in delta.vectors.items():
        group.vectors[uuid] = (delta.space, vector)
        group.vector_rev[uuid] = group.rev
    group.passages |= {uuid: (delta.space, passages) for uuid, passages in delta.passages.items()}
    for merge_id in delta.remove_merges:
        group.merges.pop(merge_id, None)
    group.merges |= {record.merge_id: record for record in delta.merges}
    for pair in delta.remove_mentions:
        group.mentions.pop(pair, None)
    for uuid in delta.remove_entities:
        _remove_entity(group, uuid)


def _rename(group: Group, entity: Entity) -> None:
    for uuid, fact in group.facts.items():
        if entity.uuid in (fact.source_uuid, fact.target_uuid):
            source = entity.name if fact.source_uuid == entity.uuid else fact.source_name
            target = entity.name if fact.target_uuid == entity.uuid else fact.target_name
            group.facts[uuid] = replace(fact, source_name=source, target_name=target)
            group.fact_rev[uuid] = group.rev


def _remove_entity(group: Group, uuid: str) -> None:
    group.entities.pop(uuid, None)
    group.vectors.pop(uuid, None)
    group.names = {key: owner for key, owner in group.names.items() if owner != uuid}
    group.mentions = {pair: made for pair, made in group.mentions.items() if pair[1] != uuid}
    group.name_tokens = {pair for pair in group.name_tokens if pair[1] != uuid}


def _remove_episode(group: Group, uuid: str) -> None:
    item = group.items.pop(uuid, None)
    group.passages.pop(uuid, None)
    if item is not None:
        item.episode = replace(item.episode, name=None, body="")
        item.state, item.reason, item.step, item.usage = ItemState.DELETED, None, None, FREE
        item.warnings = ()
    group.mentions = {pair: made for pair, made in group.mentions.items() if pair[0] != uuid}
    group.episode_edges.pop(uuid, None)


def _indexed(group: Group, uuid: str) -> IndexedFact:
    space, vector = group.vectors.get(uuid, ("", None))
    return IndexedFact(group.facts[uuid], space, vector)
