"""The group indexes of this process: loaded on first use, kept current, bounded in bytes."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, TypeVar

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.model.delta import GroupHead
from kgsvc.runtime import INDEX_CHANGES, INDEX_CHARS, INDEX_ROWS, offload
from kgsvc.search.group_index import GroupIndex
from kgsvc.search.group_texts import GroupTexts
from kgsvc.search.settings import SearchSettings
from kgsvc.stores.search_protocol import Changes, SearchStore, TextChanges

_log = logging.getLogger("kgsvc.search")
T = TypeVar("T")
Index = GroupIndex | GroupTexts
Page = Changes | TextChanges

_ENTRY_BYTES = 8 * 1024  # of an index without facts: many empty groups are bounded too
_FACT_BYTES = 1_200  # about what a fact takes beside its vector
_LOADERS = 2  # groups that are loaded at once with nobody waiting
_BEHIND_PAGE = 200  # facts of a page then: what is searched meanwhile shares the interpreter with it
_REST = 4  # times as long as a page took does such a load rest where others search, and at most
_LONGEST_REST_S = 0.2  # since who comes to wait for it waits for its rest too


class _Kind(StrEnum):
    FACTS = "facts"
    TEXTS = "texts"  # entities and episodes


_KINDS = (_Kind.FACTS, _Kind.TEXTS)


class _Entry:
    """An index's place in the cache. Holding `lock` is the right to change or read `index`."""

    def __init__(self, kind: _Kind, index: Index) -> None:
        self.kind = kind
        self.index: Any = index
        self.lock = asyncio.Lock()
        self.nbytes = _ENTRY_BYTES
        self.complete = False  # whether it was loaded to its end
        self.awaited = 0  # callers who wait for it

    @property
    def ready(self) -> bool:
        """Whether it needs no more than what changed since; an index that failed is empty again."""
        return self.complete and self.index.rev > 0

    def covers(self, head: GroupHead) -> bool:
        """Whether the index holds at least what `head` counts."""
        return (self.index.epoch, self.index.rev) >= (head.epoch, head.rev)


