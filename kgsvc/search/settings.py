"""What may be set about searching; config fills it in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from kgsvc.domain.limits import FROM_ZERO, MIB, Fixed, Range


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Weights, sizes and deadlines of searches (docs/configuration.md)."""

    distance_weight: Annotated[float, Range(0, 1)] = 0.3  # w: share of graph distance in the score
    candidates: Annotated[int, Fixed] = 200  # length of each rank list before fusion
    index_bytes: int = 512 * MIB  # of all group indexes together; the least recently used go first
    index_dir: Path | None = None  # where they are kept in files; None: `index` in the data directory
    index_disk_bytes: int = 8 * 1024 * MIB  # of these files; those used longest ago go first
    warm_groups: Annotated[int, FROM_ZERO] = 2  # the busiest, which are loaded when a server starts
    load_page: Annotated[int, Fixed] = 2_000  # facts asked of the store at once by who waits for them
    store_timeout_s: float = 30.0  # for one store read
    search_timeout_s: float = 60.0  # for a group's index to be loaded, refreshed and ranked
    embed_timeout_s: float = 3.0  # for the query's embedding; afterwards keywords alone answer
    rerank_timeout_s: float = 5.0  # for a model to rate the candidates; then the fused order answers
    rerank_candidates: int = 20  # of a scope that it is shown, the best of the fused order
    rerank_bytes: Annotated[int, Fixed] = 32 * 1024  # of their texts together
