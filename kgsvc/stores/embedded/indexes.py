"""What the graph is found by, kept up to date with every delta (called by apply): tokens of names, words of
facts, the revisions of texts, and descriptions of communities; and finding candidates by them.

Facts of a group that is not in memory are found by words (kgsvc.domain.text, cold_search.py), and those in
memory are indexed by them. The words of the names of both ends stand apart, since renaming an entity changes
them alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import apsw

from kgsvc.domain.model.delta import GraphDelta
from kgsvc.domain.model.graph import Fact, own_text
from kgsvc.domain.resolution.decisions import (
    EXPIRED_READ,
    FROM_THE_FIRST,
    CandidateQuery,
    NameCandidates,
    VectorPage,
    VectorsAfter,
)
from kgsvc.domain.text import remembered, words
from kgsvc.stores.embedded.rows import (
    GroupRow,
    Row,
    all_rows,
    column,
    entities_among,
    group_of,
    ids_of,
    json_ids,
    json_list,
    names_of,
    one_value,
    read_facts,
    strings,
    upsert,
)
from kgsvc.stores.records import vector_page

_WORDS = upsert("fact_words", "id", "start_ms, until_ms, own, source, target")
_NEVER = 2**63 - 1


def write_words(db: apsw.Connection, ids: Mapping[str, int], facts: Iterable[Fact]) -> None:
    """The rows of facts as they are written."""
    db.executemany(_WORDS, [_row(ids[fact.uuid], fact) for fact in facts])


def rename_words(db: apsw.Connection, renamed: Mapping[int, str]) -> None:
    """Facts of entities that have other names now, by entity id."""
    values = [(words(name), entity_id) for entity_id, name in renamed.items()]
    db.executemany(
        "UPDATE fact_words SET source = ? WHERE id IN (SELECT id FROM facts WHERE source_id = ?)", values
    )
    db.executemany(
        "UPDATE fact_words SET target = ? WHERE id IN (SELECT id FROM facts WHERE target_id = ?)", values
    )


def _row(row_id: int, fact: Fact) -> Row:
    until_ms = _NEVER if fact.invalid_ms is None else fact.invalid_ms
    if fact.expired_ms is not None:
        until_ms = fact.start_ms  # an empty span: never seen
    names = _name_words(fact.source_name), _name_words(fact.target_name)
    return (row_id, fact.start_ms, until_ms, words(own_text(fact)), *names)


_name_words = remembered(4_096)(words)  # names come again and again


def write_name_tokens(db: apsw.Connection, gid: int, terms: Iterable[tuple[str, str]]) -> None:
    """Entities become findable by search terms (term, uuid)."""
    db.executemany(
        "INSERT INTO name_tokens (gid, token, uuid) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(gid, *each) for each in sorted(terms)],
    )


_TOMBSTONE = upsert("text_tombstones", "gid, kind, uuid", "rev")


def touch_texts(db: apsw.Connection, gid: int, rev: int, delta: GraphDelta) -> None:
    """Give the delta's revision to entities and episodes whose entries in an index it changes, before what
    it removes is gone."""
    if entities := delta.touched_entities:
        touched = "UPDATE entities SET rev = ? WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?))"
        db.execute(touched, (rev, gid, json_list(entities)))
    if delta.remove_entities:
        naming = """
            UPDATE found_episodes SET rev = ? WHERE id IN (
                SELECT m.episode_id FROM entities n JOIN mentions m ON m.entity_id = n.id
                WHERE n.gid = ? AND n.uuid IN (SELECT value FROM json_each(?)))
            """
        db.execute(naming, (rev, gid, json_list(delta.remove_entities)))
    if episodes := delta.touched_episodes:
        named = """
            INSERT INTO found_episodes (id, gid, rev)
            SELECT id, gid, ? FROM episodes WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?))
            ON CONFLICT (id) DO UPDATE SET rev = excluded.rev
            """
        db.execute(named, (rev, gid, json_list(episodes)))
    if delta.hide_episodes:
        hidden = ids_of(db, "episodes", gid, delta.hide_episodes).values()
        db.executemany("DELETE FROM found_episodes WHERE id = ?", [(row_id,) for row_id in hidden])
    if delta.forgets:  # descriptions of communities may have been dropped
        db.execute("UPDATE community_current SET rev = ? WHERE gid = ?", (rev, gid))
    gone = [(gid, "entity", uuid, rev) for uuid in delta.remove_entities]
    gone += [(gid, "episode", uuid, rev) for uuid in (*delta.remove_episodes, *delta.hide_episodes)]
    db.executemany(_TOMBSTONE, gone)


def candidates(db: apsw.Connection, group_id: str, query: CandidateQuery) -> NameCandidates:
    """See CandidateStore."""
    group = group_of(db, group_id)
    if not group.gid:
        return NameCandidates()
    by_token = _by_token(db, group.gid, query)
    uuids = {uuid for each in by_token.values() for uuid in each}.union(query.uuids)
    entities = {entity.uuid: entity for entity in entities_among(db, group.gid, uuids)}
    told = {uuid for each in by_token.values() for uuid in each[: query.told_per_token]}
    ids = _fact_ids(db, group.gid, query, told)
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


def _fact_ids(db: apsw.Connection, gid: int, query: CandidateQuery, told: Collection[str]) -> set[int]:
    """The latest open facts of each source and of each target, and between each pair; `told` are both."""
    ids: set[int] = set()
    of_source = """
        SELECT f.id FROM facts f JOIN entities s ON s.id = f.source_id
        WHERE s.gid = ?1 AND s.uuid = ?2 AND f.expired_ms IS NULL
        ORDER BY coalesce(f.valid_ms, f.reference_ms) DESC, f.uuid DESC LIMIT ?3
        """
    for uuid in sorted({*query.sources, *told}):
        ids.update(column(db, of_source, (gid, uuid, query.facts_per_source)))
    of_target = """
        SELECT f.id FROM facts f JOIN entities t ON t.id = f.target_id
        WHERE t.gid = ?1 AND t.uuid = ?2 AND f.expired_ms IS NULL
        ORDER BY coalesce(f.valid_ms, f.reference_ms) DESC, f.uuid DESC LIMIT ?3
        """
    for uuid in sorted({*query.targets, *told}):
        ids.update(column(db, of_target, (gid, uuid, query.facts_per_target)))
    if query.held_at_ms is not None:
        for end, uuids in (("source_id", query.sources), ("target_id", query.targets)):
            for uuid in sorted({*uuids, *told}):
                ids.update(_ended_after(db, gid, end, uuid, query.held_at_ms))
    ends = ids_of(db, "entities", gid, {uuid for pair in query.pairs for uuid in pair})
    for pair in sorted(set(query.pairs)):
        if all(uuid in ends for uuid in pair):
            ids.update(_between(db, ends[pair[0]], ends[pair[1]], query.facts_per_pair))
    return ids


def _ended_after(db: apsw.Connection, gid: int, end: str, uuid: str, ms: int) -> list[Any]:
    """Facts of a source or target that ended after `ms`, among those that expired last."""
    sql = f"""
        SELECT id FROM (
            SELECT f.id, f.invalid_ms FROM facts f JOIN entities e ON e.id = f.{end}
            WHERE e.gid = ? AND e.uuid = ? AND f.expired_ms IS NOT NULL
            ORDER BY f.expired_ms DESC, f.uuid DESC LIMIT ?)
        WHERE invalid_ms > ?
        """
    return column(db, sql, (gid, uuid, EXPIRED_READ, ms))


_FEW = 500


def _between(db: apsw.Connection, source_id: int, target_id: int, limit: int) -> list[Any]:
    """The latest open facts from one entity to another. Those of the end that has fewer are looked through,
    in its index alone: an index of pairs would be one more page to write for each new fact."""
    sql = f"""
        SELECT id FROM facts INDEXED BY {_smaller_end(db, source_id, target_id)}
        WHERE source_id = ? AND target_id = ? AND expired_ms IS NULL
        ORDER BY coalesce(valid_ms, reference_ms) DESC, uuid DESC LIMIT ?
        """
    return column(db, sql, (source_id, target_id, limit))


def _smaller_end(db: apsw.Connection, source_id: int, target_id: int) -> str:
    """The index of the end that has fewer open facts, or about as many. Both are counted as far as the
    smaller one goes."""
    most = _FEW
    while True:
        for index, end, entity_id in (
            ("facts_of_source", "source_id", source_id),
            ("facts_of_target", "target_id", target_id),
        ):
            counting = f"""
                SELECT count(*) FROM (SELECT 1 FROM facts INDEXED BY {index}
                    WHERE {end} = ? AND expired_ms IS NULL LIMIT ?)
                """
            if one_value(db, counting, (entity_id, most)) < most:
                return index
        most *= 4


def _labels_of_targets(db: apsw.Connection, fact_ids: Iterable[int]) -> dict[str, tuple[str, ...]]:
    sql = """
        SELECT uuid, labels FROM entities WHERE id IN
            (SELECT target_id FROM facts WHERE id IN (SELECT value FROM json_each(?)))
        """
    rows = all_rows(db, sql, (json_ids(fact_ids),))
    return {uuid: strings(labels) for uuid, labels in rows}


def _vectors(db: apsw.Connection, group: GroupRow, after: VectorsAfter) -> VectorPage:
    place = after.place if after.epoch == group.epoch else FROM_THE_FIRST
    if group.tidying or after.space != group.space:  # a page now would pass over what is brought up later
        return vector_page(after, group.epoch, [])
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
    return vector_page(after, group.epoch, rows)
