"""Running statements: the clauses they share, sessions and retries.

In a statement a name in angle brackets, as `<GROUP>`, stands for columns (rows.py) or for a clause below,
which may name those after it. `<SEEK n:Entity row.uuid>` matches the group's row with that uuid by its index:
the row of the epoch `$p.epoch`, or, with `IN epoch` behind it, that of the variable `epoch`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection
from functools import cache
from itertools import cycle
from typing import Any, LiteralString, TypeVar

from neo4j import READ_ACCESS, WRITE_ACCESS, AsyncDriver, AsyncSession, AsyncTransaction, Bookmarks, Query
from neo4j.exceptions import DriverError, IncompleteCommit, Neo4jError
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_delay,
    wait_random_exponential,
)

from kgsvc.stores.consistency import may_lag
from kgsvc.stores.neo4j.bookmarks import Seen
from kgsvc.stores.neo4j.errors import is_transient, lost_race, store_error
from kgsvc.stores.neo4j.rows import (
    ENTITY,
    EPISODE,
    FACT,
    PUT_EPISODE,
    QUEUED,
    SET_ENTITY,
    SET_FACT,
    STATUS,
)
from kgsvc.stores.neo4j.schema import ACTIVITY_SHARDS


def _in_use(row: LiteralString, name: LiteralString) -> LiteralString:
    beside: LiteralString = "ROW.next_space IS NOT NULL AND ROW.next_space = g.space"
    columns: LiteralString = (
        "CASE WHEN " + beside + " THEN ROW.next_space ELSE ROW.space END,"
        " CASE WHEN " + beside + " THEN ROW.next_vector ELSE ROW.NAME END"
    )
    return columns.replace("ROW", row).replace("NAME", name)


_CLAUSES: dict[LiteralString, LiteralString] = {
    # A build, locked, for who holds its lease. Who writes more than the build takes the group's lock first.
    "<LEASED_BUILD>": "MATCH (g:KgGroup {group_id: $p.group_id}) WHERE g.epoch = $p.epoch <OWN_BUILD>",
    "<LOCKED_LEASED_BUILD>": "<LOCKED_GROUP> WITH g WHERE g.epoch = $p.epoch <OWN_BUILD>",
    "<OWN_BUILD>": """
    MATCH (b:KgBuild {group_id: $p.group_id, epoch: $p.epoch, build_id: $p.build_id})
    SET b.lock = 0
    WITH g, b WHERE b.token = $p.token AND b.owner_id = $p.owner_id AND b.next_ms IS NOT NULL""",
    # The same of a fill.
    "<LEASED_FILL>": "MATCH (g:KgGroup {group_id: $p.group_id}) WHERE g.epoch = $p.epoch <OWN_FILL>",
    "<LOCKED_LEASED_FILL>": "<LOCKED_GROUP> WITH g WHERE g.epoch = $p.epoch <OWN_FILL>",
    "<OWN_FILL>": """
    MATCH (f:KgFill {group_id: $p.group_id, epoch: $p.epoch})
    SET f.lock = 0
    WITH g, f WHERE f.token = $p.token AND f.owner_id = $p.owner_id""",
    # A fill of the group `g` begins; who works on it already loses it.
    "<BEGIN_FILL>": """<MERGE_FILL>
    SET f.token = f.token + 1, f.owner_id = null, f.next_ms = $p.now_ms""",
    "<MERGE_FILL>": """MERGE (f:KgFill {group_id: g.group_id, epoch: g.epoch})
    ON CREATE SET f.token = 0, f.renewals = 0, f.attempts = 0, f.after_rev = 0, f.after_uuid = '',
        f.facts_rev = 0, f.space = '', f.embedded = 0""",
    # Space and vector in use, in a group `g`.
    "<VECTOR r>": _in_use("r", "vector"),
    "<VECTOR n>": _in_use("n", "vector"),
    "<VECTOR e>": _in_use("e", "passages"),
    "<VECTOR c>": _in_use("c", "vector"),
    "<DRAFTS_OF_BUILD>": """MATCH (d:KgDraft) USING INDEX SEEK d:KgDraft(group_id, epoch, build, uuid)
    WHERE d.group_id = $p.group_id AND d.epoch = $p.epoch AND d.build = $p.build_id
        AND d.uuid IS NOT NULL""",
    "<MEMBERS_OF_COMMUNITY>": """CALL (c) {
        OPTIONAL MATCH (c)-[:HAS_MEMBER]->(n:Entity)
        WITH n.uuid AS member ORDER BY member
        RETURN count(member) AS size, collect(member)[..$p.shown] AS members
    }""",
    # Rows of the group's present epoch by `$p.uuid` or `$p.uuids`.
    "<ENTITY_OF_GROUP>": """<GROUP>
    <SEEK n:Entity $p.uuid IN epoch>""",
    "<EPISODE_OF_GROUP>": """<GROUP>
    <SEEK e:Episodic $p.uuid IN epoch>""",
    "<EPISODES_OF_GROUP>": """<GROUP>
    UNWIND $p.uuids AS uuid
    <SEEK e:Episodic uuid IN epoch>""",
    "<DOCUMENT_OF_GROUP>": """<GROUP>
    MATCH (d:KgDocument {group_id: $p.group_id, epoch: epoch, document_id: $p.document_id})
        USING INDEX SEEK d:KgDocument(group_id, epoch, document_id)""",
    "<FORMER_TEXTS>": """<GROUP>
    MATCH (f:KgFormerText) USING INDEX SEEK f:KgFormerText(group_id, epoch, document_id, revision)
    WHERE f.group_id = $p.group_id AND f.epoch = epoch AND f.document_id = $p.document_id""",
    "<CHUNKS_OF_DOCUMENT>": """<GROUP>
    MATCH (c:KgChunk) USING INDEX SEEK c:KgChunk(group_id, epoch, document_id)
    WHERE c.group_id = $p.group_id AND c.epoch = epoch AND c.document_id = $p.document_id""",
    "<FACTS_OF_GROUP>": """<GROUP>
    UNWIND $p.uuids AS uuid
    <SEEK r:RELATES_TO uuid IN epoch>""",
    # A group's record: locked for who holds its lease; its present epoch; locked, which writing `lock` does
    # for the transaction; made if there is none.
    "<LEASED_GROUP>": """<LOCKED_GROUP>
    WITH g WHERE g.owner_token = $p.token AND g.owner_id = $p.owner_id AND g.epoch = $p.epoch""",
    "<GROUP>": "MATCH (g:KgGroup {group_id: $p.group_id}) WITH g.epoch AS epoch",
    "<GROUP_AND_EPOCH>": "MATCH (g:KgGroup {group_id: $p.group_id}) WITH g, g.epoch AS epoch",
    "<LOCKED_GROUP>": "MATCH (g:KgGroup {group_id: $p.group_id}) SET g.lock = 0",
    "<NEW_GROUP>": """MERGE (g:KgGroup {group_id: $p.group_id})
    ON CREATE SET g.rev = 0, g.epoch = 0, g.last_ms = 0,
        g.owner_token = 0, g.renewals = 0, g.served_ms = 0""",
    # A group's items that were started are given back: no process died.
    "<UNMARK>": """MATCH (i:KgPending) WHERE i.group_id = g.group_id AND i.started IS NOT NULL
    SET i.started = null,
        i.crash_attempts = i.crash_attempts - CASE WHEN i.suspect = true THEN 1 ELSE 0 END""",
    # How many of `due` fit into `$p.max_bytes`, at least one. Where `bytes` is -1, nothing more is taken.
    "<FITTING>": """reduce(taken = {bytes: 0, count: 0}, i IN due | CASE
            WHEN taken.count = 0 OR (taken.bytes >= 0 AND taken.bytes + i.bytes <= $p.max_bytes)
            THEN {bytes: taken.bytes + i.bytes, count: taken.count + 1}
            ELSE {bytes: -1, count: taken.count} END).count""",
    # An unfinished item of an older epoch ends without content.
    "<PARK_STALE>": """
    SET i.state = 'parked', i.reason = 'group_deleted', i.updated_ms = $p.now_ms, i.name = null,
        i.stage = null, i.started = null, i.suspect = null, i.step = null, i.attempts = 0,
        i.content_hash = '', i.previous = null, i.warnings = null
    REMOVE i:KgPending""",
    # There may be more to begin; items have changed state. Apart, so that a worker's own commits do not have
    # all workers look for work.
    "<COUNT_ACTIVITY>": "<LOCKED_ACTIVITY> SET a.count = a.count + 1",
    "<COUNT_CHANGE>": "<LOCKED_ACTIVITY> SET a.changes = coalesce(a.changes, 0) + 1",
    "<LOCKED_ACTIVITY>": "MATCH (a:KgActivity {shard: $p.shard}) SET a.lock = 0",
    "<EPISODE>": EPISODE,
    "<EPISODE_CUT>": EPISODE.replace("e.content,", "left(e.content, 2 * $p.max_chars),"),
    "<ENTITY>": ENTITY,
    "<FACT>": FACT,
    "<STATUS>": STATUS,
    "<QUEUED>": QUEUED,
    "<PUT_EPISODE>": PUT_EPISODE,
    "<SET_ENTITY>": SET_ENTITY,
    "<SET_FACT>": SET_FACT,
}

_RACES = 5  # so often a race may be lost before the loser is told that the store is too busy


T = TypeVar("T")
Row = list[Any]


def whole_text(statement: LiteralString) -> LiteralString:
    """The statement with its clauses filled in."""
    for name, clause in _CLAUSES.items():
        statement = statement.replace(name, clause)
    return _SEEK.sub(_seek, statement)


_SEEK = re.compile(r"<SEEK (\w+):(\w+) ([^<>]+?)( IN epoch)?>")


def _seek(asked: re.Match[str]) -> str:
    name, label, uuid, present = asked.groups()
    epoch = "epoch" if present else "$p.epoch"
    where = f"{name}:{label} {{uuid: {uuid}, group_id: $p.group_id, epoch: {epoch}}}"
    index = "group_id, epoch, uuid" if label == "KgItem" else "uuid, group_id, epoch"
    pattern = f"()-[{where}]->()" if label == "RELATES_TO" else f"({where})"
    return f"MATCH {pattern} USING INDEX SEEK {name}:{label}({index})"


def for_each(statement: LiteralString, columns: LiteralString, shared: Collection[str] = ()) -> LiteralString:
    """The statement run once for each of the maps in `$p.all`, in their order, in one round trip. It returns
    `columns`, all of them named. Parameters that are `shared` stay beside `$p.all`: LIMIT takes no others."""
    own = each_of(statement)
    for name in shared:
        own = own.replace(f"each.{name}", f"$p.{name}")
    return f"UNWIND $p.all AS each CALL (each) {{ {own} }} RETURN {columns}"


def each_of(statement: LiteralString) -> LiteralString:
    """The statement with its parameters taken from the map `each`."""
    own = _SCOPE.sub(lambda asked: f"CALL ({', '.join(filter(None, (asked[1], 'each')))}) {{", statement)
    return own.replace("$p.", "each.")


_SCOPE = re.compile(r"CALL \(([^)]*)\) \{")


@cache
def planned_once(statement: LiteralString) -> LiteralString:
    """The whole statement, planned no more while the server has a plan of it.

    Statements name their indexes, so the first plan, made on an empty database, is as good as a later one.
    While a graph grows the server would plan anew every ten seconds, for up to a second each time.
    """
    if statement.startswith("CYPHER 25"):
        return "CYPHER 25 replan=skip" + whole_text(statement[len("CYPHER 25") :])
    return "CYPHER replan=skip " + whole_text(statement)


_WRITES = re.compile(r"\b(?:SET|CREATE|MERGE|DELETE|REMOVE|FOREACH|DROP)\b")


@cache
def writes(statement: LiteralString) -> bool:
    """Whether a clause of the statement writes: only the leader runs it then."""
    return _WRITES.search(whole_text(statement)) is not None


class Tx:
    """An open transaction."""

    def __init__(self, tx: AsyncTransaction) -> None:
        self._tx = tx

    async def run(self, statement: LiteralString, **values: Any) -> list[Row]:
        """The rows of a statement, each a list of its columns."""
        result = await self._tx.run(planned_once(statement), {"p": values})
        return await result.values()


class Base:
    """A connected driver."""

    def __init__(self, driver: AsyncDriver, database: str, deadline_s: float, patience_s: float) -> None:
        self._driver = driver
        self._database = database
        self._seen: Seen | None = None  # None: the server is asked directly, and is the only one
        self._deadline_s = deadline_s
        self._patience_s = patience_s
        self._vectors_indexed = False  # whether the server filters within its vector index (`migrate` looks)
        self._shards = cycle(range(ACTIVITY_SHARDS))

    def _shard(self) -> int:
        """The piece of the activity counter that the next write adds to."""
        return next(self._shards)

    def _session(self, access: str = WRITE_ACCESS, bookmarks: Bookmarks | None = None) -> AsyncSession:
        """A session that sees what those before it in this process saw. With WRITE_ACCESS it is the leader's,
        with READ_ACCESS any server's that got so far."""
        return self._driver.session(
            database=self._database,
            default_access_mode=access,
            bookmark_manager=self._seen,
            bookmarks=bookmarks,
        )

    async def _once(self, statement: LiteralString, **values: Any) -> list[Row]:
        """One statement, one transaction, one round trip; the driver's own errors."""
        access = READ_ACCESS if may_lag.get() and not writes(statement) else WRITE_ACCESS
        async with self._session(access) as session:
            query = Query(planned_once(statement), timeout=self._deadline_s)
            result = await session.run(query, {"p": values})
            return await result.values()

    async def _run(self, statement: LiteralString, **values: Any) -> list[Row]:
        """One statement in a transaction of its own. StoreUnavailable, StoreRefused.

        It may have been run twice, when the answer to the first was lost.
        """

        async def once() -> list[Row]:
            return await self._once(statement, **values)

        return await self._again(once)

    async def _run_in_batches(self, statement: LiteralString, batch: int, **values: Any) -> None:
        """Run a statement that counts what it removes, at most `batch`, until nothing is left."""
        removed = batch
        while removed == batch:
            ((removed,),) = await self._run(statement, **values, batch=batch)

    async def _transact(
        self,
        work: Callable[[Tx], Awaitable[T]],
        deadline_s: float | None = None,
        *,
        repeatable: bool = False,
    ) -> T:
        """Several statements, one transaction: rolled back when `work` raises. As `_run`.

        `work` may be run twice. After a commit whose answer was lost it is, if `repeatable`: then it must
        find what it wrote, and answer the same.
        """

        async def once() -> T:
            async with (
                self._session() as session,
                await session.begin_transaction(timeout=deadline_s or self._deadline_s) as tx,
            ):
                result = await work(Tx(tx))
                await tx.commit()
                return result

        return await self._again(once, deadline_s, repeatable=repeatable)

    async def _again(
        self,
        once: Callable[[], Awaitable[T]],
        deadline_s: float | None = None,
        *,
        repeatable: bool = False,
    ) -> T:
        """Try `once` until it succeeds, fails for good or patience ends.

        A race is run again even then: a busy server may take longer than patience to say that it was lost.
        """
        impatient = stop_after_delay(self._patience_s)

        def enough(state: RetryCallState) -> bool:
            lost = state.outcome is not None and lost_race(state.outcome.exception())
            return impatient(state) and not (lost and state.attempt_number < _RACES)

        def worth(error: BaseException) -> bool:
            return is_transient(error) or (repeatable and isinstance(error, IncompleteCommit))

        attempts = AsyncRetrying(
            retry=retry_if_exception(worth),
            stop=enough,
            wait=wait_random_exponential(multiplier=0.02, max=0.5),
            reraise=True,
        )
        try:
            async with asyncio.timeout(deadline_s or self._deadline_s):
                return await attempts(once)
        except (Neo4jError, DriverError, TimeoutError) as error:
            raise store_error(error) from error
