"""One thing with what hangs on it (HistoryStore), the latest episodes, a group as a whole (GraphStore)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import apsw

from kgsvc.domain.model.delta import MergeRecord
from kgsvc.domain.model.graph import TOLD, Citation, Entity, Episode, Fact, Mention, Source
from kgsvc.domain.names.forgetting import Saying, saying_of
from kgsvc.domain.names.merging import Said
from kgsvc.stores.embedded.rows import (
    Row,
    all_rows,
    column,
    entity_of,
    first_value,
    group_of,
    id_span,
    ids_of,
    json_ids,
    json_list,
    names_of,
    read_entities,
    read_episodes,
    read_facts,
    strings,
)
from kgsvc.stores.embedded.writer import EmbeddedBase, reading
from kgsvc.stores.protocol import WHOLE, EntityEpisodes, EpisodeCut, EpisodeTraces, GroupDump, MergesWhere

_MAX_KEY = (2**63 - 1, "\U0010ffff")


def _facts(db: apsw.Connection, group_id: str, uuids: Collection[str]) -> list[Fact]:
    among = "WHERE uuid IN (SELECT value FROM json_each(?)) AND group_id = ? ORDER BY uuid"
    return read_facts(db, among, (json_list(set(uuids)), group_id))


def _citations(db: apsw.Connection, group_id: str, episode_uuids: Collection[str]) -> dict[str, Citation]:
    sql = """
        SELECT uuid, name, source, source_description, created_ms FROM live_episodes
        WHERE uuid IN (SELECT value FROM json_each(?)) AND group_id = ?
        """
    rows = all_rows(db, sql, (json_list(set(episode_uuids)), group_id))
    return {
        uuid: Citation(uuid, name, Source(source), description, created_ms)
        for uuid, name, source, description, created_ms in rows
    }


def _episode_edges(
    db: apsw.Connection, group_id: str, episode_uuids: Collection[str]
) -> dict[str, tuple[str, ...]]:
    gid = group_of(db, group_id).gid
    sql = """
        SELECT e.uuid, x.facts FROM episodes e JOIN episode_edges x ON x.id = e.id
        WHERE e.gid = ? AND e.uuid IN (SELECT value FROM json_each(?))
        """
    rows = all_rows(db, sql, (gid, json_list(set(episode_uuids))))
    edges = {uuid: json.loads(facts) for uuid, facts in rows}
    there = ids_of(db, "facts", gid, (fact for facts in edges.values() for fact in facts)).keys()
    kept = {uuid: tuple(sorted(there & facts)) for uuid, facts in edges.items()}
    return {uuid: facts for uuid, facts in kept.items() if facts}


def _entity_facts(
    db: apsw.Connection,
    group_id: str,
    entity_uuid: str,
    limit: int,
    current_ms: int | None = None,
    other_uuid: str | None = None,
) -> list[Fact]:
    sql = """
        WITH ends (id) AS (
            SELECT n.id FROM entities n JOIN groups g ON g.gid = n.gid WHERE n.uuid = ?1 AND g.group_id = ?2
        ), others (id) AS (
            SELECT n.id FROM entities n JOIN groups g ON g.gid = n.gid WHERE n.uuid = ?5 AND g.group_id = ?2
        ), hanging (id) AS (
            SELECT f.id FROM ends JOIN facts f ON f.source_id = ends.id
            UNION SELECT f.id FROM ends JOIN facts f ON f.target_id = ends.id
        )
        SELECT f.id FROM hanging JOIN facts f ON f.id = hanging.id
        WHERE (?3 IS NULL OR (f.expired_ms IS NULL AND coalesce(f.valid_ms, f.reference_ms) <= ?3
                              AND (f.invalid_ms IS NULL OR f.invalid_ms > ?3)))
            AND (?5 IS NULL OR iif(f.source_id IN ends, f.target_id, f.source_id) IN others)
        ORDER BY coalesce(f.valid_ms, f.reference_ms) DESC, f.uuid DESC LIMIT ?4
        """
    ids = column(db, sql, (entity_uuid, group_id, current_ms, limit, other_uuid))
    facts = read_facts(db, "WHERE id IN (SELECT value FROM json_each(?))", (json_ids(ids),))
    return sorted(facts, key=lambda fact: (fact.start_ms, fact.uuid), reverse=True)


def _entity_episodes(
    db: apsw.Connection, group_id: str, entity_uuid: str, limit: int, max_bytes: int
) -> EntityEpisodes:
    naming = """
        SELECT {} FROM groups g
        JOIN entities n ON n.gid = g.gid AND n.uuid = ?2 JOIN mentions m ON m.entity_id = n.id
        JOIN episodes e ON e.id = m.episode_id WHERE g.group_id = ?1
        """
    asked = (group_id, entity_uuid)
    first = first_value(db, naming.format("e.uuid") + "ORDER BY e.reference_ms, e.uuid LIMIT 1", asked)
    if first is None:
        return EntityEpisodes(None, ())
    latest_first = "ORDER BY e.reference_ms DESC, e.uuid DESC LIMIT ?3"
    sizes = naming.format("e.id, octet_length(e.body)") + latest_first
    ids = within(all_rows(db, sizes, (*asked, limit)), max_bytes)
    by_time = "WHERE id IN (SELECT value FROM json_each(?)) ORDER BY reference_ms, uuid"
    return EntityEpisodes(first, tuple(read_episodes(db, by_time, (json_ids(ids),))))


def _entity_names(db: apsw.Connection, group_id: str, entity_uuid: str, limit: int) -> list[str]:
    return names_of(db, group_of(db, group_id).gid, entity_uuid, limit)


def _entity_mentions(
    db: apsw.Connection, group_id: str, entity_uuid: str, limit: int, among: Collection[str] | None = None
) -> list[str]:
    sql = """
        SELECT e.uuid FROM groups g JOIN entities n ON n.gid = g.gid AND n.uuid = ?2
        JOIN mentions m ON m.entity_id = n.id JOIN episodes e ON e.id = m.episode_id
        WHERE g.group_id = ?1 AND (?4 IS NULL OR e.uuid IN (SELECT value FROM json_each(?4)))
        ORDER BY e.uuid LIMIT ?3
        """
    return column(db, sql, (group_id, entity_uuid, limit, None if among is None else json_list(among)))


def _mentions(
    db: apsw.Connection, group_id: str, entity_uuid: str, episode_uuids: Collection[str]
) -> dict[str, Mention]:
    sql = """
        SELECT m.uuid, g.group_id, e.uuid, n.uuid, m.created_ms, m.names, m.types
        FROM groups g JOIN entities n ON n.gid = g.gid AND n.uuid = ?2
        JOIN episodes e ON e.gid = g.gid AND e.uuid IN (SELECT value FROM json_each(?3))
        JOIN mentions m ON m.episode_id = e.id AND m.entity_id = n.id
        WHERE g.group_id = ?1
        """
    rows = all_rows(db, sql, (group_id, entity_uuid, json_list(episode_uuids)))
    return {
        episode: Mention(uuid, group, episode, entity, created_ms, strings(names), strings(types))
        for uuid, group, episode, entity, created_ms, names, types in rows
    }


def _types_said(db: apsw.Connection, group_id: str, entity_uuid: str) -> dict[str, int]:
    sql = """
        SELECT t.value, count(*) FROM groups g JOIN entities n ON n.gid = g.gid AND n.uuid = ?2
        JOIN mentions m ON m.entity_id = n.id, json_each(m.types) t
        WHERE g.group_id = ?1 GROUP BY t.value
        """
    return dict(all_rows(db, sql, (group_id, entity_uuid)))


def _merged(db: apsw.Connection, uuid: str, group_id: str | None) -> list[MergeRecord]:
    sql = """
        SELECT m.merge_id, g.group_id, m.merged_uuid, m.kept_uuid, max(m.created_ms), m.data, m.by_episode
        FROM merges m JOIN groups g ON g.gid = m.gid
        WHERE m.merged_uuid = ?1 AND (?2 IS NULL OR g.group_id = ?2)
        GROUP BY g.group_id ORDER BY g.group_id LIMIT 100
        """
    rows = all_rows(db, sql, (uuid, group_id))
    return [MergeRecord(*row) for row in rows]


_MERGES_BY = (  # each by the index of what is asked for
    "merges m WHERE m.gid = ?1 AND m.merge_id = ?2",
    "merges m WHERE +m.gid = ?1 AND (m.kept_uuid = ?3 OR m.merged_uuid = ?3)",
    "merges m INDEXED BY merges_told WHERE m.gid = ?1 AND m.by_episode = ?4 AND m.by_episode <> ''",
    "merges m WHERE m.gid = ?1 AND instr(m.data, ?5) > 0",
)


def _merges(db: apsw.Connection, group_id: str, where: MergesWhere) -> list[MergeRecord]:
    gid = group_of(db, group_id).gid
    asked = (where.merge_id, where.entity_uuid, where.by_episode, where.text)
    named = (by for by, value in zip(_MERGES_BY, asked, strict=True) if value is not None)
    sql = f"""
        SELECT m.merge_id, octet_length(m.data) FROM {next(named, "merges m WHERE m.gid = ?1")}
            AND (m.created_ms < ?6 OR m.created_ms = ?6 AND m.merge_id > ?7)
        ORDER BY m.created_ms DESC, m.merge_id LIMIT ?8
        """
    rows = all_rows(db, sql, (gid, *asked, *where.behind, where.limit))
    found = json_list(list(within(rows, where.max_bytes)))
    sql = """
        SELECT merge_id, ?, merged_uuid, kept_uuid, created_ms, data, by_episode FROM merges
        WHERE gid = ? AND merge_id IN (SELECT value FROM json_each(?)) ORDER BY +created_ms DESC, merge_id
        """
    return [MergeRecord(*row) for row in all_rows(db, sql, (group_id, gid, found))]


def _facts_holding(db: apsw.Connection, group_id: str, text: str) -> list[Fact]:
    held = (group_of(db, group_id).gid, text)
    return read_facts(db, "WHERE gid = ? AND instr(fact, ?) > 0 ORDER BY uuid", held)


def _traces(db: apsw.Connection, group_id: str, episode_uuid: str) -> EpisodeTraces:
    asked = (group_of(db, group_id).gid, episode_uuid)
    sql = """
        WITH own (uuid) AS (
            SELECT j.value FROM episodes e JOIN episode_edges x ON x.id = e.id JOIN json_each(x.facts) j
            WHERE e.gid = ?1 AND e.uuid = ?2
        )
        SELECT f.slot FROM own JOIN facts f ON f.uuid = own.uuid AND f.gid = ?1
        UNION SELECT t.slot FROM own JOIN fact_tombstones t ON t.gid = ?1 AND t.uuid = own.uuid
        UNION SELECT f.slot FROM closures c JOIN facts f ON f.id = c.fact_id
            WHERE c.gid = ?1 AND c.by_episode = ?2
        """
    slots = column(db, sql, asked)
    sql = """
        SELECT n.* FROM episodes e JOIN mentions m ON m.episode_id = e.id
        JOIN live_entities n ON n.id = m.entity_id WHERE e.gid = ? AND e.uuid = ? ORDER BY n.uuid
        """
    named = all_rows(db, sql, asked)
    return EpisodeTraces(tuple(sorted(slots)), tuple(map(entity_of, named)))


def _sayings(db: apsw.Connection, group_id: str, episode_uuid: str) -> dict[str, Saying]:
    asked = (group_of(db, group_id).gid, episode_uuid)
    sql = """
        SELECT DISTINCT n.uuid, o.episode_id = e.id, o.names, o.types
        FROM episodes e JOIN mentions m ON m.episode_id = e.id JOIN entities n ON n.id = m.entity_id
        JOIN mentions o ON o.entity_id = n.id WHERE e.gid = ? AND e.uuid = ?
        """
    rows = all_rows(db, sql, asked)
    sql = """
        SELECT n.uuid, x.reference_ms, x.uuid
        FROM episodes e JOIN mentions m ON m.episode_id = e.id JOIN entities n ON n.id = m.entity_id
        CROSS JOIN episodes x ON x.id = (
            SELECT y.id FROM mentions o JOIN episodes y ON y.id = o.episode_id
            WHERE o.entity_id = n.id AND y.id <> e.id ORDER BY y.reference_ms, y.uuid LIMIT 1)
        WHERE e.gid = ? AND e.uuid = ?
        """
    firsts = all_rows(db, sql, asked)
    first = {entity: (ms, episode) for entity, ms, episode in firsts}
    own: dict[str, Said] = {}
    others: defaultdict[str, list[Said]] = defaultdict(list)
    for entity, is_own, names, types in rows:
        said = (strings(names), strings(types))
        if is_own:
            own.setdefault(entity, said)
        else:
            others[entity].append(said)
    return {entity: saying_of(said, others[entity], first.get(entity)) for entity, said in own.items()}


def _unheld(
    db: apsw.Connection,
    group_id: str,
    entity_uuids: Collection[str],
    episode_uuid: str,
    fact_uuids: Collection[str],
) -> set[str]:
    sql = """
        WITH but (uuid) AS (SELECT value FROM json_each(?4))
        SELECT n.uuid FROM entities n
        WHERE n.gid = ?1 AND n.uuid IN (SELECT value FROM json_each(?2))
            AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.source_id = n.id AND f.uuid NOT IN but)
            AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.target_id = n.id AND f.uuid NOT IN but)
            AND NOT EXISTS (SELECT 1 FROM mentions m JOIN episodes e ON e.id = m.episode_id
                            WHERE m.entity_id = n.id AND e.uuid <> ?3)
        """
    held_by_none = column(
        db, sql, (group_of(db, group_id).gid, json_list(entity_uuids), episode_uuid, json_list(fact_uuids))
    )
    return set(held_by_none)


def recent_episodes(db: apsw.Connection, group_id: str, limit: int, cut: EpisodeCut = WHOLE) -> list[Episode]:
    """The latest of the group, oldest first, as far as `cut` asks for them."""
    gid = group_of(db, group_id).gid
    latest: list[Row] = []
    for source in TOLD:
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


def within(rows: Sequence[Row], max_bytes: int | None) -> Iterator[Any]:
    """The ids up to the row with which the sizes exceed `max_bytes`. Rows are (id, size of its text)."""
    total = 0
    for row_id, size in rows:
        yield row_id
        total += size
        if max_bytes is not None and total > max_bytes:
            return


_OF_UUID = "WHERE uuid = ?1 AND (?2 IS NULL OR group_id = ?2) ORDER BY group_id LIMIT 100"


def _entity(db: apsw.Connection, uuid: str, group_id: str | None) -> list[Entity]:
    return read_entities(db, _OF_UUID, (uuid, group_id))


def _fact(db: apsw.Connection, uuid: str, group_id: str | None) -> list[Fact]:
    return read_facts(db, _OF_UUID, (uuid, group_id))


def _episode(db: apsw.Connection, uuid: str, group_id: str | None) -> list[Episode]:
    return read_episodes(db, _OF_UUID, (uuid, group_id))


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


class EmbeddedHistory(EmbeddedBase):
    """HistoryStore, and what of GraphStore no commit needs."""

    entity = reading(_entity)
    fact = reading(_fact)
    episode = reading(_episode)
    recent_episodes = reading(recent_episodes)
    dump = reading(_dump)
    facts = reading(_facts)
    citations = reading(_citations)
    episode_edges = reading(_episode_edges)
    entity_facts = reading(_entity_facts)
    entity_episodes = reading(_entity_episodes)
    entity_names = reading(_entity_names)
    entity_mentions = reading(_entity_mentions)
    mentions = reading(_mentions)
    types_said = reading(_types_said)
    sayings = reading(_sayings)
    merges = reading(_merges)
    merged = reading(_merged)
    facts_holding = reading(_facts_holding)
    traces = reading(_traces)
    unheld = reading(_unheld)
