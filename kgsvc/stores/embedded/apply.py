"""Writing a delta (GraphStore.apply): checks first, then rows by executemany, all in one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import apsw

from kgsvc.domain.errors import Conflict, LeaseLost, RevisionChanged
from kgsvc.domain.model.delta import Claim, GraphDelta, GroupHead, Guard, StaleItems
from kgsvc.stores.embedded.answers import Key, keep_answer, known_answer
from kgsvc.stores.embedded.candidates import write_name_tokens
from kgsvc.stores.embedded.groups import Group, find_group, make_group, take_ids
from kgsvc.stores.embedded.rows import Row, all_rows, entity_row, fact_row, json_list
from kgsvc.stores.embedded.search import touch_texts
from kgsvc.stores.embedded.traces import remove_entities, remove_names, unsay, write_closures, write_merges
from kgsvc.stores.embedded.transitions import write_spent, write_transitions
from kgsvc.stores.embedded.words import rename_words, write_words

Ids = dict[str, int]


def apply_delta(db: apsw.Connection, delta: GraphDelta, guard: Guard) -> GroupHead:
    """Check the guard and write everything; the caller's savepoint undoes it all on an error."""
    _check_guard(find_group(db, delta.group_id), guard)
    group = make_group(db, delta.group_id)
    if delta.claim is not None and not _claim(db, group.gid, delta.claim):
        return group.head
    _check_items(db, group.gid, delta.requires_items, guard.token)
    _check_names(db, group.gid, delta)
    rev = group.rev + int(delta.bumps_rev)
    _remove_facts(db, group.gid, rev, delta)
    entities = _write_entities(db, group.gid, rev, delta)
    touch_texts(db, group.gid, rev, delta)
    remove_names(db, group.gid, delta)
    _write_names(db, group.gid, delta.names, entities)
    facts = _write_facts(db, group.gid, rev, delta, entities)
    _write_vectors(db, group.gid, rev, delta, facts, entities)
    _write_links(db, group.gid, delta, entities)
    write_closures(db, group.gid, delta, facts)
    write_merges(db, group.gid, delta)
    unsay(db, group.gid, delta)
    remove_entities(db, group.gid, delta)
    write_transitions(db, group.gid, delta.transitions, guard.token)
    write_spent(db, group.gid, delta.spent)
    _remove_episodes(db, group.gid, delta)
    db.execute("UPDATE groups SET rev = ?, last_ms = ? WHERE gid = ?", (rev, delta.system_ms, group.gid))
    return GroupHead(delta.group_id, rev, group.epoch, delta.system_ms)


def _check_guard(group: Group | None, guard: Guard) -> None:
    epoch, rev = (0, 0) if group is None else (group.epoch, group.rev)
    token = None if group is None or group.owner_id is None else group.token
    if epoch != guard.epoch or guard.token not in (None, token):
        raise LeaseLost("the group is owned by another process or was deleted")
    if rev != guard.rev:
        raise RevisionChanged("the group changed since it was read")


def _claim(db: apsw.Connection, gid: int, claim: Claim) -> bool:
    """Record the caller's key; False when it is known with the same input. Conflict: with another."""
    key = Key(claim.operation, claim.key, claim.input_hash, claim.now_ms, claim.dedup_window_ms)
    if known_answer(db, gid, key) is not None:
        return False
    keep_answer(db, gid, key)
    return True


def _check_items(db: apsw.Connection, gid: int, required: Sequence[str], token: int | None) -> None:
    if not required:
        return
    rows = all_rows(
        db,
        """
        SELECT uuid FROM items
        WHERE gid = ?1 AND next_ms IS NOT NULL AND uuid IN (SELECT value FROM json_each(?2))
            AND (?3 IS NULL OR started = ?3)
        """,
        (gid, json_list(required), token),
    )
    ours = {row[0] for row in rows}
    stale = tuple(uuid for uuid in required if uuid not in ours)
    if stale:
        raise StaleItems(stale)


def _check_names(db: apsw.Connection, gid: int, delta: GraphDelta) -> None:
    """A name changes hands only if its owner is written in the same delta."""
    rows = all_rows(
        db,
        """
        SELECT n.name_key, e.uuid FROM names n JOIN entities e ON e.id = n.entity_id
        WHERE n.gid = ? AND n.name_key IN (SELECT value FROM json_each(?))
        """,
        (gid, json_list(delta.names)),
    )
    written = {entity.uuid for entity in delta.entities}
    leaving = written.union(delta.remove_entities)
    if any(owner != delta.names[key] and owner not in leaving for key, owner in rows):
        raise Conflict("a name belongs to another entity")


