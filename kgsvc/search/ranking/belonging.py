"""Facts that belong to a hit: the other half of an answer often shares no word with the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kgsvc.search.index.fact_columns import Mask
from kgsvc.search.index.facts import GroupIndex

HITS = 2  # best facts to which others belong
SHARE = 0.4  # of a hit's score that these count at least
FEW = 4  # facts that share an end; where more do, it says nothing
_BLOCK = 65_536  # facts that are looked at together: what is made of them stays in the processor's cache


def belonging(index: GroupIndex, seen: Mask, hits: Mapping[int, float]) -> dict[int, float]:
    """What facts count at least that have an end in common with one of `hits`, by row.

    They do if few of all visible facts have that end, or few of those that the hit's own episode tells.
    """
    ends = index.columns.ends(len(seen))
    least: dict[int, float] = {}
    for hit, score in sorted(hits.items(), key=lambda each: each[1]):  # the largest share is written last
        beside = sorted(row for row in _told_beside(index, hit) if seen[row])
        for end in {int(each[hit]) for each in ends}:
            together = [row for row in beside if any(each[row] == end for each in ends)]
            for rows in (_sharing(ends, seen, end), together):
                if len(rows) <= FEW:
                    least.update(dict.fromkeys(rows, SHARE * score))
    return {row: score for row, score in least.items() if row not in hits}


def _sharing(ends: Sequence[NDArray[np.int32]], seen: Mask, end: int) -> list[int]:
    """The rows of the visible facts that have an end, unless they are more than FEW: then FEW + 1 or more."""
    rows: list[int] = []
    for begin in range(0, len(seen), _BLOCK):
        of_block = slice(begin, begin + _BLOCK)
        sources, targets = (each[of_block] for each in ends)
        found = np.flatnonzero(seen[of_block] & ((sources == end) | (targets == end)))
        rows += (found + begin).tolist()
        if len(rows) > FEW:
            break
    return rows


def _told_beside(index: GroupIndex, hit: int) -> set[int]:
    episodes: Sequence[str] = index.episodes.of_row(hit)
    return {row for episode in episodes for row in index.episodes.rows_in(episode)}
