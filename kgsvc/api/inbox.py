"""Reading an ingestion stream no faster than its items can be stored."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from kgsvc.commands.intake import ItemInput
from kgsvc.domain.errors import OperationError


@dataclass(frozen=True, slots=True)
class Incoming:
    """One message of the stream: an item, or what is wrong with it."""

    sequence: int
    size: int
    request_id: str
    client_ref: str
    group_id: str
    kind: str  # episode | message: the field that the item came in
    item: ItemInput | OperationError


class Inbox:
    """What was read and is not acknowledged yet, bounded in bytes.

    At the bound nothing more is read, so that flow control slows the client; a message larger than the
    bound passes alone. `read` makes an Incoming of the bytes of one message and its position.
    """

    def __init__(
        self,
        requests: AsyncIterator[bytes],
        read: Callable[[int, bytes], Awaitable[Incoming]],
        max_bytes: int,
        stopping: asyncio.Event,
    ) -> None:
        self._requests = requests
        self._read_one = read
        self._max_bytes = max_bytes
        self._stopping = stopping
        self._waiting: deque[Incoming] = deque()
        self._bytes = 0
        self._arrived = asyncio.Event()
        self._freed = asyncio.Event()
        self._reader = asyncio.create_task(self._read())
        self._stopper = asyncio.create_task(self._stop())

    async def run(self, max_items: int) -> list[Incoming]:
        """The next messages that wait, at most `max_items`: sound ones of one group, or one that is not.

        Never waits for more than the first. Empty when the client has closed its side or the process stops.
        Raises what `read` raised, behind everything read before.
        """
        while not self._waiting:
            if self._reader.done():
                if not self._reader.cancelled():
                    self._reader.result()
                return []
            self._arrived.clear()
            await self._arrived.wait()
        first = self._waiting.popleft()
        taken = [first]
        while len(taken) < max_items and self._waiting and _together(first, self._waiting[0]):
            taken.append(self._waiting.popleft())
        return taken

    def acknowledged(self, incoming: Incoming) -> None:
        """Its bytes are free for the next."""
        self._bytes -= incoming.size
        self._freed.set()

    async def close(self) -> None:
        """Stop reading."""
        self._stopper.cancel()
        self._reader.cancel()
        await asyncio.gather(self._stopper, self._reader, return_exceptions=True)

    async def _stop(self) -> None:
        await self._stopping.wait()
        self._reader.cancel()

    async def _read(self) -> None:
        sequence = 0
        try:
            async for raw in self._requests:
                incoming = await self._read_one(sequence, raw)
                sequence += 1
                self._bytes += incoming.size
                self._waiting.append(incoming)
                self._arrived.set()
                while self._bytes >= self._max_bytes:
                    self._freed.clear()
                    await self._freed.wait()
        finally:
            self._arrived.set()


def _together(first: Incoming, other: Incoming) -> bool:
    sound = not isinstance(first.item, OperationError) and not isinstance(other.item, OperationError)
    return sound and first.group_id == other.group_id
