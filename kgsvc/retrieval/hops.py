"""Graph distance over facts, seen as undirected edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MAX_HOPS = 3  # design §6: nothing counts beyond
FAR = MAX_HOPS + 1


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
