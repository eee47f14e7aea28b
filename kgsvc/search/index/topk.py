"""The best rows by score, ties by uuid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK = 16
_SORTED_PLAINLY = 32  # so few are sorted as tuples sooner than as arrays
Ranked = tuple[float, str, int]  # minus the score, uuid, row: sorts best first
Key = tuple[str, str]  # uuid, group_id: a uuid is unique within its group, and ties go by it first
RankList = list[tuple[float, Key]]  # minus the score, key: sorts best first


def edge(scores: NDArray[Any], count: int) -> float:
    """The lowest of the `count` highest scores; -inf where there are not more. None may be NaN."""
    if len(scores) <= count:
        return -np.inf
    if len(scores) > 4 * _BLOCK * count:  # what the highest of as many columns reach is a lower bound
        highest = scores[: len(scores) // _BLOCK * _BLOCK].reshape(_BLOCK, -1).max(axis=0)
        scores = scores[scores >= np.partition(highest, -count)[-count]]
    return float(np.partition(scores, -count)[-count])


def tie_key(uuid: str) -> int:
    """The first bytes of a uuid as a number that orders as the uuids do (equal where they share 8 bytes)."""
    return int.from_bytes(uuid.encode()[:8].ljust(8, b"\0"), "big")


def best(
    rows: NDArray[np.intp],
    scores: NDArray[np.float64],
    count: int,
    uuids: Sequence[str],
    tie_keys: NDArray[np.uint64],
) -> list[Ranked]:
    """The `count` best of `rows` (with their `scores`), best first."""
    if len(rows) > count:
        kept = _preselect(scores, tie_keys[rows], count)
        rows, scores = rows[kept], scores[kept]
    order = ordered(scores, tie_keys[rows]) if len(rows) > _SORTED_PLAINLY else None
    if order is not None:
        rows, scores = rows[order[:count]], scores[order[:count]]
    places = rows.tolist()
    found = list(zip((-scores).tolist(), [uuids[r] for r in places], places, strict=True))
    return found if order is not None else sorted(found)[:count]


def ordered(scores: NDArray[np.float64], tie_keys: NDArray[np.uint64]) -> NDArray[np.intp] | None:
    """Places by score, highest first, equal ones by tie key; None where those are equal too, so that only
    uuids tell."""
    order = np.lexsort((tie_keys, -scores))
    scores, tie_keys = scores[order], tie_keys[order]
    level = (scores[:-1] == scores[1:]) & (tie_keys[:-1] == tie_keys[1:])
    return None if level.any() else order


def _preselect(scores: NDArray[np.float64], tie_keys: NDArray[np.uint64], count: int) -> NDArray[np.intp]:
    """Positions of at least the `count` best: many equal scores are cut by tie key before sorting."""
    edge = np.partition(scores, -count)[-count]
    above, level = np.flatnonzero(scores > edge), np.flatnonzero(scores == edge)
    wanted = count - len(above)
    if len(level) > wanted:
        keys = tie_keys[level]
        level = level[keys <= np.partition(keys, wanted - 1)[wanted - 1]]
    return np.concatenate((above, level))