def _ids_of_entities(db: apsw.Connection, gid: int, uuids: Iterable[str]) -> dict[str, tuple[int, str]]:
    rows = all_rows(
        db,
        "SELECT uuid, id, name FROM entities WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?))",
        (gid, json_list(set(uuids))),
    )
    return {uuid: (row_id, name) for uuid, row_id, name in rows}


def _ids_of_facts(db: apsw.Connection, gid: int, uuids: Iterable[str]) -> Ids:
    rows = all_rows(
        db,
        "SELECT uuid, id FROM facts WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?))",
        (gid, json_list(set(uuids))),
    )
    return dict(rows)


def _ids_of_episodes(db: apsw.Connection, gid: int, uuids: Iterable[str]) -> Ids:
    rows = all_rows(
        db,
        "SELECT uuid, id FROM episodes WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?))",
        (gid, json_list(set(uuids))),
    )
    return dict(rows)


def _give_ids(db: apsw.Connection, gid: int, ids: Ids, uuids: Iterable[str]) -> None:
    """Add fresh ids for those of `uuids` that have none."""
    fresh = [uuid for uuid in dict.fromkeys(uuids) if uuid not in ids]
    ids.update(zip(fresh, take_ids(db, gid, len(fresh)), strict=True))


def _write_entities(db: apsw.Connection, gid: int, rev: int, delta: GraphDelta) -> Ids:
    """Write entities and the display names of renamed ones; the ids of all entities the delta speaks of."""
    spoken = {entity.uuid for entity in delta.entities} | set(delta.names.values())
    spoken |= {mention.entity_uuid for mention in delta.mentions}
    for fact in delta.facts:
        spoken |= {fact.source_uuid, fact.target_uuid}
    known = _ids_of_entities(db, gid, spoken)
    ids = {uuid: row_id for uuid, (row_id, _name) in known.items()}
    _give_ids(db, gid, ids, (entity.uuid for entity in delta.entities))
    db.executemany(
        """
        INSERT INTO entities (id, gid, uuid, name, created_ms, summary, attributes, labels,
                              source_episode_uuid, updated_ms, stamps, detail)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET name = excluded.name, created_ms = excluded.created_ms,
            summary = excluded.summary, attributes = excluded.attributes, labels = excluded.labels,
            source_episode_uuid = excluded.source_episode_uuid, updated_ms = excluded.updated_ms,
            stamps = excluded.stamps, detail = excluded.detail
        """,
        [entity_row(ids[entity.uuid], gid, entity) for entity in delta.entities],
    )
    renamed = [
        (entity.name, rev, ids[entity.uuid])
        for entity in delta.entities
        if entity.uuid in known and known[entity.uuid][1] != entity.name
    ]
    db.executemany("UPDATE facts SET source_name = ?, rev = ? WHERE source_id = ?", renamed)
    db.executemany("UPDATE facts SET target_name = ?, rev = ? WHERE target_id = ?", renamed)
    rename_words(db, {entity_id: name for name, _rev, entity_id in renamed})
    return ids


def _write_names(db: apsw.Connection, gid: int, names: Mapping[str, str], entities: Ids) -> None:
    if any(uuid not in entities for uuid in names.values()):
        raise Conflict("a name points at an entity that does not exist")
    db.executemany(
        """
        INSERT INTO names (gid, name_key, entity_id) VALUES (?, ?, ?)
        ON CONFLICT (gid, name_key) DO UPDATE SET entity_id = excluded.entity_id
        """,
        [(gid, key, entities[uuid]) for key, uuid in names.items()],
    )
    write_name_tokens(db, gid, names)


def _write_facts(db: apsw.Connection, gid: int, rev: int, delta: GraphDelta, entities: Ids) -> Ids:
    if any(f.source_uuid not in entities or f.target_uuid not in entities for f in delta.facts):
        raise Conflict("a fact points at an entity that does not exist")
    ids = _ids_of_facts(db, gid, (fact.uuid for fact in delta.facts))
    _give_ids(db, gid, ids, (fact.uuid for fact in delta.facts))
    db.executemany(
        """
        INSERT INTO facts (id, gid, rev, uuid, source_id, target_id, name, fact, source_name, target_name,
                           created_ms, reference_ms, slot, fact_key, valid_ms, invalid_ms, expired_ms, kind,
                           polarity, qualifiers, keywords, weight, episodes, evidence, expired_by_fact,
                           expired_by_episode, expired_reason, invalid_before_ms, attributes, detail)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET rev = excluded.rev, source_id = excluded.source_id,
            target_id = excluded.target_id, name = excluded.name, fact = excluded.fact,
            source_name = excluded.source_name, target_name = excluded.target_name,
            created_ms = excluded.created_ms, reference_ms = excluded.reference_ms, slot = excluded.slot,
            fact_key = excluded.fact_key, valid_ms = excluded.valid_ms, invalid_ms = excluded.invalid_ms,
            expired_ms = excluded.expired_ms, kind = excluded.kind, polarity = excluded.polarity,
            qualifiers = excluded.qualifiers, keywords = excluded.keywords, weight = excluded.weight,
            episodes = excluded.episodes, evidence = excluded.evidence,
            expired_by_fact = excluded.expired_by_fact, expired_by_episode = excluded.expired_by_episode,
            expired_reason = excluded.expired_reason, invalid_before_ms = excluded.invalid_before_ms,
            attributes = excluded.attributes, detail = excluded.detail
        """,
        [
            fact_row(ids[fact.uuid], gid, rev, entities[fact.source_uuid], entities[fact.target_uuid], fact)
            for fact in delta.facts
        ],
    )
    write_words(db, ids, delta.facts)
    return ids


