"""Reading what a plan needs, single things, and a group's whole graph (GraphStore, CandidateStore)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

import apsw

from kgsvc.domain.model.delta import FactTombstone, NameView, SlotView
from kgsvc.domain.model.graph import Entity, Episode, Fact
from kgsvc.domain.resolution.decisions import (
    FROM_THE_FIRST,
    CandidateQuery,
    NameCandidates,
    VectorPage,
    VectorsAfter,
)
from kgsvc.stores.embedded.apply import apply_delta
from kgsvc.stores.embedded.groups import Group, group_of, id_span
from kgsvc.stores.embedded.queue import recent_episodes
from kgsvc.stores.embedded.rows import (
    all_rows,
    column,
    entity_of,
    json_ids,
    json_list,
    names_of,
    read_entities,
    read_episodes,
    read_facts,
    strings,
)
from kgsvc.stores.embedded.writer import EmbeddedBase, reading, writing
from kgsvc.stores.protocol import GroupDump

_OF_UUID = "WHERE uuid = ?1 AND (?2 IS NULL OR group_id = ?2) ORDER BY group_id LIMIT 2"


def _entity(db: apsw.Connection, uuid: str, group_id: str | None) -> list[Entity]:
    return read_entities(db, _OF_UUID, (uuid, group_id))


def _fact(db: apsw.Connection, uuid: str, group_id: str | None) -> list[Fact]:
    return read_facts(db, _OF_UUID, (uuid, group_id))


def _episode(db: apsw.Connection, uuid: str, group_id: str | None) -> list[Episode]:
    return read_episodes(db, _OF_UUID, (uuid, group_id))


def _names(
    db: apsw.Connection, group_id: str, name_keys: Collection[str], uuids: Collection[str] = ()
) -> NameView:
    group = group_of(db, group_id)
    sql = """
        SELECT e.*, n.name_key FROM names n JOIN live_entities e ON e.id = n.entity_id
        WHERE n.gid = ? AND n.name_key IN (SELECT value FROM json_each(?))
        """
    named = all_rows(db, sql, (group.gid, json_list(name_keys)))
    by_key = {row[-1]: entity_of(row[:-1]) for row in named}
    by_uuid = {entity.uuid: entity for entity in _entities(db, group.gid, uuids)} if uuids else {}
    return NameView(group.head, by_key, by_uuid)


def _entities(db: apsw.Connection, gid: int, uuids: Collection[str]) -> list[Entity]:
    among = "WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?))"
    return read_entities(db, among, (gid, json_list(uuids)))


def _slots(db: apsw.Connection, group_id: str, slots: Collection[str]) -> SlotView:
    wanted = (group_of(db, group_id).gid, json_list(slots))
    among = "WHERE gid = ? AND slot IN (SELECT value FROM json_each(?)) ORDER BY uuid"
    tombstones = all_rows(db, "SELECT uuid, slot, fact, deleted_ms FROM fact_tombstones " + among, wanted)
    return SlotView(tuple(read_facts(db, among, wanted)), tuple(FactTombstone(*row) for row in tombstones))


def _candidates(db: apsw.Connection, group_id: str, query: CandidateQuery) -> NameCandidates:
    group = group_of(db, group_id)
    if not group.gid:
        return NameCandidates()
    by_token = _by_token(db, group.gid, query)
    uuids = {uuid for each in by_token.values() for uuid in each}.union(query.uuids)
    entities = {entity.uuid: entity for entity in _entities(db, group.gid, uuids)}
    sources = {uuid for each in by_token.values() for uuid in each[: query.told_per_token]}
    ids = _fact_ids(db, group.gid, query, sorted(sources.union(query.sources)))
    latest_first = """
        WHERE id IN (SELECT value FROM json_each(?))
        ORDER BY coalesce(valid_ms, reference_ms) DESC, uuid DESC
        """
    return NameCandidates(
        by_token=by_token,
        entities=entities,
        names={uuid: tuple(names_of(db, group.gid, uuid, query.names_per_entity)) for uuid in entities},
        facts=tuple(read_facts(db, latest_first, (json_ids(ids),))),
        labels=_labels_of_targets(db, ids),
        vectors=None if query.vectors is None else _vectors(db, group, query.vectors),
    )


def _by_token(db: apsw.Connection, gid: int, query: CandidateQuery) -> dict[str, tuple[str, ...]]:
    """The entities that each token of a name leads to."""
    sql = """
        SELECT t.uuid FROM name_tokens t WHERE t.gid = ?1 AND t.token = ?2
            AND EXISTS (SELECT 1 FROM entities e WHERE e.gid = ?1 AND e.uuid = t.uuid)
        ORDER BY t.uuid LIMIT ?3
        """
    tokens = sorted(set(query.tokens))
    uuids = {token: column(db, sql, (gid, token, query.entities_per_token)) for token in tokens}
    return {token: tuple(each) for token, each in uuids.items() if each}


def _fact_ids(db: apsw.Connection, gid: int, query: CandidateQuery, sources: Iterable[str]) -> set[int]:
    """The latest open facts of each source, and between each pair."""
    ids: set[int] = set()
    of_source = """
        SELECT f.id FROM facts f JOIN entities s ON s.id = f.source_id
        WHERE s.gid = ?1 AND s.uuid = ?2 AND f.expired_ms IS NULL
        ORDER BY coalesce(f.valid_ms, f.reference_ms) DESC, f.uuid DESC LIMIT ?3
        """
    for uuid in sources:
        ids.update(column(db, of_source, (gid, uuid, query.facts_per_source)))
    of_pair = """
        SELECT f.id FROM facts f
        WHERE f.source_id = (SELECT id FROM entities WHERE gid = ?1 AND uuid = ?2)
            AND f.target_id = (SELECT id FROM entities WHERE gid = ?1 AND uuid = ?3)
            AND f.expired_ms IS NULL
        ORDER BY coalesce(f.valid_ms, f.reference_ms) DESC, f.uuid DESC LIMIT ?4
        """
    for source, target in sorted(set(query.pairs)):
        ids.update(column(db, of_pair, (gid, source, target, query.facts_per_pair)))
    return ids


def _labels_of_targets(db: apsw.Connection, fact_ids: Iterable[int]) -> dict[str, tuple[str, ...]]:
    sql = """
        SELECT uuid, labels FROM entities WHERE id IN
            (SELECT target_id FROM facts WHERE id IN (SELECT value FROM json_each(?)))
        """
    rows = all_rows(db, sql, (json_ids(fact_ids),))
    return {uuid: strings(labels) for uuid, labels in rows}


def _vectors(db: apsw.Connection, group: Group, after: VectorsAfter) -> VectorPage:
    place = after.place if after.epoch == group.epoch else FROM_THE_FIRST
    sql = """
        WITH page AS (
            SELECT v.id, v.rev, n.uuid FROM entity_vectors v JOIN entities n ON n.id = v.id
            WHERE v.id >> 32 = ?1 AND v.rev >= ?2 AND (v.rev > ?2 OR n.uuid > ?3) AND v.space = ?4
            ORDER BY v.rev, n.uuid LIMIT ?5
        )
        SELECT p.rev, p.uuid, v.vector FROM page p JOIN entity_vectors v ON v.id = p.id
        ORDER BY p.rev, p.uuid
        """
    rows = all_rows(db, sql, (group.gid, *place, after.space, after.limit))
    if rows:
        place = (rows[-1][0], rows[-1][1])
    vectors = tuple((uuid, vector) for _rev, uuid, vector in rows)
    return VectorPage(group.epoch, place, vectors, more=len(rows) == after.limit)


def _dump(db: apsw.Connection, group_id: str) -> GroupDump:
    group = group_of(db, group_id)
    gid, span = (group.gid,), id_span(group.gid)
    everything = "WHERE gid = ? ORDER BY uuid"
    names = """
        SELECT n.name_key, e.uuid FROM names n JOIN entities e ON e.id = n.entity_id
        WHERE n.gid = ? ORDER BY n.name_key
        """
    mentions = """
        SELECT e.uuid, n.uuid FROM mentions m JOIN episodes e ON e.id = m.episode_id
        JOIN entities n ON n.id = m.entity_id WHERE m.episode_id BETWEEN ? AND ?
        """
    edges = """
        SELECT e.uuid, x.facts FROM episode_edges x JOIN episodes e ON e.id = x.id
        WHERE x.id BETWEEN ? AND ? ORDER BY e.uuid
        """
    return GroupDump(
        group.head,
        tuple(read_episodes(db, everything, gid)),
        tuple(read_entities(db, everything, gid)),
        dict(all_rows(db, names, gid)),
        tuple(read_facts(db, everything, gid)),
        tuple(sorted(all_rows(db, mentions, span))),
        {uuid: tuple(json.loads(facts)) for uuid, facts in all_rows(db, edges, span)},
    )


class EmbeddedGraph(EmbeddedBase):
    """GraphStore and CandidateStore."""

    names = reading(_names)
    slots = reading(_slots)
    apply = writing(apply_delta)
    entity = reading(_entity)
    fact = reading(_fact)
    episode = reading(_episode)
    recent_episodes = reading(recent_episodes)
    dump = reading(_dump)
    candidates = reading(_candidates)
