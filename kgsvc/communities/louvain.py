"""Louvain over a weighted graph, as a program of its own: JSON on standard input, JSON on standard output.

It runs in a process beside the service (see detection.py), since it computes for seconds without a pause. It
imports nothing of kgsvc. In: {"nodes": n, "edges": [[a, b, weight], …]} with nodes 0 to n - 1; out: a list
with the community of each node, numbered from 0 by the smallest node in them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

import networkx

SEED = 7
_LEVELS = 32  # of aggregation; real graphs need about five
_NICER = 10  # the service answers first


def partition(nodes: int, edges: Sequence[Sequence[int]]) -> list[int]:
    """The community of each node. The same for the same graph, whatever the order of its edges."""
    graph = networkx.Graph()
    graph.add_nodes_from(range(nodes))
    graph.add_weighted_edges_from(sorted((min(a, b), max(a, b), weight) for a, b, weight in edges))
    found = networkx.community.louvain_communities(graph, weight="weight", seed=SEED, max_level=_LEVELS)
    labels = [0] * nodes
    for number, members in enumerate(sorted(found, key=min)):
        for node in members:
            labels[node] = number
    return labels


def main() -> None:
    """Read the graph, write the labels."""
    os.nice(_NICER)
    given = json.load(sys.stdin)
    json.dump(partition(given["nodes"], given["edges"]), sys.stdout)


if __name__ == "__main__":
    main()
