"""DeleteGroup, ClearAll, GetErasure, and the work on erasures that goes on behind calls."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import assert_never

from kgsvc.access.scopes import current_caller
from kgsvc.commands.cascades import erase_episode
from kgsvc.commands.core import Core
from kgsvc.commands.documents import erase_document
from kgsvc.commands.retention import erase_retained
from kgsvc.domain.errors import NotFound, ServiceError, Violation
from kgsvc.domain.model.erasures import Erasure, ErasureKind
from kgsvc.domain.text import forget_texts

log = logging.getLogger(__name__)

Dropper = Callable[[Collection[str]], Awaitable[None]]
_LOOK_S = 1.0
_ABANDONED_MS = 10_000  # a call that has taken so long died with its process, or this carries on beside it
_RECENT_MS = 600_000  # clocks of processes may differ by so much
_AT_ONCE = 100
_TOGETHER = 8  # groups, of which each takes some twenty round trips to a server
_REST = 20  # times as long as it took to free the store's files do these rest: writers wait for it


async def delete_group(core: Core, group_id: str) -> str:
    """Delete everything of a group; one that does not exist is deleted already. The id of the erasure. Raises
    StoreUnavailable."""
    return await _delete(core, [group_id])


async def clear_all(core: Core) -> tuple[int, str]:
    """Delete every group: how many there were, and the id of the erasure. Raises StoreUnavailable: then those
    that are left follow in the background."""
    group_ids = await core.store.group_ids()
    return len(group_ids), await _delete(core, group_ids) if group_ids else ""


async def _delete(core: Core, group_ids: list[str]) -> str:
    erasure_id, now_ms = core.new_id(), core.clock.now_ms()
    parts = [Erasure(erasure_id, group_id, ErasureKind.GROUP, now_ms) for group_id in group_ids]
    await core.begin_erasures(parts)
    waiting = iter(group_ids)

    async def delete() -> None:
        for group_id in waiting:
            await core.store.delete_group(group_id, core.clock.now_ms(), erasure_id)

    for result in await asyncio.gather(*(delete() for _ in range(_TOGETHER)), return_exceptions=True):
        if result is not None:
            raise result
    core.activity.poke()
    return erasure_id


@dataclass(frozen=True, slots=True)
class ErasureReceipt:
    """What became of an erasure."""

    erasure_id: str
    kind: ErasureKind
    groups: int
    removed: Mapping[str, int]  # rows by kind
    asked_ms: int
    completed_ms: int | None  # None: not yet


async def get_erasure(core: Core, erasure_id: str) -> ErasureReceipt:
    """The receipt of an erasure of groups that the caller may see. Raises NotFound, StoreUnavailable."""
    parts = await core.store.erasure(erasure_id)
    caller = current_caller.get()
    if not parts or not all(caller.sees(part.group_id) for part in parts):
        raise NotFound("there is no such erasure", [Violation("erasure_id", "names no erasure")])
    caller.require({part.group_id for part in parts})
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part.removed or {})
    ends = [part.completed_ms for part in parts if part.completed_ms is not None]
    completed_ms = max(ends) if len(ends) == len(parts) else None
    first = parts[0]
    return ErasureReceipt(erasure_id, first.kind, len(parts), counts, first.asked_ms, completed_ms)


class Erasures:
    """The erasures of the store as one process sees them: what others removed is dropped here too, what a
    call left undone is carried on, and the store's files are freed."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._droppers: list[Dropper] = []
        self._known: set[tuple[str, str]] = set()
        self._noticing = asyncio.Lock()
        self._free_at = 0.0

    def drops(self, dropper: Dropper) -> None:
        """Have it called with the groups of which something was erased, by this or another process."""
        self._droppers.append(dropper)

    async def run(self) -> None:
        """Until cancelled."""
        repeated = False
        while True:
            try:
                if not repeated:
                    for part in await self.repeat():
                        log.warning("an erasure of the ledger is repeated", extra={"group_id": part.group_id})
                    repeated = True
                if self._may_find():
                    await self.step()
            except ServiceError as error:
                log.warning("erasures cannot go on: %s", type(error).__name__)
            await asyncio.sleep(_LOOK_S)

    async def settle(self) -> list[Erasure]:
        """Carry out everything that the ledger and the store have, at once, for whoever has the store to
        itself; the parts that the ledger alone had. Raises StoreUnavailable, and what an erasure raises."""
        repeated, store = await self.repeat(), self._core.store
        while waiting := await store.erasures(_AT_ONCE):
            for part in waiting:
                if part.removed is None:
                    await self._carry_on(part)
            await store.free_erased(self._core.clock.now_ms())
        return repeated

    async def repeat(self) -> list[Erasure]:
        """Write down again what the ledger has and the store, restored from a backup, has not. Raises
        StoreUnavailable."""
        ledger, store, missing = self._core.ledger, self._core.store, []
        for part in [] if ledger is None else await asyncio.to_thread(ledger.read):
            if part.group_id not in {each.group_id for each in await store.erasure(part.erasure_id)}:
                await store.begin_erasures([part])
                missing.append(part)
        return missing

    async def notice(self) -> list[Erasure]:
        """Drop what was erased before this: what comes then is not taken for it. Erasures that are open, and
        recent ones. Raises StoreUnavailable."""
        async with self._noticing:
            since_ms = self._core.clock.now_ms() - _RECENT_MS
            parts = await self._core.store.erasures(_AT_ONCE, since_ms)
            removed = [part for part in parts if part.removed is not None and part.asked_ms >= since_ms]
            recent = {(part.erasure_id, part.group_id) for part in removed}
            if fresh := recent - self._known:
                await self._forget({group_id for _id, group_id in fresh})
            self._known = recent
            return parts

    async def step(self) -> None:
        """Look once. Raises StoreUnavailable."""
        waiting = [part for part in await self.notice() if part.completed_ms is None]
        now_ms = self._core.clock.now_ms()
        for part in waiting:
            if part.removed is None and part.asked_ms < now_ms - _ABANDONED_MS:
                await self._carry_on(part)
        await self._free(any(part.removed is not None for part in waiting))

    def _may_find(self) -> bool:
        work, since_ms = self._core.activity.open, self._core.clock.now_ms() - _RECENT_MS
        recent = work.erased_ms is not None and work.erased_ms >= since_ms
        return work.erasures or recent or bool(self._known)

    async def _forget(self, group_ids: Collection[str]) -> None:
        forget_texts()
        if self._core.embedder is not None:
            self._core.embedder.forget()
        for drop in self._droppers:
            await drop(group_ids)

    async def _carry_on(self, part: Erasure) -> None:
        log.info("an erasure is carried on", extra={"group_id": part.group_id})
        if part.kind is ErasureKind.EPISODE:
            await erase_episode(self._core, part)
        elif part.kind is ErasureKind.DOCUMENT:
            await erase_document(self._core, part)
        elif part.kind is ErasureKind.RETENTION:
            await erase_retained(self._core, part)
        elif part.kind is ErasureKind.GROUP:
            now_ms = self._core.clock.now_ms()
            await self._core.store.delete_group(part.group_id, now_ms, part.erasure_id)
        else:
            assert_never(part.kind)

    async def _free(self, needed: bool) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        if not needed or began < self._free_at:
            return
        try:
            await self._core.store.free_erased(self._core.clock.now_ms())
        finally:
            ended = loop.time()
            self._free_at = ended + _REST * (ended - began)
