"""The index of one group's facts (scope FACTS), and distances over them, seen as undirected edges."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.model.graph import Fact, FactKind, Polarity
from kgsvc.search.index.arrays import Arrays, Frozen, named, part_of, united, unpickled
from kgsvc.search.index.fact_columns import FactColumns
from kgsvc.search.index.links import NameLinks
from kgsvc.search.index.postings import keyword_text
from kgsvc.search.index.text_index import MANY, Mask, TextIndex
from kgsvc.stores.search_protocol import Changes, IndexedFact

MAX_HOPS = 3  # docs/search.md: nothing counts beyond


def distances(
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    nodes: int,
    center: int | Sequence[int],
    most: int = MAX_HOPS,
) -> NDArray[np.int8]:
    """Hops from `center`, or the nearest of several, to each node over the edges given; `most` + 1 where it
    is more than that.

    Each level is one pass over all edges: the cost does not explode at hubs.
    """
    far = most + 1
    reached = np.full(nodes, far, np.int8)
    reached[center] = 0
    for hops in range(1, most + 1):
        at_source, at_target = reached[sources], reached[targets]
        ahead = targets[(at_source == hops - 1) & (at_target == far)]
        behind = sources[(at_target == hops - 1) & (at_source == far)]
        if not len(ahead) and not len(behind):
            break
        reached[ahead] = hops
        reached[behind] = hops
    return reached


class GroupIndex(TextIndex):
    """Facts of one group by row, current as of (`epoch`, `rev`).

    Not safe for concurrent use: whoever shares it serialises `apply` and what searches.
    """

    def __init__(self, group_id: str, space: str = "", dimension: int = 0) -> None:
        super().__init__(group_id, space, dimension)
        self.epoch = 0
        self.rev = 0
        self.columns = FactColumns()
        self.episodes = NameLinks()  # that tell a fact

    @property
    def nbytes(self) -> int:
        """About the memory held, in bytes."""
        return super().nbytes + self.columns.nbytes + self.episodes.nbytes

    def freeze(self) -> Frozen:
        columns, episodes = self.columns.freeze(self.rows), self.episodes.freeze()
        return united(super().freeze(), named("columns", columns), named("episodes", episodes))

    def take(self, arrays: Arrays) -> None:
        super().take(arrays)
        self.columns.take(part_of(arrays, "columns"))
        self.episodes.take(part_of(arrays, "episodes"))

    # -- following the store ---------------------------------------------------------------------------

    def apply(self, changes: Changes) -> None:
        """Advance to a page of changes; its epoch must be this index's own, or the index empty."""
        for uuid in changes.removed:  # first: a fact written again after its removal is among the facts
            if uuid in self:
                self._remove(uuid)
        fresh = [each for each in changes.facts if each.words is not None and each.fact.uuid not in self]
        many = fresh if len(fresh) >= MANY else []
        if many:
            rows = self._add_many([each.fact.uuid for each in many], [each.words or b"" for each in many])
            self._describe(rows, many)
        entered = {each.fact.uuid for each in many}
        self.put([each for each in changes.facts if each.fact.uuid not in entered])
        self.settle()
        self.epoch = changes.head.epoch
        self.rev = changes.upto_rev if changes.more else changes.head.rev

    def put(self, many: Sequence[IndexedFact]) -> None:
        """Write facts, new or known, each once."""
        texts = [keyword_text(each.fact) for each in many]
        self._describe(self._find_by([each.fact.uuid for each in many], texts), many)

    def _describe(self, rows: Sequence[int], many: Sequence[IndexedFact]) -> None:
        """All of facts but the words."""
        facts = [each.fact for each in many]
        self._show(rows, list(map(pack, facts)), [(each.space, each.vector) for each in many])
        self.columns.put(rows, facts)
        for row, fact in zip(rows, facts, strict=True):
            self.episodes.put(row, fact.episodes)

    def _text(self, packed: bytes) -> str:
        return keyword_text(unpack(packed))

    def _make_room(self, rows: int) -> None:
        self.columns.reserve(rows)

    def _clear(self, row: int) -> None:
        self.columns.clear(row)
        self.episodes.clear(row)

    # -- searching -------------------------------------------------------------------------------------

    def walked(self, origins: Sequence[int], visible: Mask, most: int = MAX_HOPS) -> NDArray[np.int8]:
        """Hops of each entity from the nearest of `origins` over visible facts, `most` + 1 beyond."""
        sources, targets = self.columns.ends(len(visible))
        return distances(sources[visible], targets[visible], self.columns.nodes, origins, most)

    def nearest_end(self, reached: NDArray[np.int8], rows: Sequence[int]) -> list[int]:
        """Hops to the nearer end of facts."""
        sources, targets = self.columns.ends(self.rows)
        nearer: list[int] = np.minimum(reached[sources[rows]], reached[targets[rows]]).tolist()
        return nearer


# Hashes, evidence and closures serve writing, not showing; the enums travel as plain strings.
_LEFT_OUT: dict[str, Any] = {"slot": "", "fact_key": "", "evidence": (), "closures": ()}
PACKED_FIELDS = tuple(f.name for f in fields(Fact) if f.name not in {*_LEFT_OUT, "kind", "polarity"})
_values = attrgetter(*PACKED_FIELDS)


def pack(fact: Fact) -> bytes:
    """The display fields of `fact`: all but slot, fact_key, evidence and closures."""
    return pickle.dumps((_values(fact), fact.kind.value, fact.polarity.value), protocol=5)


def unpack(packed: bytes | memoryview) -> Fact:
    """The fact that was packed, with slot and fact_key empty, no evidence and no closures."""
    values, kind, polarity = unpickled(packed)
    return Fact(
        **dict(zip(PACKED_FIELDS, values, strict=True)),
        **_LEFT_OUT,
        kind=FactKind(kind),
        polarity=Polarity(polarity),
    )
