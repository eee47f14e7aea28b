"""As much HTTP/1.1 as the openai client speaks: requests with a Content-Length, on kept connections."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class HttpReply:
    """One reply with a JSON body."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EventsReply:
    """One reply of server-sent events, each a JSON value. If not `whole`, it breaks off, or `hangs` first."""

    events: Sequence[Any]
    whole: bool = True
    hangs: bool = False


def json_reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpReply:
    """`value` as the body of a reply."""
    return HttpReply(json.dumps(value).encode(), status, headers or {})


async def read_request(reader: asyncio.StreamReader) -> HttpRequest | None:
    """The next request on the connection; None when the client closed it."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    method, path, _ = first.split(" ", 2)
    return HttpRequest(method, path, headers, body)


async def write_events(writer: asyncio.StreamWriter, events: Sequence[Any], *, last: bool) -> None:
    """Send events; behind the `last` ones the end. A client that went away is no error."""
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    told = [f"data: {json.dumps(event)}\n\n" for event in events] + ["data: [DONE]\n\n"] * last
    try:
        writer.write(head.encode("latin-1"))
        for each in told:
            writer.write(f"{len(each):x}\r\n{each}\r\n".encode("latin-1"))
            await writer.drain()
        if last:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except ConnectionError:
        return


async def write_reply(writer: asyncio.StreamWriter, reply: HttpReply) -> None:
    """Send `reply`; a client that went away is no error."""
    head = [f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}", "Content-Type: application/json"]
    head += [f"{name}: {value}" for name, value in reply.headers.items()]
    head += [f"Content-Length: {len(reply.body)}", "", ""]
    try:
        writer.write("\r\n".join(head).encode("latin-1") + reply.body)
        await writer.drain()
    except ConnectionError:
        return
