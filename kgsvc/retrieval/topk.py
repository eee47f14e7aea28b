"""The best rows by score, ties by uuid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ranked = tuple[float, str, int]  # minus the score, uuid, row: sorts best first


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
    places = rows.tolist()
    return sorted(zip((-scores).tolist(), [uuids[r] for r in places], places, strict=True))[:count]


def _preselect(scores: NDArray[np.float64], tie_keys: NDArray[np.uint64], count: int) -> NDArray[np.intp]:
    """Positions of at least the `count` best: many equal scores are cut by tie key before sorting."""
    edge = np.partition(scores, -count)[-count]
    above, level = np.flatnonzero(scores > edge), np.flatnonzero(scores == edge)
    wanted = count - len(above)
    if len(level) > wanted:
        keys = tie_keys[level]
        level = level[keys <= np.partition(keys, wanted - 1)[wanted - 1]]
    return np.concatenate((above, level))
