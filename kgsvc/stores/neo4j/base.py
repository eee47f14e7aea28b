"""What the driver's errors mean to the service."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import cycle
from typing import Any, LiteralString, TypeVar

from neo4j import WRITE_ACCESS, AsyncDriver, AsyncTransaction, Query
from neo4j.exceptions import (
    AuthError,
    ConstraintError,
    DatabaseError,
    DriverError,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
)
from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_random_exponential

from kgsvc.domain.errors import StoreRefused, StoreUnavailable
from kgsvc.stores.neo4j.schema import ACTIVITY_SHARDS

# What lies in the values of one statement. A global shortage of memory has another code: it may pass.
_REFUSALS = frozenset(
    {
        "Neo.ClientError.Statement.TypeError",
        "Neo.ClientError.Statement.ArgumentError",
        "Neo.ClientError.Statement.ArithmeticError",
        "Neo.ClientError.General.TransactionOutOfMemoryError",
    }
)
_TOO_LARGE = "too large to index"  # under a code that is that of any failure within a statement


def passes(error: BaseException) -> bool:
    """Whether trying again can help: deadlocks, lost connections, a lost race for a uuid or a key."""
    if isinstance(error, ConstraintError):
        return True
    return isinstance(error, (Neo4jError, DriverError)) and error.is_retryable()


def meaning(error: Exception) -> StoreUnavailable | StoreRefused:
    """What an error of a statement means: some lie in what it writes."""
    if not _refuses(error):
        return unavailable(error)
    made = StoreRefused(f"Neo4j refuses this write ({getattr(error, 'code', None)})")
    made.__cause__ = error
    return made


def _refuses(error: Exception) -> bool:
    return isinstance(error, Neo4jError) and (
        error.code in _REFUSALS or (isinstance(error, DatabaseError) and _TOO_LARGE in (error.message or ""))
    )


def unavailable(error: Exception) -> StoreUnavailable:
    """The error as StoreUnavailable with one sentence that quotes no data, `error` chained as its cause."""
    made = StoreUnavailable(_sentence(error))
    made.__cause__ = error
    return made


def _sentence(error: Exception) -> str:
    if isinstance(error, AuthError):
        return "Neo4j refused the user name or the password"
    if isinstance(error, (ServiceUnavailable, SessionExpired)):
        return "Neo4j cannot be reached"
    if isinstance(error, TimeoutError):
        return "Neo4j did not answer in time"
    if isinstance(error, ConstraintError):
        return "Neo4j is too busy: other clients kept writing first"
    return f"Neo4j failed ({getattr(error, 'code', None) or type(error).__name__})"


T = TypeVar("T")
Row = list[Any]


def planned_once(statement: LiteralString) -> LiteralString:
    """The statement, planned no more while the server has a plan of it.

    Statements name their indexes, and are read by index on an empty database too: a later plan is no better,
    and while a graph grows the server would make it anew every ten seconds, for up to a second each.
    """
    if statement.startswith("CYPHER 25"):
        return "CYPHER 25 replan=skip" + statement[len("CYPHER 25") :]
    return "CYPHER replan=skip " + statement


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
        self._deadline_s = deadline_s
        self._patience_s = patience_s
        self._vectors_indexed = False  # whether the server filters within its vector index (`migrate` looks)
        self._shards = cycle(range(ACTIVITY_SHARDS))

    def _shard(self) -> int:
        """The piece of the activity counter that the next write adds to."""
        return next(self._shards)

    async def _once(self, statement: LiteralString, **values: Any) -> list[Row]:
        """One statement, one transaction, one round trip; the driver's own errors."""
        async with self._driver.session(database=self._database, default_access_mode=WRITE_ACCESS) as session:
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

    async def _transact(self, work: Callable[[Tx], Awaitable[T]], deadline_s: float | None = None) -> T:
        """Several statements, one transaction: rolled back when `work` raises. As `_run`.

        `work` may be run twice, also after a commit whose answer was lost.
        """

        async def once() -> T:
            async with (
                self._driver.session(database=self._database, default_access_mode=WRITE_ACCESS) as session,
                await session.begin_transaction(timeout=deadline_s or self._deadline_s) as tx,
            ):
                result = await work(Tx(tx))
                await tx.commit()
                return result

        return await self._again(once, deadline_s)

    async def _again(self, once: Callable[[], Awaitable[T]], deadline_s: float | None = None) -> T:
        """Try `once` until it succeeds, fails for good or patience ends."""
        attempts = AsyncRetrying(
            retry=retry_if_exception(passes),
            stop=stop_after_delay(self._patience_s),
            wait=wait_random_exponential(multiplier=0.02, max=0.5),
            reraise=True,
        )
        try:
            async with asyncio.timeout(deadline_s or self._deadline_s):
                return await attempts(once)
        except (Neo4jError, DriverError, TimeoutError) as error:
            raise meaning(error) from error
