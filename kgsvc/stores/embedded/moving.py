"""Reading a group page by page to move it to another store (TransferStore)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, LiteralString

import apsw

from kgsvc.domain.model.delta import FactTombstone, MergeRecord
from kgsvc.domain.model.graph import Mention, Usage
from kgsvc.domain.model.items import ItemState, ItemWarning, Step
from kgsvc.domain.model.moving import (
    Listed,
    Moved,
    MovedDocument,
    MovedEntity,
    MovedEpisode,
    MovedFact,
    MovedItem,
    MovedMerge,
    MovedReceipt,
    MovedTombstone,
    RowKind,
    Vectors,
)
from kgsvc.stores.embedded.rows import (
    Row,
    all_rows,
    column,
    entity_of,
    episode_of,
    fact_of,
    group_of,
    id_span,
    json_ids,
    strings,
)
from kgsvc.stores.records import attempts_of, document_of, places_of


def moving(db: apsw.Connection, group_id: str, part: RowKind, after: str, limit: int) -> list[Moved]:
    """See TransferStore."""
    gid = group_of(db, group_id).gid
    return list(_READERS[part](db, gid, group_id, after, limit)) if gid else []


def _ids(
    db: apsw.Connection, table: Literal["entities", "facts", "episodes"], gid: int, after: str, limit: int
) -> str:
    """Row ids of a page, as a parameter. The index is by uuid first: a page reads on where the last one
    ended, however many groups there are."""
    sql = f"""
        SELECT id FROM {table} INDEXED BY sqlite_autoindex_{table}_1
        WHERE uuid > ? AND gid = ? ORDER BY uuid LIMIT ?
        """
    return json_ids(column(db, sql, (after, gid, limit)))


_IN: LiteralString = " IN (SELECT value FROM json_each(?)) "


def _entities(db: apsw.Connection, gid: int, group_id: str, after: str, limit: int) -> list[MovedEntity]:
    sql = f"""
        SELECT n.*, iif(x.space = g.space, x.space, v.space), iif(x.space = g.space, x.vector, v.vector),
            (SELECT json_group_array(name_key) FROM names k WHERE k.entity_id = n.id)
        FROM live_entities n JOIN groups g ON g.gid = n.gid LEFT JOIN entity_vectors v ON v.id = n.id
            LEFT JOIN next_vectors x ON x.id = n.id WHERE n.id{_IN}ORDER BY n.uuid
        """
    rows = all_rows(db, sql, (_ids(db, "entities", gid, after, limit),))
    return [
        MovedEntity(entity_of(entity), tuple(sorted(json.loads(names))), _vectors(space, vector))
        for *entity, space, vector, names in rows
    ]


def _facts(db: apsw.Connection, gid: int, group_id: str, after: str, limit: int) -> list[MovedFact]:
    sql = f"""
        SELECT f.*, iif(x.space = g.space, x.space, v.space), iif(x.space = g.space, x.vector, v.vector)
        FROM live_facts f JOIN groups g ON g.gid = f.gid LEFT JOIN fact_vectors v ON v.id = f.id
            LEFT JOIN next_vectors x ON x.id = f.id
        WHERE f.id{_IN}ORDER BY f.uuid
        """
    rows = all_rows(db, sql, (_ids(db, "facts", gid, after, limit),))
    return [MovedFact(fact_of(fact), _vectors(space, vector)) for *fact, space, vector in rows]


def _episodes(db: apsw.Connection, gid: int, group_id: str, after: str, limit: int) -> list[MovedEpisode]:
    ids = _ids(db, "episodes", gid, after, limit)
    items, mentions = _items(db, ids), _mentions(db, group_id, ids)
    sql = f"""
        SELECT e.id, e.*, EXISTS (SELECT 1 FROM found_episodes f WHERE f.id = e.id), t.facts,
            iif(x.space = g.space, x.space, v.space), iif(x.space = g.space, x.vector, v.vectors)
        FROM live_episodes e JOIN groups g ON g.gid = e.gid LEFT JOIN episode_edges t ON t.id = e.id
            LEFT JOIN passage_vectors v ON v.id = e.id LEFT JOIN next_vectors x ON x.id = e.id
        WHERE e.id{_IN}ORDER BY e.uuid
        """
    found: list[MovedEpisode] = []
    for row_id, *episode, is_found, facts, space, vectors in all_rows(db, sql, (ids,)):
        if (item := items.get(row_id)) is not None:
            about = (bool(is_found), strings(facts or "[]"), tuple(mentions.get(row_id, ())))
            found.append(MovedEpisode(episode_of(episode), item, *about, _vectors(space, vectors)))
    return found


def _items(db: apsw.Connection, ids: str) -> dict[int, MovedItem]:
    sql = f"""
        SELECT i.id, i.state, coalesce(r.receipt_id, ''), i.accepted_ms, i.updated_ms, i.step, i.reason,
            i.calls, i.prompt_tokens, i.completion_tokens, i.previous, i.warnings, i.extract_attempts,
            i.embed_attempts, i.upsert_attempts, i.crash_attempts
        FROM items i LEFT JOIN receipts r ON r.rid = i.rid WHERE i.id{_IN}
        """
    return {item.sequence: item for item in map(_item, all_rows(db, sql, (ids,)))}


def _item(row: Row) -> MovedItem:
    row_id, state, receipt_id, accepted_ms, updated_ms, step, reason, *more = row
    calls, prompt_tokens, completion_tokens, previous, warnings, *attempts = more
    return MovedItem(
        state=ItemState(state),
        receipt_id=receipt_id,
        accepted_ms=accepted_ms,
        updated_ms=updated_ms,
        sequence=row_id,
        attempts=attempts_of(attempts),
        step=None if step is None else Step(step),
        reason=reason,
        usage=Usage(calls, prompt_tokens, completion_tokens),
        previous=strings(previous),
        warnings=tuple(ItemWarning(*each) for each in json.loads(warnings)),
    )


def _mentions(db: apsw.Connection, group_id: str, ids: str) -> dict[int, list[Mention]]:
    sql = f"""
        SELECT m.episode_id, m.uuid, e.uuid, n.uuid, m.created_ms, m.names, m.types
        FROM mentions m JOIN episodes e ON e.id = m.episode_id JOIN entities n ON n.id = m.entity_id
        WHERE m.episode_id{_IN}ORDER BY m.episode_id, n.uuid
        """
    found: dict[int, list[Mention]] = {}
    for row_id, uuid, episode, entity, created_ms, names, types in all_rows(db, sql, (ids,)):
        mention = Mention(uuid, group_id, episode, entity, created_ms, strings(names), strings(types))
        found.setdefault(row_id, []).append(mention)
    return found


def _documents(db: apsw.Connection, gid: int, group_id: str, after: str, limit: int) -> list[MovedDocument]:
    sql = """
        SELECT document_id, data, open, places FROM documents WHERE gid = ? AND document_id > ?
        ORDER BY document_id LIMIT ?
        """
    chunks = "SELECT uuid, active FROM document_chunks WHERE gid = ? AND document_id = ? ORDER BY uuid"
    former = "SELECT revision, places FROM former_texts WHERE gid = ? AND document_id = ? ORDER BY revision"
    return [
        MovedDocument(
            document_of(group_id, data, is_open),
            places_of(places),
            {uuid: bool(active) for uuid, active in all_rows(db, chunks, (gid, document_id))},
            {number: places_of(text) for number, text in all_rows(db, former, (gid, document_id))},
        )
        for document_id, data, is_open, places in all_rows(db, sql, (gid, after, limit))
    ]


def _receipts(db: apsw.Connection, gid: int, group_id: str, after: str, limit: int) -> list[MovedReceipt]:
    sql = """
        SELECT rid, receipt_id, created_ms FROM receipts r
        WHERE receipt_id > ? AND group_id = ? AND EXISTS (
            SELECT 1 FROM receipt_items x WHERE x.rid = r.rid AND x.item_id BETWEEN ? AND ?)
        ORDER BY receipt_id LIMIT ?
        """
    listed = """
        SELECT x.uuid, x.duplicate, EXISTS (SELECT 1 FROM items i WHERE i.id = x.item_id AND i.gid = ?)
        FROM receipt_items x WHERE x.rid = ? ORDER BY x.pos
        """
    found: list[MovedReceipt] = []
    for rid, receipt_id, created_ms in all_rows(db, sql, (after, group_id, *id_span(gid), limit)):
        entries = [Listed(uuid, bool(a), bool(b)) for uuid, a, b in all_rows(db, listed, (gid, rid))]
        found.append(MovedReceipt(receipt_id, created_ms, tuple(entries)))
    return found


def _tombstones(db: apsw.Connection, gid: int, group_id: str, after: str, limit: int) -> list[MovedTombstone]:
    sql = """
        SELECT uuid, slot, fact, deleted_ms, rev FROM fact_tombstones WHERE gid = ? AND uuid > ?
        ORDER BY uuid LIMIT ?
        """
    return [
        MovedTombstone(FactTombstone(uuid, slot, fact, deleted_ms), reserved=rev == 0)
        for uuid, slot, fact, deleted_ms, rev in all_rows(db, sql, (gid, after, limit))
    ]


def _merges(db: apsw.Connection, gid: int, group_id: str, after: str, limit: int) -> list[MovedMerge]:
    sql = """
        SELECT merge_id, ?, merged_uuid, kept_uuid, created_ms, data, by_episode FROM merges
        WHERE gid = ? AND merge_id > ? ORDER BY merge_id LIMIT ?
        """
    return [MovedMerge(MergeRecord(*row)) for row in all_rows(db, sql, (group_id, gid, after, limit))]


def _vectors(space: str | None, data: bytes | None) -> Vectors | None:
    return None if data is None else Vectors(space or "", data)


_READERS: Mapping[RowKind, Callable[[apsw.Connection, int, str, str, int], Sequence[Moved]]] = {
    RowKind.DOCUMENT: _documents,
    RowKind.ENTITY: _entities,
    RowKind.EPISODE: _episodes,
    RowKind.RECEIPT: _receipts,
    RowKind.FACT: _facts,
    RowKind.TOMBSTONE: _tombstones,
    RowKind.MERGE: _merges,
}
