"""Several processes that serve as one: a parent plans, starts, watches and ends them.

The parent never touches gRPC, a store or a model. Every other process is an interpreter of its own, which
runs `member` of kgsvc/cli/serve.py.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pickle
import signal
import socket
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from typing import Any, Literal

from kgsvc.access.audit import STDOUT
from kgsvc.announcement import Running, log_writer, serve_metrics
from kgsvc.config import ConfigError, Settings, split_address
from kgsvc.domain.errors import KgError
from kgsvc.observability.metrics import ProcessMetrics
from kgsvc.observability.probes import Probes, ProcessProbes
from kgsvc.siblings import BYTE

log = logging.getLogger(__name__)

# -P: the child imports only from the paths of this process, which are the first thing sent to it.
_BOOT = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from kgsvc.cli.serve import member
sys.exit(member())
"""
# Before a process that died is started again; the last one repeats.
_PAUSES_S = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
_SOUND_S = 60.0  # a process that ran for longer is started again after the first pause
_READ = 4_096
_KILL_S = 30.0  # beyond the time that a process may take to drain


class ProcessFailed(KgError):
    """A process of the service could not start, or did not end in order."""


class Child:
    """A fresh interpreter that serves with the settings handed over.

    Its standard input stays open as long as this process lives: the end of it tells the child to drain.
    """

    def __init__(self, name: str, process: Process) -> None:
        self.name = name
        self._process = process

    @classmethod
    async def spawn(cls, name: str) -> Child:
        """Start it. In a process group of its own: a terminal's Ctrl-C reaches only this process, which
        passes it on. Raises ProcessFailed."""
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-c", _BOOT, stdin=PIPE, stdout=PIPE, process_group=0
            )
        except OSError as error:
            raise ProcessFailed(f"process {name} cannot be started: {error.strerror}") from error
        return cls(name, process)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    async def ready(self, settings: Settings) -> Running:
        """Hand over its settings and wait, as long as it lives, until it serves. Raises ProcessFailed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(pickle.dumps(sys.path) + pickle.dumps(settings))
            await self._process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has ended: its last line says why
        line = await self._process.stdout.readline()
        if not line:
            code = await self._process.wait()
            raise ProcessFailed(f"process {self.name} ended with {code} before it was ready")
        failed: dict[str, Any] = json.loads(line)
        if "failed" in failed:
            await self._process.wait()
            raise ProcessFailed(failed["failed"])
        return Running.of_json(line)

    async def news(self) -> AsyncIterator[None]:
        """Whenever it tells of a change, once it is ready, until it ends."""
        assert self._process.stdout is not None
        while await self._process.stdout.read(_READ):
            yield

    def tell(self) -> None:
        """Pass on that something changed. Not needed where it has not read yet what it was told before."""
        pipe = self._process.stdin
        assert pipe is not None
        if not pipe.transport.is_closing() and not pipe.transport.get_write_buffer_size():
            pipe.write(BYTE)

    async def wait(self) -> int:
        """How it ended: its exit code, or minus the signal that killed it."""
        return await self._process.wait()

    def terminate(self) -> None:
        """Ask it to drain."""
        if self._process.returncode is None:
            self._process.terminate()

    async def end(self, timeout_s: float) -> int:
        """Wait for its end after `terminate`; kill it when it does not come."""
        try:
            async with asyncio.timeout(timeout_s):
                return await self._process.wait()
        except TimeoutError:
            self._process.kill()
            return await self._process.wait()


@dataclass(frozen=True, slots=True)
class Member:
    """One of the processes."""

    name: str  # its role and a number
    settings: Settings = field(repr=False)


def suited(settings: Settings, cores: int) -> Settings:
    """With a number of processes where none is set: one for calls and one that ingests, so that searches do
    not wait for ingestion. More would hold more indexes and multiply what is bounded by process. One where
    there is one core or one role, or where two cannot share a port or the audit on standard output."""
    server = settings.server
    if server.processes:
        return settings
    two = server.role == "all" and cores > 1 and hasattr(socket, "SO_REUSEPORT")
    two = two and settings.access.audit != STDOUT
    return replace(settings, server=replace(server, processes=2 if two else 1))


def cores() -> int:
    """That this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def members(
    settings: Settings, listen: str, http_listen: str = "", health_listen: str = ""
) -> tuple[Member, ...]:
    """`server.processes` of them, answering calls on `listen` and `http_listen`, and for the health of
    workers on `health_listen`."""
    made: list[Member] = []
    numbers: Counter[str] = Counter()
    for role in _roles(settings):
        numbers[role] += 1
        # Only the parent reads it; it shows the metrics of all processes together.
        metrics_listen = "127.0.0.1:0" if settings.server.metrics_listen else ""
        server = replace(
            settings.server,
            role=role,
            listen=listen,
            http_listen=http_listen,
            metrics_listen=metrics_listen,
            health_listen=health_listen,
        )
        made.append(Member(f"{role}-{numbers[role]}", replace(settings, server=server)))
    return tuple(made)


def _roles(settings: Settings) -> Iterator[Literal["api", "worker"]]:
    """Role all: the larger half answers calls, the others ingest."""
    count, role = settings.server.processes, settings.server.role
    answering = (count + 1) // 2
    for n in range(count):
        if role == "all":
            yield "api" if n < answering else "worker"
        else:
            yield role


