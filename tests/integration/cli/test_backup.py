"""`kgsvc backup` under load and `kgsvc restore` elsewhere: the same graphs, rankings, histories and erasures;
what is damaged, foreign or newer is refused by name, and nothing is left behind."""

import asyncio
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from kgsvc.stores.protocol import GroupDump
from tests.integration.cli.conftest import kgsvc
from tests.integration.moved_content import JAN, SECRETS, Told, talk, tell
from tests.integration.test_move_store import GROUPS, change, dumps, read
from tests.support.canaries import erased, found
from tests.support.client import Client, episode, is_completed
from tests.support.graphs import comparable
from tests.support.samples import accepted
from tests.support.samples import episode as stored_episode
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, opened

OFFLINE = {"models.extractor": "offline", "models.embedder": "offline"}
LOAD = 120  # episodes that come while backups are made
BACKUPS = 3
WORD = "Xanthippa"


def spec_at(directory: Path) -> StoreSpec:
    """The embedded store in a directory."""
    return StoreSpec("embedded", data_dir=directory)


async def send(client: Client, may: asyncio.Semaphore, sent: asyncio.Semaphore) -> None:
    """The LOAD episodes of the group `busy`, one after the other as they may come; `sent` counts what is
    acknowledged."""
    for number in range(LOAD):
        await may.acquire()
        said = talk(number)
        said.uuid = f"load-{number}"
        await client.add_episodes("busy", [said])
        sent.release()


@pytest.mark.timeout(600)
async def test_backups_under_load_are_restored_elsewhere(tmp_path: Path) -> None:
    live, ledger = spec_at(tmp_path / "live"), tmp_path / "erasures.jsonl"
    told = await tell(live, tmp_path, 200)
    settings = live.settings | OFFLINE | {"store.erasure_ledger": str(ledger)}
    ledger.touch()
    made: list[tuple[Path, int]] = []
    service = Service(settings, tmp_path, "live")
    async with service, Client(service.address) as client:
        await client.ingest("doomed", [episode(f"{WORD} works at Acme.", JAN)])
        share = LOAD // (BACKUPS + 1)
        may, sent = asyncio.Semaphore(share), asyncio.Semaphore(0)
        sending = asyncio.create_task(send(client, may, sent))
        for number in range(BACKUPS):
            for _ in range(share):
                await sent.acquire()
            before = (number + 1) * share
            for _ in range(share):
                may.release()
            done = await kgsvc("backup", tmp_path / f"backup-{number}", settings=settings)
            assert (done.code, done.err) == (0, "")
            made.append((tmp_path / f"backup-{number}", before))
            assert not sent.locked(), "episodes came in meanwhile"
        await sending
        answer = await client.delete_group("doomed")
        await erased(client, answer.erasure_id)
        expected = await asked(client, told)
        assert await service.terminate() == 0
    graphs = await dumps(live)
    for folder, before in made:
        assert [path.stat().st_mode & 0o077 for path in (folder, *folder.rglob("*"))] == [0, 0, 0]
        await restored(folder, tmp_path, settings, (told, before), (expected, graphs))


async def restored(
    folder: Path,
    tmp_path: Path,
    settings: dict[str, str],
    known: tuple[Told, int],
    live: tuple[list[Any], dict[str, GroupDump]],
) -> None:
    """A store of the backup answers as the live one, once it got the rest of what that one was sent."""
    (told, before), (expected, graphs) = known, live
    spec = spec_at(tmp_path / f"new-{folder.name}")
    own = settings | spec.settings
    done = await kgsvc("restore", folder, settings=own)
    assert done.code == 0, done.err
    assert "; 1 erasures were carried out again." in done.out
    assert await found(spec, (WORD, *SECRETS)) == set(), "before any service runs"
    copied = await dumps(spec)
    assert "doomed" not in copied
    for group in GROUPS:
        head = copied[group].head
        assert (head.epoch, head.rev) == (1, graphs_before(graphs, group, head.rev)), "followers begin anew"
    there = {each.uuid for each in copied["busy"].episodes}
    assert there >= {f"load-{number}" for number in range(before)}, "what was acknowledged before"
    service = Service(own, tmp_path, f"restored-{folder.name}")
    async with service, Client(service.address) as client:
        await send(client, asyncio.Semaphore(LOAD), asyncio.Semaphore(0))
        assert await asked(client, told) == expected
        assert await service.terminate() == 0
    again = await dumps(spec)
    assert again.keys() == graphs.keys()
    for group in (*GROUPS, "busy"):
        assert comparable(again[group]) == comparable(graphs[group])


