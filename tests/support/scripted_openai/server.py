"""The scripted server itself: routes, the log of requests, the control endpoint."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict
from types import TracebackType
from typing import Any

from tests.support.scripted_openai import replies
from tests.support.scripted_openai.script import Endpoint, Fault, Outcome, Plan, Request, Script, episode_text
from tests.support.scripted_openai.wire import (
    EventsReply,
    HttpReply,
    HttpRequest,
    json_reply,
    read_request,
    write_events,
    write_reply,
)

_ROUTES: dict[str, Endpoint] = {"/v1/chat/completions": "chat", "/v1/embeddings": "embeddings"}
_DEADLINE_S = 30.0


class ScriptedOpenAI:
    """An async context manager that serves on 127.0.0.1 while it is open; `base_url` ends in /v1."""

    def __init__(
        self,
        script: Script | None = None,
        table: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        dimension: int = 64,
        latency_s: float = 0.0,
        port: int = 0,
        embed: replies.Embed | None = None,
    ) -> None:
        self.plan = Plan(script=script, table=dict(table or {}))
        self.requests: list[Request] = []
        self.latency_s = latency_s
        self.chat_latency_s = 0.0  # more, for chat alone
        self.in_flight_max = 0
        self._in_flight = 0
        self.left = 0  # clients that went away while a streamed answer stalled
        self._dimension = dimension
        self._embed = embed
        self._port = port
        self._arrived = asyncio.Condition()
        self._released = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> ScriptedOpenAI:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def port(self) -> int:
        """The port served on."""
        return self._port

    @property
    def base_url(self) -> str:
        """For a client."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def chats(self) -> list[Request]:
        """The chat completions asked for so far."""
        return [request for request in self.requests if request.endpoint == "chat"]

    @property
    def embeddings(self) -> list[Request]:
        """The embeddings asked for so far."""
        return [request for request in self.requests if request.endpoint == "embeddings"]

    def fail(
        self, outcome: Outcome, *, match: str = "", endpoint: Endpoint = "chat", times: int | None = 1
    ) -> None:
        """Let matching calls end like this, before all that is regular; several faults queue up."""
        self.plan.faults.append(Fault(outcome, match, endpoint, times))

    def heal(self) -> None:
        """Forget all faults and let go of what hangs."""
        self.plan.faults.clear()
        self._released.set()
        self._released = asyncio.Event()

    async def received(self, count: int) -> None:
        """Return once `count` calls have arrived. Raises TimeoutError."""
        async with asyncio.timeout(_DEADLINE_S), self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        try:
            while request := await read_request(reader):
                reply = await self._reply(request, reader)
                if isinstance(reply, HttpReply):
                    await write_reply(writer, reply)
                elif reply is None or await self._broke_off(reply, reader, writer):
                    break
        except asyncio.CancelledError:
            pass  # the server closes: end quietly, or asyncio logs it as unhandled
        finally:
            writer.close()

    async def _reply(
        self, request: HttpRequest, reader: asyncio.StreamReader
    ) -> HttpReply | EventsReply | None:
        if request.path.startswith("/control"):
            return self._control(request)
        endpoint = _ROUTES.get(request.path)
        if endpoint is None or request.method != "POST":
            return json_reply(replies.error("no such path"), 404)
        self._in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self._in_flight)
        try:
            return await self._answer(await self._logged(endpoint, request), reader)
        finally:
            self._in_flight -= 1

    async def _logged(self, endpoint: Endpoint, request: HttpRequest) -> Request:
        body = json.loads(request.body)
        given = body.get("input", "")
        texts = given if isinstance(given, str) else "\n".join(given)
        text = episode_text(body) if endpoint == "chat" else texts
        logged = Request(endpoint, request.headers, body, text)
        async with self._arrived:
            self.requests.append(logged)
            self._arrived.notify_all()
        return logged

    async def _answer(self, request: Request, reader: asyncio.StreamReader) -> HttpReply | EventsReply | None:
        outcome = self.plan.outcome(request)
        latency_s = self.latency_s + (self.chat_latency_s if request.endpoint == "chat" else 0.0)
        if latency_s:
            await asyncio.sleep(latency_s)
        if outcome.kind == "hang":
            if await self._client_left(reader):
                return None
            outcome = self.plan.regular(request)
        if outcome.kind == "drop":
            return None
        return self._rendered(outcome, request)

    async def _broke_off(
        self, reply: EventsReply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Send events; whether the connection ends with them."""
        await write_events(writer, reply.events, last=reply.whole)
        if reply.hangs:
            self.left += await self._client_left(reader)
        return not reply.whole

    async def _client_left(self, reader: asyncio.StreamReader) -> bool:
        """Wait for the release or for the client's end, whichever comes first."""
        released = asyncio.ensure_future(self._released.wait())
        left = asyncio.ensure_future(reader.read(1))
        try:
            done, _ = await asyncio.wait({released, left}, return_when=asyncio.FIRST_COMPLETED)
            return released not in done
        finally:
            released.cancel()
            left.cancel()
            await asyncio.gather(released, left, return_exceptions=True)

    def _rendered(self, outcome: Outcome, request: Request) -> HttpReply | EventsReply:
        if outcome.kind == "status":
            said = outcome.value or f"scripted error about {request.text}"
            body = replies.error(said, outcome.error_code)
            return json_reply(body, outcome.code, outcome.headers)
        if outcome.kind == "body":
            return HttpReply(str(outcome.value).encode())
        if request.endpoint == "embeddings":
            return json_reply(replies.embeddings(request.body, self._dimension, self._embed))
        completion = self._completion(outcome, request)
        if not request.body.get("stream"):
            return json_reply(completion)
        events = replies.streamed(completion)
        if outcome.kind in {"stall", "cut"}:
            return EventsReply(events[: len(events) // 2], whole=False, hangs=outcome.kind == "stall")
        return EventsReply(events)

    def _completion(self, outcome: Outcome, request: Request) -> dict[str, Any]:
        if outcome.kind == "refused":
            return replies.completion(None, request.body, refusal=outcome.value)
        if outcome.kind in {"says", "stall", "cut"}:
            return replies.completion(outcome.value, request.body)
        if outcome.kind == "truncated":
            regular = self.plan.regular(request)
            whole = regular.value if regular.kind == "says" else replies.as_content(regular.value)
            return replies.completion(whole[: len(whole) // 2], request.body, "length")
        return replies.completion(replies.as_content(outcome.value), request.body)

    def _control(self, request: HttpRequest) -> HttpReply:
        if request.method == "GET" and request.path == "/control/requests":
            return json_reply({"requests": [asdict(each) for each in self.requests]})
        if request.method != "POST" or request.path != "/control":
            return json_reply(replies.error("no such path"), 404)
        self.steer(json.loads(request.body))
        return json_reply({})

    def steer(self, order: Mapping[str, Any]) -> None:
        """Carry out an order of the control endpoint or the script file (see __main__.py)."""
        if order.get("heal"):
            self.heal()
        if order.get("forget_requests"):
            self.requests.clear()
        for fault in order.get("faults", []):
            given = dict(fault)
            placing = {key: given.pop(key) for key in ("match", "endpoint", "times") if key in given}
            self.fail(Outcome(**given), **placing)
        self.plan.table.update(order.get("table", {}))
        self.latency_s = order.get("latency_s", self.latency_s)
        self.chat_latency_s = order.get("chat_latency_s", self.chat_latency_s)
