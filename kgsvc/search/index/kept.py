"""Parts of groups in files of this server, so that they are in memory at once after a restart.

A file counts only while the store knows its proof: a random text that the store kept with the group when the
part was all that the group had. A store that was restored from before has no such proof, and an erasure
removes those of its group. What changed since is read from the store, as for a part in memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from kgsvc.domain.errors import ServiceError
from kgsvc.domain.model.delta import GroupHead
from kgsvc.domain.text import NORMALISER_VERSION, TOKENISER_VERSION
from kgsvc.runtime import INDEX_ROWS, offload
from kgsvc.search.index.array_files import ArrayFiles, Stored, Writing, file_shape, row_bytes
from kgsvc.search.index.arrays import Frozen, Live
from kgsvc.search.index.facts import PACKED_FIELDS, GroupIndex
from kgsvc.search.index.group import GroupTexts, LazyPart, SearchedGroup, SharedGroup
from kgsvc.search.index.held import HeldGroups
from kgsvc.stores.search_protocol import ProofStore

_FORMAT = 5  # of what indexes freeze to; a file of another one is not read
_PIECE_BYTES = 4 * 1024 * 1024  # of a column, copied while its group waits
_UNKEPT_ROWS = 50  # a part is written to a file once so many rows of it have changed, and
_UNKEPT_SHARE = 10  # such a share of it
_PAGE_ROWS = 1_000  # that a first search reads from the store beside a file, at least
_TRIES = 5  # to see a group that is written to at rest
_CLOSING_S = 10.0  # for writing what changed when the server stops
_log = logging.getLogger("kgsvc.search")
Held = GroupIndex | GroupTexts


class KeptGroups:
    """Reads and writes parts of groups, each in the embedding space of its group."""

    def __init__(
        self,
        files: ArrayFiles,
        store: ProofStore,
        space: str,
        dimension: int,
        dimension_of: Callable[[str], int] | None = None,
    ) -> None:
        """`space` and `dimension`: of a group of which no other is said; `dimension_of`: of others."""
        self._files = files
        self._store = store
        self._space = space
        self._dimension_of = dimension_of or (lambda other: dimension if other == space else 0)
        self._writing = ""  # the group that is being written
        self._dropped = False  # while it was

    async def nbytes(self, group_id: str, parts: Collection[LazyPart]) -> int:
        """How large the files of parts are, which may turn out to be of no use; 0: there are none."""
        folder = self._files.folder(group_id)
        return await asyncio.to_thread(self._files.nbytes, [folder / part for part in parts])

    def _made(self, space: str) -> list[Any]:
        dimension = self._dimension_of(space)
        return [_FORMAT, TOKENISER_VERSION, NORMALISER_VERSION, space, dimension, *PACKED_FIELDS]

    async def read(self, group_id: str, part: LazyPart, space: str | None = None) -> Held | None:
        """A part as it was written; None: there is none that counts. Raises StoreUnavailable."""
        space = self._space if space is None else space
        path = self._files.folder(group_id) / part
        stored = await asyncio.to_thread(self._files.read, path)
        if stored is None or stored.notes["made"] != self._made(space):
            return None
        if not await self._store.proven(group_id, stored.notes["proof"]):
            await asyncio.to_thread(_removed, path)
            return None
        return await asyncio.to_thread(self._held, group_id, space, part, stored)

    def _held(self, group_id: str, space: str, part: LazyPart, stored: Stored) -> Held | None:
        held = SearchedGroup(group_id, space, self._dimension_of(space)).part(part)
        try:
            held.take(stored.arrays)
            held.epoch, held.rev = int(stored.notes["epoch"]), int(stored.notes["rev"])
        except (LookupError, TypeError, ValueError) as error:
            _log.warning("a file of a search index cannot be used: %s", type(error).__name__)
            return None
        return held

    async def frozen(self, held: Held) -> tuple[Mapping[str, Any], Frozen] | None:
        """What a file of a part says, to be called while nothing changes the part; None: it is not all that
        the group has. Raises StoreUnavailable."""
        self._writing, self._dropped = held.group_id, False
        proof = uuid.uuid4().hex
        if not await self._store.note_proof(GroupHead(held.group_id, held.rev, held.epoch), proof):
            return None
        notes = {
            "made": self._made(held.space),
            "space": held.space,
            "group_id": held.group_id,
            "proof": proof,
            "epoch": held.epoch,
            "rev": held.rev,
        }
        return notes, await offload(len(held) / INDEX_ROWS, held.freeze)

    async def write(
        self, notes: Mapping[str, Any], frozen: Frozen, part: LazyPart, lock: asyncio.Lock
    ) -> Held | None:
        """Write a part and read it again, so that its memory is that of the file; None: it is not there.
        `lock` is held while a piece of what still changes is copied."""
        group_id: str = notes["group_id"]
        path = self._files.folder(group_id) / part
        try:
            arrays = await asyncio.to_thread(frozen)
            writing = await asyncio.to_thread(self._files.writing, path, notes, arrays)
            if writing is None or not await self._written(writing, arrays, lock):
                return None
        except OSError as error:
            _log.warning("a search index cannot be kept in a file: %s", error.strerror)
            return None
        finally:
            self._writing = ""
        stored = await asyncio.to_thread(self._files.read, path)
        if stored is None or stored.notes["proof"] != notes["proof"]:
            return None
        return await asyncio.to_thread(self._held, group_id, notes["space"], part, stored)

    async def _written(self, writing: Writing, arrays: Mapping[str, Any], lock: asyncio.Lock) -> bool:
        try:
            for array in arrays.values():
                shape = file_shape(array)
                if isinstance(array, Live):
                    await _copy(writing, array, lock)
                    await asyncio.to_thread(writing.end, (shape[0] - array.rows) * row_bytes(array))
                else:
                    await asyncio.to_thread(writing.write, array)
                    await asyncio.to_thread(writing.end)
            if self._dropped:
                return False
            await asyncio.to_thread(writing.commit)
            return True
        finally:
            await asyncio.to_thread(writing.abandon)

    async def drop(self, group_ids: Collection[str]) -> None:
        """Remove the files of groups, also what is being written."""
        for group_id in group_ids:
            if group_id == self._writing:
                self._dropped = True
        await self._files.drop_all(group_ids)

    async def sweep(self) -> None:
        """Remove files that count no more: while this server was away something may have been erased."""
        for path in await asyncio.to_thread(self._files.files):
            notes = await asyncio.to_thread(self._files.notes, path)
            try:
                if notes is None or not await self._store.proven(notes["group_id"], notes["proof"]):
                    await asyncio.to_thread(_removed, path)
            except ServiceError as error:
                _log.warning("files of search indexes were not checked: %s", error)
                return


class Keeper:
    """Writes parts of groups to files behind the searches, one at a time: once a tenth of a part has changed,
    and when the server stops, once more has than is read in a moment. A group that leaves memory before its
    turn is not written: what waits holds no memory."""

    def __init__(
        self,
        kept: KeptGroups,
        caught_up: Callable[[SharedGroup, LazyPart], Awaitable[bool]],
        groups: HeldGroups,
    ) -> None:
        """`caught_up` brings a part up to what the store has now, under the group's lock; False: there is no
        such group."""
        self._kept = kept
        self._caught_up = caught_up
        self._groups = groups
        self._due: dict[tuple[str, LazyPart], int] = {}  # with how many changed rows a part is written
        self._task: asyncio.Task[None] | None = None

    def keep_if_due(self, shared: SharedGroup, part: LazyPart) -> None:
        """Begin to write a part if enough of it has changed."""
        if shared.unkept[part] >= (rows := _due_rows(shared, part)):
            self._begin(shared, part, rows)

    def _begin(self, shared: SharedGroup, part: LazyPart, rows: int) -> None:
        self._due.setdefault((shared.group.group_id, part), rows)
        if self._task is None:
            self._start()

    def _start(self) -> None:
        self._task = asyncio.create_task(self._work())
        self._task.add_done_callback(self._ended)

    async def _work(self) -> None:
        while self._due:
            group_id, part = due = next(iter(self._due))
            try:
                shared = self._groups.get(group_id)
                if shared is not None and shared.unkept[part] >= self._due[due]:
                    await self._keep(shared, part)
            finally:
                del self._due[due]

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            _log.critical("a search index could not be written to a file", exc_info=error)
        if self._due:
            self._start()

    async def settled(self) -> None:
        """Wait until nothing is being written."""
        while self._task is not None:
            await asyncio.wait([self._task])

    async def close(self) -> None:
        """Write what changed of the groups in memory, as far as the time goes; but for what the next first
        search reads from the store in a moment."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING_S):
                await self.settled()
                for shared in list(self._groups.latest_first()):
                    for part in sorted(shared.complete):
                        rows = min(_PAGE_ROWS, _due_rows(shared, part))
                        if shared.unkept[part] >= rows:
                            self._begin(shared, part, rows)
                            await self.settled()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _keep(self, shared: SharedGroup, part: LazyPart) -> None:
        try:
            shared.unkept[part] = 0  # if it fails now, it is tried again after as many changes
            held = shared.group.part(part)
            frozen = await self._frozen(shared, part)
            filed = None if frozen is None else await self._kept.write(*frozen, part, shared.lock)
            if filed is None:
                return
            async with shared.lock:
                if shared.group.part(part) is held and held.epoch == filed.epoch:
                    shared.group.replace(filed)
            self._groups.account(shared)
        except ServiceError as error:
            _log.warning("a search index was not kept in a file: %s", error)

    async def _frozen(self, shared: SharedGroup, part: LazyPart) -> tuple[Mapping[str, Any], Frozen] | None:
        """A part as it is when it is all that the group has; None: the group changes too fast, or is gone."""
        for _ in range(_TRIES):
            async with shared.lock:
                if not await self._caught_up(shared, part):
                    return None
                frozen = await self._kept.frozen(shared.group.part(part))
            if frozen is not None:
                return frozen
        return None


def _removed(path: Path) -> None:
    """A file that counts no more is not read, whether or not it can be removed."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        _log.warning("a file of a search index cannot be removed: %s", error.strerror)


def _due_rows(shared: SharedGroup, part: LazyPart) -> int:
    """After how many changed rows a part is written again."""
    return max(_UNKEPT_ROWS, len(shared.group.part(part)) // _UNKEPT_SHARE)


async def _copy(writing: Writing, live: Live, lock: asyncio.Lock) -> None:
    """Write a column that others change, piece by piece."""
    step = max(1, _PIECE_BYTES // row_bytes(live))
    for begin in range(0, live.rows, step):
        async with lock:
            piece = live.column.data[begin : min(begin + step, live.rows)].copy()
        await asyncio.to_thread(writing.write, piece)
