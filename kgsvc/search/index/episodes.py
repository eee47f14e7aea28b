"""The index of one group's episodes (scope EPISODES), and of who is named in which."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.model.graph import Episode, RoleType, Source
from kgsvc.search.filters import Filters
from kgsvc.search.index.arrays import Arrays, Column, Frozen, named, part_of, room_for, united, unpickled
from kgsvc.search.index.fact_columns import within
from kgsvc.search.index.links import NameLinks
from kgsvc.search.index.nodes import DatedIndex
from kgsvc.search.index.text_index import Mask, mask_of
from kgsvc.search.index.topk import Ranked
from kgsvc.search.index.turns import Floats, MessageTurns, turns_of
from kgsvc.search.index.vectors import Rows, VectorColumn
from kgsvc.search.standing import is_standing
from kgsvc.stores.search_protocol import IndexedEpisode

_SIZE_BYTES = 4
_PASSAGE_TERMS = 200  # about as many as a passage has at most (kgsvc.documents.passages)
_COMPRESSED = 1_024  # bytes from which on: below, beginning to compress takes longer than all else


@dataclass(frozen=True, slots=True)
class FoundEpisode:
    """An episode as searches show it, and which entities it names."""

    episode: Episode
    entities: tuple[str, ...]


class EpisodeIndex(DatedIndex):
    """Episodes by row: found by their bodies, whole, and by the vectors of their passages."""

    def __init__(self, group_id: str, space: str = "", dimension: int = 0) -> None:
        super().__init__(group_id)
        self._passages = PassageIndex(dimension) if dimension else None
        self._passage_space = space
        self._reference = Column(np.int64)
        self._spoken = Column(np.bool_)
        self._of_document = Column(np.bool_)
        self._standing = Column(np.bool_)  # messages that are standing instructions
        self._turns: MessageTurns | None = None  # of the episodes as they are; None: to be looked for anew
        self._named = NameLinks()  # the entities that an episode names

    @property
    def nbytes(self) -> int:
        """About the memory held, in bytes."""
        columns = (
            self._reference.nbytes + self._spoken.nbytes + self._of_document.nbytes + self._standing.nbytes
        )
        passages = 0 if self._passages is None else self._passages.nbytes
        return super().nbytes + columns + passages + self._named.nbytes

    def put(self, many: Sequence[IndexedEpisode]) -> None:
        """Write episodes, new or known, each once."""
        if not many:
            return
        episodes = [each.episode for each in many]
        rows = self._write(
            [each.uuid for each in episodes],
            [each.body for each in episodes],
            list(map(pack_episode, many)),
            [("", None)] * len(many),
        )
        self._date(rows, [each.created_ms for each in episodes])
        self._reference.data[rows] = [each.reference_ms for each in episodes]
        self._spoken.data[rows] = [each.source is Source.MESSAGE for each in episodes]
        self._of_document.data[rows] = [each.source is Source.DOCUMENT for each in episodes]
        self._standing.data[rows] = list(map(_instructs, episodes))
        for row, each in zip(rows, many, strict=True):
            if self._passages is not None:
                same = each.space == self._passage_space
                self._passages.put(row, each.passages or b"" if same else b"")
            self._named.put(row, each.entities)
        self._turns = None

    def remove(self, uuid: str) -> None:
        """Forget an episode, if it is there."""
        if uuid in self:
            self._remove(uuid)

    def freeze(self) -> Frozen:
        rows = self.rows
        columns = (
            ("reference", self._reference),
            ("spoken", self._spoken),
            ("document", self._of_document),
            ("standing", self._standing),
        )
        own = {name: column.data[:rows].copy() for name, column in columns}
        passages = (lambda: {}) if self._passages is None else self._passages.freeze()
        return united(
            super().freeze(), lambda: own, named("named", self._named.freeze()), named("passages", passages)
        )

    def take(self, arrays: Arrays) -> None:
        super().take(arrays)
        self._reference.take(arrays["reference"])
        self._spoken.take(arrays["spoken"])
        self._of_document.take(arrays["document"])
        self._standing.take(arrays["standing"])
        self._named.take(part_of(arrays, "named"))
        if self._passages is not None:
            self._passages.take(part_of(arrays, "passages"))

    def _text(self, packed: bytes) -> str:
        return unpack_episode(packed).episode.body

    def _make_room(self, rows: int) -> None:
        super()._make_room(rows)
        self._reference.reserve(rows)
        self._spoken.reserve(rows)
        self._of_document.reserve(rows)
        self._standing.reserve(rows)

    def _clear(self, row: int) -> None:
        super()._clear(row)
        self._spoken.data[row] = False
        self._named.clear(row)
        if self._passages is not None:
            self._passages.clear(row)
        self._turns = None

    def settle(self) -> None:
        super().settle()
        if self._passages is not None:
            self._passages.settle()

    def by_vector(
        self, vector: NDArray[np.float32] | None, visible: Mask, count: int, min_cosine: float
    ) -> list[Ranked]:
        """Those that are nearest by one of their passages."""
        if vector is None or not self._passages:
            return []
        return self.best(*self._passages.nearest(vector, visible, count, min_cosine), count)

    def chunks(self) -> Mask:
        """Which rows are chunks of documents; of free rows any."""
        mask: Mask = self._of_document.data[: self.rows]
        return mask

    def fulfilling(self, filters: Filters, typed: Iterable[str] | None) -> Mask:
        """Which rows fulfil `filters`: when they were accepted, what they are about in time, what was known
        then; and name one of `typed` (None: whoever)."""
        kept = self.dated(filters)
        if filters.valid is not None:
            kept &= within(self._reference.data[: self.rows], filters.valid)
        if typed is not None:
            kept &= mask_of(self.rows, *(self.naming(entity) for entity in typed))
        return kept

    def naming(self, entity: str) -> Collection[int]:
        """The rows of episodes that name an entity, in any order."""
        return self._named.rows_in(entity)

    def naming_count(self, entity: str) -> int:
        """How many episodes name an entity."""
        return self._named.count_of(entity)

    def entities(self, row: int) -> tuple[str, ...]:
        """The entities that an episode names."""
        return self._named.of_row(row)

    def parts(self, rows: Rows) -> Floats:
        """How many passages' worth the bodies of rows are, from 1."""
        worth: Floats = np.maximum(self._length.data[rows] / _PASSAGE_TERMS, 1.0)
        return worth

    def standing(self, rows: Rows) -> Mask:
        """Which of these are standing instructions."""
        instructs: Mask = self._standing.data[rows]
        return instructs

    def times(self) -> NDArray[np.int64]:
        """Reference times by row; of free rows any."""
        times: NDArray[np.int64] = self._reference.data[: self.rows]
        return times

    def turns(self) -> MessageTurns:
        """The conversations: messages by (reference time, uuid)."""
        if self._turns is None:
            rows = np.flatnonzero(self._spoken.data[: self.rows])
            times, ties = self._reference.data[rows], self._tie.data[rows]
            order = np.lexsort((ties, times))
            steps = order[1:], order[:-1]
            if np.any((times[steps[0]] == times[steps[1]]) & (ties[steps[0]] == ties[steps[1]])):
                uuids = [self._uuids[row] for row in rows.tolist()]
                order = np.array(sorted(range(len(rows)), key=lambda at: (times[at], uuids[at])), np.intp)
            self._turns = turns_of(rows[order], times[order])
        return self._turns


