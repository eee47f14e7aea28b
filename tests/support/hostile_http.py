"""Requests over HTTP that nobody means well by, as bytes on a connection; each is to end in a clear 4xx."""

import asyncio
import json
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from google.protobuf import json_format

from tests.support.contract import METHODS, path
from tests.support.requests import complete

ANSWER_S = 30.0
_FREE = frozenset({"attributes", "metadata"})  # hold any JSON
_WRONG: tuple[Any, ...] = (7, "x", [], True)  # none is a message


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    body: bytes


def post(body: bytes, *, where: str = path("SearchFacts"), headers: str = "", length: str = "") -> bytes:
    """A request as a client writes it; `headers` are added, each line ending in \\r\\n."""
    kind = "" if "content-type" in headers else "content-type: application/json\r\n"
    size = length or f"content-length: {len(body)}\r\n"
    host = "" if headers.startswith("host") else "host: localhost\r\n"
    return f"POST {where} HTTP/1.1\r\n{host}{kind}{size}{headers}\r\n".encode("latin-1") + body


async def exchange(address: str, raw: bytes) -> Answer:
    """Send bytes and read the answer, which may come before all is sent. Raises TimeoutError, ValueError."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    sending = asyncio.create_task(_sent(writer, raw))
    try:
        async with asyncio.timeout(ANSWER_S):
            return await _answer(reader)
    finally:
        sending.cancel()
        writer.close()
        with suppress(asyncio.CancelledError, ConnectionError):
            await sending
        with suppress(ConnectionError):
            await writer.wait_closed()


async def _sent(writer: asyncio.StreamWriter, raw: bytes) -> None:
    with suppress(ConnectionError):  # the server need not read to the end
        writer.write(raw)
        await writer.drain()


async def _answer(reader: asyncio.StreamReader) -> Answer:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
        size = fields.get(b"content-length")
        return Answer(status, await (reader.read() if size is None else reader.readexactly(int(size))))
    except asyncio.IncompleteReadError as error:
        raise ValueError(f"no answer but {error.partial[:200]!r}") from None


def requests(rng: random.Random) -> list[tuple[str, bytes]]:
    """More than 200 of them, by what is wrong."""
    return [*_malformed(rng), *_wrong_types(rng), *_headers(), *_huge(), *_no_http()]


def _valid(name: str) -> bytes:
    return json.dumps(json_format.MessageToDict(complete(name, "hostile"))).encode()


def _malformed(rng: random.Random) -> Iterator[tuple[str, bytes]]:
    names = sorted(
        n for n, m in METHODS.items() if not m.server_streaming and n not in {"ClearAll", "Healthcheck"}
    )
    for number in range(80):
        name = rng.choice(names)
        body = _valid(name)
        at = rng.randrange(len(body))
        kind, spoiled = [
            ("cut", body[:at]),
            ("not UTF-8", body[:at] + b"\xff" + body[at:]),
            ("NUL", body[:at] + b"\0" + body[at:]),
            ("twice", body + body),
        ][number % 4]
        yield f"{name}: {kind} at {at}", post(spoiled, where=path(name))


def _wrong_types(rng: random.Random) -> Iterator[tuple[str, bytes]]:
    for name, method in sorted(METHODS.items()):
        if method.server_streaming:
            continue
        whole = json.loads(_valid(name))
        wrong = rng.choice(_WRONG)
        yield f"{name}: input is {wrong!r}", post(_packed({"input": wrong}), where=path(name))
        for where in rng.sample(leaves := list(_leaves(whole)), min(2, len(leaves))):
            spoiled = json.loads(_valid(name))
            _put(spoiled, where, {"wrong": 1})
            yield f"{name}: {where} is an object", post(_packed(spoiled), where=path(name))


def _leaves(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the plain values of a message as JSON are."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key not in _FREE:
                yield from _leaves(each, (*above, key))
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from _leaves(each, (*above, at))
    else:
        yield above


def _put(value: Any, where: tuple[Any, ...], new: Any) -> None:
    *above, last = where
    for step in above:
        value = value[step]
    value[last] = new


def _packed(value: Any) -> bytes:
    return json.dumps(value).encode()


def _headers() -> Iterator[tuple[str, bytes]]:
    types = ("text/plain", "application/xml", "multipart/form-data", "application/x-www-form-urlencoded")
    for kind in (*types, "application/grpc", "json", "", "a" * 4_000, "application/json/x", "image/svg+xml"):
        yield f"content-type {kind[:20]}", post(b"{}", headers=f"content-type: {kind}\r\n")
    for given in ("-1", "1e3", "", "0x10", "99999999999", "1 2", "\xb2", "NaN", "1" * 2_000):
        yield f"timeout {given[:20]}", post(b"{}", headers=f"connect-timeout-ms: {given}\r\n")
    for host in (
        "evil.test",
        "localhost.evil.test",
        "[::2]",
        "127.0.0.2",
        "2130706433",
        "kgsvc:80",
        "@localhost@evil",
    ):
        yield f"host {host}", post(b"{}", headers=f"host: {host}\r\n")
    yield "no host", post(b"{}", headers="host-not: x\r\n").replace(b"host-not", b"x-none")
    yield "a head of 40 KiB", post(b"{}", headers=f"x-long: {'a' * 40_000}\r\n")
    yield "3,000 headers", post(b"{}", headers="".join(f"x-{n}: {n} {n}\r\n" for n in range(3_000)))
    yield "a header without a name", post(b"{}", headers=": x\r\n")
    yield "NUL in a header", post(b"{}", headers="x: a\0b\r\n")
    yield "a folded header", post(b"{}", headers=" folded: x\r\n")


def _huge() -> Iterator[tuple[str, bytes]]:
    five = 5_000_000
    yield "5 MB", post(b"x" * five)
    yield "5 MB of blanks", post(b" " * five)
    yield (
        "5 MB in chunks",
        post(b"%x\r\n%s\r\n0\r\n\r\n" % (five, b"x" * five), length="transfer-encoding: chunked\r\n"),
    )
    yield "a number of 100,000 digits", post(b'{"input": {"maxFacts": ' + b"9" * 100_000 + b"}}")
    yield "nested 100,000 deep", post(b"[" * 100_000)
    yield "objects nested 50,000 deep", post(b'{"input":' * 50_000)
    groups = json.dumps({"input": {"query": "x", "groupIds": [f"g{n}" for n in range(100_000)]}})
    yield "100,000 groups", post(groups.encode())
    yield "100,000 unknown fields", post(json.dumps({f"f{n}": n for n in range(100_000)}).encode())
    yield "a query of 4 MB", post(_packed({"input": {"groupIds": ["g"], "query": "word " * 800_000}}))


def _no_http() -> Iterator[tuple[str, bytes]]:
    where = path("SearchFacts")
    yield "a TLS greeting", bytes.fromhex("16030100f1010000ed0303") + b"\0" * 200 + b"\r\n\r\n"
    yield "HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    yield "no version", f"POST {where}\r\n\r\n".encode()
    yield "garbage", bytes(range(128, 256)) + b"\r\n\r\n"
    yield "blanks in the target", f"POST {where} {where} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()
    yield "a length of -1", post(b"{}", length="content-length: -1\r\n")
    yield "a length of 1e9", post(b"{}", length="content-length: 1e9\r\n")
    yield "two lengths", post(b"{}", length="content-length: 2\r\ncontent-length: 3\r\n")
    yield "length and chunks", post(b"z\r\n", length="content-length: 3\r\ntransfer-encoding: chunked\r\n")
    yield "an unknown coding", post(b"{}", length="transfer-encoding: gzip\r\n")
    yield "a chunk of no size", post(b"zz\r\n{}\r\n0\r\n\r\n", length="transfer-encoding: chunked\r\n")
    yield "an upper directory", b"GET /../../etc/passwd HTTP/1.1\r\nhost: localhost\r\n\r\n"
    for method in ("GET", "PUT", "DELETE", "PATCH", "TRACE", "BREW"):
        yield method, f"{method} {where} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()