class IndexCache:
    """LRU of group indexes in the embedding space given (dimension 0: no vectors).

    A group's facts are one index, its entities and episodes another: they come and go by themselves.
    Bounded together by `settings.index_bytes`; the group used last stays even if it exceeds the bound alone.
    """

    def __init__(
        self,
        store: SearchStore,
        settings: SearchSettings,
        space: str,
        dimension: int,
        rest: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`rest` waits for so many seconds."""
        self._store = store
        self._settings = settings
        self._space = space
        self._dimension = dimension
        self._entries: OrderedDict[tuple[_Kind, str], _Entry] = OrderedDict()
        self._nbytes = 0
        self._running: set[asyncio.Task[Any]] = set()
        self._loaders: dict[str, asyncio.Task[None]] = {}
        self._unloadable: set[str] = set()  # groups whose last load with nobody waiting failed
        self._asked = 0  # searches so far
        self._serving = 0  # those under way that do without an index
        self._rest = rest

    @property
    def nbytes(self) -> int:
        """About the memory that all indexes hold."""
        return self._nbytes

    @property
    def embedding(self) -> tuple[str, int]:
        """The embedding space, and how many numbers its vectors have."""
        return self._space, self._dimension

    @property
    def group_ids(self) -> tuple[str, ...]:
        """The groups whose facts are in memory, least recently used first."""
        return tuple(group_id for kind, group_id in self._entries if kind is _Kind.FACTS)

    async def use(self, head: GroupHead, work: Callable[[GroupIndex], T], heavy: bool = False) -> T:
        """Run `work` on the group's facts, brought up to `head` first; in a thread if big or `heavy`.

        Raises StoreUnavailable, also when it takes longer than settings.search_timeout_s. A caller who goes
        away leaves loading and ranking to finish behind it: nobody else may touch the index before.
        """
        return await self._use(_Kind.FACTS, head, work, heavy)

    async def use_texts(self, head: GroupHead, work: Callable[[GroupTexts], T], heavy: bool = False) -> T:
        """The same for the group's entities and episodes."""
        return await self._use(_Kind.TEXTS, head, work, heavy)

    async def _use(self, kind: _Kind, head: GroupHead, work: Callable[[Any], T], heavy: bool) -> T:
        self._asked += 1
        entry = self._entry(kind, head.group_id)
        small = _cost(entry, heavy) <= 1
        if small and not entry.lock.locked() and entry.covers(head):
            return work(entry.index)
        task = asyncio.create_task(self._run(entry, head, work, heavy))
        self._running.add(task)
        task.add_done_callback(self._finished)
        entry.awaited += 1
        try:
            async with asyncio.timeout(self._settings.search_timeout_s):
                return await asyncio.shield(task)
        except TimeoutError as error:
            raise StoreUnavailable("the group's search index was not ready in time") from error
        finally:
            entry.awaited -= 1

    def holds(self, group_id: str, texts: bool = False) -> bool:
        """Whether the group's facts, and its texts too, are in memory whole, if perhaps not up to date."""
        return not self._missing(group_id, texts)

    def _missing(self, group_id: str, texts: bool) -> list[_Kind]:
        entries = {kind: self._entries.get((kind, group_id)) for kind in (_KINDS if texts else _KINDS[:1])}
        return [kind for kind, entry in entries.items() if entry is None or not entry.ready]

    def load_behind(self, head: GroupHead, facts: int, texts: bool = False) -> None:
        """Begin to load a group of so many facts, and its texts too, while nobody waits for it, if the bound
        allows it: in small pages, with rests while others search. The next call tries again if it fails."""
        self._asked += 1
        group_id = head.group_id
        if facts * (4 * self._dimension + _FACT_BYTES) > self._settings.index_bytes:
            return
        if group_id in self._loaders or len(self._loaders) >= _LOADERS:
            return
        kinds = self._missing(group_id, texts)
        if any(self._entry(kind, group_id).lock.locked() for kind in kinds):  # by a caller who waits for it
            return
        task = asyncio.create_task(self._load(kinds, head))
        self._loaders[group_id] = task
        task.add_done_callback(lambda done: self._loaded(group_id, done))

    async def loaded_behind(self, group_id: str) -> None:
        """Wait until a load of the group that nobody waits for is over, if one is under way."""
        loader = self._loaders.get(group_id)
        if loader is not None:
            await asyncio.wait([loader])

    async def _load(self, kinds: Sequence[_Kind], head: GroupHead) -> None:
        for kind in kinds:
            await self._run(self._entry(kind, head.group_id), head, _nothing, heavy=False)

    @contextmanager
    def serving(self) -> Iterator[None]:
        """While a search does without an index, loads that nobody waits for rest before each page."""
        self._serving += 1
        try:
            yield
        finally:
            self._serving -= 1

    def forget(self, group_id: str) -> None:
        """Drop a group that the store no longer knows, unless it is in use."""
        for kind in _Kind:
            entry = self._entries.get((kind, group_id))
            if entry is not None and not entry.lock.locked():
                self._drop((kind, group_id))

    async def erase(self, group_id: str) -> None:
        """Drop a group of which something was erased, as soon as it is not in use."""
        for kind in _Kind:
            entry = self._entries.get((kind, group_id))
            if entry is None:
                continue
            async with entry.lock:
                if self._entries.get((kind, group_id)) is entry:
                    self._drop((kind, group_id))

    async def close(self) -> None:
        """Wait for work that was left behind, then let go of everything. Loads that nobody waits for end."""
        loaders = list(self._loaders.values())
        for loader in loaders:
            loader.cancel()
        await asyncio.gather(*loaders, return_exceptions=True)
        if self._running:
            await asyncio.wait(self._running, timeout=self._settings.search_timeout_s)
        self._entries.clear()
        self._nbytes = 0

    def _finished(self, task: asyncio.Task[T]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # seen, also when the caller has gone

    def _loaded(self, group_id: str, task: asyncio.Task[None]) -> None:
        del self._loaders[group_id]
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            self._unloadable.discard(group_id)
        elif group_id not in self._unloadable:
            self._unloadable.add(group_id)
            _log.warning("a group's facts could not be loaded in the background: %s", type(error).__name__)

    def _entry(self, kind: _Kind, group_id: str) -> _Entry:
        place = kind, group_id
        entry = self._entries.get(place)
        if entry is None:
            entry = self._entries[place] = _Entry(kind, self._empty(kind, group_id))
            self._nbytes += entry.nbytes
            self._make_room(place)
        self._entries.move_to_end(place)
        return entry

    def _empty(self, kind: _Kind, group_id: str) -> Index:
        made = GroupIndex if kind is _Kind.FACTS else GroupTexts
        return made(group_id, self._space, self._dimension)

    async def _run(self, entry: _Entry, head: GroupHead, work: Callable[[Any], T], heavy: bool) -> T:
        async with entry.lock:
            if not entry.covers(head):
                await self._refresh(entry, head)
                self._account(entry)
            return await offload(_cost(entry, heavy), work, entry.index)

    async def _refresh(self, entry: _Entry, head: GroupHead) -> None:
        """Read changes until the index covers `head`. A failure leaves what was applied, page by page."""
        more = True
        while more and not entry.covers(head):
            if self._serving and not entry.awaited:
                await self._rest(_LONGEST_REST_S)
            asked, began = self._asked, asyncio.get_running_loop().time()
            changes = await self._changes(entry)
            if (entry.index.rev or len(entry.index)) and changes.head.epoch != entry.index.epoch:
                entry.index = self._empty(entry.kind, head.group_id)
                entry.complete = False
                continue
            await self._apply(entry, changes)
            more = changes.more
            if more and not entry.awaited and self._asked > asked:
                await self._rest(rest_s(asyncio.get_running_loop().time() - began))
        entry.complete = True

    async def _apply(self, entry: _Entry, changes: Page) -> None:
        index, entry.index = entry.index, self._empty(entry.kind, changes.head.group_id)  # never half a page
        await offload(_cost_of_changes(changes), index.apply, changes)
        entry.index = index

    async def _changes(self, entry: _Entry) -> Page:
        index, limit = entry.index, self._settings.load_page
        if not entry.awaited:
            limit = min(limit, _BEHIND_PAGE)
        try:
            async with asyncio.timeout(self._settings.store_timeout_s):
                if entry.kind is _Kind.FACTS:
                    return await self._store.changes(index.group_id, index.rev, limit)
                return await self._store.text_changes(index.group_id, index.rev, limit, after_uuid=index.uuid)
        except TimeoutError as error:
            raise StoreUnavailable("the store did not answer in time") from error

    def _account(self, entry: _Entry) -> None:
        place, nbytes = (entry.kind, entry.index.group_id), _ENTRY_BYTES + entry.index.nbytes
        if self._entries.get(place) is not entry:
            return
        self._nbytes += nbytes - entry.nbytes
        entry.nbytes = nbytes
        self._make_room(place)

    def _make_room(self, place: tuple[_Kind, str]) -> None:
        """Drop other groups, least recently used first, until the bound holds. Facts and texts of one group
        are used together: dropping the one for the other would load both for every search."""
        while self._nbytes > self._settings.index_bytes:
            others = ((p, entry) for p, entry in self._entries.items() if p[1] != place[1])
            idle = (p for p, entry in others if not entry.lock.locked())
            oldest = next(idle, None)
            if oldest is None:
                return
            self._drop(oldest)

    def _drop(self, place: tuple[_Kind, str]) -> None:
        self._nbytes -= self._entries.pop(place).nbytes


def rest_s(page_s: float) -> float:
    """How long a load that nobody waits for rests after a page that took so long, in seconds."""
    return min(_REST * page_s, _LONGEST_REST_S)


def _nothing(_: Index) -> None:
    """What is done with an index that nobody waits for."""


def _cost(entry: _Entry, heavy: bool) -> float:
    """Of work on an index, see `offload`."""
    return math.inf if heavy else len(entry.index) / INDEX_ROWS


def _cost_of_changes(page: Page) -> float:
    """Of applying a page, see `offload`. Bodies are read again when they are removed."""
    if isinstance(page, Changes):
        return (len(page.facts) + len(page.removed)) / INDEX_CHANGES
    if page.removed_episodes:
        return math.inf
    rows = len(page.entities) + len(page.episodes) + len(page.removed_entities) + len(page.communities or ())
    chars = sum(len(indexed.episode.body) for indexed in page.episodes)
    return max(rows / INDEX_CHANGES, chars / INDEX_CHARS)
