"""Facts that belong to a hit: the other half of an answer often shares no word with the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kgsvc.search.index.fact_columns import Mask
from kgsvc.search.index.facts import GroupIndex

HITS = 2  # best facts to which others belong
SHARE = 0.4  # of a hit's score that these count at least
FEW = 4  # facts that share an end; where more do, it says nothing


def belonging(index: GroupIndex, seen: Mask, hits: Mapping[int, float]) -> dict[int, float]:
    """What facts count at least that have an end in common with one of `hits`, by row.

    They do if few of all visible facts have that end, or few of those that the hit's own episode tells.
    """
    sources, targets = index.columns.ends(len(seen))
    least: dict[int, float] = {}
    for hit, score in sorted(hits.items(), key=lambda each: each[1]):  # the largest share is written last
        beside = _told_beside(index, hit)
        for end in {int(sources[hit]), int(targets[hit])}:
            sharing = np.flatnonzero(seen & ((sources == end) | (targets == end))).tolist()
            together = [row for row in sharing if row in beside]
            for rows in (sharing, together):
                if len(rows) <= FEW:
                    least.update(dict.fromkeys(rows, SHARE * score))
    return {row: score for row, score in least.items() if row not in hits}


def _told_beside(index: GroupIndex, hit: int) -> set[int]:
    episodes: Sequence[str] = index.episodes.of_row(hit)
    return {row for episode in episodes for row in index.episodes.rows_of(episode)}
