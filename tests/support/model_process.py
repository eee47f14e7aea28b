"""The scripted OpenAI-compatible server as a process, for servers under test that are processes."""

import asyncio
import json
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from tests.support.service import environment
from tests.support.spawning import REPOSITORY

DIMENSION = 64
_CALL_S = 30.0
_STOP_S = 30.0
_LOOK_S = 0.02
_NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class ModelProcess:
    """An async context manager; steered over its control endpoint (see scripted_openai/__main__.py)."""

    module = "tests.support.scripted_openai"

    def __init__(self, *options: str) -> None:
        self._options = options or ("--dimension", str(DIMENSION))
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    @property
    def base_url(self) -> str:
        """For a client."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def settings(self) -> dict[str, str]:
        """The settings of a kgsvc server that uses this model, quick to give up and to try again."""
        return {
            "models.extractor": "openai",
            "models.embedder": "openai",
            "openai.base_url": self.base_url,
            "openai.api_key": "test",
            "openai.backoff_s": "0.01",
            "embedding.dimension": str(DIMENSION),
            "queue.backoff_base_ms": "20",
            "queue.backoff_cap_ms": "100",
        }

    async def steer(self, **order: Any) -> None:
        """Give orders: table, faults, latency_s, heal, forget_requests."""
        await asyncio.to_thread(self._call, "/control", order)

    async def fault(self, kind: str, **more: Any) -> None:
        """Let matching calls end like this (kinds and members: scripted_openai/script.py)."""
        await self.steer(faults=[{"kind": kind, **more}])

    async def heal(self) -> None:
        """Forget all faults and let go of what hangs."""
        await self.steer(heal=True)

    async def requests(self, endpoint: str = "chat") -> list[dict[str, Any]]:
        """The calls received so far."""
        answer = await asyncio.to_thread(self._call, "/control/requests", None)
        return [request for request in answer["requests"] if request["endpoint"] == endpoint]

    async def received(self, count: int, endpoint: str = "chat") -> None:
        """Return once so many calls have arrived. Raises TimeoutError."""
        async with asyncio.timeout(_CALL_S):
            while len(await self.requests(endpoint)) < count:  # noqa: ASYNC110  another process's event
                await asyncio.sleep(_LOOK_S)

    def _call(self, path: str, order: Mapping[str, Any] | None) -> dict[str, Any]:
        body = None if order is None else json.dumps(order).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self._port}{path}", data=body)
        with _NO_PROXY.open(request, timeout=_CALL_S) as response:
            answer: dict[str, Any] = json.load(response)
        return answer

    def _start(self) -> None:
        command = [sys.executable, "-m", self.module, *self._options]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment({}), cwd=REPOSITORY
        )
        assert self._process.stdout is not None
        self._port = int(self._process.stdout.readline())

    def _stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.communicate(timeout=_STOP_S)

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._stop)
