"""The gRPC server: every service of the contract, reflection, health, limits, and an orderly end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

import grpc
import grpc.aio
from google.protobuf.descriptor import FileDescriptor, ServiceDescriptor
from google.protobuf.descriptor_pool import Default, DescriptorPool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from kgsvc.api.access import Access, AccessInterceptor
from kgsvc.api.calls import CallBounds, CallInterceptor
from kgsvc.api.consistency import ConsistencyInterceptor
from kgsvc.api.envelope import Rpcs
from kgsvc.api.modes import ModeInterceptor
from kgsvc.api.rpc.answers import AnswerRpcs
from kgsvc.api.rpc.communities import CommunityRpcs
from kgsvc.api.rpc.documents import DocumentRpcs
from kgsvc.api.rpc.entities import EntityRpcs
from kgsvc.api.rpc.episodes import EpisodeRpcs
from kgsvc.api.rpc.facts import FactRpcs
from kgsvc.api.rpc.following import FollowingRpcs
from kgsvc.api.rpc.groups import GroupRpcs
from kgsvc.api.rpc.health import HealthRpcs, Readiness, ServiceInfo
from kgsvc.api.rpc.items import ItemRpcs
from kgsvc.api.rpc.modes import ModeRpcs
from kgsvc.api.rpc.search import SearchRpcs
from kgsvc.api.rpc.streams import StreamRpcs
from kgsvc.api.rpc.transfers import TransferRpcs, TransferSettings
from kgsvc.commands.core import Core
from kgsvc.commands.document_intake import DocumentIntake
from kgsvc.commands.items import ItemAcceptor
from kgsvc.commands.transfer.uploads import Uploads
from kgsvc.documents.cutting import Cutters
from kgsvc.documents.reading.reader import Reader
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import DEFAULT, Ontology
from kgsvc.models.protocol import Answerer
from kgsvc.observability.probes import Probes
from kgsvc.search.engine import Engine
from kgsvc.v1 import admin_pb2, ingestion_pb2, retrieval_pb2

PACKAGE = "kgsvc.v1"
SERVICES: tuple[ServiceDescriptor, ...] = (
    ingestion_pb2.DESCRIPTOR.services_by_name["IngestionService"],
    retrieval_pb2.DESCRIPTOR.services_by_name["RetrievalService"],
    admin_pb2.DESCRIPTOR.services_by_name["AdminService"],
)
_HEADROOM_BYTES = 1024 * 1024
_RECEIVED = 8  # times the largest payload


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Bounds on what one process serves at once. Times in seconds."""

    max_calls: int = 512  # unary calls that run at once; more are OVERLOADED
    max_call_bytes: int = 256 * 1024 * 1024  # of their requests
    max_streams: int = 1_024
    default_deadline_s: float = 60.0  # of a unary call whose client set none
    watch_deadline_s: float = 3_600.0  # of WatchReceipt, WatchGroup, ExportGroup and ImportGroup
    grace_s: float = 10.0  # for running calls at shutdown
    readiness_s: float = 5.0  # between two checks whether the store answers
    keepalive_s: float = 60.0  # between two pings to a silent client
    min_ping_s: float = 10.0  # clients that ping more often are disconnected
    shared_port: bool = False  # other processes of this service listen there too


@dataclass(frozen=True, slots=True)
class Served:
    """What a server needs besides the core."""

    search: Engine
    info: ServiceInfo
    settings: ServerSettings = field(default_factory=ServerSettings)
    ontology: Ontology = DEFAULT  # of groups that have none of their own
    access: Access = field(default_factory=Access)
    reader: Reader = field(default_factory=Reader)
    cutters: Cutters = field(default_factory=Cutters)
    answerer: Answerer | None = None  # None: Ask composes contexts alone
    roles: tuple[str, ...] = ("api",)  # of this process, for grpc.health.v1
    probes: Probes | None = None  # kept current here
    uploads: Uploads = field(default_factory=partial(Uploads, Path("data/imports")))


@dataclass(frozen=True, slots=True)
class _Details:
    """What interceptors are told of a call."""

    method: str
    invocation_metadata: tuple[()] = ()


