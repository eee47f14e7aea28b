"""The groups that searches use: loaded on first use and kept current, while callers wait or behind them."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from typing import Any, TypeVar

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.model.delta import GroupHead
from kgsvc.runtime import INDEX_ROWS, offload
from kgsvc.search.index.feed import Pages, cost_of, in_time, rows_of
from kgsvc.search.index.group import GroupTexts, LazyPart, SearchedGroup, SharedGroup, awaited
from kgsvc.search.index.held import ENTRY_BYTES, HeldGroups
from kgsvc.search.index.kept import Keeper, KeptGroups
from kgsvc.search.settings import SearchSettings
from kgsvc.stores.search_protocol import SearchStore

_log = logging.getLogger("kgsvc.search")
T = TypeVar("T")

_FACT_BYTES = 1_200  # about what a fact takes beside its vector
_LOADERS = 2  # groups that are loaded at once with nobody waiting
_BEHIND_PAGE = 1_000  # facts of a page then: what is searched meanwhile shares the interpreter with it
_REST = 1  # times as long as a page took does such a load rest where others search, and at most
_HEAD_START_S = 0.3  # before the first page, if a search does without an index; later see `rest_s`
_LONGEST_REST_S = 0.05  # since who comes to wait for it waits for its rest too
LOADED_AT_ONCE = 500  # facts of a group that is loaded while its caller waits: that takes a moment
_NOT_READY = "the group's search index was not ready in time"


class SpaceChanged(StoreUnavailable):
    """A group went over to the vectors of another embedder while it was read: ask again."""


class IndexCache:
    """Brings groups up to their heads in memory, which `settings.index_bytes` bounds."""

    def __init__(
        self,
        store: SearchStore,
        settings: SearchSettings,
        space: str,
        dimension: int,
        rest: Callable[[float], Awaitable[None]] = asyncio.sleep,
        kept: KeptGroups | None = None,
        dimension_of: Callable[[str], int] | None = None,
    ) -> None:
        """`space` and `dimension`: of groups of which no other is said; `dimension_of`: of others. `rest`
        waits for so many seconds. `kept`: where groups are kept in files."""
        self._store = store
        self._settings = settings
        self._space = space
        self._dimension = dimension
        of = dimension_of or (lambda other: dimension if other == space else 0)
        self._held = HeldGroups(settings.index_bytes, space, of)
        self._running: set[asyncio.Task[Any]] = set()
        self._loaders: dict[str, asyncio.Task[None]] = {}
        # Looks whether a group is small.
        self._begun: dict[tuple[str, tuple[LazyPart, ...]], asyncio.Task[bool]] = {}
        self._unloadable: set[str] = set()  # groups whose last load with nobody waiting failed
        self._too_large: set[str] = set()  # groups that the bound does not allow
        self._asked = 0  # searches so far
        self._serving = 0  # those under way that do without an index
        self._kept = kept
        self._keeper = None if kept is None else Keeper(kept, self._caught_up, self._held)
        self._rest = rest

    @property
    def nbytes(self) -> int:
        """About the memory that all hold."""
        return self._held.nbytes

    @property
    def group_ids(self) -> tuple[str, ...]:
        """The groups that are in memory, least recently used first."""
        return self._held.group_ids

    async def use(
        self,
        heads: Sequence[GroupHead],
        work: Callable[[list[SearchedGroup]], T],
        heavy: bool = False,
        parts: Collection[LazyPart] = (LazyPart.FACTS,),
    ) -> T:
        """Run `work` on groups (sorted by id) of which these parts were brought up to their heads first; in a
        thread if they are big, or `heavy`.

        Raises StoreUnavailable, also when it takes longer than settings.search_timeout_s. A caller who goes
        away leaves loading and ranking to finish behind it: nobody else may touch the groups before.
        """
        self._asked += 1
        entries = [self._held.use(head) for head in heads]
        pairs = list(zip(entries, heads, strict=True))
        if _cost(entries, parts, heavy) <= 1 and all(
            not entry.lock.locked() and entry.covers(head, parts) for entry, head in pairs
        ):
            return work([entry.group for entry in entries])
        task = asyncio.create_task(self._run(pairs, work, heavy, parts))
        self._running.add(task)
        task.add_done_callback(self._finished)
        with awaited(entries):
            try:
                async with asyncio.timeout(self._settings.search_timeout_s):
                    return await asyncio.shield(task)
            except TimeoutError as error:
                raise StoreUnavailable(_NOT_READY) from error

    def holds(self, group_id: str, parts: Collection[LazyPart] = (LazyPart.FACTS,)) -> bool:
        """Whether these parts of a group are in memory whole, if perhaps not up to date."""
        entry = self._held.get(group_id)
        return entry is not None and all(map(entry.ready, parts))

    def ready(self, head: GroupHead, parts: Collection[LazyPart]) -> bool:
        """The same of a group that may have gone over to another embedder."""
        self._held.agree(head)
        return self.holds(head.group_id, parts)

    def texts(self, head: GroupHead) -> GroupTexts | None:
        """What a group has of entities, episodes and communities, if that is in memory and up to date now."""
        entry = self._held.get(head.group_id)
        here = entry is not None and not entry.lock.locked() and entry.covers(head, (LazyPart.TEXTS,))
        return entry.group.texts if entry is not None and here else None

    def at_rest(self, head: GroupHead) -> bool:
        """Whether a group in memory has not changed since this was asked last."""
        entry = self._held.get(head.group_id)
        if entry is None:
            return False
        before, entry.seen = entry.seen, (head.epoch, head.rev)
        return before == entry.seen

    def load_behind(
        self, head: GroupHead, facts: int, parts: Collection[LazyPart] = (LazyPart.FACTS,)
    ) -> None:
        """Begin to load a group of so many facts while nobody waits for it, if the bound allows it: in small
        pages, with rests while others search. The next call tries again if it fails."""
        self._asked += 1
        group_id = head.group_id
        if facts * (4 * self._dimension + _FACT_BYTES) >= self._settings.index_bytes:
            self._too_large.add(group_id)
            return
        if group_id in self._loaders or len(self._loaders) >= _LOADERS:
            return
        entry = self._held.use(head)
        if entry.lock.locked():  # by a caller who waits for it
            return
        task = asyncio.create_task(self._load(entry, [part for part in parts if not entry.ready(part)], head))
        self._loaders[group_id] = task
        task.add_done_callback(lambda done: self._loaded(group_id, done))

    async def begin(self, group_id: str, parts: Collection[LazyPart], head: GroupHead | None = None) -> bool:
        """Whether these parts of a group are in memory, or will be as soon as they are used: the group is
        small, or files hold it but for a page of changes, or there is none. What was read to tell it stays
        for who loads the group. `head`: of the group, if it was read already. Raises StoreUnavailable."""
        if head is not None:
            self._held.agree(head)
        if self.holds(group_id, parts):
            return True
        if group_id in self._loaders or group_id in self._too_large:
            return False
        if self._settings.index_bytes < ENTRY_BYTES:  # nothing is held
            return False
        head = head or (await self._heads(group_id)).get(group_id)
        if head is None:
            return True
        key, entry = (group_id, tuple(parts)), self._held.use(head)
        if key not in self._begun:
            if entry.lock.locked():  # by who waits for all of it: that may take long
                return False
            task = self._begun[key] = asyncio.create_task(self._begin(entry, head, parts))
            self._running.add(task)
            task.add_done_callback(self._finished)
            task.add_done_callback(lambda _: self._begun.pop(key))
        try:
            async with asyncio.timeout(self._settings.search_timeout_s):
                return await asyncio.shield(self._begun[key])
        except TimeoutError as error:
            raise StoreUnavailable(_NOT_READY) from error

    async def _begin(self, entry: SharedGroup, head: GroupHead, parts: Collection[LazyPart]) -> bool:
        try:
            with awaited([entry]):
                async with entry.lock, self._pages(ahead=False) as pages:
                    for part in parts:
                        if await self._look(entry, part):
                            await self._page(entry, part, head, pages)
                        elif part is LazyPart.FACTS and not entry.group.facts.rev:
                            await self._page(entry, part, head, pages, LOADED_AT_ONCE)
        finally:
            self._held.account(entry)
        small = entry.ready(LazyPart.FACTS) and len(entry.group.facts) <= LOADED_AT_ONCE
        return small or all(map(entry.ready, parts))

    async def wait(self, head: GroupHead, parts: Collection[LazyPart]) -> None:
        """Wait until parts of a group are loaded, page by page: who needs less is answered meanwhile. Raises
        StoreUnavailable when it takes longer than settings.search_timeout_s."""
        if self.ready(head, parts):
            return
        self.load_behind(head, 0, parts)
        loader = self._loaders.get(head.group_id)
        if loader is None:  # too many are loaded; `use` does it
            return
        with awaited([self._held.use(head)]):
            done, _ = await asyncio.wait([loader], timeout=self._settings.search_timeout_s)
        if not done:
            raise StoreUnavailable(_NOT_READY)

    async def _look(self, entry: SharedGroup, part: LazyPart) -> bool:
        """Begin with what a file holds of a part that is empty; whether there is one."""
        if self._kept is None or part in entry.looked:
            return False
        entry.looked.add(part)
        group_id = entry.group.group_id
        fits = 0 < await self._kept.nbytes(group_id, [part]) <= self._settings.index_bytes
        held = None
        if fits and entry.group.part(part).rev == 0:
            held = await self._kept.read(group_id, part, entry.group.space)
        if held is not None:
            entry.group.replace(held)
        return held is not None

    async def loaded_behind(self, group_id: str) -> None:
        """Wait until a load of the group that nobody waits for is over, if one is under way."""
        loader = self._loaders.get(group_id)
        if loader is not None:
            await asyncio.wait([loader])

    async def settled(self) -> None:
        """Wait until nothing is written to files any more."""
        if self._keeper is not None:
            await self._keeper.settled()

    async def _load(self, entry: SharedGroup, parts: Sequence[LazyPart], head: GroupHead) -> None:
        """Page by page, so that what is there already can be searched between two of them."""
        with suppress(SpaceChanged):
            await self._load_parts(entry, parts, head)

    async def _load_parts(self, entry: SharedGroup, parts: Sequence[LazyPart], head: GroupHead) -> None:
        async with self._pages() as pages:
            for part in parts:
                async with entry.lock:
                    await self._look(entry, part)
                more, pause_s, asked = True, _HEAD_START_S, self._asked
                while more and self._held.get(head.group_id) is entry:  # else it was dropped meanwhile
                    if (self._serving or self._asked > asked) and not entry.awaited:
                        await self._rest(pause_s)
                    asked, began = self._asked, asyncio.get_running_loop().time()
                    async with entry.lock:
                        more = await self._page(entry, part, head, pages)
                    self._held.account(entry)
                    pause_s = rest_s(asyncio.get_running_loop().time() - began)

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
        self._too_large.discard(group_id)
        entry = self._held.get(group_id)
        if entry is not None and not entry.lock.locked():
            self._held.drop(group_id)

    async def erase(self, group_id: str) -> None:
        """Drop a group of which something was erased, as soon as it is not in use, and its files."""
        if self._kept is not None:
            await self._kept.drop([group_id])
        entry = self._held.get(group_id)
        if entry is not None:
            async with entry.lock:
                if self._held.get(group_id) is entry:
                    self._held.drop(group_id)

    async def close(self) -> None:
        """Wait for work that was left behind, then let go of everything. Loads that nobody waits for end."""
        loaders = list(self._loaders.values())
        for loader in loaders:
            loader.cancel()
        await asyncio.gather(*loaders, return_exceptions=True)
        if self._running:
            await asyncio.wait(self._running, timeout=self._settings.search_timeout_s)
        if self._keeper is not None:
            await self._keeper.close()
        self._held.clear()

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

    async def _run(
        self,
        pairs: Sequence[tuple[SharedGroup, GroupHead]],
        work: Callable[[list[SearchedGroup]], T],
        heavy: bool,
        parts: Collection[LazyPart],
    ) -> T:
        entries = [entry for entry, _ in pairs]
        async with AsyncExitStack() as locks:
            for entry in entries:  # in one order, by id: nobody waits in a circle
                await locks.enter_async_context(entry.lock)
            stale = [(entry, head) for entry, head in pairs if not entry.covers(head, parts)]
            refreshing = [self._refresh(entry, head, parts) for entry, head in stale]
            for failed in await asyncio.gather(*refreshing, return_exceptions=True):
                if failed is not None:
                    raise failed
            return await offload(_cost(entries, parts, heavy), work, [entry.group for entry in entries])

    async def _refresh(self, entry: SharedGroup, head: GroupHead, parts: Collection[LazyPart]) -> None:
        """Read changes until the parts cover `head`. A failure leaves what was applied, page by page."""
        try:
            async with self._pages() as pages:
                for part in parts:
                    await self._look(entry, part)
                    while await self._page(entry, part, head, pages):
                        pass
        finally:
            self._held.account(entry)

    def _pages(self, *, ahead: bool = True) -> Pages:
        return Pages(self._store, self._settings.store_timeout_s, ahead=ahead)

    async def _page(
        self, entry: SharedGroup, part: LazyPart, head: GroupHead, pages: Pages, limit: int = 0
    ) -> bool:
        """Read and apply a page of changes of a part, unless it covers `head`; whether there may be more.
        0: as large as suits who waits."""
        group = entry.group
        if not group.covers(part, head.epoch, head.rev):
            held = group.part(part)
            most = self._settings.load_page
            limit = limit or (most if entry.awaited else min(most, _BEHIND_PAGE))
            changes = await pages.after(held, limit, head)
            anew = bool(held.rev or len(held)) and changes.head.epoch != held.epoch
            if not anew and (changes.head.space or self._space) != group.space:
                self._held.agree(changes.head)
                raise SpaceChanged("the group has just gone over to another embedder")
            if anew:
                group.empty(part)
                entry.complete.discard(part)
                return True
            await offload(cost_of(changes), group.apply, changes)
            entry.unkept[part] += rows_of(changes)
            if changes.more and not group.covers(part, head.epoch, head.rev):
                return True
        entry.complete.add(part)
        if self._keeper is not None:
            self._keeper.keep_if_due(entry, part)
        return False

    async def _caught_up(self, entry: SharedGroup, part: LazyPart) -> bool:
        """Bring a part up to what the store has now; False: the store does not know the group."""
        group_id = entry.group.group_id
        heads = await self._heads(group_id)
        async with self._pages() as pages:
            while group_id in heads and await self._page(entry, part, heads[group_id], pages):
                pass
        return group_id in heads

    async def _heads(self, group_id: str) -> dict[str, GroupHead]:
        return await in_time(self._store.heads([group_id]), self._settings.store_timeout_s)


def rest_s(page_s: float) -> float:
    """How long a load that nobody waits for rests after a page that took so long, in seconds."""
    return min(_REST * page_s, _LONGEST_REST_S)


def _cost(entries: Iterable[SharedGroup], parts: Collection[LazyPart], heavy: bool) -> float:
    """Of work on parts of groups, see `offload`."""
    if heavy:
        return math.inf
    return sum(len(entry.group.part(part)) for entry in entries for part in parts) / INDEX_ROWS
