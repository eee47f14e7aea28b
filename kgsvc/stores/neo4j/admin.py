"""Life of the store and of whole groups (AdminStore)."""

from __future__ import annotations

import re
from typing import LiteralString

from neo4j import Query
from neo4j.exceptions import ClientError

from kgsvc.domain.model.delta import Erased
from kgsvc.domain.model.erasures import GROUP_COUNTS
from kgsvc.domain.text import NORMALISER_VERSION, TOKENISER_VERSION
from kgsvc.stores.admission import check_schema
from kgsvc.stores.neo4j.base import Row, Tx
from kgsvc.stores.neo4j.erasures import Neo4jErasures, note_erased
from kgsvc.stores.neo4j.quotas import RELEASE_GROUP
from kgsvc.stores.neo4j.rows import column, first_value
from kgsvc.stores.neo4j.schema import BOOTSTRAP, FACT_VECTORS, SCHEMA, SCHEMA_VERSION
from kgsvc.stores.protocol import GroupSize, StoreInfo

_SCHEMA_LOCK: LiteralString = """
    MERGE (s:KgSchema {name: 'kgsvc'}) ON CREATE SET s.version = 0
    SET s.lock = 0
    RETURN s.version
    """
_SCHEMA_SET: LiteralString = """
    MATCH (s:KgSchema {name: 'kgsvc'})
    SET s.version = $p.version, s.normaliser = $p.normaliser, s.tokeniser = $p.tokeniser
    """
_SCHEMA_VERSION: LiteralString = "MATCH (s:KgSchema {name: 'kgsvc'}) RETURN s.version"
_KEYED: LiteralString = """
    OPTIONAL MATCH (g:KgGroup) USING INDEX g:KgGroup(group_id) WHERE g.group_id > ''
    WITH g LIMIT 1
    MATCH (s:KgSchema {name: 'kgsvc'})
    SET s.digest_key = coalesce(s.digest_key, CASE WHEN g IS NULL THEN $p.fingerprint ELSE 0 END)
    RETURN s.digest_key
    """
_INDEXES: LiteralString = "SHOW INDEXES YIELD name, state RETURN name, state"
_CLOCK: LiteralString = "RETURN datetime().epochMillis"
_MADE = re.compile(r"CREATE (?:FULLTEXT |VECTOR )?(?:INDEX|CONSTRAINT) (\w+)")
_AWAIT_INDEXES: LiteralString = "CALL db.awaitIndexes(3600)"
_ENGINE: LiteralString = (
    "CALL dbms.components() YIELD name, versions, edition WHERE name = 'Neo4j Kernel'"
    " RETURN versions[0] + ' ' + edition"
)

_CLOSE_GROUP: LiteralString = """
    <LOCKED_GROUP>
    SET g.epoch = coalesce(g.import_epoch, g.epoch) + 1, g.rev = g.rev + 1, g.purging = true,
        g.import_id = null, g.import_epoch = null, g.import_lines = null, g.import_seq = null,
        g.ontology = null, g.ontology_rev = coalesce(g.ontology_rev, 0) + 1,
        g.last_ms = CASE WHEN g.last_ms >= $p.now_ms THEN g.last_ms + 1 ELSE $p.now_ms END,
        g.owner_id = null, g.owner_token = g.owner_token + 1, g.communities = null,
        g.facts = 0, g.fact_terms = 0, g.space = null, g.tidying = null, g.paused_ms = null
    REMOVE g:KgPaused
    WITH g
    <COUNT_ACTIVITY>
    RETURN g.epoch
    """
_EPISODES: LiteralString = """
        COUNT { MATCH (x:Episodic) WHERE x.group_id = g.group_id AND x.epoch = g.epoch
            AND x.source IS NOT NULL AND x.reference_ms IS NOT NULL AND x.uuid IS NOT NULL }"""
_ENTITIES: LiteralString = """
        COUNT { MATCH (x:Entity) WHERE x.group_id = g.group_id AND x.epoch = g.epoch }"""