def graphs_before(graphs: dict[str, GroupDump], group: str, rev: int) -> int:
    """The revision, if the live group has come as far."""
    assert rev <= graphs[group].head.rev
    return rev


async def asked(client: Client, told: Told) -> list[Any]:
    """What a service answers, and what can still be done, once nothing is unfinished."""
    async with asyncio.timeout(120):
        while not all(map(is_completed, await client.list_items("busy"))):  # noqa: ASYNC110  others' work
            await asyncio.sleep(0.05)
    return [*await read(client, told), *await change(client, told)]


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of a store with an episode, and of a file of a model."""
    return asyncio.run(_made(tmp_path_factory.mktemp("made")))


async def _made(folder: Path) -> Path:
    spec = spec_at(folder / "data")
    assert spec.data_dir is not None
    async with opened(spec) as store:
        await store.migrate()
        await accepted(store, stored_episode("g", "e"))
    (spec.data_dir / "models" / "small").mkdir(parents=True)
    (spec.data_dir / "models" / "small" / "model.onnx").write_bytes(b"numbers")
    (spec.data_dir / "models" / "digest.key").write_bytes(b"k" * 32)
    (spec.data_dir / "index").mkdir()
    (spec.data_dir / "index" / "cached").write_bytes(b"cached")
    own = spec.settings | {"store.erasure_ledger": str(spec.data_dir / "models" / "digest.key")}
    done = await kgsvc("backup", folder / "backup", "--json", settings=own)
    assert set(done.json["files"]) == {"kgsvc.db", "models/small/model.onnx"}, "no key, ledger or cache"
    return folder / "backup"


def restated(folder: Path, **changes: Any) -> None:
    """Another manifest, as though it had been made so."""
    path = folder / "manifest.json"
    values = json.loads(path.read_bytes()) | changes
    del values["sha256"]
    values["sha256"] = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(values))


def resummed(folder: Path) -> None:
    """The manifest states what the database is now."""
    content = (folder / "kgsvc.db").read_bytes()
    files = json.loads((folder / "manifest.json").read_bytes())["files"]
    files["kgsvc.db"] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    restated(folder, files=files)


def flipped(path: Path, place: int) -> None:
    """One bit of a file is another."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def changed(folder: Path, statement: str) -> None:
    """The database after a statement, and a manifest that knows of it."""
    db = apsw.Connection(str(folder / "kgsvc.db"))
    db.execute(statement)
    db.close()
    resummed(folder)


def scrambled(folder: Path) -> None:
    """A page of the database is noise, and the manifest knows of it."""
    content = bytearray((folder / "kgsvc.db").read_bytes())
    content[2 * 4096 : 3 * 4096] = os.urandom(4096)
    (folder / "kgsvc.db").write_bytes(content)
    resummed(folder)


def no_database(folder: Path) -> None:
    """Something else in its place, and the manifest knows of it."""
    (folder / "kgsvc.db").write_bytes(b"not a database" * 999)
    resummed(folder)


WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "a bit of the database": (lambda f: flipped(f / "kgsvc.db", 9_000), "kgsvc.db: is damaged"),
    "the database cut short": (lambda f: os.truncate(f / "kgsvc.db", 8_192), "kgsvc.db: is damaged"),
    "no database": (lambda f: (f / "kgsvc.db").unlink(), "kgsvc.db: is missing"),
    "a bit of a model": (
        lambda f: flipped(f / "models" / "small" / "model.onnx", 3),
        "models/small/model.onnx: is damaged",
    ),
    "no manifest": (lambda f: (f / "manifest.json").unlink(), "manifest.json: there is none"),
    "a bit of the manifest": (lambda f: flipped(f / "manifest.json", 90), "manifest.json: "),
    "a manifest of something else": (
        lambda f: (f / "manifest.json").write_text('{"name": "page"}'),
        "manifest.json: is not that of a backup",
    ),
    "no JSON": (lambda f: (f / "manifest.json").write_text("[" * 100_000), "manifest.json: is not that of"),
    "a newer format": (lambda f: restated(f, version=2), "manifest.json: the backup has format 2"),
    "fields of a newer format": (lambda f: restated(f, more=1), "manifest.json: is not that of"),
    "a newer schema": (lambda f: restated(f, schema=999), "manifest.json: the backup has schema 999"),
    "another schema than stated": (lambda f: changed(f, "PRAGMA user_version = 7"), "kgsvc.db: has schema 7"),
    "rows that are gone": (lambda f: changed(f, "DELETE FROM episodes"), "kgsvc.db: episodes do not have"),
    "a damaged page": (scrambled, "kgsvc.db: "),
    "another database": (lambda f: changed(f, "DROP TABLE facts"), "kgsvc.db: facts do not have"),
    "no database at all": (
        no_database,
        "kgsvc.db: the file of the embedded store is not a database",
    ),
    "a way out": (
        lambda f: restated(f, files={"../../kgsvc.db": {"bytes": 1, "sha256": ""}}),
        "manifest.json: names a file outside",
    ),
    "another key": (
        lambda f: restated(f, digest_key=5),
        "manifest.json: store.digest_key: the store was",
    ),
    "a ledger that is not there": (
        lambda f: restated(f, ledger=True),
        "manifest.json: the store had a",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
async def test_what_is_wrong_is_refused_by_name(backup: Path, tmp_path: Path, wrong: str) -> None:
    spoil, said = WRONG[wrong]
    folder = tmp_path / "backup"
    shutil.copytree(backup, folder)
    restated(folder, ledger=False)
    spoil(folder)
    done = await kgsvc("restore", folder, settings=spec_at(tmp_path / "new").settings)
    assert said in done.sentence
    assert os.listdir(tmp_path) == ["backup"]


async def test_a_store_that_is_there_is_not_overwritten(backup: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    ledger.touch()
    settings = spec_at(tmp_path / "new").settings | {"store.erasure_ledger": str(ledger)}
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "restoring").mkdir()  # of a run that was killed
    (tmp_path / "new" / "restoring" / "kgsvc.db").write_bytes(b"half")
    done = await kgsvc("restore", backup, "--json", settings=settings)
    assert done.json["rows"]["episodes"] == 1
    assert sorted(os.listdir(tmp_path / "new")) == ["kgsvc.db", "models"]
    assert (tmp_path / "new" / "models" / "small" / "model.onnx").read_bytes() == b"numbers"
    again = await kgsvc("restore", backup, settings=settings)
    assert "is not empty: it holds kgsvc.db" in again.sentence
    async with opened(spec_at(tmp_path / "new")) as store:
        assert await store.group_ids() == ["g"]


async def test_a_backup_is_made_whole_or_not_at_all(backup: Path, tmp_path: Path) -> None:
    data = backup.parent / "data"
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "mine").touch()
    assert "is not empty" in (await kgsvc("backup", taken, "--data", data)).sentence
    assert "there is no kgsvc.db" in (await kgsvc("backup", tmp_path / "b", "--data", tmp_path)).sentence
    other = await kgsvc("backup", tmp_path / "b", settings={"store.kind": "neo4j"})
    assert "is for the embedded store" in other.sentence
    assert os.listdir(tmp_path) == ["taken"]
    partial = tmp_path / "b.partial"
    partial.mkdir()
    (partial / "kgsvc.db").write_bytes(b"half")  # of a run that was killed
    assert (await kgsvc("backup", tmp_path / "b", "--data", data)).code == 0
    assert sorted(os.listdir(tmp_path)) == ["b", "taken"]
    partial = tmp_path / "c.partial"
    partial.mkdir()
    (partial / "diary").touch()
    assert "holds diary" in (await kgsvc("backup", tmp_path / "c", "--data", data)).sentence
    assert (partial / "diary").exists()


async def test_a_damaged_store_makes_no_backup(backup: Path, tmp_path: Path) -> None:
    shutil.copytree(backup, tmp_path / "data")
    scrambled(tmp_path / "data")
    done = await kgsvc("backup", tmp_path / "b", "--data", tmp_path / "data")
    assert "kgsvc.db: " in done.sentence or "damaged" in done.sentence
    assert os.listdir(tmp_path) == ["data"]
