"""Life of the store and of whole groups (AdminStore)."""

from __future__ import annotations

import apsw

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.text import NORMALISER_VERSION, TOKENISER_VERSION
from kgsvc.stores.embedded.base import Base
from kgsvc.stores.embedded.candidates import fill_name_tokens
from kgsvc.stores.embedded.groups import id_span
from kgsvc.stores.embedded.ontologies import ontology, put_ontology
from kgsvc.stores.embedded.purge import bury, purge_some
from kgsvc.stores.embedded.schema import MIGRATIONS, NAME_TOKENS_SINCE, SCHEMA_VERSION
from kgsvc.stores.embedded.sql import all_rows, one_row
from kgsvc.stores.protocol import StoreInfo


class Admin(Base):
    """AdminStore."""

    async def migrate(self) -> int:
        """See AdminStore. The write lock makes one migrator at a time."""
        version = await self._write(_migrate)
        await self._purge()
        return version

    async def info(self) -> StoreInfo:
        """See AdminStore."""
        return await self._read(_info)

    async def delete_group(self, group_id: str, now_ms: int) -> None:
        """See AdminStore."""
        await self._write(bury, group_id, now_ms)
        await self._purge()

    async def group_ids(self) -> list[str]:
        """See AdminStore."""
        return await self._read(_group_ids)

    async def put_ontology(self, group_id: str, yaml: str | None) -> None:
        """See AdminStore."""
        await self._write(put_ontology, group_id, yaml)

    async def ontology(self, group_id: str) -> str | None:
        """See AdminStore."""
        return await self._read(ontology, group_id)

    async def close(self) -> None:
        """See AdminStore."""
        await self._readers.close()
        await self._writer.close()

    async def _purge(self) -> None:
        while await self._write(purge_some):
            pass


def _migrate(db: apsw.Connection) -> int:
    version = int(one_row(db, "PRAGMA user_version")[0])
    if version > SCHEMA_VERSION:
        raise StoreUnavailable(
            f"the embedded store has schema {version}, this binary knows {SCHEMA_VERSION}: use a newer one"
        )
    for migration in MIGRATIONS[version:]:
        db.execute(migration)
    if 0 < version < NAME_TOKENS_SINCE:
        fill_name_tokens(db)
    if version == 0:
        made_with = (("normaliser", NORMALISER_VERSION), ("tokeniser", TOKENISER_VERSION))
        db.executemany("INSERT INTO versions (name, value) VALUES (?, ?)", made_with)
    if version < SCHEMA_VERSION:
        db.pragma("user_version", SCHEMA_VERSION)
    return SCHEMA_VERSION


def _info(db: apsw.Connection) -> StoreInfo:
    version = int(one_row(db, "PRAGMA user_version")[0])
    return StoreInfo("embedded", f"SQLite {apsw.sqlite_lib_version()}", version)


def _group_ids(db: apsw.Connection) -> list[str]:
    rows = all_rows(db, "SELECT group_id, gid FROM groups ORDER BY group_id")
    return [group_id for group_id, gid in rows if _has_content(db, gid)]


def _has_content(db: apsw.Connection, gid: int) -> bool:
    row = one_row(
        db,
        """
        SELECT EXISTS (SELECT 1 FROM episodes WHERE id BETWEEN ?1 AND ?2)
            OR EXISTS (SELECT 1 FROM entities WHERE id BETWEEN ?1 AND ?2)
            OR EXISTS (SELECT 1 FROM ontologies WHERE gid = ?3)
        """,
        (*id_span(gid), gid),
    )
    return bool(row[0])
