"""The composition root: the only place that knows every room.

Start: store opened and migrated, models, then the workers (role worker or all), then the gRPC server (role
api or all). Stop: the reverse; workers commit what they have begun and give their leases back.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
import socket
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import grpc
import uvloop

from kgsvc import ontology as ontology_yaml
from kgsvc.announcement import Running
from kgsvc.api.ids import RandomIds
from kgsvc.api.ports import Deps, ServerSettings, ServiceInfo
from kgsvc.api.server import KgServer, build_server
from kgsvc.commands.memory import GetMemory
from kgsvc.communities.builder import CommunityBuilder
from kgsvc.communities.describing import Describer
from kgsvc.communities.detection import Follower, Louvain
from kgsvc.config import ConfigError, Settings, read_ontology, split_address
from kgsvc.domain.clock import Clock, SystemClock
from kgsvc.domain.errors import ServiceError
from kgsvc.domain.model.ontology import Ontology
from kgsvc.jobs.activity import ActivityWatch
from kgsvc.jobs.builds import build_work
from kgsvc.jobs.dispatcher import Dispatcher
from kgsvc.jobs.groups import Steps, group_work
from kgsvc.jobs.retry import RetryPolicy
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.models.hashing import HashingEmbedder
from kgsvc.models.protocol import (
    CrossEncoder,
    Embedder,
    Extractor,
    Meter,
    Resolver,
    Summariser,
    SummaryWriter,
)
from kgsvc.models.rules.extractor import OfflineExtractor
from kgsvc.observability.counting import counted
from kgsvc.observability.logs import LogWriter
from kgsvc.observability.metrics import Metrics, MetricsEndpoint
from kgsvc.observability.outcomes import Outcomes
from kgsvc.pipeline.commit import Committer
from kgsvc.pipeline.preparing import IntakePressure, Ontologies, Preparer
from kgsvc.pipeline.summaries import Rewriter
from kgsvc.search.search import SearchFacts
from kgsvc.search.search_graph import SearchGraph
from kgsvc.stores.protocol import Store

log = logging.getLogger(__name__)
_SAMPLE_S = 1.0


@dataclass(frozen=True, slots=True)
class Models:
    """The configured models. `resolver` is None where nobody is asked: names and facts are told apart by rule
    alone. `embedder` is None where search goes by keywords alone. `summariser` is None where summaries of
    communities are composed; `writer` is None where those of entities are. `cross_encoder` is None where no
    model rates what a search found."""

    extractor: Extractor
    resolver: Resolver | None
    embedder: Embedder | None
    summariser: Summariser | None = None
    writer: SummaryWriter | None = None
    cross_encoder: CrossEncoder | None = None


async def open_store(settings: Settings) -> Store:
    """The configured store, not yet migrated. Raises StoreUnavailable."""
    store = settings.store
    if store.kind == "neo4j":
        from kgsvc.stores.neo4j import Neo4jStore

        return await Neo4jStore.connect(
            store.neo4j_uri, store.neo4j_user, store.neo4j_password, store.neo4j_database
        )
    from kgsvc.stores.embedded import EmbeddedStore

    return await EmbeddedStore.open(store.data_dir)


def make_models(settings: Settings, meter: Meter | None = None) -> Models:
    """The configured models; those that ingest share one chat and what it learns of its server."""
    embedder = make_embedder(settings, meter)
    if settings.extractor == "offline":
        return Models(OfflineExtractor(settings.limits), None, embedder)
    from kgsvc.models.openai.chat import Chat
    from kgsvc.models.openai.extractor import OpenAIExtractor
    from kgsvc.models.openai.rating import OpenAICrossEncoder
    from kgsvc.models.openai.resolver import OpenAIResolver
    from kgsvc.models.openai.summaries import OpenAISummariser, OpenAISummaryWriter
    from kgsvc.models.openai.transport import Transport

    chat = Chat(Transport(settings.openai), settings.chat, meter)
    return Models(
        OpenAIExtractor(chat, settings.limits),
        OpenAIResolver(chat, settings.limits),
        embedder,
        OpenAISummariser(chat),
        OpenAISummaryWriter(chat),
        # A chat of its own: who searches must not queue behind extractions.
        OpenAICrossEncoder(Chat(Transport(settings.openai), settings.chat, meter)),
    )


def make_embedder(settings: Settings, meter: Meter | None = None) -> Embedder | None:
    """The configured embedder; None: keywords alone. Raises ConfigError."""
    if settings.embedder == "none":
        return None
    if settings.embedder == "offline":
        return HashingEmbedder()
    if settings.embedder == "local":
        return _local_embedder(settings)
    from kgsvc.models.openai.embedder import OpenAIEmbedder
    from kgsvc.models.openai.transport import Transport

    # A transport of its own: a query's embedding must not queue behind extractions.
    return OpenAIEmbedder(Transport(settings.openai), settings.embedding, meter)


def _local_embedder(settings: Settings) -> Embedder:
    try:
        from kgsvc.models.local import LocalEmbedder
    except ModuleNotFoundError as error:
        says = f"models.embedder is local, which needs the extra kgsvc[local]: there is no {error.name}"
        raise ConfigError(says) from error
    try:
        return LocalEmbedder(settings.models.local_path or Path(), settings.models.local_model)
    except ValueError as error:
        raise ConfigError(f"models.local_model: {error}") from error


@asynccontextmanager
async def running(settings: Settings, clock: Clock | None = None) -> AsyncIterator[Running]:
    """A service that runs inside the block.

    Raises ConfigError (also: an address that cannot be bound), StoreUnavailable.
    """
    settings.verify()
    ontology = await asyncio.to_thread(read_ontology, settings.server.ontology_file)
    clock = clock or SystemClock()
    rng = random.Random()
    metrics = Metrics(settings.server.metrics_groups)
    async with AsyncExitStack() as stack:
        metrics_address = _serve_metrics(settings, metrics, stack)
        plain = await open_store(settings)
        stack.push_async_callback(plain.close)
        await plain.migrate()
        store = counted(plain, metrics)
        models = make_models(settings, metrics)
        stack.push_async_callback(models.extractor.close)
        if models.embedder is not None:
            stack.push_async_callback(models.embedder.close)
        if models.cross_encoder is not None:
            stack.push_async_callback(models.cross_encoder.close)
        activity = ActivityWatch(store, settings.queue.poll_s, rng)
        pressure = IntakePressure()
        _background(stack, activity.run(), "activity")
        _background(stack, _sample(store, metrics, clock), "sampling")
        if settings.server.role != "api":
            ontologies = Ontologies(store, ontology_yaml.read, ontology)
            await _start_worker(
                settings, store, models, ontologies, metrics, activity, pressure, clock, rng, stack
            )
        address = None
        if settings.server.role != "worker":
            address = await _start_server(
                settings, store, models, ontology, metrics, activity, pressure, clock, rng, stack
            )
        info = await store.info()
        name = models.embedder.space if models.embedder else None
        yield Running(address, metrics_address, info, models.extractor.name, name)


def run(settings: Settings, announce: Callable[[Running], None], parent: int | None = None) -> None:
    """Serve until SIGTERM or SIGINT, or until the file descriptor `parent` is at its end, as it is when the
    process at the other end of a pipe dies; then drain. Raises what `running` raises."""
    # Threads that extract or load an index give the event loop its turn after 1 ms, not 5.
    sys.setswitchinterval(0.001)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(settings, announce, parent))


async def serve(settings: Settings, announce: Callable[[Running], None], parent: int | None = None) -> None:
    """`run`, on the loop that runs already."""
    logs = LogWriter(sys.stderr, logging.getLevelNamesMapping()[settings.logging.level.upper()])
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if parent is not None:
        _at_its_end(loop, parent, stop.set)
    try:
        async with running(settings) as service:
            announce(service)
            await stop.wait()
            log.info("draining")
    finally:
        logs.close()


def _at_its_end(loop: asyncio.AbstractEventLoop, pipe: int, act: Callable[[], None]) -> None:
    def ended() -> None:
        loop.remove_reader(pipe)
        act()

    loop.add_reader(pipe, ended)  # nobody writes to it


def _serve_metrics(settings: Settings, metrics: Metrics, stack: AsyncExitStack) -> str | None:
    if not settings.server.metrics_listen:
        return None
    host, port = split_address(settings.server.metrics_listen)
    try:
        endpoint = MetricsEndpoint(metrics.registry, port, host)
    except OSError as error:
        raise ConfigError(f"server.metrics_listen: cannot listen on {host}:{port}") from error
    stack.callback(endpoint.close)
    return f"{host}:{endpoint.port}"


async def _start_worker(
    settings: Settings,
    store: Store,
    models: Models,
    ontologies: Ontologies,
    metrics: Metrics,
    activity: ActivityWatch,
    pressure: IntakePressure,
    clock: Clock,
    rng: random.Random,
    stack: AsyncExitStack,
) -> None:
    queue = replace(settings.queue, attempts_per_step=settings.limits.attempts_per_step)
    owner_id = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4()}"
    embedder = CachingEmbedder(models.embedder) if models.embedder else None
    rewriter = Rewriter(store, models.writer, clock, rng) if models.writer else None
    if rewriter is not None:
        _background(stack, rewriter.run(), "summaries")
    committer = Committer(store, embedder, clock, models.resolver, settings.limits, ontologies, rewriter)
    preparer = Preparer(store, models.extractor, embedder, clock, pressure, ontologies)
    steps = Steps(preparer.prepare, committer.commit)
    groups = group_work(store, steps, Outcomes(metrics), RetryPolicy(queue, rng), queue, clock)
    dispatcher = Dispatcher(groups, activity, queue, clock, owner_id)
    _background(stack, dispatcher.run(), "dispatcher")
    stack.push_async_callback(dispatcher.drain)
    builder = CommunityBuilder(
        store,
        Louvain(settings.communities.detection_s),
        Describer(store, embedder, models.summariser),
        settings.communities,
        clock,
    )
    jobs = build_work(store, builder, RetryPolicy(queue, rng), queue, clock)
    builds = Dispatcher(jobs, activity, queue, clock, owner_id)
    _background(stack, builds.run(), "builds of communities")
    if settings.communities.follow:
        _background(stack, Follower(store, activity, clock).run(), "communities that follow")


async def _start_server(
    settings: Settings,
    store: Store,
    models: Models,
    ontology: Ontology,
    metrics: Metrics,
    activity: ActivityWatch,
    pressure: IntakePressure,
    clock: Clock,
    rng: random.Random,
    stack: AsyncExitStack,
) -> str:
    search = SearchFacts(store, models.embedder, settings.retrieval, clock)
    stack.push_async_callback(search.close)
    embedder = models.embedder.space if models.embedder else ""
    server = build_server(
        Deps(
            store=store,
            search=search,
            memory=GetMemory(search, settings.limits),
            graph=SearchGraph(store, search, settings.retrieval, clock, models.cross_encoder),
            activity=activity,
            metrics=metrics,
            clock=clock,
            info=ServiceInfo(_version(), models.extractor.name, embedder),
            new_id=RandomIds(),
            rng=rng,
            embedder=CachingEmbedder(models.embedder) if models.embedder else None,
            pressure=pressure,
            limits=settings.limits,
            settings=ServerSettings(
                max_calls=settings.server.max_concurrent_rpcs,
                default_deadline_s=settings.server.deadline_s,
                grace_s=settings.server.grace_s,
                shared_port=settings.server.processes > 1,
            ),
            ontology=ontology,
        )
    )
    address = _listen(settings, server)
    await server.start()
    stack.push_async_callback(server.stop)
    return address


def _listen(settings: Settings, server: KgServer) -> str:
    wanted = settings.server.listen
    host, _, _ = wanted.rpartition(":")
    try:
        port = server.listen(wanted, _credentials(settings))
    except RuntimeError as error:
        raise ConfigError(f"server.listen: cannot listen on {wanted}, is the port in use?") from error
    return f"{host}:{port}"


def _credentials(settings: Settings) -> grpc.ServerCredentials | None:
    cert, key = settings.server.tls_cert, settings.server.tls_key
    if cert is None or key is None:
        return None
    return grpc.ssl_server_credentials([(key.read_bytes(), cert.read_bytes())])


def _background(stack: AsyncExitStack, work: Coroutine[Any, Any, None], name: str) -> None:
    """Run a coroutine beside the rest until the block ends. A task that dies of a defect says so at once."""
    task = asyncio.create_task(work, name=name)
    task.add_done_callback(_complain)

    async def end() -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    stack.push_async_callback(end)


def _complain(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.critical("%s stopped", task.get_name(), exc_info=error)


async def _sample(store: Store, metrics: Metrics, clock: Clock) -> None:
    """Keep the gauges of the queue current."""
    while True:
        try:
            depth = await store.depth()
        except ServiceError as error:
            log.warning("cannot read the queue's depth: %s", type(error).__name__)
        else:
            oldest = depth.oldest_accepted_ms
            age_s = 0.0 if oldest is None else max(0, clock.now_ms() - oldest) / 1000
            metrics.queue_seen(depth.unfinished, depth.parked, age_s)
        await asyncio.sleep(_SAMPLE_S)


def _version() -> str:
    try:
        return version("kgsvc")
    except PackageNotFoundError:
        return "0"
