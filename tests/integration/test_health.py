"""What probes and load balancers are told by real processes: grpc.health.v1, /healthz and /readyz."""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from kgsvc.observability.endpoint import ALIVE, READY, shown
from scripts.neo4j_files import free_port
from tests.integration.test_several_processes import all_live
from tests.support.service import Service

SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
METRICS = {"server.metrics_listen": "127.0.0.1:0"}
SERVICES = ("kgsvc.v1.IngestionService", "kgsvc.v1.RetrievalService", "kgsvc.v1.AdminService")
DEADLINE_S = 60.0
LOOK_S = 0.05


async def status(address: str, name: str) -> int:
    """What grpc.health.v1 says of a name. Raises grpc.aio.AioRpcError."""
    async with grpc.aio.insecure_channel(address) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        return int(
            (await health.Check(health_pb2.HealthCheckRequest(service=name), timeout=DEADLINE_S)).status
        )


async def probe(service: Service, path: str) -> tuple[int, str]:
    """What the service answers a probe."""
    return await asyncio.to_thread(shown, service.metrics_address, path, DEADLINE_S)


async def until(service: Service, path: str, code: int) -> str:
    """Why, once a probe is answered with this code."""
    async with asyncio.timeout(DEADLINE_S):
        while (answer := await probe(service, path))[0] != code:  # noqa: ASYNC110  another process's event
            await asyncio.sleep(LOOK_S)
    return answer[1]


async def watched(address: str, name: str) -> AsyncIterator[int]:
    """Each status of a name, as it changes."""
    async with grpc.aio.insecure_channel(address) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        async for answer in health.Watch(health_pb2.HealthCheckRequest(service=name)):
            yield answer.status


async def test_one_process_answers_for_its_services_and_both_roles(tmp_path: Path) -> None:
    async with Service(METRICS, tmp_path) as service:
        for name in ("", *SERVICES, "api", "worker"):
            assert await status(service.address, name) == SERVING, name
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await status(service.address, "nobody")
        assert caught.value.code() == grpc.StatusCode.NOT_FOUND
        assert await probe(service, READY) == await probe(service, ALIVE) == (200, "ok\n")
        shutil.rmtree(service.settings["store.data_dir"])
        assert await until(service, READY, 503) == "the store does not answer\n"
        for name in ("", *SERVICES, "api", "worker"):
            assert await status(service.address, name) == NOT_SERVING, name
        assert await probe(service, ALIVE) == (200, "ok\n"), "a restart would mend nothing"


async def test_a_worker_says_that_it_drains(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    settings = METRICS | {"server.role": "worker", "server.health_listen": address}
    async with Service(settings, tmp_path) as worker:
        assert await status(address, "") == await status(address, "worker") == SERVING
        with pytest.raises(grpc.aio.AioRpcError):
            await status(address, "api")
        assert (await probe(worker, READY))[0] == 200
        seen = watched(address, "worker")
        assert await anext(seen) == SERVING
        worker.send(signal.SIGTERM)
        assert await anext(seen) == NOT_SERVING
        await seen.aclose()  # type: ignore[attr-defined]
        assert await worker.ended() == 0


async def test_a_second_worker_does_not_share_the_port_of_the_first(tmp_path: Path) -> None:
    settings = {"server.role": "worker", "server.health_listen": f"127.0.0.1:{free_port()}"}
    async with Service(settings, tmp_path, "first"):
        second = Service(settings, tmp_path, "second")
        second.spawn()
        assert await second.ended() == 1
        assert "server.health_listen" in second.errors


async def test_several_processes_are_asked_one_by_one(tmp_path: Path) -> None:
    settings = METRICS | {"server.processes": "3", "server.health_listen": f"127.0.0.1:{free_port()}"}
    async with Service(settings, tmp_path) as service:
        assert await probe(service, READY) == await probe(service, ALIVE) == (200, "ok\n")
        assert await status(settings["server.health_listen"], "worker") == SERVING
        assert await status(service.address, "api") == SERVING
        worker = (await all_live(service))["worker-1"]
        os.kill(worker, signal.SIGSTOP)
        assert await probe(service, ALIVE) == (503, "worker-1: does not answer\n")
        assert await probe(service, READY) == (503, "worker-1: does not answer\n")
        os.kill(worker, signal.SIGKILL)
        assert await until(service, READY, 200) == await until(service, ALIVE, 200) == "ok\n"