_FACTS: LiteralString = """
        COUNT { MATCH ()-[x:RELATES_TO]->() WHERE x.group_id = g.group_id AND x.epoch = g.epoch
            AND x.rev IS NOT NULL }"""
_WAITING: LiteralString = """
        COUNT { MATCH (x:KgPending) WHERE x.group_id = g.group_id AND x.epoch = g.epoch
            AND x.reference_ms IS NOT NULL AND x.uuid IS NOT NULL }"""
_PARKED: LiteralString = """
        COUNT { MATCH (x:KgItem) WHERE x.group_id = g.group_id AND x.epoch = g.epoch AND x.state = 'parked'
            AND x.seq IS NOT NULL AND x.uuid IS NOT NULL }"""
_COUNTS: LiteralString = (
    "<LOCKED_GROUP> WITH g RETURN "
    + _EPISODES
    + """,
        COUNT { MATCH (x:KgItem) WHERE x.group_id = g.group_id AND x.epoch = g.epoch AND x.uuid IS NOT NULL },
        """
    + _ENTITIES
    + ", "
    + _FACTS
    + """,
        COUNT { MATCH (x:Community) WHERE x.group_id = g.group_id AND x.epoch = g.epoch
            AND x.build IS NOT NULL AND x.uuid IS NOT NULL },
        COUNT { MATCH (x:Entity) WHERE x.group_id = g.group_id AND x.epoch = g.epoch
            AND x.vector IS NOT NULL }
        + COUNT { MATCH ()-[x:RELATES_TO]->() WHERE x.group_id = g.group_id AND x.epoch = g.epoch
            AND x.rev IS NOT NULL AND x.vector IS NOT NULL },
        COUNT { MATCH (x:KgItem) WHERE x.group_id = g.group_id AND x.epoch = g.epoch
            AND x.uuid IS NOT NULL AND x.stage IS NOT NULL },
        COUNT { MATCH (x:KgMerge) WHERE x.group_id = g.group_id AND x.epoch = g.epoch
            AND x.merge_id IS NOT NULL },
        COUNT { MATCH (x:KgIdempotency) WHERE x.group_id = g.group_id AND x.epoch = g.epoch
            AND x.operation IS NOT NULL AND x.key IS NOT NULL }
    """
)
_INTERRUPTED: LiteralString = "MATCH (g:KgGroup) WHERE g.purging = true RETURN g.group_id, g.epoch, g.last_ms"
_PURGED: LiteralString = """
    <LOCKED_GROUP>
    WITH g WHERE g.epoch = $p.epoch
    SET g.purging = null
    """


def _removal(label: LiteralString, *indexed: LiteralString) -> LiteralString:
    """Removes and counts a batch of nodes with a label, by its index on group_id, epoch and `indexed`."""
    statement: LiteralString = """
    MATCH (x:LABEL)
    WHERE x.group_id = $p.group_id AND x.epoch < $p.epoch INDEXED
    WITH x LIMIT $p.batch
    DETACH DELETE x
    RETURN count(*)
    """
    conditions: LiteralString = " ".join([f"AND x.{name} IS NOT NULL" for name in indexed])
    return statement.replace("LABEL", label).replace("INDEXED", conditions)


