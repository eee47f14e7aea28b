"""The writer thread: group commit, isolation of jobs, cancellation, failing commits."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import apsw
import pytest

from kgsvc.domain.errors import LeaseLost, StoreRefused, StoreUnavailable
from kgsvc.stores.embedded.connection import BusyHandler, open_reader
from kgsvc.stores.embedded.writer import Writer

Job = Callable[[apsw.Connection], int]


@pytest.fixture
async def writer(tmp_path: Path) -> AsyncIterator[Writer]:
    """A writer on a file with one table."""
    opened = Writer(tmp_path, 5.0)
    await opened.open()
    await opened.run(lambda db: db.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)") and None)
    yield opened
    await opened.close()


def put(n: int) -> Job:
    """A job that writes a row."""

    def job(db: apsw.Connection) -> int:
        db.execute("INSERT INTO t VALUES (?)", (n,))
        return n

    return job


def rows(db: apsw.Connection) -> list[int]:
    """What is written, as `db` sees it."""
    return [row[0] for row in db.execute("SELECT n FROM t ORDER BY n")]


class Held:
    """Keeps the writer's thread busy, so that the jobs queued meanwhile come together."""

    def __init__(self, writer: Writer) -> None:
        self._writer, self._began, self._go = writer, threading.Event(), threading.Event()

    async def __aenter__(self) -> None:
        self._task = asyncio.create_task(self._writer.run(self._hold))
        await asyncio.to_thread(self._began.wait, 10)

    async def __aexit__(self, *_error: object) -> None:
        self._go.set()
        await self._task

    def _hold(self, _db: apsw.Connection) -> None:
        self._began.set()
        self._go.wait(10)


async def queued(writer: Writer, *jobs: Job) -> list[asyncio.Task[int]]:
    """Tasks whose jobs are in the queue."""
    tasks = [asyncio.create_task(writer.run(job)) for job in jobs]
    await asyncio.sleep(0)
    return tasks


async def test_queued_jobs_share_one_commit(writer: Writer, tmp_path: Path) -> None:
    seen: list[list[int]] = []

    def look(_db: apsw.Connection) -> int:
        other = open_reader(tmp_path, BusyHandler(1.0))
        seen.append(rows(other))
        other.close()
        return 0

    async with Held(writer):
        tasks = await queued(writer, put(1), put(2), look)
        assert not any(task.done() for task in tasks)
    assert await asyncio.gather(*tasks) == [1, 2, 0]
    assert seen == [[]], "the third job ran before the first two were committed"
    assert await writer.run(rows) == [1, 2]


async def test_a_failing_job_rolls_back_alone(writer: Writer) -> None:
    def fail(error: Exception) -> Job:
        def job(db: apsw.Connection) -> int:
            db.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(100, 200)])
            raise error

        return job

    async with Held(writer):
        jobs = (put(1), fail(LeaseLost("gone")), put(2), put(1), fail(ValueError("x")), put(3))
        tasks = await queued(writer, *jobs)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(r) for r in results] == [int, LeaseLost, int, StoreRefused, ValueError, int]
    assert isinstance(results[3], StoreRefused)
    assert isinstance(results[3].__cause__, apsw.ConstraintError)
    assert await writer.run(rows) == [1, 2, 3]


@pytest.mark.parametrize("error", [LeaseLost("gone"), None], ids=["its own", "of the engine"])
async def test_the_first_job_fails_alone_too(writer: Writer, error: Exception | None) -> None:
    def fail(db: apsw.Connection) -> int:
        db.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(100, 200)])
        return put(100)(db) if error is None else raising(error)

    def raising(error: Exception) -> int:
        raise error

    async with Held(writer):
        tasks = await queued(writer, fail, put(1), fail, put(2))
    results = await asyncio.gather(*tasks, return_exceptions=True)
    refused = StoreRefused if error is None else LeaseLost
    assert [type(r) for r in results] == [refused, int, refused, int]
    assert await writer.run(rows) == [1, 2]


async def test_one_job_runs_without_a_savepoint(writer: Writer) -> None:
    def note(_cursor: object, sql: str, _values: object) -> bool:
        seen.append(sql)
        return True

    seen: list[str] = []
    await writer.run(lambda db: db.set_exec_trace(note))
    await writer.run(put(1))
    assert seen == ["COMMIT", "BEGIN IMMEDIATE", "INSERT INTO t VALUES (?)", "COMMIT"]


async def test_a_job_cancelled_before_its_turn_does_not_run(writer: Writer) -> None:
    async with Held(writer):
        first, second = await queued(writer, put(1), put(2))
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
    assert await second == 2
    assert await writer.run(rows) == [2]


async def test_a_job_cancelled_while_it_runs_is_whole(writer: Writer) -> None:
    began, go = threading.Event(), threading.Event()

    def job(db: apsw.Connection) -> int:
        put(1)(db)
        began.set()
        go.wait(10)
        return put(2)(db)

    (task,) = await queued(writer, job)
    await asyncio.to_thread(began.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    assert await writer.run(rows) == [1, 2]


async def test_a_full_disk_fails_the_commit_and_nothing_is_kept(writer: Writer) -> None:
    def limit(db: apsw.Connection) -> int:
        return int(db.pragma("max_page_count", db.pragma("page_count")))

    def fill(db: apsw.Connection) -> int:
        db.execute("CREATE TABLE big AS SELECT randomblob(100000)")
        return 0

    await writer.run(limit)
    async with Held(writer):
        tasks = await queued(writer, put(1), fill)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[1], StoreUnavailable)
    assert str(results[1]) == "the disk of the embedded store is full"
    assert isinstance(results[1].__cause__, apsw.FullError)
    kept = await writer.run(rows)
    assert kept == ([1] if results[0] == 1 else []), "a result was told that is not kept, or the reverse"
    await writer.run(lambda db: db.pragma("max_page_count", 2**30))
    assert await writer.run(put(3)) == 3


async def test_a_job_that_fails_after_the_engine_undid_the_commit_harms_only_the_commit(
    writer: Writer,
) -> None:
    def undone(db: apsw.Connection) -> int:
        db.execute("ROLLBACK")
        raise LeaseLost("somebody else's")

    async with Held(writer):
        waiting = await queued(writer, put(1), undone, put(2))
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StoreUnavailable, LeaseLost, StoreUnavailable]
    assert await writer.run(put(3)) == 3
    assert await writer.run(rows) == [3]


async def test_close_runs_what_is_queued(tmp_path: Path) -> None:
    writer = Writer(tmp_path, 5.0)
    await writer.open()
    await writer.run(lambda db: db.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)") and None)
    async with Held(writer):
        tasks = await queued(writer, put(1), put(2))
        closing = asyncio.create_task(writer.close())
        await asyncio.sleep(0)
        with pytest.raises(StoreUnavailable, match="closed"):
            await writer.run(put(3))
    await closing
    assert await asyncio.gather(*tasks) == [1, 2]
    await writer.close()


async def test_a_caller_whose_loop_is_gone_harms_nobody(writer: Writer) -> None:
    loop = asyncio.new_event_loop()
    async with Held(writer):
        task = loop.create_task(writer.run(put(1)))
        loop.call_soon(loop.stop)
        await asyncio.to_thread(loop.run_forever)
        task.cancel()
        loop.close()
    assert await writer.run(put(2)) == 2
