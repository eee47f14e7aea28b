"""Documents and their chunks (DocumentStore)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import apsw

from kgsvc.domain.errors import RevisionChanged
from kgsvc.domain.model.delta import Erased
from kgsvc.domain.model.documents import Document, Place
from kgsvc.domain.model.items import ItemStatus
from kgsvc.stores.embedded.erasures import note_erased
from kgsvc.stores.embedded.item_rows import read_items, status_of
from kgsvc.stores.embedded.rows import (
    all_rows,
    column,
    first_row,
    first_value,
    group_of,
    json_list,
    make_group,
    upsert,
)
from kgsvc.stores.embedded.writer import EmbeddedBase, reading, writing
from kgsvc.stores.intake_protocol import Unsettled
from kgsvc.stores.records import document_of, document_text, places_of, places_text

_DOCUMENT = upsert("documents", "gid, document_id", "latest, data, open")
_CHUNK = upsert("document_chunks", "gid, uuid", "document_id, active")

_KEEP_FORMER = """
    INSERT OR REPLACE INTO former_texts (gid, document_id, revision, places)
    SELECT gid, document_id, json_extract(data, '$.current'), places FROM documents
    WHERE gid = ? AND document_id = ?
    """
_FORGET_FORMER = "DELETE FROM former_texts WHERE gid = ? AND document_id = ? AND revision < ?"


def _document(db: apsw.Connection, group_id: str, document_id: str) -> Document | None:
    sql = "SELECT data, open FROM documents WHERE gid = ? AND document_id = ?"
    row = first_row(db, sql, (group_of(db, group_id).gid, document_id))
    return None if row is None else document_of(group_id, *row)


def _documents(db: apsw.Connection, group_id: str, limit: int, after: str) -> list[Document]:
    sql = "SELECT data, open FROM documents WHERE gid = ? AND document_id > ? ORDER BY document_id LIMIT ?"
    rows = all_rows(db, sql, (group_of(db, group_id).gid, after, limit))
    return [document_of(group_id, *row) for row in rows]


def _places(
    db: apsw.Connection, group_id: str, document_id: str, revision: int | None = None
) -> tuple[Place, ...]:
    key = (group_of(db, group_id).gid, document_id)
    if revision is None:
        places = first_value(db, "SELECT places FROM documents WHERE gid = ? AND document_id = ?", key)
    else:
        sql = "SELECT places FROM former_texts WHERE gid = ? AND document_id = ? AND revision = ?"
        places = first_value(db, sql, (*key, revision))
    return places_of(places or "")


def _former_texts(db: apsw.Connection, group_id: str, document_id: str) -> list[int]:
    sql = "SELECT revision FROM former_texts WHERE gid = ? AND document_id = ? ORDER BY revision"
    return column(db, sql, (group_of(db, group_id).gid, document_id))


def _put_document(
    db: apsw.Connection, document: Document, places: Sequence[Place] | None, expected: int
) -> None:
    gid = make_group(db, document.group_id).gid
    key = (gid, document.document_id)
    latest = first_value(db, "SELECT latest FROM documents WHERE gid = ? AND document_id = ?", key)
    if (latest or 0) != expected:
        raise RevisionChanged("another revision of the document arrived")
    if places is not None:
        db.execute(_KEEP_FORMER, key)
    db.execute(_FORGET_FORMER, (*key, document.revisions[0].number))
    db.execute(_DOCUMENT, (*key, document.latest, document_text(document), int(not document.settled)))
    if places is None:
        return
    db.execute(
        "UPDATE documents SET places = ? WHERE gid = ? AND document_id = ?", (places_text(places), *key)
    )
    chunks = dict.fromkeys(place.chunk_uuid for place in places)
    db.executemany(_CHUNK, [(gid, uuid, document.document_id, 1) for uuid in chunks])


def _chunks(db: apsw.Connection, group_id: str, document_id: str, active: bool) -> list[str]:
    sql = "SELECT uuid FROM document_chunks WHERE gid = ? AND document_id = ? AND active >= ? ORDER BY uuid"
    return column(db, sql, (group_of(db, group_id).gid, document_id, int(active)))


def _retire_chunk(db: apsw.Connection, group_id: str, document_id: str, chunk_uuid: str) -> None:
    sql = "UPDATE document_chunks SET active = 0 WHERE gid = ? AND document_id = ? AND uuid = ?"
    db.execute(sql, (group_of(db, group_id).gid, document_id, chunk_uuid))


def _settle_document(db: apsw.Connection, group_id: str, document_id: str, latest: int) -> None:
    sql = "UPDATE documents SET open = 0 WHERE gid = ? AND document_id = ? AND latest = ?"
    db.execute(sql, (group_of(db, group_id).gid, document_id, latest))


def _unsettled_documents(db: apsw.Connection, limit: int, after: Unsettled) -> list[Unsettled]:
    sql = """
        SELECT g.group_id, d.document_id FROM documents d JOIN groups g ON g.gid = d.gid
        WHERE d.open = 1 AND (g.group_id, d.document_id) > (?, ?)
        ORDER BY g.group_id, d.document_id LIMIT ?
        """
    return [(group_id, document_id) for group_id, document_id in all_rows(db, sql, (*after, limit))]


def _documents_of(db: apsw.Connection, group_id: str, chunk_uuids: Collection[str]) -> dict[str, str]:
    sql = """
        SELECT uuid, document_id FROM document_chunks
        WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?))
        """
    return dict(all_rows(db, sql, (group_of(db, group_id).gid, json_list(chunk_uuids))))


def _remove_document(
    db: apsw.Connection, group_id: str, document_id: str, latest: int, erased: Erased | None = None
) -> bool:
    key = (group_of(db, group_id).gid, document_id)
    db.execute("DELETE FROM documents WHERE gid = ? AND document_id = ? AND latest = ?", (*key, latest))
    if not db.changes():
        return False
    db.execute("DELETE FROM former_texts WHERE gid = ? AND document_id = ?", key)
    db.execute("DELETE FROM document_chunks WHERE gid = ? AND document_id = ?", key)
    if erased is not None:
        note_erased(db, group_id, erased)
    return True


def _item_statuses(db: apsw.Connection, group_id: str, uuids: Collection[str]) -> list[ItemStatus]:
    among = "WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?))"
    return list(map(status_of, read_items(db, among, (group_of(db, group_id).gid, json_list(uuids)))))


class EmbeddedDocuments(EmbeddedBase):
    """DocumentStore."""

    document = reading(_document)
    documents = reading(_documents)
    places = reading(_places)
    former_texts = reading(_former_texts)
    put_document = writing(_put_document)
    chunks = reading(_chunks)
    retire_chunk = writing(_retire_chunk)
    settle_document = writing(_settle_document)
    unsettled_documents = reading(_unsettled_documents)
    documents_of = reading(_documents_of)
    remove_document = writing(_remove_document)
    item_statuses = reading(_item_statuses)
