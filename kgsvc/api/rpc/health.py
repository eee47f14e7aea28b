"""Healthcheck, and grpc.health.v1: whether the store answers, for load balancers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from grpc_health.v1 import health, health_pb2

from kgsvc.api import mapping
from kgsvc.api.checks import RequestCheck
from kgsvc.api.envelope import Operation, Reply, Rpcs, Unary
from kgsvc.commands.core import Core
from kgsvc.domain.errors import KgError
from kgsvc.observability.probes import Probes
from kgsvc.stores.protocol import AdminStore
from kgsvc.v1 import admin_pb2

CONTRACT_REVISION = 2

log = logging.getLogger(__name__)
_SERVING = health_pb2.HealthCheckResponse.SERVING
_NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


@dataclass(frozen=True, slots=True)
class ServiceInfo:
    """What Healthcheck answers besides the info of the store."""

    version: str
    extractor: str
    embedder: str = ""  # empty: there is none


class HealthRpcs:
    """Healthcheck."""

    def __init__(self, core: Core, info: ServiceInfo) -> None:
        self._core = core
        self._info = info
        self.rpcs: Rpcs = {"Healthcheck": Unary(self._healthcheck, input_required=False)}

    def _healthcheck(self, _sent: admin_pb2.HealthcheckInput, _check: RequestCheck) -> Operation:
        async def run() -> Reply:
            store = await self._core.store.info()
            output = admin_pb2.HealthcheckOutput(
                status="healthy",
                contract_revision=CONTRACT_REVISION,
                version=self._info.version,
                store=store.kind,
                extractor=self._info.extractor,
                embedder=self._info.embedder,
                modes=mapping.modes(self._core.modes.now),
            )
            return Reply(output)

        return run


class Readiness:
    """Checks the store from time to time and sets the health status. Not ready before its first answer.

    `names` are what grpc.health.v1 can be asked for beside the whole: services, and the roles of the process
    as server.role calls them."""

    def __init__(self, store: AdminStore, names: Sequence[str], every_s: float, probes: Probes) -> None:
        self.servicer = health.aio.HealthServicer()
        self._store = store
        self._names = ("", *names)
        self._probes = probes
        self._every_s = every_s
        self._ready: bool | None = None
        self._loop: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Check once, then go on in the background."""
        await self.check()
        self._loop = asyncio.create_task(self._check_forever(), name="readiness")

    async def check(self) -> bool:
        """Ask the store and set the status of every name."""
        try:
            async with asyncio.timeout(self._every_s):
                await self._store.info()
            ready = True
        except (KgError, TimeoutError) as error:
            log.warning("the store does not answer: %s", str(error) or type(error).__name__)
            ready = False
        self._probes.store_answers = ready
        if ready != self._ready:
            self._ready = ready
            for name in self._names:
                await self.servicer.set(name, _SERVING if ready else _NOT_SERVING)
        return ready

    async def shut_down(self) -> None:
        """NOT_SERVING from now on, whether the store answers or not."""
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.gather(self._loop, return_exceptions=True)
        await self.servicer.enter_graceful_shutdown()

    async def _check_forever(self) -> None:
        while True:
            await asyncio.sleep(self._every_s)
            await self.check()
