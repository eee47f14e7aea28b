"""`kgsvc doctor` on good, wrong and half-wrong set-ups: each fault is named with the setting to change, and
nothing is left behind."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest
from neo4j import AsyncGraphDatabase, AsyncResult

from kgsvc.cli.doctor import try_writes
from kgsvc.domain.model.fills import Filled
from kgsvc.domain.model.items import SCRATCH
from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.stores.neo4j import Neo4jStore
from tests.integration.cli.conftest import Done, kgsvc
from tests.support.local_model import local_model
from tests.support.neo4j_fixture import NEO4J_LABELS, Address, Servers
from tests.support.samples import NOW, pair, present, write
from tests.support.scripted_openai import ScriptedOpenAI
from tests.support.scripted_openai.script import says, status
from tests.support.service import Service

OFFLINE = {"models.extractor": "offline", "models.embedder": "offline"}
PAGE = 24  # lines
PLANNED_S = 200.0
OF_STORE = {"store", "schema", "indexes", "modes", "write", "vectors", "clock"}
EVERY_CHECK = {"settings", "credentials", "disk", *OF_STORE, "extractor", "embedder"}


def faults(done: Done) -> list[str]:
    """The failed lines; there is at most a page in all."""
    lines = done.out.splitlines()
    assert len(lines) <= PAGE
    found = [line.removeprefix("FAIL").strip() for line in lines if line.startswith("FAIL")]
    assert done.code == (1 if found else 0), done.err
    assert not found or f"{len(found)} of" in done.err
    return found


async def made(directory: Path) -> dict[str, str]:
    """A store in a directory, as settings."""
    store = await EmbeddedStore.open(directory)
    await store.migrate()
    await store.close()
    return {"store.data_dir": str(directory), **OFFLINE}


def rows(directory: Path) -> dict[str, int]:
    """How many rows each table of a store has."""
    db = apsw.Connection(str(directory / "kgsvc.db"))
    named = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    names = [str(name) for (name,) in db.execute(named)]
    counts = {name: int(next(db.execute(f'SELECT count(*) FROM "{name}"'))[0]) for name in names}
    db.close()
    return counts


async def test_groups_with_vectors_of_another_embedder_are_told(tmp_path: Path) -> None:
    """Before the service has begun to embed them anew, while it does, and once it has."""
    settings = await made(tmp_path / "data")
    store = await EmbeddedStore.open(tmp_path / "data")
    ada, _bob = await pair(store, "g")
    await write(store, "g", entities=(ada,), vectors={ada.uuid: bytes(8)}, space="other-2")
    said = [await _told_of_vectors(settings)]
    await store.begin_fills("hashing-v1-256", 0)
    said.append(await _told_of_vectors(settings))
    (work,) = await store.open_fills(NOW, 9)
    lease = present(await store.claim_fill(work, "me"))
    rev = (await store.heads(["g"]))["g"].rev
    await store.fill(lease, Filled((rev, ""), {}, lease.space, {}, rev), NOW)
    assert await store.switch_space(lease)
    said.append(await _told_of_vectors(settings))
    await store.close()
    other = "1 of 1 groups have vectors of another embedder than hashing-v1-256; "
    assert said == [
        f"{other}`kgsvc serve` embeds them anew",
        f"{other}1 are embedded anew, at least 0% of each looked through",
        "1 groups, none with vectors of another embedder",
    ]


async def _told_of_vectors(settings: dict[str, str]) -> str:
    done = await kgsvc("doctor", settings=settings)
    (line,) = [line for line in done.out.splitlines() if line.startswith("ok    vectors")]
    return line.removeprefix("ok    vectors").strip()


async def test_a_good_embedded_store_that_a_server_works_on(tmp_path: Path) -> None:
    settings = {"store.data_dir": str(tmp_path / "data"), "openai.api_key": "geheim"} | OFFLINE
    async with Service(settings, tmp_path):
        before = rows(tmp_path / "data")
        first = await kgsvc("doctor", settings=settings)
        assert faults(first) == []
        assert "openai.api_key = (set)  (environment)" in first.out
        assert "geheim" not in first.out + first.err
        assert first.out.splitlines()[-1] == f"All {len(EVERY_CHECK)} checks passed."
        read = await kgsvc("doctor", "--json", settings=settings)
        assert read.json["configuration"]["openai.api_key"] == "(set)"
        assert {check["check"] for check in read.json["checks"]} == EVERY_CHECK
        assert rows(tmp_path / "data") == before


async def test_what_a_doctor_that_was_killed_left_goes_too(tmp_path: Path) -> None:
    settings = await made(tmp_path)
    before = rows(tmp_path)
    store = await EmbeddedStore.open(tmp_path)
    await pair(store, f"{SCRATCH}check")
    await store.close()
    assert rows(tmp_path) != before
    assert faults(await kgsvc("doctor", settings=settings)) == []
    assert rows(tmp_path) == before


async def test_no_store_where_the_setting_points_and_none_is_made(tmp_path: Path) -> None:
    for typo in (tmp_path / "typo", tmp_path):
        (fault,) = faults(await kgsvc("doctor", "--data", typo, settings=OFFLINE))
        assert fault.startswith("store ")
        assert f"there is no store in {typo}" in fault
        assert "change store.data_dir" in fault
        assert not os.listdir(tmp_path)


async def test_a_store_without_an_index_and_a_key_that_everybody_reads(tmp_path: Path) -> None:
    settings = await made(tmp_path / "data")
    db = apsw.Connection(str(tmp_path / "data" / "kgsvc.db"))
    db.execute("DROP INDEX facts_slot")
    db.close()
    key = tmp_path / "digest.key"
    key.write_bytes(b"k" * 32)
    key.chmod(0o644)
    config = tmp_path / "kgsvc.toml"
    config.write_text('[openai]\napi_key = "geheim"\n')
    config.chmod(0o600)
    more = {"store.digest_key": str(key)}
    found = faults(await kgsvc("doctor", "--config", config, settings=settings | more))
    assert [fault.split()[0] for fault in found] == ["credentials", "indexes"]
    assert f"everybody can read {key}" in found[0]
    assert "facts_slot" in found[1]
    assert "change store.data_dir" in found[1]
    key.chmod(0o600)
    config.chmod(0o644)
    found = faults(await kgsvc("doctor", "--config", config, settings=settings | more))
    assert f"everybody can read {config}" in found[0]


async def test_a_schema_of_another_version(tmp_path: Path) -> None:
    settings = await made(tmp_path)
    for version, said in ((999, "upgrade"), (28, "scripts/move_store.py"), (0, "`kgsvc serve` makes it")):
        db = apsw.Connection(str(tmp_path / "kgsvc.db"))
        db.pragma("user_version", version)
        db.close()
        (fault,) = faults(await kgsvc("doctor", settings=settings))
        assert fault.startswith("schema ")
        assert said in fault


async def test_settings_that_do_not_fit_and_a_file_that_is_not_there(tmp_path: Path) -> None:
    settings = await made(tmp_path / "data")
    absent = {"server.tls_cert": str(tmp_path / "no.pem"), "server.tls_key": str(tmp_path / "no.key")}
    one, other = faults(await kgsvc("doctor", settings=settings | absent))
    assert one.startswith("settings ")
    assert "server.tls_cert: there is no file" in one
    assert other.startswith("credentials ")
    assert "change server.tls_key" in other
    bad = await kgsvc("doctor", settings=settings | {"server.role": "boss"})
    assert "KGSVC_SERVER_ROLE: must be one of" in bad.sentence


async def size(address: Address) -> list[int]:
    """How many nodes and relationships a Neo4j has."""
    async with AsyncGraphDatabase.driver(address.uri, auth=(address.user, address.password)) as driver:
        found = await driver.execute_query(
            "RETURN COUNT { MATCH () }, COUNT { MATCH ()-->() }", result_transformer_=AsyncResult.values
        )
    return list(found[0])


@pytest.fixture(params=NEO4J_LABELS)
async def neo4j(request: pytest.FixtureRequest, neo4j_servers: Servers) -> AsyncIterator[dict[str, str]]:
    """Settings of a migrated store on each Neo4j in turn."""
    address: Address = neo4j_servers(request.param)
    store = await Neo4jStore.connect(address.uri, address.user, address.password, deadline_s=PLANNED_S)
    await store.migrate()
    before = await size(address)
    await try_writes(store)  # a server that has just started plans every statement first
    yield {
        "store.kind": "neo4j",
        "store.neo4j_uri": address.uri,
        "store.neo4j_user": address.user,
        "store.neo4j_password": address.password,
        **OFFLINE,
    }
    assert await size(address) == before
    await store.close()


async def test_a_good_neo4j(neo4j: dict[str, str]) -> None:
    done = await kgsvc("doctor", settings=neo4j)
    assert faults(done) == []
    assert "community answers" in done.out


async def test_a_neo4j_that_refuses_the_password(neo4j: dict[str, str]) -> None:
    done = await kgsvc("doctor", settings=neo4j | {"store.neo4j_password": "geheim"})
    (fault,) = faults(done)
    assert "change store.neo4j_user or store.neo4j_password" in fault
    assert "geheim" not in done.out + done.err


async def test_a_neo4j_without_the_database(neo4j: dict[str, str]) -> None:
    (fault,) = faults(await kgsvc("doctor", settings=neo4j | {"store.neo4j_database": "nowhere"}))
    assert fault.startswith("store ")
    assert "change store.neo4j_database" in fault


async def test_no_neo4j_where_the_setting_points() -> None:
    (fault,) = faults(
        await kgsvc(
            "doctor", "--store", "neo4j", settings=OFFLINE | {"store.neo4j_uri": "bolt://127.0.0.1:1"}
        )
    )
    assert "change store.neo4j_uri, which is bolt://127.0.0.1:1" in fault


async def test_a_good_a_wrong_and_a_half_wrong_model_server(tmp_path: Path) -> None:
    gist = says('{"name": "Drinks", "summary": "Ann likes tea, Ben likes coffee."}')
    async with ScriptedOpenAI(lambda request: gist if request.endpoint == "chat" else None) as model:
        settings = await made(tmp_path) | {
            "models.extractor": "openai",
            "models.embedder": "openai",
            "openai.base_url": model.base_url,
            "openai.api_key": "geheim",
            "embedding.dimension": "64",
        }
        good = await kgsvc("doctor", settings=settings)
        assert faults(good) == []
        assert "answers in" in good.out
        assert "with 64 numbers" in good.out

        (fault,) = faults(await kgsvc("doctor", settings=settings | {"embedding.dimension": "1536"}))
        assert "64 numbers, embedding.dimension is 1536" in fault

        model.fail(status(401), times=None)
        model.fail(status(404), endpoint="embeddings", times=None)
        done = await kgsvc("doctor", settings=settings)
        refused, unknown = faults(done)
        assert refused.startswith("extractor ")
        assert "change openai.api_key" in refused
        assert "embedding.model" in unknown
        assert "geheim" not in done.out + done.err
    gone = faults(await kgsvc("doctor", settings=settings))
    assert [fault.split()[0] for fault in gone] == ["extractor", "embedder"]
    assert all("change openai.base_url" in fault for fault in gone)


async def test_the_model_that_embeds_on_this_machine_is_named(tmp_path: Path) -> None:
    pytest.importorskip("fastembed", reason="NOT TESTED WITH A LOCAL MODEL: the extra is not here")
    local = {"models.embedder": "local", "models.local_path": str(local_model())}
    settings = await made(tmp_path) | local
    done = await kgsvc("doctor", settings=settings)
    assert faults(done) == []
    assert "local-all-MiniLM-L6-v2-384 answers" in done.out
    (fault,) = faults(await kgsvc("doctor", settings=settings | {"models.local_model": "a/b"}))
    assert "models.local_model: fastembed knows no model a/b" in fault
