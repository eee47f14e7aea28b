"""Sending items, and waiting until they are in the graph."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

import click
import grpc.aio

from kgsvc.cli.client import Service, accepted, retryable
from kgsvc.cli.modes import REASONS
from kgsvc.cli.options import Failure
from kgsvc.cli.reading import BadLine, Read, Record, Silent
from kgsvc.v1.envelope_pb2 import STATUS_ERROR
from kgsvc.v1.ingestion_pb2 import StreamEpisodesResponse, WatchReceiptInput, WatchReceiptRequest
from kgsvc.v1.types_pb2 import ItemState, ReceiptItem

_TERMINAL = (
    ItemState.ITEM_STATE_COMPLETED,
    ItemState.ITEM_STATE_PARKED,
    ItemState.ITEM_STATE_DELETED,
)
WINDOW_ITEMS = 1_024
WATCHES = 16  # receipts watched at once: one whose items wait must not hide that others are done
WINDOW_BYTES = 8 * 1024 * 1024
READ_AHEAD = 256
PAUSE_S = 1.0
_DONE = (ItemState.ITEM_STATE_COMPLETED, ItemState.ITEM_STATE_PARKED)


@dataclass(slots=True)
class Outcome:
    """What became of the items of one run."""

    accepted: int = 0
    duplicates: int = 0
    refused: list[tuple[int, str]] = field(default_factory=list)  # (line, problem)
    silent: int = 0  # instructions, output of tools, notices: not sent
    other_time: int = 0  # of the duplicates: stored with another reference time
    parked: dict[str, str] = field(default_factory=dict)  # uuid -> reason
    open: dict[str, set[str]] = field(default_factory=dict)  # receipt -> uuids that are not done yet
    waited: set[str] = field(default_factory=set)  # reasons of which people were told

    @property
    def acknowledged(self) -> int:
        """Items that are stored."""
        return self.accepted + self.duplicates


class Upload:
    """One run of a command. `on_settled` gets the bytes of input of every line that is dealt with."""

    def __init__(
        self, service: Service, group_id: str, item_bytes: int, on_settled: Callable[[int], None]
    ) -> None:
        self.outcome = Outcome()
        self._service = service
        self._group_id = group_id
        self._item_bytes = item_bytes
        self._on_settled = on_settled
        self._records: asyncio.Queue[Read | None] = asyncio.Queue(READ_AHEAD)
        self._unacknowledged: deque[Record] = deque()
        self._bytes = 0
        self._room = asyncio.Event()
        self._exhausted = False
        self._sent_before: set[int] = set()  # lines sent on a stream that broke: perhaps stored then
        self._reading_failed: Failure | None = None

    async def run(self, records: Iterator[Read]) -> Outcome:
        """Send everything and wait for the acknowledgements. Raises Failure."""
        loop = asyncio.get_running_loop()
        Thread(target=self._read, args=(records, loop), daemon=True).start()
        give_up = loop.time() + self._service.timeout_s
        while True:
            before = self.outcome.acknowledged
            failure = await self._exchange()
            if self._reading_failed is not None:
                raise self._reading_failed
            if self._exhausted and not self._unacknowledged:
                return self.outcome
            if self.outcome.acknowledged > before:
                give_up = loop.time() + self._service.timeout_s
            if loop.time() > give_up:
                raise self._final(failure)
            await asyncio.sleep(PAUSE_S)

    def _read(self, records: Iterator[Read], loop: asyncio.AbstractEventLoop) -> None:
        """Read in a thread of its own: standard input may block. Ends with the loop."""
        try:
            for record in records:
                if not self._hand_over(record, loop):
                    return
        except Failure as failure:
            self._reading_failed = failure
        except OSError as error:
            self._reading_failed = Failure(f"the input cannot be read further: {error.strerror}")
        self._hand_over(None, loop)

    def _hand_over(self, record: Read | None, loop: asyncio.AbstractEventLoop) -> bool:
        handed = self._records.put(record)
        try:
            asyncio.run_coroutine_threadsafe(handed, loop).result()
        except (RuntimeError, CancelledError):  # the loop is closed: the command is over
            handed.close()
            return False
        return True

    async def _exchange(self) -> Failure:
        """One stream until its end, and what to say if that came too early. Raises Failure when hopeless."""
        call = self._service.ingestion.StreamEpisodes(metadata=self._service.metadata)
        writer = asyncio.create_task(self._write(call))
        try:
            async for answer in call:
                self._settle(self._unacknowledged.popleft(), answer)
        except grpc.aio.AioRpcError as error:
            if not retryable(error):
                raise self._final(self._service.failure(error)) from error
            return self._service.failure(error)
        finally:
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
            self._sent_before.update(record.line for record in self._unacknowledged)
        return Failure(f"{self._service.address} ended the stream too early")

    async def _write(self, call: Any) -> None:
        """Send what is unacknowledged, then what is read, while there is room. Errors show at the reader."""
        for record in list(self._unacknowledged):
            await call.write(record.request)
        while not self._exhausted:
            await self._wait_for_room()
            match await self._records.get():
                case None:
                    self._exhausted = True
                case BadLine() as bad:
                    self._refuse(bad.line, bad.bytes, bad.problem)
                case Silent() as silent:
                    self.outcome.silent += 1
                    self._on_settled(silent.bytes)
                case record:
                    await self._send(record, call)
        await call.done_writing()

    async def _send(self, record: Record, call: Any) -> None:
        record.request.group_id = self._group_id
        record.request.client_ref = str(record.line)
        size = record.request.ByteSize()
        if size > self._item_bytes:
            self._refuse(
                record.line,
                record.bytes,
                f"the item has {size} bytes, at most {self._item_bytes} are allowed",
            )
            return
        self._unacknowledged.append(record)
        self._bytes += size
        await call.write(record.request)

    async def _wait_for_room(self) -> None:
        while len(self._unacknowledged) >= WINDOW_ITEMS or self._bytes >= WINDOW_BYTES:
            self._room.clear()
            await self._room.wait()

    def _settle(self, record: Record, answer: StreamEpisodesResponse) -> None:
        self._bytes -= record.request.ByteSize()
        self._room.set()
        if answer.status == STATUS_ERROR and not (record.minted and answer.error.error_code == "CONFLICT"):
            self._refuse(record.line, record.bytes, answer.error.message)
            return
        # A minted uuid is made from the text: in conflict means there with another reference time.
        other = answer.status == STATUS_ERROR
        self.outcome.other_time += other
        duplicate = answer.duplicate or other
        if duplicate and record.line not in self._sent_before:
            self.outcome.duplicates += 1
        else:
            self.outcome.accepted += 1
        if answer.state == ItemState.ITEM_STATE_PARKED:
            self.outcome.parked[answer.uuid] = answer.error.message or "parked earlier"
        elif answer.receipt_id and answer.state not in _DONE:
            self.outcome.open.setdefault(answer.receipt_id, set()).add(answer.uuid)
        self._on_settled(record.bytes)

    def _refuse(self, line: int, size: int, problem: str) -> None:
        self.outcome.refused.append((line, problem))
        self._on_settled(size)

    def _final(self, failure: Failure) -> Failure:
        if not self.outcome.acknowledged:
            return failure
        done = f"{self.outcome.acknowledged} items are stored; run the same command again for the rest"
        return Failure(f"{failure.message} ({done})")


async def follow(service: Service, outcome: Outcome, within_s: float, on_done: Callable[[int], None]) -> None:
    """Watch the receipts of `outcome` until all its items are done; parked ones are added to it.

    `on_done` gets how many more are done. Raises Failure, also when it takes longer than `within_s`.
    """
    try:
        async with asyncio.timeout(within_s):
            slots = asyncio.Semaphore(WATCHES)
            async with asyncio.TaskGroup() as watches:
                for receipt, uuids in outcome.open.items():
                    await slots.acquire()
                    watch = _follow_one(service, receipt, uuids, outcome, on_done)
                    watches.create_task(watch).add_done_callback(lambda _: slots.release())
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    except TimeoutError as error:
        left = sum(map(len, outcome.open.values()))
        raise Failure(
            f"{left} items are not done after {within_s:g} s; the service works on (see `kgsvc items`)"
        ) from error


async def _follow_one(
    service: Service, receipt: str, uuids: set[str], outcome: Outcome, on_done: Callable[[int], None]
) -> None:
    while uuids:
        watch = service.ingestion.WatchReceipt(
            WatchReceiptRequest(input=WatchReceiptInput(receipt_id=receipt)),
            wait_for_ready=True,
            metadata=service.metadata,
        )
        try:
            async for answer in watch:
                before = len(uuids)
                _tell_why(accepted(answer).output.wait_reason, outcome)
                for item in answer.output.items:
                    _note(item, uuids, outcome)
                on_done(before - len(uuids))
                if not uuids:
                    watch.cancel()
                    return
        except grpc.aio.AioRpcError as error:
            if not retryable(error):
                raise service.failure(error) from error
        await asyncio.sleep(PAUSE_S)


def _tell_why(reason: str, outcome: Outcome) -> None:
    """Say once for which reason nothing is done at the moment."""
    if reason and reason not in outcome.waited:
        outcome.waited.add(reason)
        click.echo(f"Items wait: {REASONS.get(reason, reason)}.", err=True)


def _note(item: ReceiptItem, uuids: set[str], outcome: Outcome) -> None:
    if item.uuid in uuids and item.state in _TERMINAL:
        uuids.discard(item.uuid)
        if item.state == ItemState.ITEM_STATE_PARKED:
            outcome.parked[item.uuid] = item.reason
