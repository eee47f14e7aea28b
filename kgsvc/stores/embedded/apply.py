"""What a commit reads and writes (GraphStore): names and slots, then a delta.

A delta is checked first, then written as rows by executemany, all in one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

import apsw

from kgsvc.domain.model.delta import Claim, FactTombstone, GraphDelta, GroupHead, Guard, NameView, SlotView
from kgsvc.domain.model.graph import Mention
from kgsvc.domain.names.similarity import search_terms
from kgsvc.stores.admission import check_delta, check_guard, is_repetition
from kgsvc.stores.embedded.erasures import note_erased
from kgsvc.stores.embedded.indexes import (
    candidates,
    rename_words,
    touch_texts,
    write_name_tokens,
    write_words,
)
from kgsvc.stores.embedded.intake import claimed, keep_answers, known_answer
from kgsvc.stores.embedded.queue import release_group, write_spent, write_transitions
from kgsvc.stores.embedded.removal import drop_descriptions, entities_go, episodes_go, facts_go
from kgsvc.stores.embedded.rows import (
    Ids,
    Row,
    all_rows,
    column,
    entities_among,
    entity_of,
    entity_row,
    fact_row,
    group_of,
    ids_of,
    json_list,
    make_group,
    read_facts,
    take_ids,
    upsert,
)
from kgsvc.stores.embedded.vectors import write_vectors
from kgsvc.stores.embedded.writer import EmbeddedBase, reading_together, writing

_TOMBSTONE = upsert("fact_tombstones", "gid, uuid", "slot, fact, deleted_ms, rev")
_RESERVED = """
    INSERT INTO fact_tombstones (gid, uuid, slot, fact, deleted_ms, rev) VALUES (?, ?, ?, ?, ?, 0)
    ON CONFLICT DO NOTHING
    """  # with a revision that no change is looked for at: nothing was removed
_MERGE = """
    INSERT INTO merges (gid, merge_id, merged_uuid, kept_uuid, created_ms, data, by_episode)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    """


def remove_facts(db: apsw.Connection, gid: int, rev: int, delta: GraphDelta) -> None:
    """Facts, for which tombstones stand."""
    if not delta.remove_facts:
        return
    ids = ids_of(db, "facts", gid, (tombstone.uuid for tombstone in delta.remove_facts))
    facts_go(db, ids.values())
    rows = [(gid, t.uuid, t.slot, t.fact, t.deleted_ms, rev) for t in delta.remove_facts]
    db.executemany(_TOMBSTONE, rows)


def reserve_facts(db: apsw.Connection, gid: int, delta: GraphDelta) -> None:
    """Tombstones for the uuids of facts that went to other slots."""
    reserved = [(gid, t.uuid, t.slot, t.fact, t.deleted_ms) for t in delta.reserve_facts]
    db.executemany(_RESERVED, reserved)


def _remove_episodes(db: apsw.Connection, gid: int, delta: GraphDelta) -> None:
    if delta.remove_episodes:
        episodes_go(db, ids_of(db, "episodes", gid, delta.remove_episodes).values())


def _remove_entities(db: apsw.Connection, gid: int, delta: GraphDelta) -> None:
    """Entities and what they were found by; their facts are gone or moved already."""
    if not delta.remove_entities:
        return
    tokens = [(gid, uuid) for uuid in delta.remove_entities]
    db.executemany("DELETE FROM name_tokens WHERE gid = ? AND uuid = ?", tokens)
    entities_go(db, ids_of(db, "entities", gid, delta.remove_entities).values())


def _drop_descriptions(db: apsw.Connection, gid: int, delta: GraphDelta) -> None:
    """Of entities and facts whose text was dropped."""
    if delta.unsaid:
        entities, facts = (ids_of(db, table, gid, delta.unsaid) for table in ("entities", "facts"))
        drop_descriptions(db, entities.values(), facts.values())


def remove_names(db: apsw.Connection, gid: int, delta: GraphDelta) -> None:
    """Names that lead to nothing any more, and what they were found by."""
    db.executemany(
        "DELETE FROM names WHERE gid = ? AND name_key = ?", [(gid, key) for key in delta.remove_names]
    )
    db.executemany(
        "DELETE FROM name_tokens WHERE gid = ? AND token = ? AND uuid = ?",
        [(gid, token, uuid) for token, uuid in delta.remove_name_tokens],
    )


def write_merges(db: apsw.Connection, gid: int, delta: GraphDelta) -> None:
    """The delta's merges, those it takes back, and the mentions it removes."""
    undone = [(gid, merge_id) for merge_id in delta.remove_merges]
    db.executemany("DELETE FROM merges WHERE gid = ? AND merge_id = ?", undone)
    made = [
        (gid, m.merge_id, m.merged_uuid, m.kept_uuid, m.created_ms, m.data, m.by_episode)
        for m in delta.merges
    ]
    db.executemany(_MERGE, made)
    sql = """
        DELETE FROM mentions
        WHERE episode_id = (SELECT id FROM episodes WHERE gid = ?1 AND uuid = ?2)
            AND entity_id = (SELECT id FROM entities WHERE gid = ?1 AND uuid = ?3)
        """
    db.executemany(sql, [(gid, episode, entity) for episode, entity in delta.remove_mentions])