def _instructs(episode: Episode) -> bool:
    return (
        episode.source is Source.MESSAGE and episode.role_type is RoleType.USER and is_standing(episode.body)
    )


def pack_episode(indexed: IndexedEpisode) -> bytes:
    """An episode's display fields as bytes, behind their size; compressed where that saves much."""
    e = indexed.episode
    role = None if e.role_type is None else e.role_type.value
    values = (e.uuid, e.group_id, e.body, e.source.value, e.reference_ms, e.created_ms, e.name)
    shown = pickle.dumps((values, e.source_description, role, e.role, indexed.entities), protocol=5)
    size = len(shown).to_bytes(_SIZE_BYTES)
    return size + (shown if len(shown) < _COMPRESSED else zlib.compress(shown, 1))


def unpacked_bytes(packed: bytes | memoryview) -> int:
    """About how large an episode is."""
    return int.from_bytes(packed[:_SIZE_BYTES])


def unpack_episode(packed: bytes | memoryview) -> FoundEpisode:
    """What was packed, without its hash."""
    shown = packed[_SIZE_BYTES:]
    if unpacked_bytes(packed) >= _COMPRESSED:
        shown = zlib.decompress(shown)
    values, description, role_type, role, entities = unpickled(shown)
    uuid, group_id, body, source, reference_ms, created_ms, name = values
    said_by = None if role_type is None else RoleType(role_type)
    episode = Episode(
        uuid, group_id, body, Source(source), reference_ms, created_ms, name, description, said_by, role
    )
    return FoundEpisode(episode, entities)


