"""A request's body as it comes, beside an answer as it is made: both may go on at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send


class Body:
    """The body of a request. Starlette's own streaming answer would read it away from the handler."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._ended = asyncio.Event()

    async def chunks(self) -> AsyncIterator[bytes]:
        """All of it, once. Raises ConnectionError when the client goes."""
        while not self._ended.is_set():
            message: MutableMapping[str, Any] = await self._receive()
            if message["type"] == "http.disconnect":
                self._ended.set()
                raise ConnectionError("the client has gone")
            if not message.get("more_body", False):
                self._ended.set()
            yield message.get("body", b"")

    async def gone(self) -> None:
        """Return when the client has gone, which shows once the body is read."""
        await self._ended.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


class Streamed(Response):
    """An answer whose parts are sent as they are made, until the client goes."""

    def __init__(self, parts: AsyncIterator[bytes], body: Body, media_type: str) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self._parts = parts
        self._body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        sending = asyncio.create_task(self._send_all(send))
        gone = asyncio.create_task(self._body.gone())
        try:
            await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, gone):
                task.cancel()
            await asyncio.gather(sending, gone, return_exceptions=True)
        if not sending.cancelled():
            sending.result()  # raises what nobody foresaw

    async def _send_all(self, send: Send) -> None:
        async for part in self._parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
