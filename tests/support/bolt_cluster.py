"""Several Bolt addresses in front of one Neo4j that behave like the members of a cluster, by a script.

Each member forwards what it is asked to the one server, but

- answers ROUTE with the table of the moment;
- refuses to write (Neo.ClientError.Cluster.NotALeader) while it is not the leader;
- as a follower, has only the groups that it was forced to catch up with: until a bookmark asks for the
  transaction that made a group, or a later one, it answers as one that has no such group.

So a read that carries no bookmark does not see a new group, ever. What a real cluster does beyond that
(elections, replication, the loss of a majority) is not here.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

import asyncio
import base64
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from neo4j._codec.packstream import _common, v1

_buffers: Any = _common  # of the driver, untyped
_stream: Any = v1
HANDSHAKE = 20
MANIFEST = b"\x00\x00\x01\xff"  # a server's answer that offers versions, of which the driver takes one
RESET, RUN, BEGIN, COMMIT, ROLLBACK, PULL, ROUTE = 0x0F, 0x10, 0x11, 0x12, 0x13, 0x3F, 0x66
GOODBYE = 0x02
SUCCESS, RECORD, IGNORED, FAILURE = 0x70, 0x71, 0x7E, 0x7F
DATABASE_ID = 19  # bytes of a bookmark
NOT_A_LEADER = "Neo.ClientError.Cluster.NotALeader"
BOOKMARK_TIMEOUT = "Neo.TransientError.Transaction.BookmarkTimeout"


def packed(tag: int, *fields: object) -> bytes:
    """A message in its chunks."""
    buffer = _buffers.PackableBuffer()
    _stream.Packer(buffer).pack_struct(bytes([tag]), list(fields))
    data, chunks = bytes(buffer.data), b""
    for start in range(0, len(data), 0xFFFF):
        part = data[start : start + 0xFFFF]
        chunks += len(part).to_bytes(2) + part
    return chunks + b"\x00\x00"


async def _number(reader: asyncio.StreamReader) -> bytes:
    """The bytes of a number of variable length."""
    raw = await reader.readexactly(1)
    while raw[-1] & 0x80:
        raw += await reader.readexactly(1)
    return raw


async def shake_hands(
    client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
) -> None:
    """Let both sides agree on a version. Raises IncompleteReadError."""
    server[1].write(await client[0].readexactly(HANDSHAKE))
    answer = await server[0].readexactly(4)
    if answer == MANIFEST:
        count = await _number(server[0])
        size = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(count))
        answer += count + await server[0].readexactly(4 * size) + await _number(server[0])
        client[1].write(answer)
        server[1].write(await client[0].readexactly(4) + await _number(client[0]))
    else:
        client[1].write(answer)


async def message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The next message: as it came, and without its chunks. Raises IncompleteReadError at the end."""
    raw = data = b""
    while True:
        head = await reader.readexactly(2)
        raw += head
        size = int.from_bytes(head)
        if size:
            part = await reader.readexactly(size)
            raw, data = raw + part, data + part
        elif data:
            return raw, data


def failure(code: str, sentence: str) -> bytes:
    """A refusal, as all versions of the protocol read it."""
    known = {"code": code, "neo4j_code": code, "message": sentence, "description": sentence}
    return packed(FAILURE, known | {"gql_status": "50N42", "diagnostic_record": {}})


def fields_of(data: bytes) -> list[Any]:
    """What a message says."""
    found = _stream.Unpacker(_buffers.UnpackableBuffer(data)).unpack()
    return list(found.fields)


def place(bookmark: str) -> int:
    """Which transaction of the database a bookmark stands for; 0: it is none that a server made."""
    try:
        raw = base64.b64decode(bookmark.removeprefix("FB:"), validate=True)
    except ValueError:
        return 0
    # The id of the database in a list, then the number.
    return (
        int(_stream.Unpacker(_buffers.UnpackableBuffer(raw[DATABASE_ID:])).unpack())
        if raw[DATABASE_ID:]
        else 0
    )


