"""Accepting items (AddMessages, AddEpisodes, StreamEpisodes) and RetryItems.

Concurrent calls and streams share one durable commit, whatever their groups (docs/ingestion.md).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kgsvc.access.quotas import allowances
from kgsvc.access.scopes import current_caller
from kgsvc.commands.core import Core
from kgsvc.domain.errors import (
    Conflict,
    InvalidArgument,
    KgError,
    Overloaded,
    StoreRefused,
    StoreUnavailable,
    Violation,
)
from kgsvc.domain.model.graph import Episode, RoleType, Source
from kgsvc.domain.model.items import AcceptBatch, Accepted, ItemStatus, NewItem
from kgsvc.domain.model.keys import content_hash, digest, mint
from kgsvc.runtime import ACCEPTED_CHARS, offload

STREAM = "StreamEpisodes"
_RETRY_AFTER_MS = 250
_WAITED = 0.5
_LONGEST_S = 0.02


@dataclass(frozen=True, slots=True)
class CoalescerSettings:
    """How much goes into one commit, and how much may wait for it."""

    items: int = 128  # unless a single batch has more; also what one stream hands in at a time
    commit_bytes: int = 8 * 1024 * 1024  # of bodies, unless a single batch is larger
    waiting_bytes: int = 64 * 1024 * 1024  # of bodies in this process; beyond, Overloaded


@dataclass(frozen=True, slots=True)
class _Pending:
    batch: AcceptBatch
    size: int
    answer: asyncio.Future[Accepted]


def _results(
    commit: asyncio.Future[list[Accepted | Exception]], count: int
) -> Sequence[Accepted | BaseException]:
    """One result for each batch, also when the commit failed: every caller gets an answer."""
    if commit.cancelled():
        return [StoreUnavailable("the commit was cancelled")] * count
    error = commit.exception()
    if error is None and len(commit.result()) != count:
        error = RuntimeError(f"the store answered {len(commit.result())} of {count} batches")
    return commit.result() if error is None else [error] * count


@dataclass(frozen=True, slots=True)
class ItemInput:
    """An item as the caller sent it, validated. A message carries its role beside the composed body."""

    body: str
    source: Source
    reference_ms: int
    uuid: str | None = None
    name: str | None = None
    source_description: str | None = None
    role_type: RoleType | None = None
    role: str | None = None
    previous: tuple[str, ...] = ()  # uuids of episodes to be its context instead of the latest ones
    request_id: str = ""  # of the call, or of the message of a stream


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What became of one streamed item: its state and the receipt that covers it."""

    item: ItemStatus
    receipt_id: str


def message_body(role_type: RoleType, role: str | None, content: str) -> str:
    """The body of the episode that a message becomes (docs/contract.md)."""
    return f"{role or ''}({role_type.value}): {content}"


