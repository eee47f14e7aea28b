"""What the benchmarks ask of Neo4j itself: its CPU, an empty database, vectors as Graphiti keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString

from neo4j import AsyncGraphDatabase

from bench.loading import Embeds

_CPU: LiteralString = (
    "CALL dbms.queryJmx('java.lang:type=OperatingSystem') YIELD attributes"
    " RETURN attributes.ProcessCpuTime.value AS ns"
)
_WIPE: LiteralString = "MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1000 ROWS"
_OWNERS: LiteralString = (
    "MATCH (g:KgGroup) WHERE g.owner_id IS NOT NULL RETURN g.group_id, g.owner_id, g.owner_token"
)
_ANYTHING: LiteralString = "MATCH (n:Entity) RETURN n.group_id LIMIT 1"
_BARE_FACTS: LiteralString = (
    "MATCH ()-[r:RELATES_TO {group_id: $group}]->() WHERE r.fact_embedding IS NULL"
    " RETURN elementId(r) AS id, r.fact AS text LIMIT $limit"
)
_BARE_NAMES: LiteralString = (
    "MATCH (n:Entity {group_id: $group}) WHERE n.name_embedding IS NULL"
    " RETURN elementId(n) AS id, n.name AS text LIMIT $limit"
)
_SET_FACTS: LiteralString = (
    "UNWIND $rows AS row MATCH ()-[r]->() WHERE elementId(r) = row[0]"
    " CALL db.create.setRelationshipVectorProperty(r, 'fact_embedding', row[1])"
)
_SET_NAMES: LiteralString = (
    "UNWIND $rows AS row MATCH (n) WHERE elementId(n) = row[0]"
    " CALL db.create.setNodeVectorProperty(n, 'name_embedding', row[1])"
)
_PLAIN_FACTS: LiteralString = (
    "MATCH ()-[r:RELATES_TO {group_id: $group}]->() CALL (r) { SET r = {"
    "uuid: r.uuid, group_id: r.group_id, name: r.name, fact: r.fact, fact_embedding: r.fact_embedding,"
    " episodes: r.episodes, created_at: r.created_at, valid_at: r.valid_at, invalid_at: r.invalid_at,"
    " expired_at: r.expired_at} } IN TRANSACTIONS OF 2000 ROWS"
)
_PLAIN_ENTITIES: LiteralString = (
    "MATCH (n:Entity {group_id: $group}) CALL (n) { SET n = {"
    "uuid: n.uuid, group_id: n.group_id, name: n.name, name_embedding: n.name_embedding, summary: n.summary,"
    " created_at: n.created_at, labels: ['Entity']} } IN TRANSACTIONS OF 2000 ROWS"
)
_SETTLE: LiteralString = "CALL db.awaitIndexes(300)"
_PAGE = 2_000


class Database:
    """A Neo4j server, as an async context manager. `address` is URI;PASSWORD."""

    def __init__(self, address: str) -> None:
        self.uri, _, self.password = address.partition(";")
        self._driver = AsyncGraphDatabase.driver(self.uri, auth=("neo4j", self.password))

    @property
    def settings(self) -> dict[str, str]:
        """Of a kgsvc server on it."""
        return {
            "store.kind": "neo4j",
            "store.neo4j_uri": self.uri,
            "store.neo4j_password": self.password,
        }

    async def cpu_s(self) -> float:
        """Seconds of CPU that the server's process has used."""
        return float((await self._rows(_CPU))[0][0]) / 1e9

    async def require_empty(self, wipe: bool) -> None:
        """Raises SystemExit where it holds a graph that may not be removed."""
        if await self._rows(_ANYTHING):
            if not wipe:
                raise SystemExit("the database holds a graph: take an empty one, or --wipe to remove it")
            await self.wipe()

    async def wipe(self) -> None:
        """Remove all nodes; indexes stay."""
        await self._run(_WIPE)

    async def owners(self) -> dict[str, tuple[str, int]]:
        """Of groups that kgsvc works on: the owner, and its fencing token."""
        return {group: (owner, token) for group, owner, token in await self._rows(_OWNERS)}

    async def hand_to_graphiti(self, group: str) -> None:
        """Leave of a group's facts and entities what Graphiti writes itself: the rest would slow its reads,
        and bytes it cannot put into prompts. kgsvc knows them no more."""
        await self._run(_PLAIN_FACTS, group=group)
        await self._run(_PLAIN_ENTITIES, group=group)

    async def embed_for_graphiti(self, group: str, embedder: Embeds) -> None:
        """Give facts and entities of a group the vectors that Graphiti's searches read, where they are
        missing."""
        for bare, put in ((_BARE_FACTS, _SET_FACTS), (_BARE_NAMES, _SET_NAMES)):
            while found := await self._rows(bare, group=group, limit=_PAGE):
                vectors, _ = await embedder.embed([text for _, text in found])
                rows = [[id_, row] for (id_, _), row in zip(found, vectors.tolist(), strict=True)]
                await self._rows(put, rows=rows)
        await self._rows(_SETTLE)

    async def _run(self, statement: LiteralString, **parameters: Any) -> None:
        async with self._driver.session() as session:
            await (await session.run(statement, parameters)).consume()

    async def _rows(self, statement: LiteralString, **parameters: Any) -> Sequence[Sequence[Any]]:
        records, _, _ = await self._driver.execute_query(statement, parameters)
        return [record.values() for record in records]

    async def __aenter__(self) -> Database:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._driver.close()
