"""`kgsvc serve --processes N`: several processes that are one service."""

import asyncio
import json
import os
import re
import signal
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from kgsvc.processes import cores
from kgsvc.v1 import types_pb2 as typ
from tests.integration.cli.conftest import kgsvc
from tests.support.client import Client, completed, episode, message
from tests.support.service import Service
from tests.support.store_spec import StoreSpec

THREE = {"server.processes": "3", "server.metrics_listen": "127.0.0.1:0"}
API, WORKER = ("api-1", "api-2"), "worker-1"
CONNECTIONS = 24  # all on one of two processes: once in eight million
SHARED = 3  # of so many neighbours one sends
AT_MS = 1_717_000_000_000
LOOK_S = 0.05
DEADLINE_S = 60.0
QUIET = {"server.metrics_listen": ""}


def lives(service: Service) -> dict[str, list[int]]:
    """The process ids of each process that came to serve, the last one last."""
    found: dict[str, list[int]] = {}
    for line in service.errors.splitlines():
        told = json.loads(line) if line.startswith("{") else {}
        if told.get("message") == "a process serves":
            found.setdefault(told["member"], []).append(told["pid"])
    return found


async def all_live(service: Service) -> dict[str, int]:
    """The process id of each of the three, once the log, which follows the announcement, names them all."""
    async with asyncio.timeout(DEADLINE_S):
        while len(found := lives(service)) < len((*API, WORKER)):  # noqa: ASYNC110  another process's event
            await asyncio.sleep(LOOK_S)
    return {name: pids[-1] for name, pids in found.items()}


async def restarted(service: Service, name: str, after: int) -> None:
    """Return once another process than `after` serves under `name`."""
    async with asyncio.timeout(DEADLINE_S):
        while lives(service)[name][-1] == after:  # noqa: ASYNC110  another process's event
            await asyncio.sleep(LOOK_S)


async def gone(pids: list[int]) -> None:
    """Return once none of these processes runs."""
    async with asyncio.timeout(DEADLINE_S):
        while any(map(runs, pids)):  # noqa: ASYNC110  another process's event
            await asyncio.sleep(LOOK_S)


