"""What new names and facts are compared with (CandidateStore)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import apsw

from kgsvc.domain.names.similarity import name_tokens
from kgsvc.domain.resolution.decisions import (
    FROM_THE_FIRST,
    CandidateQuery,
    Candidates,
    VectorPage,
    VectorsAfter,
)
from kgsvc.stores.embedded.base import Base
from kgsvc.stores.embedded.groups import Group, find_group
from kgsvc.stores.embedded.rows import all_rows, entity_of, fact_of, json_ids, json_list, strings


class CandidateReads(Base):
    """CandidateStore."""

    async def candidates(self, group_id: str, query: CandidateQuery) -> Candidates:
        """See CandidateStore."""
        return await self._read(_candidates, group_id, query)


def write_name_tokens(db: apsw.Connection, gid: int, names: Mapping[str, str]) -> None:
    """Entities become findable by the tokens of `names` (name key → uuid). Called by apply."""
    rows = {(gid, token, uuid) for key, uuid in names.items() for token in name_tokens(key)}
    db.executemany(
        "INSERT INTO name_tokens (gid, token, uuid) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", sorted(rows)
    )


def fill_name_tokens(db: apsw.Connection) -> None:
    """For the names that are there. Called by the migration that brings tokens."""
    rows = all_rows(db, "SELECT n.gid, n.name_key, e.uuid FROM names n JOIN entities e ON e.id = n.entity_id")
    for gid, key, uuid in rows:
        write_name_tokens(db, gid, {key: uuid})


def _candidates(db: apsw.Connection, group_id: str, query: CandidateQuery) -> Candidates:
    group = find_group(db, group_id)
    if group is None:
        return Candidates()
    by_token: dict[str, tuple[str, ...]] = {}
    for token in sorted(set(query.tokens)):
        rows = all_rows(
            db,
            """
            SELECT t.uuid FROM name_tokens t WHERE t.gid = ?1 AND t.token = ?2
                AND EXISTS (SELECT 1 FROM entities e WHERE e.gid = ?1 AND e.uuid = t.uuid)
            ORDER BY t.uuid LIMIT ?3
            """,
            (group.gid, token, query.entities_per_token),
        )
        if rows:
            by_token[token] = tuple(row[0] for row in rows)
    wanted = {uuid for uuids in by_token.values() for uuid in uuids}.union(query.uuids)
    found = all_rows(
        db,
        "SELECT * FROM live_entities WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?))",
        (group.gid, json_list(wanted)),
    )
    told = {uuid for uuids in by_token.values() for uuid in uuids[: query.told_per_token]}
    ids = _fact_ids(db, group.gid, query, sorted(told.union(query.sources)))
    facts = all_rows(
        db,
        """
        SELECT * FROM live_facts WHERE id IN (SELECT value FROM json_each(?))
        ORDER BY coalesce(valid_ms, reference_ms) DESC, uuid DESC
        """,
        (json_ids(ids),),
    )
    return Candidates(
        by_token=by_token,
        entities={row[2]: entity_of(row) for row in found},
        names={row[2]: _names(db, group.gid, row[0], query.names_per_entity) for row in found},
        facts=tuple(map(fact_of, facts)),
        labels=_labels_of_targets(db, ids),
        vectors=None if query.vectors is None else _vectors(db, group, query.vectors),
    )


def _labels_of_targets(db: apsw.Connection, fact_ids: Iterable[int]) -> dict[str, tuple[str, ...]]:
    rows = all_rows(
        db,
        """
        SELECT uuid, labels FROM entities WHERE id IN
            (SELECT target_id FROM facts WHERE id IN (SELECT value FROM json_each(?)))
        """,
        (json_ids(fact_ids),),
    )
    return {uuid: strings(labels) for uuid, labels in rows}


def _vectors(db: apsw.Connection, group: Group, after: VectorsAfter) -> VectorPage:
    place = after.place if after.epoch == group.epoch else FROM_THE_FIRST
    rows = all_rows(
        db,
        """
        WITH page AS (
            SELECT v.id, v.rev, n.uuid FROM entity_vectors v JOIN entities n ON n.id = v.id
            WHERE v.id >> 32 = ?1 AND v.rev >= ?2 AND (v.rev > ?2 OR n.uuid > ?3) AND v.space = ?4
            ORDER BY v.rev, n.uuid LIMIT ?5
        )
        SELECT p.rev, p.uuid, v.vector FROM page p JOIN entity_vectors v ON v.id = p.id
        ORDER BY p.rev, p.uuid
        """,
        (group.gid, *place, after.space, after.limit),
    )
    if rows:
        place = (rows[-1][0], rows[-1][1])
    vectors = tuple((uuid, vector) for _rev, uuid, vector in rows)
    return VectorPage(group.epoch, place, vectors, more=len(rows) == after.limit)


def _names(db: apsw.Connection, gid: int, entity_id: int, limit: int) -> tuple[str, ...]:
    rows = all_rows(
        db,
        "SELECT name_key FROM names WHERE entity_id = ? AND gid = ? ORDER BY name_key LIMIT ?",
        (entity_id, gid, limit),
    )
    return tuple(row[0] for row in rows)


def _fact_ids(db: apsw.Connection, gid: int, query: CandidateQuery, sources: Iterable[str]) -> set[int]:
    """The latest open facts of each source, and between each pair."""
    ids: set[int] = set()
    for uuid in sources:
        rows = all_rows(
            db,
            """
            SELECT f.id FROM facts f JOIN entities s ON s.id = f.source_id
            WHERE s.gid = ?1 AND s.uuid = ?2 AND f.expired_ms IS NULL
            ORDER BY coalesce(f.valid_ms, f.reference_ms) DESC, f.uuid DESC LIMIT ?3
            """,
            (gid, uuid, query.facts_per_source),
        )
        ids.update(row[0] for row in rows)
    for source, target in sorted(set(query.pairs)):
        rows = all_rows(
            db,
            """
            SELECT f.id FROM facts f
            WHERE f.source_id = (SELECT id FROM entities WHERE gid = ?1 AND uuid = ?2)
                AND f.target_id = (SELECT id FROM entities WHERE gid = ?1 AND uuid = ?3)
                AND f.expired_ms IS NULL
            ORDER BY coalesce(f.valid_ms, f.reference_ms) DESC, f.uuid DESC LIMIT ?4
            """,
            (gid, source, target, query.facts_per_pair),
        )
        ids.update(row[0] for row in rows)
    return ids