_NUMBER_BYTES = 4


class PassageIndex:
    """Unit vectors of one embedding space, each of which belongs to the row of an episode."""

    def __init__(self, dimension: int) -> None:
        self._size = _NUMBER_BYTES * dimension
        self._vectors = VectorColumn(dimension)
        self._owner = Column(np.int64)  # -1: nobody
        self._of: dict[int, list[int]] = {}  # episode's row -> its passages
        self._free: list[int] = []
        self._rows = 0
        self._most = 1  # passages that an episode has

    def __len__(self) -> int:
        """How many episodes have any."""
        return len(self._of)

    @property
    def nbytes(self) -> int:
        """About the memory held, in bytes."""
        return self._vectors.nbytes + self._owner.nbytes

    def freeze(self) -> Frozen:
        """See kgsvc.search.index.arrays."""
        owners = self._owner.data[: self._rows].copy()
        return united(lambda: {"owners": owners}, self._vectors.freeze(self._rows))

    def take(self, arrays: Arrays) -> None:
        """What was frozen, in the place of what there is. Raises LookupError, ValueError."""
        self._owner.take(arrays["owners"])
        self._vectors.take(arrays)
        owners = self._owner.data.tolist()
        self._rows, self._of = len(owners), {}
        for row, episode in enumerate(owners):
            if episode >= 0:
                self._of.setdefault(episode, []).append(row)
        self._free = [row for row, episode in enumerate(owners) if episode < 0]
        self._most = max(map(len, self._of.values()), default=1)

    def put(self, episode: int, vectors: bytes) -> None:
        """Set an episode's vectors: float32 little-endian, one behind the other. What is of another length
        is none."""
        self.clear(episode)
        if not vectors or len(vectors) % self._size:
            return
        rows = self._of[episode] = [self._row() for _ in range(len(vectors) // self._size)]
        self._owner.data[rows] = episode
        begins = range(0, len(vectors), self._size)
        self._vectors.put(rows, [vectors[begin : begin + self._size] for begin in begins])
        self._most = max(self._most, len(rows))

    def clear(self, episode: int) -> None:
        """Forget an episode's vectors, if there are any."""
        rows = self._of.pop(episode, [])
        if rows:
            self._owner.data[rows] = -1
            self._vectors.put(rows, [None] * len(rows))
            self._free += rows

    def _row(self) -> int:
        if self._free:
            return self._free.pop()
        if self._rows >= len(self._owner.data):
            room = room_for(self._rows + 1)
            self._owner.reserve(room)
            self._vectors.reserve(room)
        self._rows += 1
        return self._rows - 1

    def nearest(
        self, query: NDArray[np.float32], visible: Mask, count: int, min_cosine: float
    ) -> tuple[Rows, NDArray[np.float64]]:
        """Those of the visible episodes that can be among the `count` nearest, with their cosines."""
        owners = self._owner.data[: self._rows]
        seen = (owners >= 0) & visible[owners] if len(visible) else np.zeros(self._rows, np.bool_)
        passages, cosines = self._vectors.nearest(query, seen, count * self._most, min_cosine)
        order = np.lexsort((-cosines, owners[passages]))
        episodes, first = np.unique(owners[passages][order], return_index=True)
        return episodes.astype(np.intp), cosines[order][first]

    def settle(self) -> None:
        """Make what was written ready for searching; otherwise the next search does."""
        self._vectors.settle(self._rows)