class KgServer:
    """A gRPC server of the whole contract, not yet listening. Made on the event loop that serves."""

    def __init__(self, core: Core, served: Served) -> None:
        settings = served.settings
        self._grace_s = settings.grace_s
        self._bounds = CallBounds(settings.max_calls, settings.max_call_bytes, settings.max_streams)
        self._acceptor = ItemAcceptor(core)
        self._cutters = served.cutters
        names = [service.full_name for service in SERVICES]
        probes = served.probes or Probes(core.clock.monotonic)
        health_of = (*names, *served.roles)
        self._readiness = Readiness(core.store, health_of, settings.readiness_s, probes)
        self._around = self._interceptors(core, served)
        self._handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}
        self._server = grpc.aio.server(interceptors=self._around, options=_options(settings, core.limits))
        rpcs = _rpcs(core, served, self._acceptor, self._bounds.stopping)
        for service in SERVICES:
            methods = {each.name: rpcs[each.name].handler(each, core.limits) for each in service.methods}
            self._handlers |= {f"/{service.full_name}/{name}": each for name, each in methods.items()}
            generic = grpc.method_handlers_generic_handler(service.full_name, methods)
            self._server.add_generic_rpc_handlers((generic,))
        health_pb2_grpc.add_HealthServicer_to_server(self._readiness.servicer, self._server)
        listed = (*names, health_pb2.DESCRIPTOR.services_by_name["Health"].full_name, reflection.SERVICE_NAME)
        symbols = cast(DescriptorPool, _Symbols(Default()))
        reflection.enable_server_reflection(listed, self._server, pool=symbols)

    def _interceptors(self, core: Core, served: Served) -> list[grpc.aio.ServerInterceptor]:
        """The outer one first."""
        access, deadline_s = served.access, served.settings.default_deadline_s
        made: list[grpc.aio.ServerInterceptor] = [
            CallInterceptor(PACKAGE, core, self._bounds, deadline_s, access.note)
        ]
        if access.authenticator is not None:
            made.append(
                AccessInterceptor(PACKAGE, access.settings, access.authenticator, access.rates, access.note)
            )
        made.append(ModeInterceptor(PACKAGE, core.modes))
        made.append(ConsistencyInterceptor(PACKAGE, core.store))
        return made

    async def handler(self, method: str) -> grpc.RpcMethodHandler[Any, Any] | None:
        """What answers `/SERVICE/METHOD`, with all that stands around it: for calls that do not come by gRPC.
        None: there is no such method."""

        async def innermost(details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any] | None:
            return self._handlers.get(details.method)

        find: Callable[[Any], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]] = innermost
        for interceptor in reversed(self._around):
            find = partial(interceptor.intercept_service, find)
        return await find(_Details(method)) if method in self._handlers else None

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
        """Refuse new calls, end streams at the next item, let running calls finish within the grace."""
        await self._readiness.shut_down()
        self._bounds.stopping.set()
        await self._server.stop(self._grace_s)
        await self._bounds.drain(self._grace_s)
        await self._acceptor.close()
        await self._cutters.close()

    async def wait(self) -> None:
        """Return when the server has stopped."""
        await self._server.wait_for_termination()


def _rpcs(core: Core, served: Served, acceptor: ItemAcceptor, stopping: asyncio.Event) -> Rpcs:
    """Every RPC of the contract, by name."""
    transfers = TransferSettings(served.info.version, served.settings.watch_deadline_s)
    documents = DocumentRpcs(core, DocumentIntake(core, acceptor, served.cutters), served.reader)
    nouns = (
        AnswerRpcs(core, served.search, served.answerer),
        CommunityRpcs(core),
        documents,
        EntityRpcs(core, served.ontology),
        EpisodeRpcs(core, acceptor),
        FactRpcs(core),
        FollowingRpcs(core, stopping, served.settings.watch_deadline_s),
        GroupRpcs(core, served.ontology),
        HealthRpcs(core, served.info),
        ItemRpcs(core, stopping, served.settings.watch_deadline_s),
        ModeRpcs(core),
        SearchRpcs(core, served.search),
        StreamRpcs(core, acceptor, documents, stopping),
        TransferRpcs(core, served.uploads, transfers, stopping),
    )
    return {name: rpc for noun in nouns for name, rpc in noun.rpcs.items()}


def _options(settings: ServerSettings, limits: Limits) -> list[tuple[str, int]]:
    """Channel arguments. Messages of up to 8 times S are received, so that LIMIT_EXCEEDED can be answered and
    a stream goes on; gRPC itself ends the call of a larger one."""
    return [
        # Unless it is meant to, a second server on one port must fail, not share it silently.
        ("grpc.so_reuseport", int(settings.shared_port)),
        ("grpc.max_receive_message_length", _RECEIVED * limits.payload_bytes),
        ("grpc.max_send_message_length", limits.response_bytes + _HEADROOM_BYTES),
        ("grpc.keepalive_time_ms", int(settings.keepalive_s * 1_000)),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", int(settings.min_ping_s * 1_000)),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", int(settings.min_ping_s * 1_000)),
        ("grpc.max_concurrent_streams", settings.max_calls + settings.max_streams),
    ]


class _Symbols:
    """The default descriptors for reflection; also finds the file of a method, which protobuf's own lookup
    does not."""

    def __init__(self, pool: DescriptorPool) -> None:
        self._pool = pool

    def FindFileContainingSymbol(self, symbol: str) -> FileDescriptor:
        """The file that defines `symbol`. Raises KeyError."""
        try:
            return self._pool.FindFileContainingSymbol(symbol)
        except KeyError:
            return self._pool.FindMethodByName(symbol).containing_service.file

    def __getattr__(self, name: str) -> Any:
        """Everything else as the pool has it."""
        return getattr(self._pool, name)
