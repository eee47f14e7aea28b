"""Several processes on one directory, and one that dies."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import apsw

from kgsvc.domain.model.items import ItemState
from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.stores.embedded.schema import SCHEMA_VERSION
from tests.support.samples import (
    NOW,
    accepted,
    entity,
    episode,
    head,
    leased,
    move,
    started,
    write,
)

REPOSITORY = Path(__file__).resolve().parents[3]

# Accepts batches of three and writes an entity each; says which it has done after every acknowledgement.
ACCEPTING = """
import asyncio, sys
from pathlib import Path
from tests.support.samples import accepted, entity, episode, write
from kgsvc.stores.embedded import EmbeddedStore

async def main(path, name, count):
    store = await EmbeddedStore.open(Path(path))
    await store.migrate()
    for n in range(int(count)):
        await accepted(store, *[episode("shared", f"{name}-{n}-{k}") for k in range(3)])
        await write(store, name, entities=(entity(name, f"n{n}", f"Name {n}"),))
        print(n, flush=True)
    await store.close()

asyncio.run(main(*sys.argv[1:]))
"""


@asynccontextmanager
async def accepting(path: Path, name: str, count: int) -> AsyncIterator[Process]:
    """A process that accepts `count` batches under `name`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ACCEPTING, str(path), name, str(count), stdout=PIPE, cwd=REPOSITORY
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def done(process: Process, lines: int | None = None) -> int:
    """How many batches the process has acknowledged: read to the end, or `lines` of them."""
    assert process.stdout is not None
    count = 0
    async with asyncio.timeout(60):
        while count != lines and await process.stdout.readline():
            count += 1
    return count


async def test_three_processes_open_a_new_directory_and_write(tmp_path: Path) -> None:
    async with accepting(tmp_path, "b", 30) as first, accepting(tmp_path, "c", 30) as second:
        store = await EmbeddedStore.open(tmp_path)
        await store.migrate()
        for n in range(30):
            await accepted(store, *[episode("shared", f"a-{n}-{k}") for k in range(3)])
        assert [await done(first), await done(second)] == [30, 30]
    wanted = {f"{name}-{n}-{k}" for name in "abc" for n in range(30) for k in range(3)}
    assert sorted(e.uuid for e in await store.recent_episodes("shared", 1_000)) == sorted(wanted)
    assert (await store.activity()).depth.unfinished == len(wanted)
    assert [(await head(store, name)).rev for name in "bc"] == [30, 30]
    await store.close()


async def test_writes_of_another_process_are_seen(tmp_path: Path, store: EmbeddedStore) -> None:
    before = await store.activity()
    async with accepting(tmp_path, "other", 2) as process:
        assert await done(process) == 2
    assert await store.activity() != before
    assert (await head(store, "other")).rev == 2
    assert await started(store, await leased(store, "shared")) == [
        f"other-{n}-{k}" for n in range(2) for k in range(3)
    ]


async def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    acknowledged: dict[str, int] = {}
    for name, lines in (("first", 1), ("second", 7), ("third", 20)):
        async with accepting(tmp_path, name, 10_000) as process:
            await done(process, lines)
            process.send_signal(signal.SIGKILL)
            acknowledged[name] = lines + await done(process)
    store = await EmbeddedStore.open(tmp_path)
    await store.migrate()
    uuids = {e.uuid for e in await store.recent_episodes("shared", 100_000)}
    for name, count in acknowledged.items():
        assert {f"{name}-{n}-{k}" for n in range(count) for k in range(3)} <= uuids
        assert (await head(store, name)).rev in {count, count + 1}
    assert len(uuids) % 3 == 0, "a batch was accepted in part"
    await store.close()
    db = apsw.Connection(str(tmp_path / "kgsvc.db"))
    assert db.pragma("integrity_check") == "ok"
    counted = db.execute("SELECT count(*) FROM items WHERE next_ms IS NOT NULL").fetchall()
    assert counted == db.execute("SELECT unfinished FROM totals").fetchall()
    db.close()


async def test_everything_is_there_after_a_restart(tmp_path: Path, store: EmbeddedStore) -> None:
    receipt = await accepted(store, episode("g", "e1"), episode("g", "e2", at=1))
    lease = await leased(store, "g")
    await started(store, lease)
    await move(store, lease, ItemState.EXTRACTED, "e1", stage=b"stage")
    await write(store, "g", entities=(entity("g", "n1", "Ada"),))
    before = (await store.dump("g"), await store.receipt(receipt.receipt_id), (await store.activity()).depth)
    await store.close()
    assert os.listdir(tmp_path) == ["kgsvc.db"], "the log is not merged by close"
    again = await EmbeddedStore.open(tmp_path)
    assert await again.migrate() == SCHEMA_VERSION
    after = (await again.dump("g"), await again.receipt(receipt.receipt_id), (await again.activity()).depth)
    assert after == before
    assert await again.renew([lease]) == ["g"]
    assert [item.stage for item in await again.start_items(lease, NOW, 9, 10**6, ())] == [b"stage", None]
    await again.close()
