"""Texts with the time of their creation: entities and communities, and what episodes.py builds on."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kgsvc.domain.facts.summary import summary_facts
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.model.keys import name_key
from kgsvc.domain.names.namesakes import plain
from kgsvc.search.filters import Filters
from kgsvc.search.index.arrays import Arrays, Column, Frozen, named, part_of, united, unpickled
from kgsvc.search.index.fact_columns import within
from kgsvc.search.index.links import NameLinks
from kgsvc.search.index.text_index import Mask, TextIndex, mask_of
from kgsvc.search.query import may_be_names
from kgsvc.stores.search_protocol import IndexedCommunity, IndexedEntity


class DatedIndex(TextIndex):
    """Rows with the time of their creation."""

    def __init__(self, group_id: str, space: str = "", dimension: int = 0) -> None:
        super().__init__(group_id, space, dimension)
        self._created = Column(np.int64)
        self._alive = Column(np.bool_)

    @property
    def nbytes(self) -> int:
        """About the memory held, in bytes."""
        return super().nbytes + self._created.nbytes + self._alive.nbytes

    def freeze(self) -> Frozen:
        created, alive = self._created.data[: self.rows].copy(), self._alive.data[: self.rows].copy()
        return united(super().freeze(), lambda: {"created": created, "alive": alive})

    def take(self, arrays: Arrays) -> None:
        super().take(arrays)
        self._created.take(arrays["created"])
        self._alive.take(arrays["alive"])

    def dated(self, filters: Filters) -> Mask:
        """Which rows are there and fulfil `filters` in when they were created and what was known then."""
        kept: Mask = self._alive.data[: self.rows].copy()
        created = self._created.data[: self.rows]
        if filters.known_at_ms is not None:
            kept &= created <= filters.known_at_ms
        if filters.created is not None:
            kept &= within(created, filters.created)
        return kept

    def _date(self, rows: list[int], created_ms: Sequence[int]) -> None:
        self._created.data[rows] = created_ms
        self._alive.data[rows] = True

    def _make_room(self, rows: int) -> None:
        self._created.reserve(rows)
        self._alive.reserve(rows)

    def _clear(self, row: int) -> None:
        self._alive.data[row] = False


class CommunityIndex(DatedIndex):
    """Communities by row: found by name and summary; the vector is that of the name.

    How one is shown is read from the store, since members come and go.
    """

    def replace(self, communities: Iterable[IndexedCommunity]) -> None:
        """These are all that there are."""
        present = {community.uuid: community for community in communities}
        for uuid in [uuid for uuid in self._row_of if uuid not in present]:
            self._remove(uuid)
        many = list(present.values())
        rows = self._write(
            list(present),
            [f"{each.name}\n{each.summary}" for each in many],
            [pickle.dumps((each.name, each.summary), protocol=5) for each in many],
            [(each.space, each.vector) for each in many],
        )
        self._date(rows, [each.created_ms for each in many])

    def _text(self, packed: bytes) -> str:
        name, summary = unpickled(packed)
        return f"{name}\n{summary}"


_ALIASES = 1_000  # shown of one entity, as GetEntityNode


@dataclass(frozen=True, slots=True)
class FoundEntity:
    """An entity as searches show it, without `stamps` and `summary_parts`."""

    entity: Entity
    aliases: tuple[str, ...]
    summary_facts: tuple[str, ...] = ()


class NodeIndex(DatedIndex):
    """Entities by row: found by name, aliases and summary; the vector is that of the name."""

    def __init__(self, group_id: str, space: str = "", dimension: int = 0) -> None:
        super().__init__(group_id, space, dimension)
        self._labels = NameLinks()
        self._aliases = NameLinks()  # of those that have any

    @property
    def nbytes(self) -> int:
        """About the memory held, in bytes."""
        return super().nbytes + self._labels.nbytes + self._aliases.nbytes

    def freeze(self) -> Frozen:
        links = (("labels", self._labels), ("aliases", self._aliases))
        return united(super().freeze(), *(named(name, each.freeze()) for name, each in links))

    def take(self, arrays: Arrays) -> None:
        super().take(arrays)
        self._labels.take(part_of(arrays, "labels"))
        self._aliases.take(part_of(arrays, "aliases"))

    def put(self, many: Sequence[IndexedEntity]) -> None:
        """Write entities, new or known, each once."""
        found = list(map(found_entity, many))
        rows = self._write(
            [each.entity.uuid for each in many],
            list(map(_text_of, found)),
            list(map(_packed, found)),
            [(each.space, each.vector) for each in many],
        )
        self._date(rows, [each.entity.created_ms for each in many])
        for row, each in zip(rows, found, strict=True):
            self._labels.put(row, each.entity.labels)
            self._aliases.clear(row)
            if each.aliases:
                self._aliases.put(row, each.aliases)

    def remove(self, uuid: str) -> None:
        """Forget an entity, if it is there."""
        if uuid in self:
            self._remove(uuid)

    def _text(self, packed: bytes) -> str:
        return _text_of(unpack_entity(packed))

    def _clear(self, row: int) -> None:
        super()._clear(row)
        self._labels.clear(row)
        self._aliases.clear(row)

    def meant(self, question: str) -> tuple[str, ...]:
        """The names of entities that a question calls by an alias, in its order."""
        called = [rows for run in may_be_names(question) if (rows := self._aliases.rows_of(run))]
        names = (sorted(unpack_entity(packed).entity.name for packed in self.packed(rows)) for rows in called)
        return tuple(dict.fromkeys(name for each in names for name in each))

    def fulfilling(self, filters: Filters) -> Mask:
        """Which rows fulfil `filters`: types, when they were created, what was known then."""
        kept = self.dated(filters)
        if filters.entity_types:
            kept &= mask_of(self.rows, *(self._labels.rows_of(label) for label in filters.entity_types))
        return kept

    def of_types(self, types: Collection[str]) -> frozenset[str]:
        """The uuids of entities of one of these types."""
        return frozenset(self._uuids[row] for label in types for row in self._labels.rows_of(label))


def found_entity(indexed: IndexedEntity) -> FoundEntity:
    """An entity as searches show it."""
    own = name_key(indexed.entity.name)
    aliases = tuple(name for name in dict.fromkeys(map(plain, indexed.names)) if name != own)[:_ALIASES]
    return FoundEntity(indexed.entity, aliases, summary_facts(indexed.entity))


def _text_of(found: FoundEntity) -> str:
    return "\n".join((found.entity.name, *found.aliases, found.entity.summary))


def _packed(found: FoundEntity) -> bytes:
    e = found.entity
    values = (e.uuid, e.group_id, e.name, e.created_ms, e.summary, dict(e.attributes), e.labels)
    told = (values, e.source_episode_uuid, e.updated_ms, found.aliases, found.summary_facts)
    return pickle.dumps(told, protocol=5)


def unpack_entity(packed: bytes | memoryview) -> FoundEntity:
    """What was packed."""
    values, episode, updated_ms, aliases, facts = unpickled(packed)
    uuid, group_id, name, created_ms, summary, attributes, labels = values
    entity = Entity(uuid, group_id, name, created_ms, summary, attributes, labels, episode, updated_ms)
    return FoundEntity(entity, aliases, facts)
