"""The log of the writer: copied beside the writes, begun anew, cut off when nothing is written."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw
import pytest

from kgsvc.stores.embedded import wal
from kgsvc.stores.embedded.connection import BusyHandler, open_reader
from kgsvc.stores.embedded.writer import Writer

FILE, LOG = "kgsvc.db", "kgsvc.db-wal"


@pytest.fixture
async def writer(tmp_path: Path) -> Writer:
    """A writer on a file with one table. Tests close it."""
    opened = Writer(tmp_path, 5.0)
    await opened.open()
    await opened.run(lambda db: db.execute("CREATE TABLE blobs (b BLOB)") and None)
    return opened


def blob(nbytes: int) -> Callable[[apsw.Connection], None]:
    """A job that writes so much."""

    def job(db: apsw.Connection) -> None:
        db.execute("INSERT INTO blobs VALUES (randomblob(?))", (nbytes,))

    return job


def count(db: apsw.Connection) -> int:
    """How much is written, as `db` sees it."""
    (row,) = db.execute("SELECT count(*) FROM blobs")
    return int(row[0])


async def size(file: Path) -> int:
    """Of a file, in bytes."""
    return (await asyncio.to_thread(file.stat)).st_size


async def test_the_log_begins_anew_under_load_and_is_cut_off_when_idle(
    writer: Writer, tmp_path: Path
) -> None:
    def emptied() -> None:
        until = time.monotonic() + 30
        while (tmp_path / LOG).stat().st_size:
            assert time.monotonic() < until, "an idle writer leaves its log"
            time.sleep(0.02)

    for _ in range(90):
        await writer.run(blob(1_000_000))
    assert 0 < await size(tmp_path / LOG) < 60_000_000
    await asyncio.to_thread(emptied)
    assert await writer.run(count) == 90
    await writer.close()


async def test_some_large_commits_wait_for_one_checkpoint(writer: Writer, tmp_path: Path) -> None:
    sizes = []
    for _ in range(14):
        await writer.run(blob(12_000_000))
        sizes.append(await size(tmp_path / FILE) // 1_000_000)
    assert sizes[2] == 0, "each commit is copied at once"
    assert sizes[-1] >= 96, "nothing is copied"
    await writer.close()


async def test_writes_do_not_wait_for_a_checkpoint(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, go = asyncio.Event(), asyncio.Event()
    loop, real = asyncio.get_running_loop(), wal._checkpoint

    def slow(db: apsw.Connection) -> None:
        loop.call_soon_threadsafe(held.set)
        asyncio.run_coroutine_threadsafe(go.wait(), loop).result(30)
        real(db)

    monkeypatch.setattr(wal, "_checkpoint", slow)
    for _ in range(20):
        await writer.run(blob(1_000_000))
    async with asyncio.timeout(30):
        await held.wait()
        for _ in range(3):
            await writer.run(blob(1_000))
    assert await writer.run(count) == 23
    assert await size(tmp_path / FILE) < 1_000_000
    go.set()
    await writer.close()
    assert await size(tmp_path / FILE) > 20_000_000


async def test_a_log_that_grows_past_its_checkpoints_is_waited_for(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that stays keeps it from beginning anew; nothing is lost, and when it goes the log does."""
    monkeypatch.setattr(wal, "_LONG_BYTES", 64 * 1024 * 1024)
    reader = open_reader(tmp_path, BusyHandler(1.0))
    reader.execute("BEGIN")
    assert count(reader) == 0
    for _ in range(10):
        await writer.run(blob(12_000_000))
    assert count(reader) == 0
    assert await size(tmp_path / LOG) > 100_000_000
    reader.execute("ROLLBACK")
    for _ in range(8):
        await writer.run(blob(12_000_000))
    assert await writer.run(count) == count(reader) == 18
    assert await size(tmp_path / LOG) < 100_000_000
    reader.close()
    await writer.close()


async def test_a_failed_checkpoint_loses_nothing(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def broken(db: apsw.Connection) -> None:
        tries.append(db)
        raise apsw.IOError("no disk")

    monkeypatch.setattr(wal, "_checkpoint", broken)
    for _ in range(60):
        await writer.run(blob(1_000_000))
    assert await size(tmp_path / FILE) < 1_000_000
    monkeypatch.undo()
    await writer.close()
    assert len(set(tries)) == 2, "beside the writes, and in their stead"
    assert await size(tmp_path / FILE) > 60_000_000
    reader = open_reader(tmp_path, BusyHandler(1.0))
    assert count(reader) == 60
    reader.close()


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError()])
async def test_what_happens_to_the_thread_harms_no_write(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """It cannot be had, or a checkpoint in it fails in some other way."""
    inline, submit = wal._checkpoint, ThreadPoolExecutor.submit

    def broken(db: apsw.Connection) -> None:
        if threading.current_thread().name.startswith("kgsvc-store-checkpoint"):
            raise error
        inline(db)

    def no_thread(pool: Any, *work: Any) -> Any:
        if pool._thread_name_prefix == "kgsvc-store-checkpoint":
            raise error
        return submit(pool, *work)

    monkeypatch.setattr(wal, "_checkpoint", broken)
    if isinstance(error, RuntimeError):
        monkeypatch.setattr(ThreadPoolExecutor, "submit", no_thread)
    for _ in range(60):
        await writer.run(blob(1_000_000))
    assert await size(tmp_path / FILE) > 30_000_000, "copied in the thread's stead"
    assert await writer.run(count) == 60
    async with asyncio.timeout(30):
        await writer.close()


async def test_a_log_that_a_reader_held_is_cut_off_once_it_goes(writer: Writer, tmp_path: Path) -> None:
    def emptied() -> bool:
        return (tmp_path / LOG).stat().st_size == 0

    reader = open_reader(tmp_path, BusyHandler(1.0))
    await writer.run(blob(1_000))
    reader.execute("BEGIN")
    assert count(reader) == 1
    await writer.run(blob(1_000))
    await asyncio.sleep(1.5)  # an idle writer has tried
    assert not await asyncio.to_thread(emptied)
    reader.execute("ROLLBACK")
    reader.close()
    async with asyncio.timeout(30):
        while not await asyncio.to_thread(emptied):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    await writer.close()