@contextmanager
def reserved(listen: str, setting: str) -> Iterator[str]:
    """`listen`, HOST:PORT, with a port (0: a free one) that is this service's as long as the block runs.

    The socket that holds it never listens: the system deals connections out among the processes that do.
    Raises ConfigError where the port is taken, also by another service that would share it.
    """
    host, port = split_address(listen)
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, proto) as alone:
            # Fails for a port on which someone listens, not for one with closing connections.
            alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            alone.bind(address)
        holder = socket.socket(family, kind, proto)
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind(address)
    except OSError as error:
        raise ConfigError(f"server.{setting}: cannot listen on {listen}, is the port in use?") from error
    with holder:
        yield f"{listen.rpartition(':')[0]}:{holder.getsockname()[1]}"


def run(settings: Settings, announce: Callable[[Running], None]) -> None:
    """Serve until SIGTERM or SIGINT, then have all processes drain. `announce` is called when all serve.

    Raises ConfigError, and ProcessFailed when a process cannot start at first or did not end in order.
    """
    settings.verify()
    with ExitStack() as stack:
        logs = log_writer(settings)
        stack.callback(logs.close)
        server = settings.server
        listen, http_listen, health_listen = server.listen, server.http_listen, server.health_listen
        if settings.server.role != "worker":
            listen = stack.enter_context(reserved(listen, "listen"))
            if http_listen:
                http_listen = stack.enter_context(reserved(http_listen, "http_listen"))
        if settings.server.role != "api" and health_listen:
            health_listen = stack.enter_context(reserved(health_listen, "health_listen"))
        wanted, meters = members(settings, listen, http_listen, health_listen), ProcessMetrics()
        probes = Probes(time.monotonic)
        asked = ProcessProbes(probes, [each.name for each in wanted], meters.addresses)
        metrics_address = serve_metrics(settings, meters.registry, asked, stack)
        supervisor = Supervisor(wanted, meters, _drain_s(settings))

        def announce_all(service: Running) -> None:
            announce(replace(service, metrics_address=metrics_address))

        async def serve() -> None:
            beating = asyncio.create_task(probes.run())
            try:
                await supervisor.serve(announce_all)
            finally:
                beating.cancel()

        asyncio.run(serve())


class Supervisor:
    """Keeps one process running for each member."""

    def __init__(self, wanted: Sequence[Member], meters: ProcessMetrics, drain_s: float) -> None:
        self._members = wanted
        self._meters = meters
        self._drain_s = drain_s
        self._children: dict[str, Child] = {}
        self._serving: set[Child] = set()

    async def serve(self, announce: Callable[[Running], None]) -> None:
        """See `run`."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        started: list[asyncio.Future[Running]] = [loop.create_future() for _ in self._members]
        keepers = [
            asyncio.create_task(self._keep(member, first), name=member.name)
            for member, first in zip(self._members, started, strict=True)
        ]
        ready = asyncio.gather(*started)
        lives: asyncio.Future[Any] = asyncio.gather(*keepers)
        stopping: asyncio.Future[Any] = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait([ready, lives, stopping], return_when=asyncio.FIRST_COMPLETED)
            if ready.done():
                announce(ready.result()[0])
                await asyncio.wait([lives, stopping], return_when=asyncio.FIRST_COMPLETED)
            if lives.done():
                lives.result()  # raises: they end only by an error
            log.info("draining")
        finally:
            codes = await self._end([*keepers, ready, lives, stopping])
        disorderly = {name: code for name, code in codes.items() if code not in {0, -signal.SIGTERM}}
        if disorderly:
            raise ProcessFailed(f"processes that did not end in order, by exit code: {disorderly}")

    async def _keep(self, member: Member, first: asyncio.Future[Running]) -> None:
        """Run the process again and again until cancelled. Raises ProcessFailed if it never served."""
        loop = asyncio.get_running_loop()
        pauses = _pauses()
        while True:
            begin = loop.time()
            try:
                await self._live(member, first)
            except ProcessFailed as error:
                if not first.done():
                    raise
                log.error("a process cannot start: %s", error, extra={"member": member.name})
            if loop.time() - begin > _SOUND_S:
                pauses = _pauses()
            pause_s = next(pauses)
            log.warning("starting a process again", extra={"member": member.name, "pause_s": pause_s})
            self._meters.restarts.labels(member.name).inc()
            await asyncio.sleep(pause_s)

    async def _live(self, member: Member, first: asyncio.Future[Running]) -> None:
        """Run the process until it dies. Raises ProcessFailed if it does not get ready."""
        child = self._children[member.name] = await Child.spawn(member.name)
        facts = {"member": member.name, "pid": child.pid}
        try:
            service = await child.ready(member.settings)
        except ProcessFailed:
            del self._children[member.name]
            raise
        log.info("a process serves", extra=facts)
        if service.metrics_address:
            self._meters.addresses[member.name] = service.metrics_address
        if not first.done():
            first.set_result(service)
        self._serving.add(child)
        async for _ in child.news():
            for other in self._serving - {child}:
                other.tell()
        self._serving.remove(child)
        code = await child.wait()
        self._meters.addresses.pop(member.name, None)
        del self._children[member.name]
        log.error("a process died", extra=facts | {"code": code})

    async def _end(self, tasks: Sequence[asyncio.Future[Any]]) -> dict[str, int]:
        """Stop starting processes and let all drain at the same time. Returns their exit codes by name."""
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for child in self._children.values():
            child.terminate()
        codes = await asyncio.gather(*(child.end(self._drain_s) for child in self._children.values()))
        return dict(zip(self._children, codes, strict=True))


def _pauses() -> chain[float]:
    return chain(_PAUSES_S, repeat(_PAUSES_S[-1]))


def _drain_s(settings: Settings) -> float:
    """How long a process may take to drain: calls, then streams, then what it ingests."""
    return 2 * settings.server.grace_s + settings.queue.drain_s + _KILL_S
