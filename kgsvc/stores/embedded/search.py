"""What the indexes of a search are fed from (SearchStore)."""

from __future__ import annotations

import json
from collections.abc import Collection

import apsw

from kgsvc.domain.model.delta import GroupHead
from kgsvc.stores.embedded.rows import (
    GroupRow,
    Row,
    all_rows,
    column,
    entity_of,
    episode_of,
    fact_of,
    first_row,
    group_of,
    json_list,
    page_end,
)
from kgsvc.stores.embedded.writer import EmbeddedBase, reading, writing
from kgsvc.stores.search_protocol import (
    PROOFS,
    TEXT_BYTES,
    Changes,
    IndexedCommunity,
    IndexedEntity,
    IndexedEpisode,
    IndexedFact,
    TextChanges,
)

Place = tuple[int, str]  # a revision and a uuid in it; an empty one comes before all


def _text_changes(
    db: apsw.Connection,
    group_id: str,
    after_rev: int,
    limit: int,
    max_bytes: int = TEXT_BYTES,
    after_uuid: str = "",
) -> TextChanges:
    group, after = group_of(db, group_id), (after_rev + 1, after_uuid)
    end = (group.rev + 1, "")
    upto = min([end, *_cuts(db, group, after, limit, max_bytes)])
    span = (group.gid, *after, *upto)
    sql = """
        SELECT n.*, iif(x.space = ?6, x.space, v.space), iif(x.space = ?6, x.vector, v.vector),
            (SELECT json_group_array(name_key) FROM names k WHERE k.entity_id = n.id)
        FROM entities r JOIN live_entities n ON n.id = r.id LEFT JOIN entity_vectors v ON v.id = n.id
            LEFT JOIN next_vectors x ON x.id = n.id
        WHERE r.gid = ?1 AND r.rev BETWEEN ?2 AND ?4
            AND (r.rev, r.uuid) > (?2, ?3) AND (r.rev, r.uuid) <= (?4, ?5)
        ORDER BY r.rev, r.uuid
        """
    entities = all_rows(db, sql, (*span, group.space))
    sql = """
        SELECT e.*, iif(x.space = ?6, x.space, v.space), iif(x.space = ?6, x.vector, v.vectors),
            (SELECT json_group_array(n.uuid) FROM mentions m JOIN entities n ON n.id = m.entity_id
             WHERE m.episode_id = e.id)
        FROM found_episodes r JOIN live_episodes e ON e.id = r.id LEFT JOIN passage_vectors v ON v.id = e.id
            LEFT JOIN next_vectors x ON x.id = e.id
        WHERE r.gid = ?1 AND r.rev BETWEEN ?2 AND ?4
            AND (r.rev, e.uuid) > (?2, ?3) AND (r.rev, e.uuid) <= (?4, ?5)
        ORDER BY r.rev, e.uuid
        """
    episodes = all_rows(db, sql, (*span, group.space))
    return TextChanges(
        group.head,
        tuple(map(_entity, entities)),
        tuple(map(_episode, episodes)),
        _removed(db, "entity", span),
        _removed(db, "episode", span),
        upto_rev=upto[0] - 1,
        more=upto < end,
        communities=_communities(db, group, after, upto),
        upto_uuid=upto[1],
    )


def _communities(
    db: apsw.Connection, group: GroupRow, after: Place, upto: Place
) -> tuple[IndexedCommunity, ...] | None:
    """They come before everything else of their revision."""
    current = first_row(db, "SELECT build_id, rev FROM community_current WHERE gid = ?", (group.gid,))
    build_id, rev = current or (None, 0)
    if build_id is None or not after <= (rev, "") <= upto:
        return None
    sql = """
        SELECT c.uuid, c.name, c.summary, c.created_ms,
            iif(x.space = ?3, x.space, coalesce(v.space, '')), iif(x.space = ?3, x.vector, v.vector)
        FROM communities c LEFT JOIN community_vectors v ON v.id = c.id
            LEFT JOIN next_vectors x ON x.id = c.id
        WHERE c.gid = ?1 AND c.build_id = ?2 ORDER BY c.uuid
        """
    rows = all_rows(db, sql, (group.gid, build_id, group.space))
    return tuple(IndexedCommunity(*row) for row in rows)


def _cuts(db: apsw.Connection, group: GroupRow, after: Place, limit: int, max_bytes: int) -> list[Place]:
    """Where a page ends at the latest: at the `limit`-th of a kind, at the episode with which bodies exceed
    `max_bytes`; nowhere if there are fewer."""
    limit = max(limit, 1)
    sql = """
        SELECT rev, uuid FROM entities WHERE gid = ?1 AND rev >= ?2 AND (rev, uuid) > (?2, ?3)
        ORDER BY rev, uuid LIMIT 1 OFFSET ?4 - 1
        """
    entity = first_row(db, sql, (group.gid, *after, limit))
    sql = """
        SELECT rev, uuid FROM (
            SELECT rev, uuid, row_number() OVER sofar AS number, sum(bytes) OVER sofar AS total FROM (
                SELECT r.rev, e.uuid, octet_length(e.body) AS bytes
                FROM found_episodes r JOIN episodes e ON e.id = r.id
                WHERE r.gid = ?1 AND r.rev >= ?2 AND (r.rev, e.uuid) > (?2, ?3)
                ORDER BY r.rev, e.uuid LIMIT ?4
            ) WINDOW sofar AS (ORDER BY rev, uuid ROWS UNBOUNDED PRECEDING)
        ) WHERE number = ?4 OR total > ?5 ORDER BY rev, uuid LIMIT 1
        """
    episode = first_row(db, sql, (group.gid, *after, limit, max_bytes))
    return [(rev, uuid) for rev, uuid in filter(None, (entity, episode))]


