"""One durable commit for all who accept at the same time (design §4)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from kgsvc.domain.errors import Overloaded, StoreUnavailable
from kgsvc.domain.items import AcceptBatch, Accepted
from kgsvc.ingestion.pressure import IntakePressure
from kgsvc.stores.protocol import IntakeStore

_RETRY_AFTER_MS = 250


@dataclass(frozen=True, slots=True)
class CoalescerSettings:
    """How much goes into one commit, and how much may wait for it."""

    batches: int = 64
    commit_bytes: int = 8 * 1024 * 1024  # of bodies, unless a single batch is larger
    waiting_bytes: int = 64 * 1024 * 1024  # of bodies in this process; beyond, Overloaded


@dataclass(frozen=True, slots=True)
class _Waiting:
    batch: AcceptBatch
    size: int
    answer: asyncio.Future[Accepted]


class AcceptCoalescer:
    """Merges concurrent calls into one `store.accept`; while one is under way, the next collects.

    Nobody waits for company: an idle store is asked at once. A caller that is cancelled leaves its batch
    behind, since it may be on its way to the disk already.
    """

    def __init__(
        self, store: IntakeStore, pressure: IntakePressure, settings: CoalescerSettings | None = None
    ) -> None:
        self._store = store
        self._pressure = pressure
        self._settings = settings or CoalescerSettings()
        self._waiting: deque[_Waiting] = deque()
        self._bytes = 0
        self._running: asyncio.Task[None] | None = None

    async def accept(self, batch: AcceptBatch) -> Accepted:
        """Return when the batch is durable. Raises Conflict, Overloaded, StoreUnavailable."""
        size = sum(len(item.episode.body) for item in batch.items)
        if self._bytes and self._bytes + size > self._settings.waiting_bytes:
            raise Overloaded("too many items wait to be stored", _RETRY_AFTER_MS)
        entry = _Waiting(batch, size, asyncio.get_running_loop().create_future())
        self._waiting.append(entry)
        self._bytes += size
        if self._running is None:
            self._running = asyncio.create_task(self._run(), name="accept")
        return await asyncio.shield(entry.answer)

    async def close(self) -> None:
        """Wait until everything handed in is answered."""
        if self._running is not None:
            await asyncio.wait({self._running})

    async def _run(self) -> None:
        try:
            while self._waiting:
                await self._commit(self._take())
        finally:
            self._running = None

    def _take(self) -> list[_Waiting]:
        taken = [self._waiting.popleft()]
        size = taken[0].size
        while self._waiting and len(taken) < self._settings.batches:
            size += self._waiting[0].size
            if size > self._settings.commit_bytes:
                break
            taken.append(self._waiting.popleft())
        return taken

    async def _commit(self, entries: list[_Waiting]) -> None:
        commit = asyncio.ensure_future(self._store.accept([entry.batch for entry in entries]))
        with self._pressure.accepting(sum(len(entry.batch.items) for entry in entries)):
            await asyncio.wait({commit})
        for entry, result in zip(entries, _results(commit, len(entries)), strict=True):
            self._bytes -= entry.size
            if isinstance(result, Accepted):
                entry.answer.set_result(result)
            else:
                entry.answer.set_exception(result)


def _results(
    commit: asyncio.Future[list[Accepted | Exception]], count: int
) -> Sequence[Accepted | BaseException]:
    """One result for each batch, whatever became of the commit: nobody may be left waiting."""
    if commit.cancelled():
        return [StoreUnavailable("the commit was cancelled")] * count
    error = commit.exception()
    if error is None and len(commit.result()) != count:
        error = RuntimeError(f"the store answered {len(commit.result())} of {count} batches")
    return commit.result() if error is None else [error] * count
