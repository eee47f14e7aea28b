"""The facts of one group that may be among the results by evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kgsvc.search.evidence import FACT_WORDS, MEANING, NOBODY
from kgsvc.search.evidence_turns import Floats
from kgsvc.search.fact_scope import fact_lists, measured, seen_facts
from kgsvc.search.group_index import GroupIndex
from kgsvc.search.plans import Method
from kgsvc.search.pool import Asked
from kgsvc.search.topk import Ranked

Told = tuple[str, ...]


@dataclass(slots=True)
class Candidates:
    """Facts, each at a place of its own: those that methods found, then those that follow episodes."""

    lists: dict[Method, list[Ranked]]
    uuids: list[str] = field(default_factory=list)
    told_in: list[Told] = field(default_factory=list)  # the episodes of each
    packed: list[bytes] = field(default_factory=list)  # display fields
    distances: dict[int, int] = field(default_factory=dict)  # by place: hops from the center, if near enough
    ties: list[NDArray[np.uint64]] = field(default_factory=list)  # tie keys
    places: dict[str, int] = field(default_factory=dict)

    @classmethod
    def found(cls, index: GroupIndex, asked: Asked) -> Candidates:
        """What the methods find."""
        lists = fact_lists(index, asked)
        made = cls(lists)
        made._enter(index, asked, list({row: None for ranked in lists.values() for _, _, row in ranked}))
        return made

    def follow(self, index: GroupIndex, asked: Asked, episodes: Sequence[str]) -> None:
        """Put the facts that episodes tell, and that fulfil the filters, beside those that were found."""
        told = {row: None for episode in episodes for row in index.telling.tells(episode)}
        if told:
            seen = seen_facts(index, asked)
            rows = [row for row in told if seen[row] and index.uuid(row) not in self.places]
            self._enter(index, asked, rows)

    def scores(self, method: Method) -> list[float]:
        """What a method gave, best first."""
        return [-low for low, _, _ in self.lists.get(method, ())]

    def told(self, method: Method) -> list[Told]:
        """The episodes of what a method found, best first."""
        return [self.told_in[self.places[uuid]] for _, uuid, _ in self.lists.get(method, ())]

    def own(self, words: Floats, meaning: Floats) -> Floats:
        """How each fits by itself; given are the scaled scores of what was found, best first."""
        return FACT_WORDS * self._placed(Method.BM25, words) + MEANING * self._placed(Method.COSINE, meaning)

    def follows(self, ranks: Mapping[str, int]) -> list[int]:
        """The best episode of each by its rank, or NOBODY."""
        return [
            ranks.get(told[0], NOBODY) if len(told) == 1 else _first(told, ranks) for told in self.told_in
        ]

    def _enter(self, index: GroupIndex, asked: Asked, rows: Sequence[int]) -> None:
        begin, uuids = len(self.uuids), index.uuids(rows)
        self.places.update(zip(uuids, range(begin, begin + len(uuids)), strict=True))
        self.uuids += uuids
        self.told_in += index.telling.told_in(rows)
        self.packed += index.packed(rows)
        self.ties.append(index.ties(rows))
        self.distances.update({begin + place: hops for place, hops in measured(index, asked, rows)})

    def _placed(self, method: Method, scores: Floats) -> Floats:
        values = np.zeros(len(self.uuids))
        values[[self.places[uuid] for _, uuid, _ in self.lists.get(method, ())]] = scores
        return values


def _first(told: Told, ranks: Mapping[str, int]) -> int:
    return min((ranks[episode] for episode in told if episode in ranks), default=NOBODY)