class ItemAcceptor:
    """Turns validated items into batches and stores them.

    Concurrent calls share one `store.accept`: while one runs, the batches for the next collect. An idle store
    is called at once, unless several callers have just been answered together. The batch of a caller that is
    cancelled is stored all the same, since it may be on its way to the disk already.
    """

    def __init__(self, core: Core, settings: CoalescerSettings | None = None) -> None:
        self._core = core
        self._settings = settings or CoalescerSettings()
        self._pending: deque[_Pending] = deque()
        self._bytes = 0
        self._running: asyncio.Task[None] | None = None
        self._came = asyncio.Event()

    async def close(self) -> None:
        """Wait until everything handed in is answered."""
        if self._running is not None:
            await asyncio.wait({self._running})

    async def accept(
        self, operation: str, group_id: str, items: Sequence[ItemInput], idempotency_key: str | None = None
    ) -> Accepted:
        """Accept all of `items` or none, and return when they are durable.

        Raises Conflict (a uuid known with other content, naming `items[i].uuid`; an idempotency key known
        with other input), InvalidArgument (the store cannot hold one of the items), Overloaded,
        QuotaExceeded, ReadOnly, StoreUnavailable.
        """
        self._core.modes.require_writable()  # also amid a stream that began before
        cost = sum(len(item.body) for item in items) / ACCEPTED_CHARS
        batch = await offload(cost, self._batch, operation, group_id, items, idempotency_key)
        return await self._stored(batch)

    @property
    def items_a_commit(self) -> int:
        """More at a time bring nothing."""
        return self._settings.items

    async def accept_each(self, items: Sequence[tuple[str, ItemInput]]) -> list[Acknowledged | KgError]:
        """Accept items of a stream, given with their groups, independently of each other; one result for
        each, in order.

        Those of one group are stored as one batch, in their order; if one of them cannot be, each as a batch
        of its own. Besides Conflict and InvalidArgument a result may be Overloaded, QuotaExceeded, ReadOnly
        and StoreUnavailable: then it is unknown whether that item is stored.
        """
        places: dict[str, list[int]] = {}
        for place, (group_id, _) in enumerate(items):
            places.setdefault(group_id, []).append(place)
        groups = [(group_id, [items[place][1] for place in own]) for group_id, own in places.items()]
        results = await asyncio.gather(*(self._each_of_group(*group) for group in groups))
        found = {
            place: result
            for own, of_group in zip(places.values(), results, strict=True)
            for place, result in zip(own, of_group, strict=True)
        }
        return [found[place] for place in range(len(items))]

    async def _each_of_group(
        self, group_id: str, items: Sequence[ItemInput]
    ) -> Sequence[Acknowledged | KgError]:
        try:
            return _acknowledged(await self.accept(STREAM, group_id, items))
        except (Conflict, InvalidArgument) as refused:
            if len(items) == 1:
                return [refused]
        except KgError as error:
            return [error] * len(items)
        cost = sum(len(item.body) for item in items) / ACCEPTED_CHARS
        batches = await offload(cost, self._one_by_one, group_id, items)
        return await asyncio.gather(*map(self._alone, batches))  # they queue up in their order

    def _one_by_one(self, group_id: str, items: Sequence[ItemInput]) -> list[AcceptBatch]:
        return [self._batch(STREAM, group_id, [item], None) for item in items]

    async def _alone(self, batch: AcceptBatch) -> Acknowledged | KgError:
        try:
            return _acknowledged(await self._stored(batch))[0]
        except KgError as error:
            return error

    async def _stored(self, batch: AcceptBatch) -> Accepted:
        """Store a batch with others that wait, count its new items and wake the workers."""
        size = sum(len(item.episode.body) for item in batch.items)
        if self._bytes and self._bytes + size > self._settings.waiting_bytes:
            raise Overloaded("too many items wait to be stored", _RETRY_AFTER_MS)
        entry = _Pending(batch, size, asyncio.get_running_loop().create_future())
        self._pending.append(entry)
        self._bytes += size
        self._came.set()
        if self._running is None:
            self._running = asyncio.create_task(self._run(), name="accept")
        try:
            accepted = await asyncio.shield(entry.answer)
        except StoreRefused as refused:
            raise _cannot_be_held(batch) from refused
        new = sum(not item.duplicate for item in accepted.items)
        if new:
            self._core.metrics.ingestion_accepted.inc(new)
            self._core.activity.poke()
        return accepted

    async def _run(self) -> None:
        try:
            loop = asyncio.get_running_loop()
            while self._pending:
                taken, began = self._take(), loop.time()
                await self._commit(taken)
                calls = sum(entry.batch.operation != STREAM for entry in taken)
                if calls > 1:
                    await self._again(calls, min(_WAITED * (loop.time() - began), _LONGEST_S))
        finally:
            self._running = None

    async def _again(self, answered: int, longest_s: float) -> None:
        """Callers that are answered together mostly come again together: wait a moment, so that they share
        the next commit, also with those that wait already."""
        wanted = len(self._pending) + answered
        try:
            async with asyncio.timeout(longest_s):
                while len(self._pending) < wanted:
                    self._came.clear()
                    await self._came.wait()
        except TimeoutError:
            pass

    def _take(self) -> list[_Pending]:
        taken = [self._pending.popleft()]
        size, items = taken[0].size, len(taken[0].batch.items)
        while self._pending:
            size += self._pending[0].size
            items += len(self._pending[0].batch.items)
            if size > self._settings.commit_bytes or items > self._settings.items:
                break
            taken.append(self._pending.popleft())
        return taken

    async def _commit(self, entries: list[_Pending]) -> None:
        commit = asyncio.ensure_future(self._core.store.accept([entry.batch for entry in entries]))
        with self._core.pressure.accepting(sum(len(entry.batch.items) for entry in entries)):
            await asyncio.wait({commit})
        if len(entries) > 1 and not commit.cancelled() and isinstance(commit.exception(), StoreRefused):
            # One caller's values must not be held against the others.
            middle = len(entries) // 2
            await self._commit(entries[:middle])
            await self._commit(entries[middle:])
            return
        for entry, result in zip(entries, _results(commit, len(entries)), strict=True):
            self._bytes -= entry.size
            if isinstance(result, Accepted):
                entry.answer.set_result(result)
            else:
                entry.answer.set_exception(result)

    def _batch(
        self, operation: str, group_id: str, items: Sequence[ItemInput], key: str | None
    ) -> AcceptBatch:
        now_ms = self._core.clock.now_ms()
        quotas, trace = self._core.quotas, self._core.metrics.tracer.carried()
        return AcceptBatch(
            group_id=group_id,
            items=tuple(
                NewItem(
                    _episode(group_id, item, now_ms),
                    item.previous,
                    item.request_id,
                    quotas.tokens_for(item.body),
                    trace,
                )
                for item in items
            ),
            receipt_id=self._core.new_id(),
            operation=operation,
            now_ms=now_ms,
            idempotency_key=key,
            input_hash="" if key is None else input_hash(operation, group_id, items),
            dedup_window_ms=self._core.limits.dedup_window_ms,
            receipt_window_ms=self._core.limits.receipt_window_ms,
            queue_items=self._core.limits.queue_items,
            allowances=allowances(quotas, current_caller.get().principal, group_id),
        )


