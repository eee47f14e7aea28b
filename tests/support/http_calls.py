"""Calls of any RPC over HTTP, each in the form that its kind takes: JSON, or a stream of Connect."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
from google.protobuf import json_format

from tests.support.contract import METHODS, path

END = 0x02
STREAM = "application/connect+json"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended: the code of Connect, empty if well; the error; the answers."""

    status: int
    code: str
    error: dict[str, Any]
    answers: list[Any]


def frame(message: bytes, flags: int = 0) -> bytes:
    """A message of a stream, as Connect and gRPC-Web write it."""
    return bytes([flags]) + len(message).to_bytes(4, "big") + message


def framed(body: bytes) -> Iterator[tuple[int, bytes]]:
    """The messages of such a stream with their flags."""
    while body:
        size = int.from_bytes(body[1:5], "big")
        yield body[0], body[5 : 5 + size]
        body = body[5 + size :]


def streams(name: str) -> bool:
    """Whether an RPC takes or answers with a stream."""
    return METHODS[name].client_streaming or METHODS[name].server_streaming


def as_json(message: Any) -> bytes:
    """A request as it is sent."""
    return json_format.MessageToJson(message).encode()


async def called(
    http: httpx.AsyncClient, name: str, body: bytes, token: str | None = None, **more: str
) -> Outcome:
    """How a call with such a request as JSON ends; `more` are headers, with underscores for dashes."""
    headers = {key.replace("_", "-"): value for key, value in more.items()}
    headers["content-type"] = STREAM if streams(name) else "application/json"
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    answer = await http.post(path(name), content=frame(body) if streams(name) else body, headers=headers)
    if not streams(name):
        found = answer.json()
        failed = "code" in found
        return Outcome(
            answer.status_code, found.get("code", ""), found if failed else {}, [] if failed else [found]
        )
    *answers, (flags, end) = framed(answer.content)
    assert flags == END
    error = json.loads(end).get("error", {})
    told = [json.loads(each) for _, each in answers]
    return Outcome(answer.status_code, error.get("code", ""), error, told)


async def first(http: httpx.AsyncClient, name: str, body: bytes) -> Outcome:
    """How a stream begins: its first answer, or the error that it ends with. Then it is broken off."""
    headers, come = {"content-type": STREAM}, b""
    async with http.stream("POST", path(name), content=frame(body), headers=headers) as answer:
        async for piece in answer.aiter_bytes():
            come += piece
            if len(come) >= 5 and len(come) >= 5 + int.from_bytes(come[1:5], "big"):
                break
        flags, message = next(framed(come))
        found = json.loads(message)
        error = found.get("error", {}) if flags == END else {}
        return Outcome(answer.status_code, error.get("code", ""), error, [] if flags == END else [found])
