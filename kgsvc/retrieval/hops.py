"""Graph distance over facts, seen as undirected edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MAX_HOPS = 3  # design §6: nothing counts beyond
FAR = MAX_HOPS + 1


def distances(
    sources: NDArray[np.int32], targets: NDArray[np.int32], nodes: int, center: int
) -> NDArray[np.int8]:
    """Hops from `center` to each node over the edges given, FAR where it is more than MAX_HOPS.

    Each level is one pass over all edges: the cost does not explode at hubs.
    """
    reached = np.full(nodes, FAR, np.int8)
    reached[center] = 0
    for hops in range(1, MAX_HOPS + 1):
        at_source, at_target = reached[sources], reached[targets]
        ahead = targets[(at_source == hops - 1) & (at_target == FAR)]
        behind = sources[(at_target == hops - 1) & (at_source == FAR)]
        if not len(ahead) and not len(behind):
            break
        reached[ahead] = hops
        reached[behind] = hops
    return reached
