"""serve, console and demo: the commands that start a service themselves, and health of workers."""

import asyncio
import os
import re
import shutil
import signal
import socket
from pathlib import Path

import apsw
import httpx
import pytest

from tests.integration.cli.conftest import DEADLINE_S, kgsvc
from tests.support.service import Service, environment
from tests.support.spawning import Copy

QUIET = {"server.metrics_listen": ""}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_serve_says_what_it_runs_on_and_ends_on_a_signal(
    tmp_path: Path, number: signal.Signals
) -> None:
    settings = {"store.data_dir": str(tmp_path / "data"), "server.metrics_listen": "127.0.0.1:0"}
    async with Service(settings, tmp_path) as service:
        service.send(number)
        assert await service.ended() == 0
        said = (tmp_path / "server.out").read_text()
    assert "embedded SQLite" in said
    assert "extractor  offline" in said
    assert "http://127.0.0.1:" in said
    assert f"grpcurl -plaintext {service.address} kgsvc.v1.AdminService/Healthcheck" in said


async def test_a_port_in_use_is_a_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = await kgsvc("serve", "--data", tmp_path / "a", "--listen", address, settings=QUIET)
        assert (done.code, done.out) == (1, "")
        assert done.err == f"Error: server.listen: cannot listen on {address}, is the port in use?\n"


async def test_a_second_service_of_a_machine_takes_the_next_port_for_metrics(tmp_path: Path) -> None:
    settings = {"store.data_dir": str(tmp_path / "a"), "server.metrics_listen": "127.0.0.1:0"}
    async with Service(settings, tmp_path, "one") as one:
        second = {"store.data_dir": str(tmp_path / "b"), "server.metrics_listen": one.metrics_address}
        async with Service(second, tmp_path, "two") as two:
            assert two.metrics_address != one.metrics_address
            assert f"/metrics ({one.metrics_address} is taken)" in (tmp_path / "two.out").read_text()
            assert "kgsvc_store_answers 1.0" in await two.metrics()


@pytest.mark.parametrize("processes", ["1", "2"])
async def test_a_worker_can_be_checked(tmp_path: Path, processes: str) -> None:
    data = tmp_path / "data"
    settings = {
        "store.data_dir": str(data),
        "server.role": "worker",
        "server.metrics_listen": "127.0.0.1:0",
        "server.processes": processes,
    }
    async with Service(settings, tmp_path) as worker:
        here = {"server.role": "worker", "server.metrics_listen": worker.metrics_address}
        done = await kgsvc("health", settings=here)
        assert (done.code, done.out) == (0, f"the worker at {worker.metrics_address} is SERVING\n")
        del here["server.role"]
        assert (await kgsvc("health", "--role", "worker", settings=here)).code == 0
        shutil.rmtree(data)
        async with asyncio.timeout(DEADLINE_S):  # each process looks at the store by itself
            while (done := await kgsvc("health", "--role", "worker", settings=here)).code == 0:
                pass
        assert "is NOT_SERVING: " in done.sentence
        assert "the store does not answer" in done.sentence
        assert await worker.terminate() == 0
    done = await kgsvc("health", "--role", "worker", settings=here)
    assert "no worker answers at" in done.sentence


