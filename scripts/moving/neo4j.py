"""Every node and relationship of a Neo4j database into an empty one with the present schema."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, LiteralString

from neo4j import Driver, GraphDatabase, ManagedTransaction, Session

from kgsvc.stores.neo4j import Neo4jStore
from scripts.moving import RefusedError

FORMER = 20  # the schema that is read: the last one before 0.1
UNFINISHED = -1  # the schema's version while rows arrive: a service refuses it

_SCHEMA = "MATCH (s:KgSchema {name: 'kgsvc'}) RETURN properties(s)"
_MARK = "MATCH (s:KgSchema {name: 'kgsvc'}) SET s += $properties"
_USED = "MATCH (n) WHERE NOT n:KgSchema AND NOT n:KgActivity RETURN 1 LIMIT 1"
_EMPTY = "MATCH (n) WHERE NOT n:KgSchema CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1000 ROWS"
_CHANGES = "MATCH (a:KgActivity) RETURN sum(a.count)"  # grows with every write of a service
_NODES = "MATCH (n) WHERE NOT n:KgSchema RETURN elementId(n), labels(n), properties(n)"
_RELATIONSHIPS = "MATCH (a)-[r]->(b) RETURN elementId(a), elementId(b), type(r), properties(r)"
_MAKE_NODES = """
    UNWIND $rows AS row
    CREATE (n:$(row[1])) SET n = row[2]
    RETURN row[0], elementId(n)
    """
_MAKE_RELATIONSHIPS = """
    UNWIND $rows AS row
    MATCH (a) WHERE elementId(a) = row[0]
    MATCH (b) WHERE elementId(b) = row[1]
    CREATE (a)-[r:$(row[2])]->(b) SET r = row[3]
    """
# The episodes of a store of before may lack vectors of their passages.
_TO_FILL = """
    MATCH (g:KgGroup) CALL (g) {
        MERGE (f:KgFill {group_id: g.group_id, epoch: g.epoch})
        ON CREATE SET f.next_ms = 0, f.token = 0, f.renewals = 0, f.attempts = 0, f.after_rev = 0,
            f.after_uuid = '', f.facts_rev = 0, f.space = '', f.embedded = 0
    } IN TRANSACTIONS OF 1000 ROWS
    """
# Whose vectors a group has: those of most of its facts.
_SPACES = """
    MATCH (g:KgGroup) CALL (g) {
        MATCH ()-[r:RELATES_TO]->() WHERE r.group_id = g.group_id AND r.epoch = g.epoch AND r.rev IS NOT NULL
            AND r.space IS NOT NULL
        WITH g, r.space AS space, count(*) AS facts ORDER BY facts DESC LIMIT 1
        SET g.space = space
    } IN TRANSACTIONS OF 10 ROWS
    """
_BATCH_ROWS, _BATCH_BYTES = 500, 4 * 1024 * 1024

Row = list[Any]


@dataclass(frozen=True, slots=True)
class Place:
    """A database and who opens it."""

    uri: str
    password: str
    user: str = "neo4j"
    database: str = "neo4j"

    @contextmanager
    def session(self) -> Iterator[Session]:
        """To read or write it."""
        driver: Driver = GraphDatabase.driver(
            self.uri, auth=(self.user, self.password), notifications_min_severity="OFF"
        )
        with driver, driver.session(database=self.database) as session:
            yield session


def move(source: Place, target: Place) -> dict[str, int]:
    """How many nodes and relationships went. What an attempt before left unfinished in the target is removed.
    The element ids of all nodes are held in memory. Raises RefusedError, and what the driver and the store
    raise."""
    with source.session() as former, target.session() as own:
        schema = _schema(former)
        if schema.get("version") != FORMER:
            raise RefusedError(
                f"the database has schema {schema.get('version')}, this script reads schema {FORMER} alone"
            )
        changes = _changes(former)
        version = _prepare(target, own)
        counts = _copy(former, own)
        if _changes(former) != changes:
            raise RefusedError("something wrote meanwhile: stop the service first")
        _run(own, _TO_FILL)
        _run(own, _SPACES)
        _run(own, _MARK, properties={**schema, "version": version})
        return counts


def _prepare(target: Place, own: Session) -> int:
    """Make the schema, marked as unfinished, with nothing else in the database; the schema's version."""
    if _schema(own).get("version") != UNFINISHED and own.run(_USED).value():
        raise RefusedError("the target is not empty")
    _run(own, _EMPTY)
    _run(own, "MATCH (s:KgSchema) DELETE s")
    version = asyncio.run(_migrate(target))
    _run(own, _MARK, properties={"version": UNFINISHED})
    _run(own, _EMPTY)
    return version


async def _migrate(target: Place) -> int:
    store = await Neo4jStore.connect(target.uri, target.user, target.password, target.database)
    try:
        return await store.migrate()
    finally:
        await store.close()


def _copy(former: Session, own: Session) -> dict[str, int]:
    """How many went."""
    ids: dict[str, str] = {}  # the target's element ids by the source's
    sent = _Checksum()
    for rows in _batches(former, _NODES):
        numbered = [[number, *row[1:]] for number, row in enumerate(rows)]
        made = dict(own.execute_write(_answer, _MAKE_NODES, numbered))
        ids |= {row[0]: made[number] for number, row in enumerate(rows)}
        sent.add([ids[row[0]], *row[1:]] for row in rows)
    nodes = sent.count
    for rows in _batches(former, _RELATIONSHIPS):
        moved = [[ids[row[0]], ids[row[1]], *row[2:]] for row in rows]
        own.execute_write(_answer, _MAKE_RELATIONSHIPS, moved)
        sent.add(moved)
    arrived = _Checksum()
    for statement in (_NODES, _RELATIONSHIPS):
        for rows in _batches(own, statement):
            arrived.add(rows)
    if (sent.count, sent.sum) != (arrived.count, arrived.sum):
        raise RefusedError("what arrived is not what was sent")
    return {"nodes": nodes, "relationships": sent.count - nodes}


class _Checksum:
    """Of rows in any order."""

    def __init__(self) -> None:
        self.count = 0
        self.sum = 0

    def add(self, rows: Iterable[Row]) -> None:
        """Take these in as well."""
        for row in rows:
            said = repr([sorted(part.items()) if isinstance(part, dict) else part for part in _plain(row)])
            self.sum += int.from_bytes(blake2b(said.encode(), digest_size=16).digest())
            self.count += 1


def _plain(row: Row) -> Row:
    return [sorted(part) if isinstance(part, list) else part for part in row]


def _batches(session: Session, statement: LiteralString) -> Iterator[list[Row]]:
    rows: list[Row] = []
    size = 0
    for record in session.run(statement):
        rows.append(list(record.values()))
        size += sum(len(value) for value in rows[-1][-1].values() if isinstance(value, str | bytes | list))
        if len(rows) == _BATCH_ROWS or size > _BATCH_BYTES:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


def _answer(tx: ManagedTransaction, statement: LiteralString, rows: list[Row]) -> list[Row]:
    return [list(record.values()) for record in tx.run(statement, rows=rows)]


def _run(session: Session, statement: LiteralString, **values: Any) -> None:
    session.run(statement, values).consume()


def _schema(session: Session) -> dict[str, Any]:
    found = session.run(_SCHEMA).value()
    return dict(found[0]) if found else {}


def _changes(session: Session) -> int:
    return int(session.run(_CHANGES).single(strict=True).value())
