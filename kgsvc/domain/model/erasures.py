"""What is to be erased, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class ErasureKind(StrEnum):
    """What was asked for."""

    GROUP = "group"  # DeleteGroup, and each group of ClearAll
    EPISODE = "episode"  # DeleteEpisode with cascade
    DOCUMENT = "document"  # DeleteDocument
    RETENTION = "retention"  # what a group's retention no longer keeps


@dataclass(frozen=True, slots=True)
class Erasure:
    """The part of an erasure that concerns one group; ClearAll has a part for each.

    Written before anything is removed, so that whoever finds it after a crash carries it on. It names nothing
    of what was removed: `uuid` is only kept until that is gone.
    """

    erasure_id: str
    group_id: str
    kind: ErasureKind
    asked_ms: int
    uuid: str = ""  # of the episode, or the document_id; of a retention the two horizons
    removed: Mapping[str, int] | None = None  # how many rows of each kind; None: they are still there
    completed_ms: int | None = None  # since when nothing is left in the store's files either


def added(counts: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    """The counts of both."""
    return {kind: counts.get(kind, 0) + more.get(kind, 0) for kind in {**counts, **more}}


# The kinds of rows that are counted when a group goes.
GROUP_COUNTS = (
    "episodes", "items", "entities", "facts", "communities", "vectors", "staged_outputs", "merge_records",
    "idempotency_answers",
)  # fmt: skip
