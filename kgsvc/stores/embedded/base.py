"""How the store's methods run: reads in a few threads, each with its own connection, each in one snapshot;
writes in the one thread of writer.py."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import apsw

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.stores.embedded.connection import BusyHandler, open_reader, unavailable
from kgsvc.stores.embedded.writer import Writer

T = TypeVar("T")


class Readers:
    """Read-only connections; writes of this and other processes are seen from their commit on."""

    def __init__(self, directory: Path, threads: int, patience_s: float) -> None:
        self._directory = directory
        self._patience_s = patience_s
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="kgsvc-store-reader")
        self._own = threading.local()
        self._connections: list[apsw.Connection] = []
        self._closed = False

    async def run(self, work: Callable[[apsw.Connection], T]) -> T:
        """What `work` returns or raises, run in one snapshot."""
        if self._closed:
            raise StoreUnavailable("the embedded store is closed")
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._snapshot, work)

    async def close(self) -> None:
        """Finish running reads and release the connections. May be called again."""
        self._closed = True
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._pool.shutdown()
        while self._connections:
            self._connections.pop().close()

    def _snapshot(self, work: Callable[[apsw.Connection], T]) -> T:
        try:
            db = self._connection()
            db.execute("BEGIN")
            try:
                return work(db)
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")
        except apsw.Error as error:
            raise unavailable(error) from error

    def _connection(self) -> apsw.Connection:
        db: apsw.Connection | None = getattr(self._own, "db", None)
        if db is None:
            db = open_reader(self._directory, BusyHandler(self._patience_s))
            self._own.db = db
            self._connections.append(db)
        return db


P = ParamSpec("P")
_DEADLINE_S = 30.0


class EmbeddedBase:
    """The writer and the readers of an open store."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def _write(self, work: Callable[[apsw.Connection], T]) -> T:
        """Run `work` in a durable transaction. StoreUnavailable past the deadline: it may still happen."""
        try:
            async with asyncio.timeout(_DEADLINE_S):
                return await self._writer.run(work)
        except TimeoutError as error:
            raise StoreUnavailable("the embedded store did not write in time") from error

    async def _read(self, work: Callable[[apsw.Connection], T]) -> T:
        """Run `work` in one snapshot. StoreUnavailable past the deadline."""
        try:
            async with asyncio.timeout(_DEADLINE_S):
                return await self._readers.run(work)
        except TimeoutError as error:
            raise StoreUnavailable("the embedded store did not read in time") from error


Work = Callable[Concatenate[apsw.Connection, P], T]
Method = Callable[Concatenate[EmbeddedBase, P], Coroutine[Any, Any, T]]


def reading(work: Work[P, T]) -> Method[P, T]:
    """The method of a store that runs `work` on a connection, in one snapshot."""

    @functools.wraps(work)
    async def method(self: EmbeddedBase, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._read(lambda db: work(db, *args, **kwargs))

    return method


def writing(work: Work[P, T]) -> Method[P, T]:
    """The method of a store that runs `work` on the writing connection, in one durable transaction."""

    @functools.wraps(work)
    async def method(self: EmbeddedBase, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._write(lambda db: work(db, *args, **kwargs))

    return method
