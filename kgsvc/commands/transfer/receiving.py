"""An import whose file a caller sends: gathered, checked, held against quotas, written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from kgsvc.access.quotas import allowances
from kgsvc.access.scopes import current_caller
from kgsvc.commands.core import Core
from kgsvc.commands.transfer.checking import CheckedFile, checking
from kgsvc.commands.transfer.content import TransferError
from kgsvc.commands.transfer.importing import written
from kgsvc.commands.transfer.uploads import ReceivedFile, Uploads
from kgsvc.domain.errors import Conflict, QuotaExceeded, Violation
from kgsvc.domain.limits import Allowance, Counted
from kgsvc.stores.protocol import WholeStore
from kgsvc.stores.transfers import TAKEN


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """How far a file is."""

    checked_lines: int
    written_lines: int = 0
    done: CheckedFile | None = None  # the group is in sight


class Receiver:
    """The imports of one process. `turn`: of the one that is checked and written, which takes memory and the
    processor."""

    def __init__(self, core: Core, store: WholeStore, uploads: Uploads) -> None:
        self.turn = asyncio.Semaphore(1)
        self._core = core
        self._store = store
        self._uploads = uploads

    @asynccontextmanager
    async def opened(self, group_id: str, upload_id: str | None) -> AsyncIterator[ReceivedFile]:
        """The file that a call adds to. Raises Conflict (the group has content), Overloaded (another call
        adds to it), StoreUnavailable."""
        if await self._store.group_sizes(group_id, f"{group_id}\0", 1):
            raise Conflict(TAKEN, [Violation("group_id", TAKEN)])
        await self._uploads.settled()
        now_ms = self._core.clock.now_ms()
        upload = await asyncio.to_thread(self._uploads.open, group_id, upload_id, now_ms)
        try:
            yield upload
        finally:
            await asyncio.shield(asyncio.to_thread(upload.close))

    async def imported(self, group_id: str, upload: ReceivedFile) -> AsyncGenerator[ImportProgress, None]:
        """Check a whole file and write it. Raises FileRefused, Conflict and TransferError, and the file is
        forgotten then; QuotaExceeded and StoreUnavailable: it may be gone on with."""
        try:
            checked: CheckedFile | None = None
            steps = checking(upload.path, self._core.limits, group_id)
            while (step := await asyncio.to_thread(next, steps, None)) is not None:
                if isinstance(step, CheckedFile):
                    checked = step
                else:
                    yield ImportProgress(step)
            assert checked is not None
            lines = checked.lines
            kept = await self._expect_room(group_id, checked)
            keepers = tuple(each.subject for each in kept)
            pages = written(self._store, upload.path, checked, self._core.clock, keepers)
            async with aclosing(pages):
                async for upto in pages:
                    yield ImportProgress(lines, upto)
        except (TransferError, Conflict):
            await asyncio.to_thread(upload.forget)
            raise
        await asyncio.to_thread(upload.forget)
        yield ImportProgress(lines, lines, checked)

    async def _expect_room(self, group_id: str, checked: CheckedFile) -> list[Allowance]:
        """The quotas that the bodies count for. Raises QuotaExceeded."""
        now_ms = self._core.clock.now_ms()
        every = allowances(self._core.quotas, current_caller.get().principal, group_id)
        limits = [each for each in every if each.counted is Counted.BYTES]
        used = await self._store.used({each.counter(now_ms) for each in limits}) if limits else {}
        for each in limits:
            if used.get(each.counter(now_ms), 0) + checked.body_bytes > each.limit:
                raise QuotaExceeded(each.name, each.retry_after_ms(now_ms))
        return limits
