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
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import uvloop

from kgsvc import ontology as ontology_yaml
from kgsvc.access.retention import Retention, RetentionError, read_retention
from kgsvc.announcement import Running, log_writer, serve_metrics
from kgsvc.api.health_server import HealthServer
from kgsvc.api.rpc.health import ServiceInfo
from kgsvc.api.server import KgServer, Served, ServerSettings
from kgsvc.backends import ModelSet, agree_on_key, make_former, make_models, open_store
from kgsvc.background import background
from kgsvc.callers import access_of, credentials_of, open_audit
from kgsvc.commands.core import Core
from kgsvc.commands.documents import Revisions
from kgsvc.commands.erasures import Erasures
from kgsvc.commands.ledger import Ledger
from kgsvc.commands.reembedding import Reembeddings, with_former
from kgsvc.commands.retention import RetentionJob
from kgsvc.commands.sampling import sample
from kgsvc.commands.spending import ChargedAnswerer, ChargedEncoder, Spending
from kgsvc.commands.transfer.uploads import Uploads
from kgsvc.communities.builder import CommunityBuilder, Describer
from kgsvc.communities.detection import Follower, Louvain
from kgsvc.config import ConfigError, Settings, is_loopback, read_ontology, split_address, split_origins
from kgsvc.documents.cutting import Cutters
from kgsvc.documents.reading.reader import Reader
from kgsvc.domain.errors import ServiceError
from kgsvc.domain.model.extraction import Ontology
from kgsvc.jobs.activity import ActivityWatch
from kgsvc.jobs.builds import build_work
from kgsvc.jobs.dispatcher import Dispatcher, RetryPolicy
from kgsvc.jobs.fills import fill_work
from kgsvc.jobs.groups import GroupJobs, Steps, group_work
from kgsvc.jobs.modes import ModeWatch
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.models.former import FormerEmbedders
from kgsvc.observability.metrics import Metrics, Outcomes, counted
from kgsvc.observability.probes import Probes
from kgsvc.pipeline.commit import Committer
from kgsvc.pipeline.filling import Filler
from kgsvc.pipeline.ontologies import Ontologies
from kgsvc.pipeline.preparing import Preparer
from kgsvc.pipeline.summaries import Rewriter
from kgsvc.runtime import Clock, SystemClock, free_early
from kgsvc.search.engine import Engine
from kgsvc.search.index.array_files import ArrayFiles
from kgsvc.siblings import Siblings
from kgsvc.stores.protocol import Store
from kgsvc.tracing import NOT_TRACED, Tracer

Pipes = tuple[int, int]  # file descriptors: one to read from, one to write to

log = logging.getLogger(__name__)


@asynccontextmanager
async def running(
    settings: Settings, clock: Clock | None = None, siblings: Siblings | None = None
) -> AsyncIterator[Running]:
    """A service that runs inside the block.

    Raises ConfigError (also: an address that cannot be bound), StoreUnavailable.
    """
    await asyncio.to_thread(settings.verify)
    ontology = await asyncio.to_thread(read_ontology, settings.server.ontology_file)
    clock = clock or SystemClock()
    probes = Probes(clock.monotonic)
    async with AsyncExitStack() as stack:
        background(stack, probes.run(), "the sign of life")
        metrics = Metrics(settings.server.metrics_groups, await _tracer(settings, stack))
        metrics.built(_version(), settings.store.kind, settings.server.role)
        metrics_address = serve_metrics(settings, metrics.registry, probes, stack)
        store = await open_store(settings)
        stack.push_async_callback(store.close)
        await store.migrate()
        await agree_on_key(settings, store)
        modes = ModeWatch()
        first = await store.activity()
        modes.take(first.modes)
        models = make_models(settings, metrics, modes.models_off)
        stack.push_async_callback(models.close)
        formers = FormerEmbedders(lambda space: make_former(settings, space, metrics, modes.models_off))
        stack.push_async_callback(formers.close)
        counting = counted(store, metrics)
        activity = ActivityWatch(counting, settings.queue.poll_s, random.Random(), modes, first)
        seen = await _reembeddings(counting, models, metrics, formers, clock, activity, stack)
        core = _core(settings, seen, models, metrics, clock, activity)
        if siblings is not None:
            siblings.heard, core.activity.tell = core.activity.heard, siblings.tell
        background(stack, core.activity.run(), "activity")
        background(stack, sample(core), "sampling")
        erasures = Erasures(core)
        erasures.drops(formers.forget)
        files = await _index_files(settings)
        if files is not None:
            erasures.drops(files.drop_all)
        background(stack, erasures.run(), "erasures")
        health = await _health(settings, core, probes, stack) if settings.server.role == "worker" else None
        if settings.server.role != "api":
            await _start_worker(settings, core, models, ontology, stack)
        address = http_address = None
        if settings.server.role != "worker":
            address, http_address = await _start_server(
                settings, core, models, formers, ontology, erasures, files, probes, stack
            )
        if health is not None:
            stack.push_async_callback(health.drain)
        stack.callback(probes.drain)
        probes.serving = True
        name = models.embedder.space if models.embedder else None
        yield Running(
            address, http_address, metrics_address, await core.store.info(), models.extractor.name, name
        )


