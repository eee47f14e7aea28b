"""A kgsvc server under test: a real child process of `python -m kgsvc serve`.

    async with Service(store_spec.settings, tmp_path) as service, Client(service.address) as client:
        ...
        service.kill9()
        await service.start()   # the same settings again, a new port

The child sees no KGSVC_* or OPENAI_* variable but the settings given. Only processes started here are
signalled, by their pid.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from urllib.request import ProxyHandler, build_opener

from tests.support.spawning import REPOSITORY, Copy
from tests.support.witness import WITNESS

READY_S = 60.0
STOP_S = 60.0
# All rows of it are printed: the last one ends with a line.
_READY = re.compile(r"(?:listening on (127\.0\.0\.1:\d+)|working on the queue)\n(?:.*\n)*  metrics .*\n")
_HIDDEN = ("KGSVC_", "OPENAI_")
_LOOK_S = 0.02
COMMAND = (sys.executable, "-m", "kgsvc", "serve")

DEFAULTS = {
    "server.listen": "127.0.0.1:0",
    "server.metrics_listen": "",
    "server.processes": "1",
    "logging.level": "info",
    "models.extractor": "offline",
    "models.embedder": "offline",
}


def environment(settings: Mapping[str, str]) -> dict[str, str]:
    """The environment of a child: ours without settings, plus `settings` by configuration key."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(_HIDDEN)}
    given = {f"KGSVC_{key.replace('.', '_').upper()}": value for key, value in settings.items()}
    return clean | given | {"PYTHONUNBUFFERED": "1"}


class Died(AssertionError):
    """A server ended, or did not become ready, when it should have run; with what it printed."""


def _kept(path: Path, folder: Path) -> Path:
    """Where an output is kept, with a link to it where a test looks for it."""
    path.unlink(missing_ok=True)
    path.symlink_to(folder / path.name)
    return folder / path.name


class Service:
    """One server process. As a context manager: started, ready, killed at the end if it still runs."""

    def __init__(self, settings: Mapping[str, str], folder: Path, name: str = "server") -> None:
        own = {"store.data_dir": str(folder / f"{name}-data")}  # of a server beside Neo4j
        self.settings = {**own, **DEFAULTS, **settings}
        self.name = name
        self._stdout = folder / f"{name}.out"
        self._stderr = folder / f"{name}.err"
        if WITNESS is not None:
            kept = WITNESS.server(self.settings)
            self._stdout, self._stderr = (_kept(path, kept) for path in (self._stdout, self._stderr))
        self._read_from = 0
        self._starts = 0
        self._process: subprocess.Popen[bytes] | Copy | None = None
        self._address: str | None = None

    @property
    def address(self) -> str:
        """host:port of the running server."""
        assert self._address is not None, f"{self.name} is not running"
        return self._address

    @property
    def metrics_address(self) -> str:
        """host:port of its metrics (settings: server.metrics_listen)."""
        printed = self._stdout.read_text(errors="replace")
        return str(re.findall(r"http://(127\.0\.0\.1:\d+)/metrics", printed)[-1])

    @property
    def http_url(self) -> str:
        """Where it serves HTTP (settings: server.http_listen)."""
        printed = self._stdout.read_text(errors="replace")
        return str(re.findall(r"http +(https?://\S+)", printed)[-1])

    async def metrics(self) -> str:
        """What it counts, as Prometheus reads it."""
        url, opener = f"http://{self.metrics_address}/metrics", build_opener(ProxyHandler({}))
        return await asyncio.to_thread(lambda: str(opener.open(url, timeout=READY_S).read().decode()))

    @property
    def pid(self) -> int:
        """Of the process started last."""
        assert self._process is not None, f"{self.name} was never started"
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process has not ended."""
        return self._process is not None and self._process.poll() is None

    async def start(self, settings: Mapping[str, str] | None = None) -> Service:
        """Start a process, with some settings changed, and wait until it is ready. Raises Died."""
        self.spawn(settings)
        deadline = time.monotonic() + READY_S
        while not self._ready():
            if not self.running or time.monotonic() > deadline:
                await self.stop()
                raise Died(f"{self.name} did not come to listen:\n{self.said()}")
            await asyncio.sleep(_LOOK_S)
        return self

    def spawn(self, settings: Mapping[str, str] | None = None) -> None:
        """Start a process without waiting for anything."""
        assert not self.running, f"{self.name} runs already"
        self.settings |= settings or {}
        self._address = None
        self._read_from = self._stdout.stat().st_size if self._stdout.exists() else 0
        self._starts += 1
        self._stdout.touch()
        self._stderr.touch()
        if self._starts % 2:  # no two in a row share the order of sets
            self._process = Copy(("serve",), environment(self.settings), self._stdout, self._stderr)
            return
        with self._stdout.open("ab") as out, self._stderr.open("ab") as err:
            self._process = subprocess.Popen(
                COMMAND,
                env=environment(self.settings),
                cwd=REPOSITORY,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def _ready(self) -> bool:
        with self._stdout.open("rb") as printed:
            printed.seek(self._read_from)
            found = _READY.search(printed.read().decode(errors="replace"))
        self._address = found[1] if found else None
        return found is not None

    def send(self, number: signal.Signals) -> None:
        """Signal the process."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill9(self) -> None:
        """End it as a crash would, and reap it."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(STOP_S)

    def pause(self) -> None:
        """SIGSTOP: the process stands still and does not know it."""
        self.send(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT after `pause`."""
        self.send(signal.SIGCONT)

    async def terminate(self) -> int:
        """SIGTERM; the exit code once it has drained. Raises Died when it does not end."""
        self.send(signal.SIGTERM)
        return await self.ended()

    async def printed(self, text: str) -> None:
        """Return once standard error holds `text`. Raises TimeoutError."""
        async with asyncio.timeout(READY_S):
            while text not in self.errors:  # noqa: ASYNC110  another process's event
                await asyncio.sleep(_LOOK_S)

    async def ended(self) -> int:
        """The exit code, once the process has ended by itself. Raises Died."""
        assert self._process is not None
        try:
            return await asyncio.to_thread(self._process.wait, STOP_S)
        except subprocess.TimeoutExpired:
            self.kill9()
            raise Died(f"{self.name} did not end:\n{self.said()}") from None

    async def stop(self) -> None:
        """End it in whatever state it is."""
        if WITNESS is not None and self.running and "/metrics" in self._stdout.read_text(errors="replace"):
            (self._stdout.parent / "metrics").write_text(await self.metrics())
        if self.running:
            await asyncio.to_thread(self.kill9)

    @property
    def errors(self) -> str:
        """All it printed on standard error."""
        return self._stderr.read_text(errors="replace")

    def said(self, last: int = 4_000) -> str:
        """Its last warnings and the end of what it printed, for failure messages."""
        printed = {p.name: p.read_text(errors="replace") for p in (self._stdout, self._stderr) if p.exists()}
        lines = [line for text in printed.values() for line in text.splitlines()]
        warned = [line for line in lines if '"level": "WARNING"' in line or '"level": "ERROR"' in line]
        parts = {"warnings": "\n".join(warned), **printed}
        return "\n".join(f"--- {name} ---\n{text[-last:]}" for name, text in parts.items())

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Whatever goes wrong in the block says what the server printed."""
        try:
            yield
        except BaseException as error:
            error.add_note(self.said())
            raise

    async def __aenter__(self) -> Service:
        try:
            return await self.start()
        except BaseException:  # whoever waits for it was cancelled: nobody else would end it
            await self.stop()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            error.add_note(self.said())
        await self.stop()