async def test_the_console_serves_the_page_and_opens_it(tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >{browser}.new\nmv {browser}.new {tmp_path}/opened\n')
    browser.chmod(0o755)
    settings = QUIET | {"server.listen": "127.0.0.1:0", "server.grace_s": "1"}
    process = Copy(
        ("console", "--data", str(tmp_path / "data")),
        environment(settings) | {"BROWSER": f"{browser} %s"},
        tmp_path / "out",
        tmp_path / "err",
    )
    try:
        async with asyncio.timeout(DEADLINE_S):
            while not (tmp_path / "opened").exists():  # noqa: ASYNC110  another process writes it
                await asyncio.sleep(0.02)
        url = (tmp_path / "opened").read_text().strip()
        assert f"The page: {url}" in (tmp_path / "out").read_text()
        async with httpx.AsyncClient(trust_env=False) as http:
            assert "<title>kgsvc</title>" in (await http.get(url)).text
        process.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(process.wait, DEADLINE_S) == 0
    finally:
        process.kill()


async def test_a_data_directory_that_cannot_be_used_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for folder in (file / "below", Path("/proc/kgsvc")):
        done = await kgsvc("serve", "--data", folder, "--listen", "127.0.0.1:0", settings=QUIET)
        assert str(folder) in done.sentence


async def test_a_newer_schema_is_a_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with Service({"store.data_dir": str(folder)}, tmp_path) as service:
        await service.terminate()
    db = apsw.Connection(str(folder / "kgsvc.db"))
    db.pragma("user_version", 999)
    db.close()
    done = await kgsvc("serve", "--data", folder, "--listen", "127.0.0.1:0", settings=QUIET)
    assert "newer" in done.sentence


async def test_a_neo4j_that_is_not_there_is_a_sentence() -> None:
    settings = QUIET | {"store.neo4j_uri": "bolt://127.0.0.1:1", "store.neo4j_password": "geheim"}
    done = await kgsvc("serve", "--store", "neo4j", "--listen", "127.0.0.1:0", settings=settings)
    assert "bolt://127.0.0.1:1" in done.sentence
    assert "geheim" not in done.err


async def test_other_machines_are_let_in_only_deliberately(tmp_path: Path) -> None:
    done = await kgsvc("serve", "--data", tmp_path, "--listen", "0.0.0.0:0", settings=QUIET)
    assert "server.insecure" in done.sentence


async def test_bad_settings_are_all_named(tmp_path: Path) -> None:
    file = tmp_path / "kgsvc.toml"
    file.write_text('[server]\nrole = "boss"\n[stor]\n')
    done = await kgsvc("serve", "--config", file)
    assert "server.role" in done.sentence
    assert "[stor]" in done.err


async def test_the_demo_shows_facts_validity_history_and_sources() -> None:
    for _ in range(2):
        done = await kgsvc("demo")
        assert done.code == 0, done.err
        assert "Alice Chen works at Quarry Systems" in done.out
        assert "since 2024-10-01" in done.out
        assert "2024-01-08 to 2024-10-01" in done.out
        assert "superseded, and kept" in done.out
        assert "demo-14: Bruno Keller(user): I work at Lumen Labs now." in done.out


async def test_the_demo_ends_with_the_page_until_it_is_stopped(tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = Copy(("demo", "--page"), environment({}) | {"TMPDIR": str(tmp_path)}, out, tmp_path / "err")
    try:
        async with asyncio.timeout(DEADLINE_S):
            while "until Ctrl-C" not in (out.read_text() if out.exists() else ""):  # noqa: ASYNC110  another process writes it
                await asyncio.sleep(0.02)
        url = re.findall(r"^The page: (http://127\.0\.0\.1:\d+)/#/demo$", out.read_text(), re.MULTILINE)[0]
        async with httpx.AsyncClient(trust_env=False) as http:
            assert "<title>kgsvc</title>" in (await http.get(url)).text
            listed = await http.post(f"{url}/kgsvc.v1.AdminService/ListGroups", json={"input": {}})
            assert [each["groupId"] for each in listed.json()["output"]["groups"]] == ["demo"]
        process.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(process.wait, DEADLINE_S) == 0
    finally:
        process.kill()
    assert not any(name.startswith("kgsvc-demo-") for name in os.listdir(tmp_path))


async def test_a_server_whose_data_was_removed_says_so_and_takes_nothing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with Service({"store.data_dir": str(data)}, tmp_path) as service:
        there = ("--server", service.address)
        ingest = ("ingest", "-", "--group", "g", "--timeout", "3", *there)
        assert (await kgsvc(*ingest, stdin="Alice works at Acme.")).code == 0
        shutil.rmtree(data)
        done = await kgsvc(*ingest, stdin="Bob works at Acme.")
        assert (done.code, done.out) == (1, "")
        assert "UNAVAILABLE" in done.err
        await service.printed("the store does not answer: the file of the embedded store was removed")
        health = await kgsvc("health", *there)
        assert (health.code, "is NOT_SERVING" in health.err) == (1, True)
