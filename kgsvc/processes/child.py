"""One operating-system process, from start to end."""

from __future__ import annotations

import asyncio
import json
import pickle
import sys
from asyncio.subprocess import PIPE, Process
from typing import Any

from kgsvc.announcement import Running
from kgsvc.config import Settings
from kgsvc.domain.errors import KgError

# -P: the child imports only from the paths of this process, which are the first thing sent to it.
_BOOT = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from kgsvc.cli.member import main
sys.exit(main())
"""


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
