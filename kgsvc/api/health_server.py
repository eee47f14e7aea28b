"""The gRPC server of a process that answers no calls: grpc.health.v1 and nothing else."""

from __future__ import annotations

import grpc.aio
from grpc_health.v1 import health_pb2_grpc

from kgsvc.api.rpc.health import Readiness
from kgsvc.observability.probes import Probes
from kgsvc.stores.protocol import AdminStore

_GRACE_S = 1.0  # for those who watch, once all work is done


class HealthServer:
    """Says whether a worker is ready, also while it drains. Without an address it only keeps `probes`
    current."""

    def __init__(
        self, store: AdminStore, probes: Probes, *, every_s: float = 5.0, shared_port: bool = False
    ) -> None:
        self._readiness = Readiness(store, ("worker",), every_s, probes)
        self._server = grpc.aio.server(options=[("grpc.so_reuseport", int(shared_port))])
        health_pb2_grpc.add_HealthServicer_to_server(self._readiness.servicer, self._server)

    def listen(self, address: str) -> int:
        """Bind HOST:PORT and return the port. Raises RuntimeError when it is taken."""
        return self._server.add_insecure_port(address)

    async def start(self) -> None:
        """Look at the store and answer."""
        await self._readiness.start()
        await self._server.start()

    async def drain(self) -> None:
        """NOT_SERVING from now on."""
        await self._readiness.shut_down()

    async def stop(self) -> None:
        """Answer no more."""
        await self._server.stop(_GRACE_S)