def _write_vectors(
    db: apsw.Connection, gid: int, rev: int, delta: GraphDelta, facts: Ids, entities: Ids
) -> None:
    """A vector may also be of a fact or entity that this delta does not write; of neither: passed over."""
    unknown = [uuid for uuid in delta.vectors if uuid not in facts and uuid not in entities]
    if unknown:
        facts = facts | _ids_of_facts(db, gid, unknown)
        found = _ids_of_entities(db, gid, unknown)
        entities = entities | {uuid: row_id for uuid, (row_id, _name) in found.items()}
    db.executemany(
        """
        INSERT INTO fact_vectors (id, space, vector) VALUES (?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET space = excluded.space, vector = excluded.vector
        """,
        [(facts[uuid], delta.space, vector) for uuid, vector in delta.vectors.items() if uuid in facts],
    )
    db.executemany(
        """
        INSERT INTO entity_vectors (id, rev, space, vector) VALUES (?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET rev = excluded.rev, space = excluded.space, vector = excluded.vector
        """,
        [(entities[u], rev, delta.space, vector) for u, vector in delta.vectors.items() if u in entities],
    )


def _write_links(db: apsw.Connection, gid: int, delta: GraphDelta, entities: Ids) -> None:
    """MENTIONS and the fact lists of episodes; those of an episode that is gone are passed over."""
    spoken = {mention.episode_uuid for mention in delta.mentions} | set(delta.episode_edges)
    episodes = _ids_of_episodes(db, gid, spoken) if spoken else {}
    mentions: list[Row] = [
        (
            episodes[m.episode_uuid],
            entities[m.entity_uuid],
            m.uuid,
            m.created_ms,
            json_list(m.names),
            json_list(m.types),
        )
        for m in delta.mentions
        if m.episode_uuid in episodes and m.entity_uuid in entities
    ]
    db.executemany(
        """
        INSERT INTO mentions (episode_id, entity_id, uuid, created_ms, names, types) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (episode_id, entity_id) DO UPDATE SET names = excluded.names, types = excluded.types
        """,
        mentions,
    )
    db.executemany(
        """
        INSERT INTO episode_edges (id, facts) VALUES (?, ?)
        ON CONFLICT (id) DO UPDATE SET facts = excluded.facts
        """,
        [
            (episodes[uuid], json.dumps(facts))
            for uuid, facts in delta.episode_edges.items()
            if uuid in episodes
        ],
    )


def _remove_facts(db: apsw.Connection, gid: int, rev: int, delta: GraphDelta) -> None:
    if not delta.remove_facts:
        return
    ids = _ids_of_facts(db, gid, (tombstone.uuid for tombstone in delta.remove_facts))
    gone = [(row_id,) for row_id in ids.values()]
    db.executemany("DELETE FROM facts WHERE id = ?", gone)
    db.executemany("DELETE FROM fact_vectors WHERE id = ?", gone)
    db.executemany(
        """
        INSERT INTO fact_tombstones (gid, uuid, slot, fact, deleted_ms, rev) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (gid, uuid) DO UPDATE SET slot = excluded.slot, fact = excluded.fact,
            deleted_ms = excluded.deleted_ms, rev = excluded.rev
        """,
        [(gid, t.uuid, t.slot, t.fact, t.deleted_ms, rev) for t in delta.remove_facts],
    )


def _remove_episodes(db: apsw.Connection, gid: int, delta: GraphDelta) -> None:
    if not delta.remove_episodes:
        return
    gone = [(row_id,) for row_id in _ids_of_episodes(db, gid, delta.remove_episodes).values()]
    db.executemany("DELETE FROM mentions WHERE episode_id = ?", gone)
    db.executemany("DELETE FROM episode_edges WHERE id = ?", gone)
    db.executemany("DELETE FROM stages WHERE id = ?", gone)
    db.executemany("DELETE FROM items WHERE id = ?", gone)
    db.executemany("DELETE FROM episodes WHERE id = ?", gone)
