"""The gRPC server: every service of the contract, reflection, health, limits, and an orderly end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, TypeAlias

import grpc
import grpc.aio
from google.protobuf.descriptor import ServiceDescriptor
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from kgsvc.api.accepting import Accepting
from kgsvc.api.administering import Administering
from kgsvc.api.communities import Clustering
from kgsvc.api.correcting import Correcting
from kgsvc.api.exploring import Exploring
from kgsvc.api.following import Following
from kgsvc.api.graph_search import Searching
from kgsvc.api.health import Readiness
from kgsvc.api.interceptor import Around, CallInterceptor
from kgsvc.api.ontologies import OntologyOperations
from kgsvc.api.ports import Deps, ServerSettings
from kgsvc.api.retrieving import Retrieving
from kgsvc.api.streaming import Streaming
from kgsvc.api.symbols import symbols
from kgsvc.api.unary import serialise
from kgsvc.api.watching import Watching
from kgsvc.api.work import Work
from kgsvc.commands.communities import Communities
from kgsvc.commands.contention import Contention
from kgsvc.commands.deletion import Deletions
from kgsvc.commands.entities import EntityNodes
from kgsvc.commands.facts import Corrections
from kgsvc.commands.intake import AcceptCoalescer, Intake
from kgsvc.commands.merges import Merging
from kgsvc.v1 import admin_pb2, ingestion_pb2, retrieval_pb2

PACKAGE = "kgsvc.v1"
SERVICES: tuple[ServiceDescriptor, ...] = (
    ingestion_pb2.DESCRIPTOR.services_by_name["IngestionService"],
    retrieval_pb2.DESCRIPTOR.services_by_name["RetrievalService"],
    admin_pb2.DESCRIPTOR.services_by_name["AdminService"],
)
_HEADROOM_BYTES = 1024 * 1024
Handlers: TypeAlias = "Mapping[str, grpc.RpcMethodHandler[Any, Any]]"


class KgServer:
    """A gRPC server that is built, not yet listening."""

    def __init__(
        self,
        server: grpc.aio.Server,
        readiness: Readiness,
        work: Work,
        deps: Deps,
        coalescer: AcceptCoalescer,
    ) -> None:
        self._server = server
        self._readiness = readiness
        self._work = work
        self._grace_s = deps.settings.grace_s
        self._coalescer = coalescer

    def listen(self, address: str, credentials: grpc.ServerCredentials | None = None) -> int:
        """Bind HOST:PORT and return the port (0 takes a free one). Raises RuntimeError when it is taken."""
        if credentials is None:
            return self._server.add_insecure_port(address)
        return self._server.add_secure_port(address, credentials)

    async def start(self) -> None:
        """Answer calls; ready as soon as the store answers."""
        await self._server.start()
        await self._readiness.start()

    async def stop(self) -> None:
        """Refuse new calls, end streams at the next item, let calls under way finish within the grace."""
        await self._readiness.shut_down()
        self._work.stopping.set()
        await self._server.stop(self._grace_s)
        await self._work.drain(self._grace_s)
        await self._coalescer.close()

    async def wait(self) -> None:
        """Return when the server has stopped."""
        await self._server.wait_for_termination()


def build_server(deps: Deps) -> KgServer:
    """A server for everything in `deps`. Must be called on the event loop that serves."""
    work = Work(deps.settings.max_calls, deps.settings.max_call_bytes, deps.settings.max_streams)
    around = Around(work, deps.metrics, deps.clock, deps.new_id, deps.settings.default_deadline_s)
    server = grpc.aio.server(interceptors=(CallInterceptor(PACKAGE, around),), options=_options(deps))
    coalescer = AcceptCoalescer(deps.store, deps.pressure)
    handlers = _handlers(deps, coalescer, work.stopping)
    for service in SERVICES:
        methods = {method.name: handlers[method.name] for method in service.methods}
        generic = grpc.method_handlers_generic_handler(service.full_name, methods)
        server.add_generic_rpc_handlers((generic,))
    names = [service.full_name for service in SERVICES]
    readiness = Readiness(deps.store, names, deps.settings.readiness_s)
    health_pb2_grpc.add_HealthServicer_to_server(readiness.servicer, server)
    health_name = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name
    listed = (*names, health_name, reflection.SERVICE_NAME)
    reflection.enable_server_reflection(listed, server, pool=symbols())
    return KgServer(server, readiness, work, deps, coalescer)


def _handlers(deps: Deps, coalescer: AcceptCoalescer, stopping: asyncio.Event) -> Handlers:
    """A handler for each method of the contract."""
    store, limits, clock, activity = deps.store, deps.limits, deps.clock, deps.activity
    contention = Contention(deps.rng)
    merging = Merging(store, deps.embedder, limits, clock, contention)
    intake = Intake(coalescer, limits, clock, deps.new_id)
    accepting = Accepting(intake, EntityNodes(store, limits, clock, contention), activity, deps.metrics)
    families = (
        accepting,
        Following(store, activity, clock),
        Retrieving(store, deps.search, deps.memory, deps.metrics, clock, limits),
        Searching(deps.graph, deps.metrics, clock, deps.limits),
        Exploring(store, clock, limits),
        Correcting(store, Corrections(store, deps.embedder, limits, clock, contention), merging),
        Clustering(Communities(store, limits, clock, deps.new_id), activity),
        Administering(store, Deletions(store, merging, clock, contention), activity, clock, deps.info),
        OntologyOperations(store, deps.ontology),
    )
    streaming = Streaming(intake, accepting, deps.metrics, limits, deps.new_id, stopping)
    watching = Watching(store, activity, limits, clock, stopping, deps.settings.watch_deadline_s)
    handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
        name: operation.handler(limits)
        for family in families
        for name, operation in family.operations().items()
    }
    handlers["StreamEpisodes"] = grpc.stream_stream_rpc_method_handler(
        streaming.episodes, response_serializer=serialise
    )
    handlers["WatchReceipt"] = grpc.unary_stream_rpc_method_handler(
        watching.receipt, response_serializer=serialise
    )
    return handlers


def _options(deps: Deps) -> list[tuple[str, int]]:
    """Channel arguments. Messages up to twice S are received, so that LIMIT_EXCEEDED can be answered."""
    settings: ServerSettings = deps.settings
    return [
        # Unless it is meant to, a second server on one port must fail, not share it silently.
        ("grpc.so_reuseport", int(settings.shared_port)),
        ("grpc.max_receive_message_length", 2 * deps.limits.payload_bytes),
        ("grpc.max_send_message_length", deps.limits.response_bytes + _HEADROOM_BYTES),
        ("grpc.keepalive_time_ms", int(settings.keepalive_s * 1_000)),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", int(settings.min_ping_s * 1_000)),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", int(settings.min_ping_s * 1_000)),
        ("grpc.max_concurrent_streams", settings.max_calls + settings.max_streams),
    ]