async def _reembeddings(
    store: Store,
    models: ModelSet,
    metrics: Metrics,
    formers: FormerEmbedders,
    clock: Clock,
    activity: ActivityWatch,
    stack: AsyncExitStack,
) -> Store:
    """The store as long as groups may go over to the configured embedder, which begins. Without one nothing
    does."""
    if models.embedder is None:
        return store
    groups = Reembeddings(store, models.embedder.space, metrics)
    await groups.begin(clock.now_ms())
    background(stack, groups.run(lambda: activity.open.fills), "groups that are embedded anew")
    return with_former(store, groups, formers)


def _core(
    settings: Settings, store: Store, models: ModelSet, metrics: Metrics, clock: Clock, watch: ActivityWatch
) -> Core:
    return Core(
        store=store,
        clock=clock,
        rng=random.Random(),
        limits=settings.limits,
        metrics=metrics,
        activity=watch,
        embedder=CachingEmbedder(models.embedder) if models.embedder else None,
        quotas=settings.quotas,
        ledger=Ledger(settings.store.erasure_ledger) if settings.store.erasure_ledger else None,
        modes=watch.modes,
        needs_model=models.ingests_by_server,
    )


def run(settings: Settings, announce: Callable[[Running], None], parent: Pipes | None = None) -> None:
    """Serve until SIGTERM or SIGINT, or until the pipe from `parent` ends, as it does when that process dies;
    then drain. Raises what `running` raises."""
    # Threads that extract or load an index give the event loop its turn after 1 ms, not 5.
    sys.setswitchinterval(0.001)
    free_early()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(settings, announce, parent))


async def serve(settings: Settings, announce: Callable[[Running], None], parent: Pipes | None = None) -> None:
    """`run`, on the loop that runs already."""
    logs = log_writer(settings)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    siblings = None if parent is None else Siblings(*parent, ended=stop.set)
    try:
        async with running(settings, siblings=siblings) as service:
            # What a service is made of lives as long as it does. To look at all of it again takes each full
            # collection some 70 ms, in the middle of searches.
            gc.collect()
            gc.freeze()
            announce(service)
            await stop.wait()
            log.info("draining")
    finally:
        logs.close()


async def _start_worker(
    settings: Settings, core: Core, models: ModelSet, ontology: Ontology, stack: AsyncExitStack
) -> None:
    store, clock, embedder, rng, modes = core.store, core.clock, core.embedder, core.rng, core.modes
    queue = replace(settings.queue, attempts_per_step=core.limits.attempts_per_step)
    if not models.ingests_by_server:  # with a model, a batch is what one call of it decides about
        queue = replace(queue, micro_batch=64, items_at_once=256)
    tracer, owner_id = core.metrics.tracer, f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4()}"
    ontologies = Ontologies(store, ontology_yaml.read, ontology)
    rewriter = None
    if models.writer is not None:
        rewriter = Rewriter(store, models.writer, clock, rng, may_begin=modes.writable_by_model)
        background(stack, rewriter.run(), "summaries")
    committer = Committer(store, embedder, clock, models.resolver, core.limits, ontologies, rewriter, tracer)
    preparer = Preparer(store, models.extractor, embedder, clock, core.pressure, ontologies, tracer)
    steps = Steps(preparer.prepare, committer.commit)
    retry, changes = RetryPolicy(queue, rng), core.activity.changes
    jobs = GroupJobs(store, steps, Outcomes(core.metrics), retry, queue, clock, changes=changes)
    # On Neo4j a transaction is a round trip; on the embedded store it costs less than waiting for others.
    together = 0.5 if settings.store.kind == "neo4j" else 0.0
    groups = group_work(jobs, modes.may_begin(models.ingests_by_server), together, modes.hurry)
    dispatcher = Dispatcher(groups, core.activity, queue, clock, owner_id)
    background(stack, dispatcher.run(), "dispatcher")
    background(stack, Revisions(core).run(), "revisions of documents")
    policies = () if settings.retention.file is None else await _retention(settings.retention.file)
    job = RetentionJob(core, policies, settings.retention.undo_days, await open_audit(settings, stack))
    background(stack, job.run(), "retention")
    stack.push_async_callback(dispatcher.drain)
    stack.callback(modes.leave)
    louvain = Louvain(settings.communities.detection_s)
    describer = Describer(store, embedder, models.summariser)
    builder = CommunityBuilder(store, louvain, describer, settings.communities, clock)
    open_builds = lambda: core.activity.open.builds  # noqa: E731
    by_model = models.summariser is not None or models.embeds_by_server
    building = build_work(store, builder, retry, queue, clock, modes.may_begin(by_model), open_builds)
    builds = Dispatcher(building, core.activity, queue, clock, owner_id)
    background(stack, builds.run(), "builds of communities")
    if embedder is not None:
        charge = Spending(store, settings.quotas, clock).spent
        filler = Filler(
            store, embedder, clock, queue.attempts_per_step, charge, core.metrics.filled_vectors.inc
        )
        begin = modes.may_begin(models.embeds_by_server)
        open_fills = lambda: core.activity.open.fills  # noqa: E731
        filling = fill_work(store, filler, retry, clock, embedder.space, begin, open_fills)
        fills = Dispatcher(filling, core.activity, queue, clock, owner_id)
        background(stack, fills.run(), "vectors to be filled in")
    if settings.communities.follow:
        follower = Follower(store, changes, clock, modes.writable)
        background(stack, follower.run(), "communities that follow")