_ENTITY = upsert(
    "entities",
    "id",
    "name, created_ms, summary, attributes, labels, source_episode_uuid, updated_ms, stamps, detail",
    once="gid, uuid",
)
_FACT = upsert(
    "facts",
    "id",
    """
    rev, source_id, target_id, name, fact, source_name, target_name, created_ms, reference_ms,
    slot, fact_key, valid_ms, invalid_ms, expired_ms, kind, polarity, qualifiers, keywords, weight, episodes,
    evidence, expired_by_fact, expired_by_episode, expired_reason, invalid_before_ms, attributes, detail
    """,
    once="gid, uuid",
)
_NAME = upsert("names", "gid, name_key", "entity_id")
_EPISODE_EDGES = upsert("episode_edges", "id", "facts")


def apply_delta(db: apsw.Connection, delta: GraphDelta, guard: Guard) -> GroupHead:
    """Check the guard and write everything; the caller's savepoint undoes it all on an error."""
    group = group_of(db, delta.group_id)
    check_guard(guard, group.head, None if group.owner_id is None else group.token)
    gid = group.gid or make_group(db, delta.group_id).gid
    if delta.claim is not None and not _record_claim(db, gid, delta.claim):
        return group.head
    known = known_entities(db, gid, delta)
    started = _started(db, gid, delta.requires_items, guard.token)
    check_delta(delta, started, _owners(db, gid, delta), known)
    rev = group.rev + int(delta.bumps_rev)
    write_delta(db, gid, rev, delta, known, guard.token)
    if delta.erased is not None:
        note_erased(db, delta.group_id, delta.erased)
    db.execute("UPDATE groups SET rev = ?, last_ms = ? WHERE gid = ?", (rev, delta.system_ms, gid))
    if guard.releases:
        release_group(db, gid)
    return GroupHead(delta.group_id, rev, group.epoch, delta.system_ms, group.space)


def write_delta(
    db: apsw.Connection,
    gid: int,
    rev: int,
    delta: GraphDelta,
    known: Mapping[str, tuple[int, str]],
    token: int | None = None,
) -> None:
    """Write all rows of a delta; `known` as `known_entities` tells."""
    remove_facts(db, gid, rev, delta)
    reserve_facts(db, gid, delta)
    entities = _write_entities(db, gid, rev, delta, known)
    touch_texts(db, gid, rev, delta)
    remove_names(db, gid, delta)
    _write_names(db, gid, delta.names, entities)
    write_name_tokens(db, gid, search_terms(delta))
    facts = _write_facts(db, gid, rev, delta, entities)
    write_vectors(db, gid, rev, delta, facts, entities)
    _write_links(db, gid, delta, entities)
    write_merges(db, gid, delta)
    _drop_descriptions(db, gid, delta)
    _remove_entities(db, gid, delta)
    write_transitions(db, gid, delta.transitions, token)
    write_spent(db, gid, delta.spent)
    _remove_episodes(db, gid, delta)


def _record_claim(db: apsw.Connection, gid: int, claim: Claim) -> bool:
    """Record the caller's key; False when it is known with the same input. Conflict: with another."""
    answer = known_answer(db, gid, claim.operation, claim.key, claim.now_ms)
    if is_repetition(claim, None if answer is None else answer.input_hash):
        return False
    keep_answers(db, [claimed(gid, claim)], claim.now_ms)
    return True


def _started(db: apsw.Connection, gid: int, required: Sequence[str], token: int | None) -> set[str]:
    """Which of these items are unfinished and, under a token, started by its lease."""
    if not required:
        return set()
    sql = """
        SELECT uuid FROM items
        WHERE gid = ?1 AND next_ms IS NOT NULL AND uuid IN (SELECT value FROM json_each(?2))
            AND (?3 IS NULL OR started = ?3)
        """
    return set(column(db, sql, (gid, json_list(required), token)))


def _owners(db: apsw.Connection, gid: int, delta: GraphDelta) -> dict[str, str]:
    """The entities that the delta's names lead to now."""
    sql = """
        SELECT n.name_key, e.uuid FROM names n JOIN entities e ON e.id = n.entity_id
        WHERE n.gid = ? AND n.name_key IN (SELECT value FROM json_each(?))
        """
    rows = all_rows(db, sql, (gid, json_list(delta.names)))
    return dict(rows)


