"""Opening, locks of others, schemas of others, broken files."""

import shutil
from pathlib import Path

import apsw
import pytest

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.stores.intake_protocol import OpenWork
from tests.support.samples import accepted, episode


async def test_a_lock_held_for_too_long_is_unavailable(tmp_path: Path, beside: apsw.Connection) -> None:
    hurried = await EmbeddedStore.open(tmp_path, patience_s=0.02)
    beside.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="locked by another process") as caught:
        await accepted(hurried, episode("g", "e1"))
    assert isinstance(caught.value.__cause__, apsw.BusyError)
    assert await hurried.episode("e1", None) == [], "reads do not wait for the lock"
    beside.execute("COMMIT")
    await accepted(hurried, episode("g", "e1"))
    await hurried.close()


@pytest.mark.parametrize(("version", "told"), [(99, "upgrade kgsvc"), (28, "scripts/move_store.py")])
async def test_another_schema_is_refused_and_left_alone(
    tmp_path: Path, beside: apsw.Connection, version: int, told: str
) -> None:
    beside.pragma("user_version", version)
    store = await EmbeddedStore.open(tmp_path)
    with pytest.raises(StoreUnavailable, match=f"has schema {version}.*{told}"):
        await store.migrate()
    await store.close()
    assert beside.pragma("user_version") == version


async def test_a_new_store_has_no_work_that_is_looked_for(tmp_path: Path) -> None:
    store = await EmbeddedStore.open(tmp_path)
    await store.migrate()
    found = (await store.activity()).open
    await store.close()
    assert found == OpenWork(documents=False, builds=False, fills=False, erasures=False)


async def test_an_unmigrated_store_says_so(tmp_path: Path) -> None:
    store = await EmbeddedStore.open(tmp_path)
    with pytest.raises(StoreUnavailable, match="`kgsvc serve` makes it"):
        await store.heads(["g"])
    with pytest.raises(StoreUnavailable, match="`kgsvc serve` makes it"):
        await accepted(store, episode("g", "e1"))
    await store.close()


@pytest.mark.parametrize("replaced", [False, True])
async def test_a_store_whose_file_was_removed_takes_nothing_more(
    tmp_path: Path, store: EmbeddedStore, replaced: bool
) -> None:
    await accepted(store, episode("g", "e1"))
    shutil.rmtree(tmp_path)
    if replaced:
        other = await EmbeddedStore.open(tmp_path)
        await other.migrate()
        await other.close()
    with pytest.raises(StoreUnavailable, match="was removed or replaced while it was open"):
        await accepted(store, episode("g", "e2"))
    with pytest.raises(StoreUnavailable, match="was removed or replaced while it was open"):
        await store.info()


async def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "kgsvc.db").write_bytes(b"not a database" * 1_000)
    with pytest.raises(StoreUnavailable, match="not a database"):
        await EmbeddedStore.open(tmp_path)


async def test_a_damaged_file_is_unavailable(tmp_path: Path) -> None:
    store = await EmbeddedStore.open(tmp_path)
    await store.migrate()
    await accepted(store, *[episode("g", f"e{n}", body="x" * 3_000) for n in range(300)])
    await store.close()
    file = tmp_path / "kgsvc.db"
    content = bytearray(file.read_bytes())
    intact = len(content) // 2  # the description of the tables is there
    content[intact:] = b"\x5a" * (len(content) - intact)
    file.write_bytes(content)
    store = await EmbeddedStore.open(tmp_path)
    with pytest.raises(StoreUnavailable, match="damaged"):
        await store.recent_episodes("g", 100)
    await store.close()


async def test_a_directory_that_cannot_be_made_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnavailable, match="directory"):
        await EmbeddedStore.open(tmp_path / "file" / "store")


async def test_a_closed_store_is_unavailable(tmp_path: Path) -> None:
    store = await EmbeddedStore.open(tmp_path)
    await store.migrate()
    await store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.heads(["g"])
    with pytest.raises(StoreUnavailable, match="closed"):
        await accepted(store, episode("g", "e1"))
    await store.close()


async def test_versions_of_keys_are_recorded(beside: apsw.Connection) -> None:
    rows = beside.execute("SELECT name, value FROM versions ORDER BY name").fetchall()
    assert rows == [("normaliser", 1), ("tokeniser", 1)]


async def test_the_file_is_set_up_for_durability(beside: apsw.Connection) -> None:
    assert [beside.pragma(name) for name in ("journal_mode", "synchronous", "page_size")] == ["wal", 2, 4096]