async def _start_server(
    settings: Settings,
    core: Core,
    models: ModelSet,
    formers: FormerEmbedders,
    ontology: Ontology,
    erasures: Erasures,
    files: ArrayFiles | None,
    probes: Probes,
    stack: AsyncExitStack,
) -> tuple[str, str | None]:
    spending = Spending(core.store, settings.quotas, core.clock)
    encoder = None if models.cross_encoder is None else ChargedEncoder(models.cross_encoder, spending)
    search = Engine(core.store, models.embedder, settings.retrieval, core.clock, encoder, files, formers.of)
    stack.push_async_callback(search.close)
    erasures.drops(search.erase)
    info = ServiceInfo(_version(), models.extractor.name, models.embedder.space if models.embedder else "")
    bounds = ServerSettings(
        max_calls=settings.server.max_concurrent_rpcs,
        default_deadline_s=settings.server.deadline_s,
        grace_s=settings.server.grace_s,
        shared_port=settings.server.processes > 1,
    )
    access = await access_of(settings, core.clock, stack)
    reader, cutters = Reader(settings.reading), Cutters(settings.documents)
    answerer = None if models.answerer is None else ChargedAnswerer(models.answerer, spending)
    uploads = Uploads(settings.store.data_dir / "imports", settings.limits.import_bytes, erasures.notice)
    erasures.drops(uploads.drop)
    roles = ("api", "worker") if settings.server.role == "all" else ("api",)
    server = KgServer(
        core,
        Served(search, info, bounds, ontology, access, reader, cutters, answerer, roles, probes, uploads),
    )
    credentials = await credentials_of(settings, stack)
    address = _listen("listen", settings.server.listen, lambda wished: server.listen(wished, credentials))
    http = await _start_http(settings, server, core, stack)  # ends after the server, which ends its streams
    await server.start()
    stack.push_async_callback(server.stop)
    background(stack, search.sweep(), "files of search indexes")
    if settings.retrieval.warm_groups:
        background(
            stack, _warm(core, search, settings.retrieval.warm_groups), "groups that are loaded at the start"
        )
    return address, http


async def _health(settings: Settings, core: Core, probes: Probes, stack: AsyncExitStack) -> HealthServer:
    """What says of a worker whether it is ready, until its work has drained. Raises ConfigError."""
    health = HealthServer(core.store, probes, shared_port=settings.server.processes > 1)
    if settings.server.health_listen:
        _listen("health_listen", settings.server.health_listen, health.listen)
    await health.start()  # at once: gRPC may crash a process that ends with a server which was never started
    stack.push_async_callback(health.stop)
    return health


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
        origins=split_origins(wanted.http_origins),
        grace_s=wanted.grace_s,
    )
    local = is_loopback(wanted.http_listen) and not settings.access.on
    http = HttpServer(Gateway(server.handler, core.limits.payload_bytes, local=local), place)
    address = _listen("http_listen", wanted.http_listen, lambda _: http.listen())
    await http.start()
    stack.push_async_callback(http.stop)
    return f"{'http' if wanted.tls_cert is None else 'https'}://{address}"


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


async def _tracer(settings: Settings, stack: AsyncExitStack) -> Tracer:
    """What records spans. Raises ConfigError."""
    if not settings.tracing.endpoint:
        return NOT_TRACED
    try:
        from kgsvc.observability.otlp import OtlpTracer
    except ModuleNotFoundError as error:
        problem = f"tracing.endpoint needs the extra kgsvc[tracing]: there is no {error.name}"
        raise ConfigError(problem) from error
    tracer = await asyncio.to_thread(OtlpTracer, settings.tracing, _version())
    stack.push_async_callback(asyncio.to_thread, tracer.close)
    return tracer


async def _warm(core: Core, search: Engine, count: int) -> None:
    try:
        group_ids = await core.store.busiest_groups(count)
    except ServiceError as error:
        log.warning("groups were not loaded at the start: %s", error)
    else:
        await search.warm(group_ids)


def _listen(setting: str, wanted: str, bind: Callable[[str], int]) -> str:
    """Where it listens. Raises ConfigError."""
    try:
        port = bind(wanted)
    except (RuntimeError, OSError) as error:
        raise ConfigError(f"server.{setting}: cannot listen on {wanted}, is the port in use?") from error
    return f"{wanted.rpartition(':')[0]}:{port}"


def _version() -> str:
    try:
        return version("kgsvc")
    except PackageNotFoundError:
        return "0"
