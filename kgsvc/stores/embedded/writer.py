"""Running work: one thread that writes, a few that read, each job with a deadline."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import queue
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, LiteralString, ParamSpec, TypeVar, cast

import apsw

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.stores.embedded.connection import (
    BusyHandler,
    Identity,
    identity,
    meaning,
    open_reader,
    open_writer,
    same_file,
    unavailable,
)
from kgsvc.stores.embedded.wal import Wal
from kgsvc.together import Together

T = TypeVar("T")
_JOBS_PER_COMMIT = 128
_IDLE_S = 1.0


@dataclass(slots=True)
class _Job:
    work: Callable[[apsw.Connection], Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None


class Writer:
    """The only writer of this process. A job's caller hears of it only after the commit."""

    def __init__(self, directory: Path, patience_s: float) -> None:
        self.directory = directory
        self._busy = BusyHandler(patience_s)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self.file: Identity | None = None  # the one that is open
        self._opened: Future[None] = Future()
        self._ended: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="kgsvc-store-writer", daemon=True)

    async def open(self) -> None:
        """Start the thread and open the file. Raises StoreUnavailable."""
        await asyncio.to_thread(self._thread.start)
        await asyncio.wrap_future(self._opened)

    async def close(self) -> None:
        """Run what is queued, truncate the log, release the file. May be called again."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
        await asyncio.shield(asyncio.wrap_future(self._ended))

    async def run(self, work: Callable[[apsw.Connection], T]) -> T:
        """What `work` returns or raises, once its transaction is durable.

        Cancelled before its turn, the job does not run; later it runs whole.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._lock:
            if self._closed:
                raise StoreUnavailable("the embedded store is closed")
            self._jobs.put(_Job(work, loop, future))
        return await future

    def _run(self) -> None:
        with contextlib.ExitStack() as ending:
            ending.callback(self._give_up)
            try:
                db = open_writer(self.directory, self._busy)
                ending.callback(db.close)
                wal = Wal(self.directory, db, self._busy)
                ending.callback(wal.close)
            except (apsw.Error, OSError) as error:
                self._opened.set_exception(_opening_failed(error))
                return
            self.file = identity(self.directory)
            self._opened.set_result(None)
            self._serve(db, wal)

    def _give_up(self) -> None:
        """Nobody may wait for a thread that has ended."""
        with self._lock:
            self._closed = True
        left: list[_Job] = []
        with contextlib.suppress(queue.Empty):
            while True:
                if (job := self._jobs.get_nowait()) is not None:
                    job.error = StoreUnavailable("the embedded store is closed")
                    left.append(job)
        _settle(left)
        self._ended.set_result(None)

    def _serve(self, db: apsw.Connection, wal: Wal) -> None:
        going = True
        while going:
            jobs, going = self._take(_IDLE_S if wal.nbytes else None)
            if jobs:
                self._commit(db, jobs)
                _settle(jobs)
                jobs.clear()
                wal.after_commit()
            elif wal.nbytes:
                wal.truncate()

    def _take(self, idle_s: float | None) -> tuple[list[_Job], bool]:
        """The queued jobs (none: idle for so long), and whether more may come."""
        jobs: list[_Job] = []
        with contextlib.suppress(queue.Empty):
            job = self._jobs.get(timeout=idle_s)
            while job is not None:
                if not job.future.cancelled():
                    jobs.append(job)
                if len(jobs) == _JOBS_PER_COMMIT:
                    return jobs, True
                job = self._jobs.get_nowait()
            return jobs, False
        return jobs, True

    def _commit(self, db: apsw.Connection, jobs: list[_Job]) -> None:
        try:
            same_file(self.directory, self.file)
            db.execute("BEGIN IMMEDIATE")
            _run_all(db, jobs)
            db.execute("COMMIT")
            same_file(self.directory, self.file)  # else what was written went nowhere
        except (apsw.Error, _RolledBack, StoreUnavailable) as error:
            with contextlib.suppress(apsw.Error):  # the engine may have rolled back by itself
                db.execute("ROLLBACK")
            lost = unavailable(error) if isinstance(error, apsw.Error) else StoreUnavailable(str(error))
            for job in jobs:
                job.error = job.error or lost