def known_entities(db: apsw.Connection, gid: int, delta: GraphDelta) -> dict[str, tuple[int, str]]:
    """Ids and names of the entities that the delta speaks of, of those that exist."""
    wanted = {entity.uuid for entity in delta.entities} | set(delta.names.values())
    wanted |= {mention.entity_uuid for mention in delta.mentions}
    for fact in delta.facts:
        wanted |= {fact.source_uuid, fact.target_uuid}
    sql = "SELECT uuid, id, name FROM entities WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?))"
    rows = all_rows(db, sql, (gid, json_list(wanted)))
    return {uuid: (row_id, name) for uuid, row_id, name in rows}


def _give_ids(db: apsw.Connection, gid: int, ids: Ids, uuids: Iterable[str]) -> None:
    """Add fresh ids for those of `uuids` that have none."""
    fresh = [uuid for uuid in dict.fromkeys(uuids) if uuid not in ids]
    ids.update(zip(fresh, take_ids(db, gid, len(fresh)), strict=True))


def _write_entities(
    db: apsw.Connection, gid: int, rev: int, delta: GraphDelta, known: Mapping[str, tuple[int, str]]
) -> Ids:
    """Write entities and the display names of renamed ones; the ids of all entities the delta speaks of."""
    ids = {uuid: row_id for uuid, (row_id, _name) in known.items()}
    _give_ids(db, gid, ids, (entity.uuid for entity in delta.entities))
    db.executemany(_ENTITY, [entity_row(ids[entity.uuid], gid, entity) for entity in delta.entities])
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
    db.executemany(_NAME, [(gid, key, entities[uuid]) for key, uuid in names.items()])


def _write_facts(db: apsw.Connection, gid: int, rev: int, delta: GraphDelta, entities: Ids) -> Ids:
    ids = ids_of(db, "facts", gid, (fact.uuid for fact in delta.facts))
    _give_ids(db, gid, ids, (fact.uuid for fact in delta.facts))
    rows = [
        fact_row(ids[fact.uuid], gid, rev, entities[fact.source_uuid], entities[fact.target_uuid], fact)
        for fact in delta.facts
    ]
    db.executemany(_FACT, rows)
    write_words(db, ids, delta.facts)
    # Which episodes closed which facts of other slots. A row whose closure is gone again does no harm.
    closures = [(gid, by_episode, ids[uuid]) for by_episode, uuid in delta.closures]
    db.executemany(
        "INSERT INTO closures (gid, by_episode, fact_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", closures
    )
    return ids


def _write_links(db: apsw.Connection, gid: int, delta: GraphDelta, entities: Ids) -> None:
    """MENTIONS and the fact lists of episodes; those of an episode that is gone are passed over."""
    wanted = {mention.episode_uuid for mention in delta.mentions} | set(delta.episode_edges)
    episodes = ids_of(db, "episodes", gid, wanted) if wanted else {}
    mentions: list[Row] = [
        (episodes[m.episode_uuid], entities[m.entity_uuid], m.uuid, m.created_ms, *_names_and_types(m))
        for m in delta.mentions
        if m.episode_uuid in episodes and m.entity_uuid in entities
    ]
    sql = """
        INSERT INTO mentions (episode_id, entity_id, uuid, created_ms, names, types) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (episode_id, entity_id) DO UPDATE SET names = excluded.names, types = excluded.types
        """
    db.executemany(sql, mentions)
    edges = delta.episode_edges.items()
    rows = [(episodes[uuid], json.dumps(facts)) for uuid, facts in edges if uuid in episodes]
    db.executemany(_EPISODE_EDGES, rows)


def _names_and_types(mention: Mention) -> tuple[str, str]:
    return json_list(mention.names), json_list(mention.types)


def _names(
    db: apsw.Connection, group_id: str, name_keys: Collection[str], uuids: Collection[str] = ()
) -> NameView:
    group = group_of(db, group_id)
    sql = """
        SELECT e.*, n.name_key FROM names n JOIN live_entities e ON e.id = n.entity_id
        WHERE n.gid = ? AND n.name_key IN (SELECT value FROM json_each(?))
        """
    named = all_rows(db, sql, (group.gid, json_list(name_keys)))
    by_key = {key: entity_of(entity) for *entity, key in named}
    by_uuid = {entity.uuid: entity for entity in entities_among(db, group.gid, uuids)} if uuids else {}
    return NameView(group.head, by_key, by_uuid)


def read_slots(db: apsw.Connection, group_id: str, slots: Collection[str]) -> SlotView:
    """See GraphStore.slots."""
    wanted = (group_of(db, group_id).gid, json_list(slots))
    among = "WHERE gid = ? AND slot IN (SELECT value FROM json_each(?)) ORDER BY uuid"
    tombstones = all_rows(db, "SELECT uuid, slot, fact, deleted_ms FROM fact_tombstones " + among, wanted)
    return SlotView(tuple(read_facts(db, among, wanted)), tuple(FactTombstone(*row) for row in tombstones))


class EmbeddedGraph(EmbeddedBase):
    """GraphStore's context of a plan and its delta, CandidateStore."""

    names = reading_together(_names)
    slots = reading_together(read_slots)
    apply = writing(apply_delta)
    candidates = reading_together(candidates)
