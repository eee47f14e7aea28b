"""Rows of an import as changes of a graph: what every store writes of them alike."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from kgsvc.domain.limits import Counted, Counter
from kgsvc.domain.model.delta import GraphDelta
from kgsvc.domain.model.items import ItemState
from kgsvc.domain.model.moving import (
    ImportPage,
    Moved,
    MovedEntity,
    MovedEpisode,
    MovedFact,
    MovedMerge,
    MovedTombstone,
    Vectors,
)

OVER = "the import is over, or another one of the group has begun"
TAKEN = "the group has content: an import never changes what is there"
_DONE = frozenset({ItemState.COMPLETED, ItemState.PARKED})


def deltas_of(group_id: str, rows: Sequence[Moved]) -> list[GraphDelta]:
    """The changes that write what of these rows belongs to the graph; one for each space of vectors."""
    ordered = sorted(rows, key=_space)
    return [_delta(group_id, space, list(some)) for space, some in groupby(ordered, key=_space)]


def _space(row: Moved) -> str:
    vectors = _vectors(row)
    return vectors.space if vectors else ""


def _vectors(row: Moved) -> Vectors | None:
    if isinstance(row, MovedEntity | MovedFact):
        return row.vector
    return row.passages if isinstance(row, MovedEpisode) else None


def _delta(group_id: str, space: str, rows: Sequence[Moved]) -> GraphDelta:
    entities = [row for row in rows if isinstance(row, MovedEntity)]
    episodes = [row for row in rows if isinstance(row, MovedEpisode)]
    facts = [row for row in rows if isinstance(row, MovedFact)]
    stones = [row for row in rows if isinstance(row, MovedTombstone)]
    return GraphDelta(
        group_id,
        system_ms=0,
        entities=tuple(row.entity for row in entities),
        names={key: row.entity.uuid for row in entities for key in row.names},
        facts=tuple(row.fact for row in facts),
        mentions=tuple(mention for row in episodes for mention in row.mentions),
        episode_edges={row.key: row.facts for row in episodes if row.facts},
        found=tuple(row.key for row in episodes if row.found),
        # A change makes episodes that name something found.
        hide_episodes=tuple(row.key for row in episodes if not row.found and (row.mentions or row.passages)),
        remove_facts=tuple(row.tombstone for row in stones if not row.reserved),
        reserve_facts=tuple(row.tombstone for row in stones if row.reserved),
        merges=tuple(row.record for row in rows if isinstance(row, MovedMerge)),
        vectors={
            **{row.key: row.vector.data for row in entities if row.vector},
            **{row.key: row.vector.data for row in facts if row.vector},
        },
        passages={row.key: row.passages.data for row in episodes if row.passages},
        space=space,
    )


def kept_by(page: ImportPage) -> dict[Counter, int]:
    """What the bodies of a page add to counters of quotas."""
    size = sum(len(row.episode.body.encode()) for row in page.rows if isinstance(row, MovedEpisode))
    return {Counter(subject, str(Counted.BYTES), 0): size for subject in page.keepers if size}


def is_due(row: MovedEpisode) -> bool:
    """Whether the item begins anew: it was not done."""
    return row.item.state not in _DONE
