"""Episodes by time: what came before one (QueueStore), the latest of a group (GraphStore)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apsw

from kgsvc.domain.model.graph import Episode, Source
from kgsvc.stores.embedded.groups import group_of
from kgsvc.stores.embedded.rows import Row, all_rows, column, episode_of, json_ids, json_list, read_episodes
from kgsvc.stores.protocol import WHOLE, Anchor, EpisodeCut

_MAX_KEY = (2**63 - 1, "\U0010ffff")


def previous_episodes(
    db: apsw.Connection, group_id: str, anchors: Sequence[Anchor], limit: int, max_chars: int
) -> dict[str, tuple[Episode, ...]]:
    """The episodes of the same source before each anchor, or those that it names."""
    group = group_of(db, group_id)
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
    sql = """
        SELECT id FROM episodes WHERE gid = ? AND source = ? AND (reference_ms, uuid) < (?, ?)
        ORDER BY reference_ms DESC, uuid DESC LIMIT ?
        """
    return column(db, sql, (gid, str(anchor.source), anchor.reference_ms, anchor.uuid, limit))[::-1]


def _ids_named(db: apsw.Connection, gid: int, anchor: Anchor) -> list[int]:
    sql = """
        SELECT id FROM episodes
        WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?)) AND uuid <> ? ORDER BY reference_ms, uuid
        """
    return column(db, sql, (gid, json_list(anchor.named), anchor.uuid))


def recent_episodes(db: apsw.Connection, group_id: str, limit: int, cut: EpisodeCut = WHOLE) -> list[Episode]:
    """The latest of the group, oldest first, as far as `cut` asks for them."""
    gid = group_of(db, group_id).gid
    latest: list[Row] = []
    for source in Source:
        latest += _latest(db, gid, source, limit, cut.upto or _MAX_KEY)
    keys = sorted(latest)[-limit:]
    if cut.after is not None:
        keys = [key for key in keys if key[:2] > cut.after]
    ids = within([key[2:] for key in keys], cut.max_bytes)
    by_time = "WHERE id IN (SELECT value FROM json_each(?)) ORDER BY reference_ms, uuid"
    return read_episodes(db, by_time, (json_ids(ids),))


def _latest(db: apsw.Connection, gid: int, source: Source, limit: int, upto: tuple[int, str]) -> list[Row]:
    """The keys, ids and body sizes of the latest episodes of one source; bodies are not loaded."""
    sql = """
        SELECT reference_ms, uuid, id, octet_length(body) FROM episodes
        WHERE gid = ? AND source = ? AND (reference_ms, uuid) <= (?, ?)
        ORDER BY reference_ms DESC, uuid DESC LIMIT ?
        """
    return all_rows(db, sql, (gid, str(source), *upto, limit))


def within(episodes: Sequence[Row], max_bytes: int | None) -> Iterator[int]:
    """The ids up to the episode with which the bodies exceed `max_bytes`. Rows are (id, size of the body)."""
    total = 0
    for row_id, size in episodes:
        yield row_id
        total += size
        if max_bytes is not None and total > max_bytes:
            return
