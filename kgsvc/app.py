"""The composition root: the only place that knows every room.

Start: store opened and migrated, models, then the workers (role worker or all), then the gRPC server (role
api or all). Stop: the reverse; workers commit what they have begun and give their leases back.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import random
import signal
import socket
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import grpc
import uvloop

from kgsvc import ontology as ontology_yaml
from kgsvc.access.audit import Audit
from kgsvc.access.authentication import Authenticator, TokenVerifier
from kgsvc.access.quotas import Rates
from kgsvc.access.retention import Retention, RetentionError, read_retention
from kgsvc.announcement import Running, serve_metrics
from kgsvc.api.access import Access
from kgsvc.api.rpc.health import ServiceInfo
from kgsvc.api.server import KgServer, Served, ServerSettings
from kgsvc.api.tls import Certificates, TlsFiles
from kgsvc.backends import ModelSet, agree_on_key, make_models, open_store
from kgsvc.commands.core import Core
from kgsvc.commands.documents import Revisions
from kgsvc.commands.erasures import Erasures
from kgsvc.commands.ledger import Ledger
from kgsvc.commands.retention import RetentionJob
from kgsvc.commands.spending import ChargedAnswerer, ChargedEncoder, Spending
from kgsvc.communities.builder import CommunityBuilder, Describer
from kgsvc.communities.detection import Follower, Louvain
from kgsvc.config import ConfigError, Settings, is_loopback, read_ontology, split_address
from kgsvc.documents.cutting import Cutters
from kgsvc.documents.reading.reader import Reader
from kgsvc.domain.errors import ServiceError
from kgsvc.domain.model.extraction import Ontology
from kgsvc.jobs.builds import build_work
from kgsvc.jobs.dispatcher import ActivityWatch, Dispatcher, RetryPolicy
from kgsvc.jobs.groups import GroupJobs, Steps, group_work
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.observability.logs import LogWriter
from kgsvc.observability.metrics import Metrics, Outcomes, counted
from kgsvc.pipeline.commit import Committer
from kgsvc.pipeline.ontologies import Ontologies
from kgsvc.pipeline.preparing import Preparer
from kgsvc.pipeline.summaries import Rewriter
from kgsvc.runtime import Clock, SystemClock, free_early
from kgsvc.search.engine import Engine
from kgsvc.search.index.array_files import ArrayFiles
from kgsvc.stores.protocol import Store

log = logging.getLogger(__name__)
_SAMPLE_S = 1.0


@asynccontextmanager
async def running(settings: Settings, clock: Clock | None = None) -> AsyncIterator[Running]:
    """A service that runs inside the block.

    Raises ConfigError (also: an address that cannot be bound), StoreUnavailable.
    """
    settings.verify()
    ontology = await asyncio.to_thread(read_ontology, settings.server.ontology_file)
    metrics = Metrics(settings.server.metrics_groups)
    async with AsyncExitStack() as stack:
        metrics_address = serve_metrics(settings, metrics.registry, stack)
        store = await open_store(settings)
        stack.push_async_callback(store.close)
        await store.migrate()
        await agree_on_key(settings, store)
        models = make_models(settings, metrics)
        stack.push_async_callback(models.close)
        core = _core(settings, counted(store, metrics), models, metrics, clock or SystemClock())
        _background(stack, core.activity.run(), "activity")
        _background(stack, _sample(core), "sampling")
        erasures = Erasures(core)
        files = await _index_files(settings)
        if files is not None:
            erasures.drops(files.forget)
        _background(stack, erasures.run(), "erasures")
        if settings.server.role != "api":
            await _start_worker(settings, core, models, ontology, stack)
        address = http_address = None
        if settings.server.role != "worker":
            address, http_address = await _start_server(
                settings, core, models, ontology, erasures, files, stack
            )
        name = models.embedder.space if models.embedder else None
        yield Running(
            address, http_address, metrics_address, await core.store.info(), models.extractor.name, name
        )


def _core(settings: Settings, store: Store, models: ModelSet, metrics: Metrics, clock: Clock) -> Core:
    rng = random.Random()
    return Core(
        store=store,
        clock=clock,
        rng=rng,
        limits=settings.limits,
        metrics=metrics,
        activity=ActivityWatch(store, settings.queue.poll_s, rng),
        embedder=CachingEmbedder(models.embedder) if models.embedder else None,
        quotas=settings.quotas,
        ledger=Ledger(settings.store.erasure_ledger) if settings.store.erasure_ledger else None,
    )


def run(settings: Settings, announce: Callable[[Running], None], parent: int | None = None) -> None:
    """Serve until SIGTERM or SIGINT, or until the file descriptor `parent` is at its end, as it is when the
    process at the other end of a pipe dies; then drain. Raises what `running` raises."""
    # Threads that extract or load an index give the event loop its turn after 1 ms, not 5.
    sys.setswitchinterval(0.001)
    free_early()
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
            # What a service is made of lives as long as it does. To look at all of it again takes each full
            # collection some 70 ms, in the middle of searches.
            gc.collect()
            gc.freeze()
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


async def _start_worker(
    settings: Settings, core: Core, models: ModelSet, ontology: Ontology, stack: AsyncExitStack
) -> None:
    store, clock, embedder, rng = core.store, core.clock, core.embedder, core.rng
    queue = replace(settings.queue, attempts_per_step=core.limits.attempts_per_step)
    owner_id = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4()}"
    ontologies = Ontologies(store, ontology_yaml.read, ontology)
    rewriter = Rewriter(store, models.writer, clock, rng) if models.writer else None
    if rewriter is not None:
        _background(stack, rewriter.run(), "summaries")
    committer = Committer(store, embedder, clock, models.resolver, core.limits, ontologies, rewriter)
    preparer = Preparer(store, models.extractor, embedder, clock, core.pressure, ontologies)
    steps = Steps(preparer.prepare, committer.commit)
    jobs = GroupJobs(store, steps, Outcomes(core.metrics), RetryPolicy(queue, rng), queue, clock)
    dispatcher = Dispatcher(group_work(jobs), core.activity, queue, clock, owner_id)
    _background(stack, dispatcher.run(), "dispatcher")
    _background(stack, Revisions(core).run(), "revisions of documents")
    policies = () if settings.retention.file is None else await _retention(settings.retention.file)
    job = RetentionJob(core, policies, settings.retention.undo_days, await _audit(settings, stack))
    _background(stack, job.run(), "retention")
    stack.push_async_callback(dispatcher.drain)
    louvain = Louvain(settings.communities.detection_s)
    describer = Describer(store, embedder, models.summariser)
    builder = CommunityBuilder(store, louvain, describer, settings.communities, clock)
    building = build_work(store, builder, RetryPolicy(queue, rng), queue, clock)
    builds = Dispatcher(building, core.activity, queue, clock, owner_id)
    _background(stack, builds.run(), "builds of communities")
    if settings.communities.follow:
        _background(stack, Follower(store, core.activity, clock).run(), "communities that follow")


async def _start_server(
    settings: Settings,
    core: Core,
    models: ModelSet,
    ontology: Ontology,
    erasures: Erasures,
    files: ArrayFiles | None,
    stack: AsyncExitStack,
) -> tuple[str, str | None]:
    spending = Spending(core.store, settings.quotas, core.clock)
    encoder = None if models.cross_encoder is None else ChargedEncoder(models.cross_encoder, spending)
    search = Engine(core.store, models.embedder, settings.retrieval, core.clock, encoder, files)
    stack.push_async_callback(search.close)
    erasures.drops(search.erase)
    info = ServiceInfo(_version(), models.extractor.name, models.embedder.space if models.embedder else "")
    bounds = ServerSettings(
        max_calls=settings.server.max_concurrent_rpcs,
        default_deadline_s=settings.server.deadline_s,
        grace_s=settings.server.grace_s,
        shared_port=settings.server.processes > 1,
    )
    access = await _access(settings, core.clock, stack)
    reader, cutters = Reader(settings.reading), Cutters(settings.documents)
    answerer = None if models.answerer is None else ChargedAnswerer(models.answerer, spending)
    server = KgServer(core, Served(search, info, bounds, ontology, access, reader, cutters, answerer))
    address = _listen(settings, server, await _credentials(settings, stack))
    http = await _start_http(settings, server, core, stack)  # ends after the server, which ends its streams
    await server.start()
    stack.push_async_callback(server.stop)
    _background(stack, search.sweep(), "files of search indexes")
    if settings.retrieval.warm_groups:
        _background(
            stack, _warm(core, search, settings.retrieval.warm_groups), "groups that are loaded at the start"
        )
    return address, http


async def _start_http(settings: Settings, server: KgServer, core: Core, stack: AsyncExitStack) -> str | None:
    """Where the contract is served over HTTP, if it is to be. Raises ConfigError."""
    wanted = settings.server
    if not wanted.http_listen:
        return None
    from kgsvc.api.http.gateway import Gateway  # loads in 0.1 s what only this needs
    from kgsvc.api.http.server import HttpServer, HttpSettings

    host, port = split_address(wanted.http_listen)
    place = HttpSettings(
        host=host,
        port=port,
        shared_port=wanted.processes > 1,
        certificate=wanted.tls_cert,
        key=wanted.tls_key,
        client_authority=wanted.tls_client_ca,
        grace_s=wanted.grace_s,
    )
    local = is_loopback(wanted.http_listen) and not settings.access.on
    http = HttpServer(Gateway(server.handler, core.limits.payload_bytes, local=local), place)
    try:
        port = http.listen()
    except OSError as error:
        raise ConfigError(
            f"server.http_listen: cannot listen on {wanted.http_listen}, is the port in use?"
        ) from error
    await http.start()
    stack.push_async_callback(http.stop)
    scheme = "http" if wanted.tls_cert is None else "https"
    return f"{scheme}://{wanted.http_listen.rpartition(':')[0]}:{port}"


async def _index_files(settings: Settings) -> ArrayFiles | None:
    """Where indexes are kept; None: nowhere, since a server that needs no data directory has none. Raises
    ConfigError."""
    wished = settings.retrieval.index_dir
    directory = settings.store.data_dir / "index" if wished is None else wished
    files = ArrayFiles(directory, settings.retrieval.index_disk_bytes)
    try:
        await asyncio.to_thread(files.open)
    except OSError as error:
        if wished is None and settings.store.kind != "embedded":
            log.warning("search indexes are not kept in files: %s: %s", directory, error.strerror)
            return None
        raise ConfigError(f"retrieval.index_dir: {directory} cannot be used: {error}") from error
    return files


async def _retention(path: Path) -> tuple[Retention, ...]:
    try:
        return await asyncio.to_thread(read_retention, path)
    except RetentionError as error:
        raise ConfigError(str(error)) from error


async def _audit(settings: Settings, stack: AsyncExitStack) -> Audit | None:
    if settings.access.audit is None:
        return None
    audit = await asyncio.to_thread(Audit, settings.access.audit)
    stack.push_async_callback(asyncio.to_thread, audit.close)
    return audit


async def _warm(core: Core, search: Engine, count: int) -> None:
    try:
        group_ids = await core.store.busiest_groups(count)
    except ServiceError as error:
        log.warning("groups were not loaded at the start: %s", error)
    else:
        await search.warm(group_ids)


def _listen(settings: Settings, server: KgServer, credentials: grpc.ServerCredentials | None) -> str:
    wanted = settings.server.listen
    host, _, _ = wanted.rpartition(":")
    try:
        port = server.listen(wanted, credentials)
    except RuntimeError as error:
        raise ConfigError(f"server.listen: cannot listen on {wanted}, is the port in use?") from error
    return f"{host}:{port}"


async def _credentials(settings: Settings, stack: AsyncExitStack) -> grpc.ServerCredentials | None:
    cert, key = settings.server.tls_cert, settings.server.tls_key
    if cert is None or key is None:
        return None
    files = TlsFiles(cert, key, settings.server.tls_client_ca)
    certificates = await asyncio.to_thread(Certificates, files)
    _background(stack, certificates.run(), "certificates")
    return certificates.credentials


def _jwts(settings: Settings) -> TokenVerifier | None:
    if settings.access.jwt_keys is None:
        return None
    from kgsvc.access.jwts import JwtVerifier, KeySet  # loads in 0.1 s what only this needs

    return JwtVerifier(settings.access, KeySet(settings.access.jwt_keys))


async def _access(settings: Settings, clock: Clock, stack: AsyncExitStack) -> Access:
    audit = await _audit(settings, stack)
    if not settings.access.on:
        return Access(settings.access, audit=audit)
    authenticator = Authenticator(settings.access, clock, _jwts(settings))
    await authenticator.open()
    _background(stack, authenticator.run(), "credentials")
    return Access(settings.access, authenticator, audit, Rates(settings.quotas.token_calls_a_second))


def _background(stack: AsyncExitStack, work: Coroutine[Any, Any, None], name: str) -> None:
    """Run a coroutine in the background until the block ends. If it fails, that is logged at once."""
    task = asyncio.create_task(work, name=name)
    task.add_done_callback(_complain)

    async def end() -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    stack.push_async_callback(end)


def _complain(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.critical("%s stopped", task.get_name(), exc_info=error)


async def _sample(core: Core) -> None:
    """Keep the gauges of the queue current."""
    while True:
        try:
            depth = await core.store.depth()
        except ServiceError as error:
            core.metrics.store_answers.set(0)
            log.warning("cannot read the queue's depth: %s", type(error).__name__)
        else:
            oldest = depth.oldest_accepted_ms
            age_s = 0.0 if oldest is None else max(0, core.clock.now_ms() - oldest) / 1000
            core.metrics.queue_seen(depth.unfinished, depth.parked, age_s)
        await asyncio.sleep(_SAMPLE_S)


def _version() -> str:
    try:
        return version("kgsvc")
    except PackageNotFoundError:
        return "0"