class _RolledBack(Exception):
    """The engine has undone the whole commit."""


def _run_all(db: apsw.Connection, jobs: list[_Job]) -> None:
    """Run the jobs of a commit so that the failure of one leaves the others' writes alone.

    The first needs no savepoint, since nothing stands before it that its failure could undo. Most commits
    have one job, and a large one is slow under a savepoint: the engine keeps a copy of each page that it
    changes.
    """
    first, *others = jobs
    _run(db, first, undo="ROLLBACK; BEGIN IMMEDIATE")
    for job in others:
        db.execute("SAVEPOINT job")
        _run(db, job, undo="ROLLBACK TO job")
        db.execute("RELEASE job")


def _run(db: apsw.Connection, job: _Job, undo: LiteralString) -> None:
    try:
        job.result = job.work(db)
    except Exception as error:
        if not db.in_transaction:
            if isinstance(error, apsw.Error):
                raise
            job.error = error
            raise _RolledBack("the engine rolled the commit back") from error
        job.error = meaning(error) if isinstance(error, apsw.Error) else error
        db.execute(undo)


def _settle(jobs: list[_Job]) -> None:
    """Deliver results with one wake-up per event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, own in by_loop.items():
        with contextlib.suppress(RuntimeError):  # the caller's loop is closed: nobody waits
            loop.call_soon_threadsafe(_deliver, own)


def _deliver(jobs: list[_Job]) -> None:
    for job in jobs:
        if job.future.done():  # cancelled meanwhile
            continue
        if job.error is None:
            job.future.set_result(job.result)
        else:
            job.future.set_exception(job.error)


def _opening_failed(error: apsw.Error | OSError) -> StoreUnavailable:
    if isinstance(error, apsw.Error):
        return unavailable(error)
    made = StoreUnavailable("the directory of the embedded store cannot be used")
    made.__cause__ = error
    return made


class Readers:
    """Read-only connections; writes of this and other processes are seen from their commit on."""

    def __init__(self, directory: Path, file: Identity | None, threads: int, patience_s: float) -> None:
        self._directory = directory
        self._file = file  # the one that the writer has open
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
            same_file(self._directory, self._file)
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
Job = Callable[[apsw.Connection], Any]
_DEADLINE_S = 30.0
_READS_TOGETHER = 32
_READS_AT_ONCE = 2  # one of a large group does not keep all others waiting


class EmbeddedBase:
    """The writer and the readers of an open store."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers
        self._together = Together[Job, Any](
            self._read_all, lambda _: 1, _READS_TOGETHER, _READS_TOGETHER, _READS_AT_ONCE
        )

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

    async def _read_all(self, jobs: Sequence[Job]) -> list[Any]:
        """What each of the jobs returns or raises, all in one snapshot."""
        return await self._read(lambda db: [_outcome(db, job) for job in jobs])

    async def _read_together(self, job: Job) -> Any:
        outcome = await self._together.run(None, job)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def _outcome(db: apsw.Connection, job: Job) -> Any:
    try:
        return job(db)
    except apsw.Error as error:
        return unavailable(error)
    except Exception as error:  # noqa: BLE001 - raised where it was asked for
        return error


Work = Callable[Concatenate[apsw.Connection, P], T]
Method = Callable[Concatenate[EmbeddedBase, P], Coroutine[Any, Any, T]]


def reading(work: Work[P, T]) -> Method[P, T]:
    """The method of a store that runs `work` on a connection, in one snapshot."""

    @functools.wraps(work)
    async def method(self: EmbeddedBase, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._read(lambda db: work(db, *args, **kwargs))

    return method


def reading_together(work: Work[P, T]) -> Method[P, T]:
    """As `reading`, for reads that are bounded by what is asked for: those that come at the same time, as of
    many groups that are worked on, share a snapshot and a change of threads."""

    @functools.wraps(work)
    async def method(self: EmbeddedBase, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return cast(T, await self._read_together(lambda db: work(db, *args, **kwargs)))

    return method


def writing(work: Work[P, T]) -> Method[P, T]:
    """The method of a store that runs `work` on the writing connection, in one durable transaction."""

    @functools.wraps(work)
    async def method(self: EmbeddedBase, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._write(lambda db: work(db, *args, **kwargs))

    return method