def texts_of(value: object) -> Iterator[str]:
    """All texts of a statement's parameters."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from texts_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts_of(each)


@dataclass
class Member:
    """One address."""

    number: int
    address: str = ""
    reached: int = 0  # the newest transaction that it has, as a follower
    stuck: bool = False  # whether it never catches up any more
    asked: Counter[str] = field(default_factory=Counter)  # read, write, refused, behind
    connections: set[asyncio.StreamWriter] = field(default_factory=set)

    def cut(self) -> None:
        """Every connection breaks at once."""
        for writer in self.connections:
            writer.transport.abort()


class BoltCluster:
    """The members, who is the leader, and what happened."""

    def __init__(self, host: str, port: int, groups: str, members: int) -> None:
        self._upstream = (host, port)
        self._groups = re.compile(groups)
        self.members = [Member(number) for number in range(members)]
        self.leader = 0
        self.newest = 0  # the newest transaction that anyone was told of
        self.made: dict[str, int] = {}  # the transaction that made each group
        self.terms = 0  # how often the leader changed
        self.routed = 0  # how often the table was asked for

    @property
    def uri(self) -> str:
        """Where a driver begins."""
        return f"neo4j://{self.members[-1].address}"

    @property
    def asked(self) -> Counter[str]:
        """What all members were asked."""
        return sum((member.asked for member in self.members), Counter())

    @property
    def table(self) -> Mapping[str, Any]:
        """The routing table."""
        addresses = [member.address for member in self.members]
        leader = addresses[self.leader]
        roles = {
            "WRITE": [leader],
            "READ": [each for each in addresses if each != leader],
            "ROUTE": addresses,
        }
        servers = [{"addresses": each, "role": role} for role, each in roles.items()]
        return {"rt": {"ttl": 3_600, "db": "neo4j", "servers": servers}}

    def elect(self, number: int, *, cut: bool = False) -> None:
        """Another leader, which has everything; with `cut` the former one's connections break."""
        former = self.members[self.leader]
        former.reached = max(former.reached, self.newest)
        self.leader = number
        self.terms += 1
        if cut:
            former.cut()

    def groups_in(self, said: list[Any]) -> set[str]:
        """The groups that a statement names: [text, parameters, ...]."""
        return {text for text in texts_of(said[1]) if self._groups.fullmatch(text)}

    def made_in(self, said: list[Any]) -> set[str]:
        """Those that it may make."""
        return self.groups_in(said) if "MERGE" in said[0] else set()

    async def serve(self, member: Member, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of a driver."""
        member.connections.add(writer)
        try:
            own_reader, own_writer = await asyncio.open_connection(*self._upstream)
            try:
                await shake_hands((reader, writer), (own_reader, own_writer))
                await _Conversation(self, member, writer, own_reader, own_writer).hold(reader)
            finally:
                own_writer.close()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # either side has gone, as the script or the driver wants
        finally:
            member.connections.discard(writer)
            writer.close()


class _Conversation:
    """The messages of one connection, one after the other."""

    def __init__(
        self,
        cluster: BoltCluster,
        member: Member,
        writer: asyncio.StreamWriter,
        own_reader: asyncio.StreamReader,
        own_writer: asyncio.StreamWriter,
    ) -> None:
        self._cluster = cluster
        self._member = member
        self._writer = writer
        self._own_reader = own_reader
        self._own_writer = own_writer
        self._failed = False  # everything is ignored until RESET
        self._in_write = False  # a transaction or statement that may write is under way
        self._in_transaction = False
        self._empty = False  # the last statement was answered without the server
        self._makes: set[str] = set()  # groups, if it commits

    async def hold(self, reader: asyncio.StreamReader) -> None:
        """Until a side goes."""
        while True:
            raw, data = await message(reader)
            tag = data[1]
            if tag == RESET:
                self._failed = self._in_write = self._in_transaction = self._empty = False
            if self._failed:
                self._writer.write(packed(IGNORED))
            elif (answer := self._answer(tag, data)) is not None:
                self._failed = answer[3] == FAILURE
                self._writer.write(answer)
            else:
                await self._forward(tag, raw)
            await self._writer.drain()

    def _answer(self, tag: int, data: bytes) -> bytes | None:
        """What the member says by itself; None: what the server says."""
        if tag == ROUTE:
            self._cluster.routed += 1
            return packed(SUCCESS, self._cluster.table)
        if tag == PULL and self._empty:
            self._empty = False
            return packed(SUCCESS, {"type": "r", "db": "neo4j"})
        if tag == BEGIN or (tag == RUN and not self._in_transaction):
            return self._begun(tag, fields_of(data))
        if tag in (RUN, COMMIT) and self._in_write and not self._leads:
            return self._refusal()
        if tag == RUN:
            self._makes |= self._cluster.made_in(fields_of(data))
        return None

    @property
    def _leads(self) -> bool:
        return self._cluster.leader == self._member.number

    def _refusal(self) -> bytes:
        self._member.asked["refused"] += 1
        return failure(NOT_A_LEADER, "No write operations are allowed here")

    def _begun(self, tag: int, said: list[Any]) -> bytes | None:
        """Of a transaction, or of a statement that is one."""
        extra = said[-1]
        self._in_write = extra.get("mode") != "r"
        self._in_transaction = tag == BEGIN
        self._makes = self._cluster.made_in(said) if tag == RUN else set()
        wanted = max(map(place, extra.get("bookmarks", ())), default=0)
        if self._in_write:
            self._member.asked["write"] += 1
            return None if self._leads else self._refusal()
        self._member.asked["read"] += 1
        if self._leads:
            return None
        if wanted > self._member.reached:
            if self._member.stuck:
                return failure(BOOKMARK_TIMEOUT, "not there yet")
            self._member.reached = wanted
        groups = self._cluster.groups_in(said) if tag == RUN else set()
        if any(self._cluster.made.get(group, 0) > self._member.reached for group in groups):
            self._member.asked["behind"] += 1
            self._empty = True
            return packed(SUCCESS, {"fields": ["none"], "t_first": 0})
        return None

    async def _forward(self, tag: int, raw: bytes) -> None:
        self._own_writer.write(raw)
        await self._own_writer.drain()
        if tag == GOODBYE:
            return
        while True:
            raw, data = await message(self._own_reader)
            self._writer.write(raw)
            if data[1] != RECORD:
                break
        self._failed = data[1] == FAILURE
        if data[1] == SUCCESS:
            self._note(tag, fields_of(data)[0])

    def _note(self, tag: int, metadata: Mapping[str, Any]) -> None:
        if (bookmark := metadata.get("bookmark")) is not None:
            at = place(bookmark)
            self._cluster.newest = max(self._cluster.newest, at)
            for group in self._makes if self._in_write else ():
                self._cluster.made.setdefault(group, at)
        if tag in (COMMIT, ROLLBACK):
            self._in_transaction = self._in_write = False


@asynccontextmanager
async def bolt_cluster(uri: str, groups: str, members: int = 3) -> AsyncIterator[BoltCluster]:
    """A cluster in front of the server at this address (bolt://HOST:PORT). `groups`: a pattern of the ids of
    groups that followers hide until they have caught up."""
    host, _, port = uri.rpartition("/")[2].rpartition(":")
    cluster = BoltCluster(host, int(port), groups, members)
    servers: list[asyncio.Server] = []
    tasks: set[asyncio.Task[None]] = set()

    def serving(member: Member) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(cluster.serve(member, reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        return serve

    for member in cluster.members:
        server = await asyncio.start_server(serving(member), "127.0.0.1", 0, limit=64 * 1024 * 1024)
        member.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        servers.append(server)
    try:
        yield cluster
    finally:
        for server in servers:
            server.close()
        for task in tuple(tasks):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)