def _removed(db: apsw.Connection, kind: str, span: tuple[int, int, str, int, str]) -> tuple[str, ...]:
    """What was removed and has not come again."""
    sql = """
        SELECT t.uuid FROM text_tombstones t WHERE t.gid = ?1 AND t.rev BETWEEN ?2 AND ?4
            AND (t.rev, t.uuid) > (?2, ?3) AND (t.rev, t.uuid) <= (?4, ?5) AND t.kind = ?6
            AND NOT EXISTS (SELECT 1 FROM entities n WHERE ?6 = 'entity' AND n.uuid = t.uuid
                            AND n.gid = t.gid)
            AND NOT EXISTS (SELECT 1 FROM episodes e JOIN found_episodes f ON f.id = e.id
                            WHERE ?6 = 'episode' AND e.uuid = t.uuid AND e.gid = t.gid)
        ORDER BY t.uuid
        """
    return tuple(column(db, sql, (*span, kind)))


def _entity(row: Row) -> IndexedEntity:
    *entity, space, vector, names = row
    return IndexedEntity(entity_of(entity), tuple(sorted(json.loads(names))), space or "", vector)


def _episode(row: Row) -> IndexedEpisode:
    *episode, space, vectors, entities = row
    return IndexedEpisode(episode_of(episode), tuple(sorted(json.loads(entities))), space or "", vectors)


def _heads(db: apsw.Connection, group_ids: Collection[str]) -> dict[str, GroupHead]:
    sql = """
        SELECT group_id, rev, epoch, last_ms, space FROM groups
        WHERE group_id IN (SELECT value FROM json_each(?))
        """
    rows = all_rows(db, sql, (json_list(group_ids),))
    return {group_id: GroupHead(group_id, *head) for group_id, *head in rows}


def _changes(db: apsw.Connection, group_id: str, after_rev: int, limit: int) -> Changes:
    group = group_of(db, group_id)
    upto_rev = page_end(db, group, after_rev, limit)
    span = (group.gid, after_rev, upto_rev)
    sql = """
        SELECT f.*, iif(x.space = ?4, x.space, v.space), iif(x.space = ?4, x.vector, v.vector),
            CAST(w.own || w.source || w.target AS BLOB)
        FROM live_facts f LEFT JOIN fact_vectors v ON v.id = f.id LEFT JOIN fact_words w ON w.id = f.id
            LEFT JOIN next_vectors x ON x.id = f.id
        WHERE f.gid = ?1 AND f.rev > ?2 AND f.rev <= ?3 ORDER BY f.rev, f.uuid
        """
    facts = all_rows(db, sql, (*span, group.space))
    sql = """
        SELECT t.uuid FROM fact_tombstones t WHERE t.gid = ? AND t.rev > ? AND t.rev <= ?
            AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.uuid = t.uuid AND f.gid = t.gid)
        ORDER BY t.rev, t.uuid
        """
    removed = column(db, sql, span)
    return Changes(
        group.head,
        tuple(_indexed(row) for row in facts),
        tuple(removed),
        upto_rev,
        more=upto_rev < group.rev,
    )


def _indexed(row: Row) -> IndexedFact:
    *fact, space, vector, words = row
    return IndexedFact(fact_of(fact), space or "", vector, words)


def _note_proof(db: apsw.Connection, head: GroupHead, proof: str) -> bool:
    now = group_of(db, head.group_id).head
    if (now.epoch, now.rev) != (head.epoch, head.rev):
        return False
    db.execute("INSERT INTO index_proofs (group_id, proof) VALUES (?, ?)", (head.group_id, proof))
    sql = """
        DELETE FROM index_proofs WHERE group_id = ?1 AND number <= (
            SELECT number FROM index_proofs WHERE group_id = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2
        )
        """
    db.execute(sql, (head.group_id, PROOFS))
    return True


def _proven(db: apsw.Connection, group_id: str, proof: str) -> bool:
    return proof in column(db, "SELECT proof FROM index_proofs WHERE group_id = ?", (group_id,))


class EmbeddedSearch(EmbeddedBase):
    """SearchStore and ProofStore."""

    heads = reading(_heads)
    changes = reading(_changes)
    text_changes = reading(_text_changes)
    note_proof = writing(_note_proof)
    proven = reading(_proven)