async def retry_items(core: Core, group_id: str, uuids: Collection[str] | None) -> list[str]:
    """Start parked items again (None: all of the group); the uuids of those. Raises StoreUnavailable."""
    retried = await core.store.retry_items(group_id, uuids, core.clock.now_ms())
    if retried:
        core.activity.poke()
    return retried


def input_hash(operation: str, group_id: str, items: Sequence[ItemInput]) -> str:
    """What two calls with one idempotency key must have in common: the values they map to."""
    return digest(operation, group_id, [_values(item) for item in items])


def _values(item: ItemInput) -> list[Any]:
    return [
        item.uuid,
        item.name,
        item.source.value,
        item.body,
        item.reference_ms,
        item.source_description,
        None if item.role_type is None else item.role_type.value,
        item.role,
        *([list(item.previous)] if item.previous else ()),
    ]


def _episode(group_id: str, item: ItemInput, now_ms: int) -> Episode:
    """The episode of an item; without a uuid it gets one that follows from its content."""
    episode = Episode(
        uuid=item.uuid or "",
        group_id=group_id,
        body=item.body,
        source=item.source,
        reference_ms=item.reference_ms,
        created_ms=now_ms,
        name=item.name,
        source_description=item.source_description,
        role_type=item.role_type,
        role=item.role,
    )
    hashed = content_hash(episode)
    return replace(episode, uuid=item.uuid or mint("episode", group_id, hashed), content_hash=hashed)


def _cannot_be_held(batch: AcceptBatch) -> InvalidArgument:
    if len(batch.items) > 1:
        return InvalidArgument("the store cannot hold one of the items")
    said = "the store cannot hold this item"
    return InvalidArgument(said, [Violation("items[0]", said)])


def _acknowledged(accepted: Accepted) -> list[Acknowledged | KgError]:
    """Each item with its receipt. A duplicate keeps the receipt it first came with, so that every replay
    names the same one."""
    return [
        Acknowledged(item, (item.receipt_id if item.duplicate else "") or accepted.receipt_id)
        for item in accepted.items
    ]
