"""`kgsvc export` and `kgsvc import` as people use them: what they say, refuse and note."""

import asyncio
import json
import os
from pathlib import Path

from kgsvc.stores.embedded import EmbeddedStore
from tests.integration.cli.conftest import kgsvc
from tests.support.client import Client
from tests.support.moving import joined, pieces
from tests.support.samples import Scratch
from tests.support.service import Service

OFFLINE = {"models.extractor": "offline", "models.embedder": "offline"}


async def made(directory: Path) -> dict[str, str]:
    """A store with a group, as settings."""
    store = await EmbeddedStore.open(directory)
    await store.migrate()
    g = Scratch(store, "team")
    await g.accepted(g.episode("e1"))
    await g.pair()
    await store.close()
    return {"store.data_dir": str(directory), **OFFLINE}


async def test_a_group_goes_to_another_store(tmp_path: Path) -> None:
    audit = tmp_path / "audit.jsonl"
    settings = await made(tmp_path / "data") | {"access.audit": str(audit)}
    done = await kgsvc("export", "team", tmp_path / "team.jsonl", settings=settings)
    assert done.out == f"team: 1 episodes, 2 entities written to {tmp_path / 'team.jsonl'}.\n"
    again = await kgsvc("export", "team", tmp_path / "team.jsonl", settings=settings)
    assert "team.jsonl is there already" in again.sentence
    assert (
        "there is no group crew"
        in (await kgsvc("export", "crew", tmp_path / "c", settings=settings)).sentence
    )
    other = settings | {"store.data_dir": str(tmp_path / "other")}
    done = await kgsvc("import", tmp_path / "team.jsonl", "--json", settings=other)
    assert done.json == {"group": "team", "rows": {"entity": 2, "episode": 1, "receipt": 1}}
    again = await kgsvc("import", tmp_path / "team.jsonl", settings=other)
    assert "team: the group has content: an import never changes what is there" in again.sentence
    noted = [json.loads(line) for line in (await asyncio.to_thread(audit.read_text)).splitlines()]
    assert [(line["operation"], line["groups"]) for line in noted] == [
        ("export", ["team"]),
        ("import", ["team"]),
    ]


async def test_a_group_goes_to_another_store_by_services(tmp_path: Path) -> None:
    """With --server, by the words of the commands that open a store; the files are the same."""
    settings = await made(tmp_path / "data")
    await kgsvc("export", "team", tmp_path / "own.jsonl", settings=settings)
    idle = OFFLINE | {"server.role": "api"}
    async with (
        Service(settings | idle, tmp_path, "from") as old,
        Service(idle | {"store.data_dir": str(tmp_path / "other")}, tmp_path, "to") as new,
    ):
        file = tmp_path / "team.jsonl"
        there = ("--server", new.address)
        done = await kgsvc("export", "team", file, "--server", old.address)
        assert done.out == f"team: 1 episodes, 2 entities written to {file}.\n"
        assert "team.jsonl is there already" in (await kgsvc("export", "team", file, *there)).sentence
        assert "there is no group crew" in (await kgsvc("export", "crew", tmp_path / "c", *there)).sentence
        done = await kgsvc("import", file, "--json", *there)
        assert done.json == {"group": "team", "rows": {"entity": 2, "episode": 1, "receipt": 1}}
        again = await kgsvc("import", file, *there)
        assert "the group has content: an import never changes what is there" in again.sentence
        await asyncio.to_thread((tmp_path / "torn.jsonl").write_bytes, file.read_bytes()[:-40])
        refused = await kgsvc("import", tmp_path / "torn.jsonl", "--server", new.address)
        assert "has content" in refused.sentence
        nobody = await kgsvc("import", file, "--server", "127.0.0.1:1", "--timeout", "0.1")
        assert "no service answers at 127.0.0.1:1" in nobody.sentence
    own, by_call = [(tmp_path / name).read_bytes().splitlines() for name in ("own.jsonl", "team.jsonl")]
    assert own[1:-1] == by_call[1:-1]
    assert sorted(name for name in os.listdir(tmp_path) if "jsonl" in name) == [
        "own.jsonl", "team.jsonl", "torn.jsonl",
    ]  # fmt: skip


async def test_an_export_by_a_service_goes_on(tmp_path: Path) -> None:
    """From where the note beside the file says; one of another moment begins anew."""
    settings = await made(tmp_path / "data")
    async with (
        Service(settings | OFFLINE | {"server.role": "api"}, tmp_path) as service,
        Client(service.address) as client,
    ):
        whole = await pieces(client, "team")
        for name, cursor in (("kept", whole[1].cursor), ("stale", "WyJleHBvcnQiLDEsImFiIiw1XQ==")):
            file, begun = tmp_path / name, joined(whole[:2])
            await asyncio.to_thread((tmp_path / f"{name}.partial").write_bytes, begun + b"torn")
            note = json.dumps({"offset": len(begun), "cursor": cursor})
            await asyncio.to_thread((tmp_path / f"{name}.cursor").write_text, note)
            await kgsvc("export", "team", file, "--server", service.address)
            lines = (await asyncio.to_thread(file.read_bytes)).splitlines()
            assert lines[1:-1] == joined(whole).splitlines()[1:-1]
            assert (lines[0] == joined(whole).splitlines()[0]) is (name == "kept")
    assert {name for name in os.listdir(tmp_path) if name.startswith(("kept", "stale"))} == {"kept", "stale"}


async def test_what_is_refused_is_told_by_line(tmp_path: Path) -> None:
    settings = await made(tmp_path / "data")
    key = tmp_path / "digest.key"
    await asyncio.to_thread(key.write_bytes, b"k" * 32)
    await kgsvc("export", "team", tmp_path / "team.jsonl", settings=settings)
    keyed = {**settings, "store.data_dir": str(tmp_path / "keyed"), "store.digest_key": str(key)}
    refused = await kgsvc("import", tmp_path / "team.jsonl", settings=keyed)
    assert "line 1: digest_key: uuids and digests depend on another key" in refused.sentence
    secret = tmp_path / "diary.txt"
    await asyncio.to_thread(secret.write_text, '{"row": "Zerlina"}\n')
    refused = await kgsvc("import", secret, settings=settings)
    assert "line 1: row: is none of the kinds of rows" in refused.sentence
    assert "Zerlina" not in refused.err
    assert sorted(os.listdir(tmp_path)) == ["data", "diary.txt", "digest.key", "keyed", "team.jsonl"]