def runs(pid: int) -> bool:
    """Whether a process is there and is no zombie, which nobody may reap here."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


async def counted(service: Service, meter: str) -> Counter[str]:
    """A counter by process."""
    found: Counter[str] = Counter()
    for labels, value in re.findall(rf"^{meter}\{{(.*)\}} (\S+)$", await service.metrics(), re.MULTILINE):
        found[re.findall(r'process="([^"]+)"', labels)[0]] += int(float(value))
    return found


async def test_connections_to_one_port_reach_several_processes_that_know_the_same(
    store_spec: StoreSpec, group: str, tmp_path: Path
) -> None:
    """Each call on a connection of its own: sending, streaming, watching, asking, searching."""
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(Service(store_spec.settings | THREE, tmp_path))
        clients = [await stack.enter_async_context(Client(service.address)) for _ in range(CONNECTIONS)]
        for n, client in list(enumerate(clients))[::SHARED]:
            streaming, watching, asking, searching = (clients[(n + k) % CONNECTIONS] for k in range(1, 5))
            who = f"Person{n:02}"
            said = await client.add_messages(
                group, [message("I live in Oslo.", AT_MS + n, role=who, uuid=f"m{n}")]
            )
            (told,) = await streaming.stream_episodes(
                group, [episode(f"{who} works at Globex.", AT_MS + n, uuid=f"e{n}")]
            )
            completed(await watching.wait_receipt(said.receipt_id))
            completed(await watching.wait_receipt(told.receipt_id))
            assert (await asking.receipt(said.receipt_id)).done
            found = await searching.search(group, f"Where does {who} live and work?")
            assert {f"m{n}", f"e{n}"} <= {uuid for fact in found for uuid in fact.episodes}
        calls = await counted(service, "kgsvc_rpc_requests_total")
        assert all(calls[name] > 0 for name in API), calls
        assert calls[WORKER] == 0
        assert (await counted(service, "ingestion_processed_total"))[WORKER] == 2 * CONNECTIONS / SHARED
        pids = [pid for each in lives(service).values() for pid in each]
        assert len(pids) == len({service.pid, *pids}) - 1 == 3
        assert await service.terminate() == 0
        assert not any(map(runs, pids))


async def test_a_process_that_dies_is_started_again(embedded_spec: StoreSpec, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(Service(embedded_spec.settings | THREE, tmp_path))
        first = await all_live(service)
        for name in (*API, WORKER):
            os.kill(first[name], signal.SIGKILL)
        for name in (*API, WORKER):
            await restarted(service, name, first[name])
        clients = [await stack.enter_async_context(Client(service.address)) for _ in range(CONNECTIONS)]
        for n, client in enumerate(clients):
            await client.ingest("g", [episode(f"Person{n:02} works at Globex.", AT_MS + n, uuid=f"e{n}")])
        assert await counted(service, "kgsvc_process_restarts_total") == Counter(dict.fromkeys(first, 1))
        calls = await counted(service, "kgsvc_rpc_requests_total")
        assert all(calls[name] > 0 for name in API), calls
        assert await service.terminate() == 0
        assert not any(runs(pid) for pids in lives(service).values() for pid in pids)


async def test_no_process_outlives_the_one_that_started_it(embedded_spec: StoreSpec, tmp_path: Path) -> None:
    """Killed, it can tell nobody: the others notice, and drain."""
    async with Service(embedded_spec.settings | THREE, tmp_path) as service:
        pids = list((await all_live(service)).values())
        assert all(map(runs, pids))
        service.kill9()
        await gone(pids)
    drained = [json.loads(line) for line in service.errors.splitlines() if '"draining"' in line]
    assert len(drained) == len(pids)


async def test_where_no_number_is_set_two_cores_run_two_processes(
    embedded_spec: StoreSpec, tmp_path: Path
) -> None:
    """One ingests what the other accepts."""
    settings = embedded_spec.settings | {"server.processes": "0"}
    async with Service(settings, tmp_path) as service, Client(service.address) as client:
        accepted = await client.add_messages("team", [message("Ada works at Acme.", AT_MS)])
        items = await client.wait_receipt(accepted.receipt_id)
        assert [item.state for item in items.values()] == [typ.ITEM_STATE_COMPLETED]
        count = 2 if cores() > 1 else 1
        assert re.search(rf"processes +{count}$", (tmp_path / "server.out").read_text(), re.MULTILINE)
        assert await service.terminate() == 0


async def test_a_service_that_cannot_start_says_why_in_a_sentence(
    embedded_spec: StoreSpec, tmp_path: Path
) -> None:
    """Its own data directory is no directory, or another service has the port, alone or shared."""
    two = QUIET | {"server.processes": "2"}
    done = await kgsvc("serve", "--data", "/proc/kgsvc", "--listen", "127.0.0.1:0", settings=two)
    assert (done.code, done.out, len(done.err.splitlines())) == (1, "", 1), done.err
    assert "/proc/kgsvc" in done.err
    for processes in ("1", "2"):
        settings = embedded_spec.settings | {"server.processes": processes}
        async with Service(settings, tmp_path, f"first-{processes}") as first:
            done = await kgsvc("serve", "--data", tmp_path / "other", "--listen", first.address, settings=two)
            assert (done.code, done.out) == (1, "")
            says = f"Error: server.listen: cannot listen on {first.address}, is the port in use?\n"
            assert done.err == says
            one = await kgsvc(
                "serve", "--data", tmp_path / "other", "--listen", first.address, settings=QUIET
            )
            assert (one.code, one.err) == (1, says)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_before_all_are_ready_ends_all(
    embedded_spec: StoreSpec, tmp_path: Path, number: signal.Signals
) -> None:
    service = Service(embedded_spec.settings | THREE, tmp_path)
    service.spawn()
    try:
        await service.printed("a process serves")
        service.send(number)
        assert await service.ended() == 0
    finally:
        await service.stop()
    await gone([pid for each in lives(service).values() for pid in each])
