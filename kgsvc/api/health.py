"""grpc.health.v1, following whether the store answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from grpc_health.v1 import health, health_pb2

from kgsvc.domain.errors import KgError
from kgsvc.stores.protocol import AdminStore

log = logging.getLogger(__name__)
_SERVING = health_pb2.HealthCheckResponse.SERVING
_NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class Readiness:
    """Looks at the store from time to time and tells load balancers. Not ready until it answered once."""

    def __init__(self, store: AdminStore, services: Sequence[str], every_s: float) -> None:
        self.servicer = health.aio.HealthServicer()
        self._store = store
        self._services = ("", *services)
        self._every_s = every_s
        self._ready: bool | None = None
        self._loop: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Look once, then go on in the background."""
        await self.look()
        self._loop = asyncio.create_task(self._look_forever(), name="readiness")

    async def look(self) -> bool:
        """Ask the store and set the status of every service."""
        try:
            async with asyncio.timeout(self._every_s):
                await self._store.info()
            ready = True
        except (KgError, TimeoutError) as error:
            log.warning("the store does not answer: %s", type(error).__name__)
            ready = False
        if ready != self._ready:
            self._ready = ready
            for service in self._services:
                await self.servicer.set(service, _SERVING if ready else _NOT_SERVING)
        return ready

    async def shut_down(self) -> None:
        """NOT_SERVING from now on, whatever the store does."""
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.gather(self._loop, return_exceptions=True)
        await self.servicer.enter_graceful_shutdown()

    async def _look_forever(self) -> None:
        while True:
            await asyncio.sleep(self._every_s)
            await self.look()