# What older epochs left, in batches. Nothing of it can be written any more.
_PURGE: tuple[LiteralString, ...] = (
    """
    MATCH (i:KgPending)
    WHERE i.group_id = $p.group_id AND i.epoch < $p.epoch AND i.reference_ms IS NOT NULL
        AND i.uuid IS NOT NULL
    WITH i LIMIT $p.batch
    <PARK_STALE>
    RETURN count(*)
    """,
    RELEASE_GROUP,
    """
    MATCH (i:KgItem)
    WHERE i.group_id = $p.group_id AND i.epoch < $p.epoch AND i.state IS NOT NULL AND i.seq IS NOT NULL
        AND i.uuid IS NOT NULL AND (i.reason IS NULL OR i.reason <> 'group_deleted')
    WITH i LIMIT $p.batch
    DELETE i
    RETURN count(*)
    """,
    """
    MATCH ()-[r:RELATES_TO]->() USING INDEX SEEK r:RELATES_TO(group_id, epoch, rev)
    WHERE r.group_id = $p.group_id AND r.epoch < $p.epoch AND r.rev IS NOT NULL
    WITH r LIMIT $p.batch
    DELETE r
    RETURN count(*)
    """,
    _removal("Episodic", "source", "reference_ms", "uuid"),
    _removal("Entity"),
    _removal("KgName", "key"),
    _removal("KgNameToken", "token", "entity_uuid"),
    _removal("KgTerm", "key"),
    _removal("KgTombstone", "rev"),
    _removal("KgGone", "rev"),
    _removal("KgMerge", "merge_id"),
    _removal("KgClosure", "by_episode", "fact_uuid"),
    _removal("KgIdempotency", "operation", "key"),
    _removal("KgBuild", "build_id"),
    _removal("Community", "build", "uuid"),
    _removal("KgDraft", "build", "uuid"),
    _removal("KgReplaced"),
    _removal("KgFill"),
    _removal("KgDocument", "document_id"),
    _removal("KgFormerText", "document_id", "revision"),
    _removal("KgChunk", "uuid"),
)
_NOT_UNDERSTOOD = {"Neo.ClientError.Statement.SyntaxError", "Neo.ClientError.Statement.ArgumentError"}
_BATCH = 1_000
_PARTS = 1_000  # of erasures that are completed at once
_SCHEMA_S = 3_600.0  # a constraint on a big graph that was there before takes its time

HAS_CONTENT: LiteralString = """(EXISTS {
        MATCH (e:Episodic)
        WHERE e.group_id = g.group_id AND e.epoch = g.epoch AND e.source IS NOT NULL
            AND e.reference_ms IS NOT NULL AND e.uuid IS NOT NULL
    } OR EXISTS {
        MATCH (n:Entity) WHERE n.group_id = g.group_id AND n.epoch = g.epoch
    } OR g.ontology IS NOT NULL)"""
_FORGET: LiteralString = (
    "<LOCKED_GROUP> WITH g WHERE g.purging IS NULL AND NOT g:KgPaused AND NOT " + HAS_CONTENT + " DELETE g"
)
_GROUPS: LiteralString = "MATCH (g:KgGroup) WHERE " + HAS_CONTENT + " RETURN g.group_id"
_BUSIEST: LiteralString = """
    MATCH (g:KgGroup) WHERE g.rev > 0
    WITH g ORDER BY g.rev DESC, g.group_id LIMIT $p.limit
    RETURN g.group_id
    """
_SIZES: LiteralString = (
    "MATCH (g:KgGroup) WHERE g.group_id >= $p.first AND g.group_id < $p.end AND (g:KgPaused OR "
    + HAS_CONTENT
    + ") WITH g ORDER BY g.group_id LIMIT $p.limit RETURN g.group_id, "
    + _EPISODES
    + ", "
    + _ENTITIES
    + ", "
    + _FACTS
    + ", g.last_ms, "
    + _WAITING
    + ", "
    + _PARKED
    + ", g.paused_ms"
)

_PUT_ONTOLOGY: LiteralString = """
    <NEW_GROUP>
    SET g.lock = 0
    SET g.ontology = $p.yaml, g.ontology_rev = coalesce(g.ontology_rev, 0) + 1
    """
_ONTOLOGY: LiteralString = "MATCH (g:KgGroup {group_id: $p.group_id}) RETURN g.ontology"


