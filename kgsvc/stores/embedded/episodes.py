"""Episodes by time: what came before one (QueueStore), the latest of a group (GraphStore)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apsw

from kgsvc.domain.model.graph import Episode, Source
from kgsvc.stores.embedded.groups import find_group
from kgsvc.stores.embedded.rows import Row, all_rows, episode_of, json_ids, json_list
from kgsvc.stores.protocol import Anchor, EpisodeCut

_MAX_KEY = (2**63 - 1, "\U0010ffff")


def previous_episodes(
    db: apsw.Connection, group_id: str, anchors: Sequence[Anchor], limit: int, max_chars: int
) -> dict[str, tuple[Episode, ...]]:
    """The episodes of the same source before each anchor."""
    group = find_group(db, group_id)
    if group is None:
        return {anchor.uuid: () for anchor in anchors}
    before = {
        anchor.uuid: _ids_named(db, group.gid, anchor)
        if anchor.named
        else _ids_before(db, group.gid, anchor, limit)
        for anchor in anchors
    }
    wanted = {row_id for ids in before.values() for row_id in ids}
    rows = all_rows(
        db,
        "SELECT * FROM live_episodes WHERE id IN (SELECT value FROM json_each(?))",
        (json_ids(wanted),),
    )
    episodes = {row[0]: episode_of(row, max_chars) for row in rows}
    return {uuid: tuple(episodes[row_id] for row_id in ids) for uuid, ids in before.items()}


def _ids_before(db: apsw.Connection, gid: int, anchor: Anchor, limit: int) -> list[int]:
    rows = all_rows(
        db,
        """
        SELECT id FROM episodes WHERE gid = ? AND source = ? AND (reference_ms, uuid) < (?, ?)
        ORDER BY reference_ms DESC, uuid DESC LIMIT ?
        """,
        (gid, str(anchor.source), anchor.reference_ms, anchor.uuid, limit),
    )
    return [row[0] for row in reversed(rows)]


def _ids_named(db: apsw.Connection, gid: int, anchor: Anchor) -> list[int]:
    rows = all_rows(
        db,
        """
        SELECT id FROM episodes
        WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?)) AND uuid <> ? ORDER BY reference_ms, uuid
        """,
        (gid, json_list(anchor.named), anchor.uuid),
    )
    return [row[0] for row in rows]


def recent_episodes(db: apsw.Connection, group_id: str, limit: int, cut: EpisodeCut) -> list[Episode]:
    """The latest of the group, oldest first, as far as `cut` asks for them."""
    group = find_group(db, group_id)
    if group is None:
        return []
    latest: list[Row] = []
    for source in Source:
        latest += _latest(db, group.gid, source, limit, cut.upto or _MAX_KEY)
    keys = sorted(latest)[-limit:]
    if cut.after is not None:
        keys = [key for key in keys if key[:2] > cut.after]
    rows = all_rows(
        db,
        """
        SELECT * FROM live_episodes WHERE id IN (SELECT value FROM json_each(?)) ORDER BY reference_ms, uuid
        """,
        (json_ids(_within(keys, cut.max_bytes)),),
    )
    return [episode_of(row) for row in rows]


def _latest(db: apsw.Connection, gid: int, source: Source, limit: int, upto: tuple[int, str]) -> list[Row]:
    """The keys, ids and body sizes of the latest episodes of one source; bodies are not loaded."""
    return all_rows(
        db,
        """
        SELECT reference_ms, uuid, id, octet_length(body) FROM episodes
        WHERE gid = ? AND source = ? AND (reference_ms, uuid) <= (?, ?)
        ORDER BY reference_ms DESC, uuid DESC LIMIT ?
        """,
        (gid, str(source), *upto, limit),
    )


def _within(keys: Sequence[Row], max_bytes: int | None) -> Iterator[int]:
    """The ids up to the episode with which the bodies exceed `max_bytes`."""
    total = 0
    for _reference_ms, _uuid, row_id, size in keys:
        yield row_id
        total += size
        if max_bytes is not None and total > max_bytes:
            return
