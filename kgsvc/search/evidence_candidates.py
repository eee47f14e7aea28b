"""The facts of one group that may be among the results by evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kgsvc.search.evidence import FACT_WORDS, MEANING, NOBODY
from kgsvc.search.evidence_turns import Floats
from kgsvc.search.fact_scope import fact_lists, seen_facts
from kgsvc.search.group_index import GroupIndex
from kgsvc.search.plans import Method
from kgsvc.search.pool import Asked
from kgsvc.search.topk import Ranked

Told = tuple[str, ...]


@dataclass(slots=True)
class Candidates:
    """Facts by their rows, each at a place of its own: those that methods found, then those that follow
    episodes."""

    index: GroupIndex
    asked: Asked
    lists: dict[Method, list[Ranked]]
    rows: list[int]

    @classmethod
    def found(cls, index: GroupIndex, asked: Asked) -> Candidates:
        """What the methods find."""
        lists = fact_lists(index, asked)
        rows = dict.fromkeys(row for ranked in lists.values() for _, _, row in ranked)
        return cls(index, asked, lists, list(rows))

    def follow(self, episodes: Sequence[str]) -> None:
        """Put the facts that episodes tell, and that fulfil the filters, beside those that were found."""
        told = dict.fromkeys(row for episode in episodes for row in self.index.telling.tells(episode))
        if told:
            seen, known = seen_facts(self.index, self.asked), set(self.rows)
            self.rows += [row for row in told if seen[row] and row not in known]

    def scores(self, method: Method) -> list[float]:
        """What a method gave, best first."""
        return [-low for low, _, _ in self.lists.get(method, ())]

    def told(self, method: Method) -> list[Told]:
        """The episodes of what a method found, best first."""
        return self.index.telling.told_in([row for _, _, row in self.lists.get(method, ())])

    def own(self, words: Floats, meaning: Floats) -> Floats:
        """How each fits by itself; given are the scaled scores of what was found, best first."""
        place = {row: place for place, row in enumerate(self.rows)}
        own = np.zeros(len(self.rows))
        for method, weight, scores in ((Method.BM25, FACT_WORDS, words), (Method.COSINE, MEANING, meaning)):
            own[[place[row] for _, _, row in self.lists.get(method, ())]] += weight * scores
        return own

    def follows(self, ranks: Mapping[str, int]) -> list[int]:
        """The best episode of each by its rank, or NOBODY."""
        return [
            ranks.get(told[0], NOBODY) if len(told) == 1 else _first(told, ranks)
            for told in self.index.telling.told_in(self.rows)
        ]


def _first(told: Told, ranks: Mapping[str, int]) -> int:
    return min((ranks[episode] for episode in told if episode in ranks), default=NOBODY)
