"""A copy of a group that is made of what WatchGroup tells, and random changes of a group."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kgsvc_client import aio
from kgsvc_client.values import Changes

from kgsvc.api import mapping
from kgsvc.domain.model.keys import name_key
from kgsvc.domain.names.namesakes import plain
from kgsvc.stores.protocol import GroupDump, Store
from tests.support.client import Client, episode

JAN = 1_735_689_600_000
_DAY = 86_400_000
_PEOPLE = ("Ann", "Bea", "Cid", "Dan", "Eve", "Fay", "Gus", "Hal")
_PLACES = ("Acme", "Lumen Labs", "Northwind", "Globex")


@dataclass
class Mirror:
    """What a follower holds: by uuid the bytes of each thing as it was told last."""

    entities: dict[str, bytes] = field(default_factory=dict)
    facts: dict[str, bytes] = field(default_factory=dict)
    episodes: dict[str, tuple[bytes, tuple[str, ...]]] = field(default_factory=dict)
    rev: int = -1
    resets: int = 0
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    async def follow(self, group: aio.Group) -> None:
        """Until cancelled."""
        async for changes in group.follow():
            self.apply(changes)

    def apply(self, told: Changes) -> None:
        """What any follower does."""
        if told.reset:
            self.resets += 1
            for held in (self.entities, self.facts, self.episodes):
                held.clear()
        else:
            assert told.rev >= self.rev, "the order of revisions"
        self.rev = told.rev
        _remove(self.entities, told.removed_entities)
        _remove(self.facts, told.removed_facts)
        _remove(self.episodes, told.removed_episodes)
        self.entities.update((each.uuid, _bytes(each.raw)) for each in told.entities)
        self.facts.update((each.uuid, _bytes(each.raw)) for each in told.facts)
        self.episodes.update((each.uuid, (_bytes(each.raw.episode), each.entities)) for each in told.episodes)
        self._moved.set()

    async def reached(self, rev: int) -> None:
        """Wait until everything up to a revision was told. Raises TimeoutError."""
        async with asyncio.timeout(60):
            while self.rev < rev:
                self._moved.clear()
                await self._moved.wait()


def _remove(held: dict[str, Any], uuids: Iterable[str]) -> None:
    for uuid in uuids:
        held.pop(uuid, None)


def _bytes(message: Any) -> bytes:
    raw: bytes = message.SerializeToString(deterministic=True)
    return raw


def mirrored(dump: GroupDump) -> Mirror:
    """What a follower of the group must hold."""
    made = Mirror(rev=dump.head.rev)
    for entity in dump.entities:
        names = dict.fromkeys(plain(key) for key, uuid in sorted(dump.names.items()) if uuid == entity.uuid)
        aliases = [name for name in names if name != name_key(entity.name)]
        made.entities[entity.uuid] = _bytes(mapping.entity_node(entity, aliases))
    made.facts = {fact.uuid: _bytes(mapping.fact_result(fact)) for fact in dump.facts}
    for each in dump.episodes:
        named = tuple(sorted(entity for by, entity in dump.mentions if by == each.uuid))
        made.episodes[each.uuid] = _bytes(mapping.episode(each)), named
    return made


class Changer:
    """Changes a group at random. What is refused (what it names has gone meanwhile) counts as well."""

    def __init__(self, group: str, seed: int) -> None:
        self._group = group
        self._rng = random.Random(seed)
        self._number = 0
        self._undo: list[tuple[str, dict[str, str]]] = []
        self._kinds = (
            *(self._add,) * 8,
            *(self._merge,) * 2,
            *(self._split,) * 2,
            *(self._undone,) * 3,
            *(self._correct,) * 3,
            self._retract,
            self._name,
            self._remove_fact,
            *(self._remove_episode,) * 3,
        )

    async def change(self, client: Client, store: Store) -> None:
        """Once."""
        self._number += 1
        if self._number % 400 == 0:
            await client.answer("DeleteGroup", group_id=self._group)
            self._undo.clear()
            return
        await self._rng.choice(self._kinds)(client, await store.dump(self._group))

    async def _add(self, client: Client, _: GroupDump) -> None:
        one, other = self._rng.sample(_PEOPLE, 2)
        place, year = self._rng.choice(_PLACES), self._rng.randrange(2010, 2025)
        told = self._rng.choice(
            (
                f"{one} works at {place}.",
                f"{one} knows {other}.",
                f"{one} left {place}.",
                f"{one} lives in Oslo since {year}.",
                f"{one} lives in Rome. {other} works at {place}.",
            )
        )
        at = JAN + self._rng.randrange(300) * _DAY
        items = [episode(told, at, uuid=f"e{self._number}")]
        receipt = (await client.add_episodes(self._group, items)).receipt_id
        if self._rng.random() < 0.7:
            await client.wait_receipt(receipt)

    async def _merge(self, client: Client, dump: GroupDump) -> None:
        if len(dump.entities) < 2:
            return
        keep, merge = self._rng.sample([each.uuid for each in dump.entities], 2)
        answer = await client.answer(
            "MergeEntityNodes", group_id=self._group, keep_uuid=keep, merge_uuid=merge
        )
        if answer.output.merge_id:
            self._undo.append(("UndoMerge", {"merge_id": answer.output.merge_id}))

    async def _split(self, client: Client, dump: GroupDump) -> None:
        if not dump.facts:
            return
        fact = self._rng.choice(dump.facts)
        given: dict[str, Any] = {
            "uuid": fact.source_uuid,
            "fact_uuids": [fact.uuid],
            "name": f"{fact.source_name} II",
        }
        answer = await client.answer("SplitEntityNode", group_id=self._group, **given)
        if answer.output.split_id:
            self._undo.append(("UndoSplit", {"split_id": answer.output.split_id}))

    async def _undone(self, client: Client, _: GroupDump) -> None:
        if self._undo:
            name, given = self._undo.pop(self._rng.randrange(len(self._undo)))
            await client.answer(name, group_id=self._group, **given)

    async def _correct(self, client: Client, dump: GroupDump) -> None:
        if dump.facts:
            fact = self._rng.choice(dump.facts)
            text = f"{fact.source_name} and {fact.target_name}, version {self._number}"
            await client.answer("UpdateFact", group_id=self._group, uuid=fact.uuid, fact=text)

    async def _retract(self, client: Client, dump: GroupDump) -> None:
        if dump.facts:
            uuid, why = self._rng.choice(dump.facts).uuid, f"number {self._number}"
            await client.answer("RetractFact", group_id=self._group, uuid=uuid, reason=why)

    async def _name(self, client: Client, dump: GroupDump) -> None:
        uuid = self._rng.choice([each.uuid for each in dump.entities] or ["own"])
        given: dict[str, Any] = {
            "uuid": uuid,
            "name": f"Name {self._number}",
            "attributes": {"n": self._number},
        }
        await client.answer("AddEntityNode", group_id=self._group, **given)

    async def _remove_fact(self, client: Client, dump: GroupDump) -> None:
        if dump.facts:
            uuid = self._rng.choice(dump.facts).uuid
            await client.answer("DeleteEntityEdge", group_id=self._group, uuid=uuid)

    async def _remove_episode(self, client: Client, dump: GroupDump) -> None:
        if dump.episodes:
            uuid, cascade = self._rng.choice(dump.episodes).uuid, self._rng.random() < 0.7
            await client.answer("DeleteEpisode", group_id=self._group, uuid=uuid, cascade=cascade or None)