class Admin(Neo4jErasures):
    """AdminStore, ErasureStore."""

    async def migrate(self) -> int:
        await self._run(BOOTSTRAP)
        await self._transact(self._make, _SCHEMA_S)
        await self._purge_interrupted()
        return SCHEMA_VERSION

    async def _make(self, tx: Tx) -> None:
        """Holds the lock in `tx` while the steps run, each in a transaction of its own as DDL must."""
        ((version,),) = await tx.run(_SCHEMA_LOCK)
        if version:
            check_schema("the database", version, SCHEMA_VERSION)
        else:
            for step in SCHEMA:
                await self._step(step)
        self._vectors_indexed = await self._index_vectors()
        if not version:
            await self._step(_AWAIT_INDEXES)
            await tx.run(
                _SCHEMA_SET,
                version=SCHEMA_VERSION,
                normaliser=NORMALISER_VERSION,
                tokeniser=TOKENISER_VERSION,
            )

    async def _index_vectors(self) -> bool:
        """Have the index of vectors, also after the server itself was upgraded; False: it knows none that
        filters within."""
        try:
            await self._step(FACT_VECTORS)
        except ClientError as error:
            if error.code not in _NOT_UNDERSTOOD:
                raise
            return False
        await self._step(_AWAIT_INDEXES)
        return True

    async def _step(self, statement: LiteralString) -> None:
        async with self._session() as session:
            await (await session.run(Query(statement, timeout=_SCHEMA_S))).consume()

    async def keyed(self, fingerprint: int) -> int:
        return int(first_value(await self._run(_KEYED, fingerprint=fingerprint)))

    async def info(self) -> StoreInfo:
        """Schema version 0: not migrated yet."""
        ((version,),) = await self._run(_ENGINE)
        schema = await self._run(_SCHEMA_VERSION)
        return StoreInfo("neo4j", version, first_value(schema) or 0)

    async def bad_indexes(self) -> list[str]:
        wanted = set(_MADE.findall("\n".join([BOOTSTRAP, *SCHEMA])))
        states = dict(await self._run(_INDEXES))
        return sorted(name for name in wanted if states.get(name) != "ONLINE")

    async def clock_ms(self) -> int:
        return int(first_value(await self._run(_CLOCK)))

    async def delete_group(self, group_id: str, now_ms: int, erasure_id: str = "") -> None:
        async def close(tx: Tx) -> list[Row]:
            found = await tx.run(_COUNTS, group_id=group_id) if erasure_id else []
            rows = await tx.run(_CLOSE_GROUP, group_id=group_id, now_ms=now_ms, shard=self._shard())
            if erasure_id:
                counts = {name: count for row in found for name, count in zip(GROUP_COUNTS, row, strict=True)}
                await note_erased(tx, group_id, Erased(erasure_id, counts))
            return rows

        for (epoch,) in await self._transact(close):
            await self._purge(group_id, epoch, now_ms)

    async def free_erased(self, now_ms: int) -> int:
        parts = [part for part in await self.erasures(_PARTS) if part.removed is not None]
        if parts:
            await self._purge_interrupted()
            await self.note_completed(parts, now_ms)
        return len(parts)

    async def _purge_interrupted(self) -> None:
        for group_id, epoch, last_ms in await self._run(_INTERRUPTED):
            await self._purge(group_id, epoch, last_ms)

    async def _purge(self, group_id: str, epoch: int, now_ms: int) -> None:
        for statement in _PURGE:
            await self._run_in_batches(statement, _BATCH, group_id=group_id, epoch=epoch, now_ms=now_ms)
        await self._run(_PURGED, group_id=group_id, epoch=epoch)

    async def forget_group(self, group_id: str) -> None:
        await self._run(_FORGET, group_id=group_id)

    async def group_ids(self) -> list[str]:
        return sorted(column(await self._run(_GROUPS)))

    async def busiest_groups(self, limit: int) -> list[str]:
        return column(await self._run(_BUSIEST, limit=limit))

    async def group_sizes(self, first: str, end: str, limit: int) -> list[GroupSize]:
        return [GroupSize(*row) for row in await self._run(_SIZES, first=first, end=end, limit=limit)]

    async def put_ontology(self, group_id: str, yaml: str | None) -> None:
        await self._run(_PUT_ONTOLOGY, group_id=group_id, yaml=yaml)

    async def ontology(self, group_id: str) -> str | None:
        yaml: str | None = first_value(await self._run(_ONTOLOGY, group_id=group_id))
        return yaml

    async def close(self) -> None:
        await self._driver.close()
