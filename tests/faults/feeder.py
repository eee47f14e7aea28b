"""A client that streams items in, remembers what was acknowledged, and sends the rest again after a crash."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Literal

import grpc
from grpc.aio import StreamStreamCall

from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import types_pb2 as typ
from tests.support.client import DONE_S, Client, granted, is_completed, stream_request

Kind = Literal["sent", "acknowledged", "completed"]
Call = StreamStreamCall[ing.StreamEpisodesRequest, ing.StreamEpisodesResponse]
_WINDOW = 16  # items under way without an acknowledgement
_PAUSE_S = 0.5  # before a stream is taken up again
_WATCHES = 4  # receipts watched at the same time


class Trigger:
    """Fires at the `at`-th item of one kind."""

    def __init__(self, kind: Kind, at: int) -> None:
        self._kind = kind
        self._left = at
        self._heard = asyncio.Event()
        self._error: BaseException | None = None

    def note(self, kind: Kind) -> None:
        """Something happened to one more item."""
        self._left -= kind == self._kind
        self._heard.set()

    def fail(self, error: BaseException) -> None:
        """The session is over, because of this."""
        self._error = error
        self._heard.set()

    async def fired(self) -> bool:
        """True once it has fired; False when the service asked to be tried again. Raises what else ended
        the session; TimeoutError after a long silence."""
        while self._left > 0:
            async with asyncio.timeout(DONE_S):
                await self._heard.wait()
            self._heard.clear()
            error, self._error = self._error, None
            if isinstance(error, grpc.aio.AioRpcError) and error.code() == grpc.StatusCode.UNAVAILABLE:
                return False
            if error is not None:
                raise error
        return True


class Feeder:
    """Brings `items` into a group, over as many lives of the server as it takes."""

    def __init__(self, group: str, items: Sequence[typ.EpisodeItem | typ.Message]) -> None:
        self.group = group
        self.items = {item.uuid: item for item in items}
        self.sent: dict[str, None] = {}  # at least once, in order
        self.receipts: dict[str, str] = {}  # of acknowledged items
        self.completed: set[str] = set()
        self.repeated = 0  # acknowledged as duplicates: stored before a crash, unacknowledged then

    def unfinished(self, uuids: Iterable[str]) -> int:
        """How many of `uuids` and of what was acknowledged are not known to be completed."""
        return len((self.receipts.keys() | set(uuids)) - self.completed)

    def next_items(self, fresh: int) -> list[str]:
        """What was sent and not acknowledged, then `fresh` items that were never sent."""
        in_doubt = [uuid for uuid in self.sent if uuid not in self.receipts]
        unsent = [uuid for uuid in self.items if uuid not in self.sent]
        return in_doubt + unsent[:fresh]


class Session:
    """One connection: sends, reads acknowledgements, watches receipts. An async context manager."""

    def __init__(self, feeder: Feeder, client: Client, trigger: Trigger) -> None:
        self._feeder = feeder
        self._client = client
        self._trigger = trigger
        self._window = asyncio.Semaphore(_WINDOW)
        self._watches = asyncio.Semaphore(_WATCHES)
        self._tasks: list[asyncio.Task[None]] = []
        self._watched: set[str] = set()

    def begin(self, uuids: Sequence[str]) -> None:
        """Send these items, and watch them and everything unfinished from before."""
        feeder = self._feeder
        self._watch(feeder.receipts[u] for u in feeder.receipts if u not in feeder.completed)
        call = self._client.ingestion.StreamEpisodes(timeout=DONE_S)
        self._start(partial(self._send, call, uuids))
        self._start(partial(self._read, call, len(uuids)))

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, work: Callable[[], Awaitable[None]]) -> None:
        self._tasks.append(asyncio.create_task(self._reporting(work)))

    async def _reporting(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except (grpc.aio.AioRpcError, AssertionError) as error:
            self._trigger.fail(error)

    async def _send(self, call: Call, uuids: Sequence[str]) -> None:
        for uuid in uuids:
            await self._window.acquire()
            self._feeder.sent[uuid] = None
            request = stream_request(self._feeder.group, self._feeder.items[uuid], client_ref=uuid)
            await call.write(request)
            self._trigger.note("sent")
        await call.done_writing()

    async def _read(self, call: Call, count: int) -> None:
        for _ in range(count):
            acknowledgement = await call.read()
            assert isinstance(acknowledgement, ing.StreamEpisodesResponse), "the stream ended early"
            granted(acknowledgement)
            assert acknowledgement.uuid == acknowledgement.client_ref
            self._window.release()
            self._feeder.receipts[acknowledgement.uuid] = acknowledgement.receipt_id
            self._feeder.repeated += acknowledgement.duplicate
            self._trigger.note("acknowledged")
            self._watch([acknowledgement.receipt_id])

    def _watch(self, receipt_ids: Iterable[str]) -> None:
        for receipt_id in receipt_ids:
            if receipt_id not in self._watched:
                self._watched.add(receipt_id)
                self._start(partial(self._follow, receipt_id))

    async def _follow(self, receipt_id: str) -> None:
        async with self._watches:
            async for output in self._client.watch(receipt_id):
                self._see(output.items)

    def _see(self, items: Iterable[typ.ReceiptItem]) -> None:
        for item in items:
            assert item.state != typ.ITEM_STATE_PARKED, f"parked: {item.reason}"
            if is_completed(item) and item.uuid not in self._feeder.completed:
                self._feeder.completed.add(item.uuid)
                self._trigger.note("completed")


@asynccontextmanager
async def fed(feeder: Feeder, client: Client, uuids: Sequence[str], trigger: Trigger) -> AsyncIterator[None]:
    """Sends `uuids` and watches; the block runs when the trigger has fired, with everything still under way.

    A service that says UNAVAILABLE (its store was slow) is tried again, as clients do.
    """
    while True:
        async with Session(feeder, client, trigger) as session:
            session.begin([uuid for uuid in uuids if uuid not in feeder.receipts])
            if await trigger.fired():
                yield
                return
        await asyncio.sleep(_PAUSE_S)


async def fed_to_the_end(feeder: Feeder, client: Client) -> None:
    """Sends all that is left and returns when everything is completed."""
    uuids = feeder.next_items(len(feeder.items))
    async with fed(feeder, client, uuids, Trigger("completed", feeder.unfinished(uuids))):
        return
