"""Vectors for what came into a group without them, moved from a store of before or adopted; and for all of a
group that goes over to another embedder, beside those in use until all have them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from kgsvc.documents.passages import passages
from kgsvc.domain.errors import LeaseLost, ModelUnavailable, StepError
from kgsvc.domain.model.delta import GroupHead
from kgsvc.domain.model.fills import Filled, FillLease, Place
from kgsvc.domain.model.graph import Usage
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.runtime import EMBEDDED_CHARS, Clock, offload
from kgsvc.stores.fill_protocol import FillStore
from kgsvc.stores.search_protocol import SearchStore, TextChanges

log = logging.getLogger(__name__)
_PAGE = 64  # entities and episodes that are read together
_FACTS = 256  # facts that are
_PAGE_BYTES = 64 * 1024  # of bodies: some 80 passages, unless a single episode has more
_TIDIED = 500  # vectors brought up in one transaction
_REST = 4  # times as long as a page took: the model and the store have most of their time for others
_REST_MOST_S = 5.0

Texts = Mapping[str, Sequence[str]]  # what is embedded for a row: of an episode, its passages; of others, one
Vectors = Mapping[str, bytes]  # of texts
Costs = dict[str, Usage]  # by row
Charge = Callable[[str, Usage], Awaitable[None]]  # counts with a group's quotas what was spent for it


class FilledStore(FillStore, SearchStore, Protocol):
    """Where groups are looked through as the indexes of searches do it."""


async def _uncharged(_group_id: str, _spent: Usage) -> None:
    return


def _uncounted(_rows: int) -> None:
    return


@dataclass(frozen=True, slots=True)
class _FillPage:
    """What is to be embedded of a page of changes, and where it ends."""

    place: Place
    facts_rev: int
    more: bool
    rev: int  # of the group
    upto: int  # revision, up to which the page goes
    episodes: Texts = field(default_factory=dict)
    others: Texts = field(default_factory=dict)  # entities, facts and communities

    @property
    def uuids(self) -> set[str]:
        """Of the rows."""
        return {*self.episodes, *self.others}

    def only(self, uuids: Collection[str]) -> _FillPage:
        """The same with these rows alone."""
        episodes, others = (
            {uuid: texts for uuid, texts in rows.items() if uuid in uuids}
            for rows in (self.episodes, self.others)
        )
        return replace(self, episodes=episodes, others=others)


@dataclass(slots=True)
class _FillWalk:
    """How far a group was looked through."""

    place: Place
    facts_rev: int
    attempt: int
    alone: int  # pages of one row that are still to come


class Filler:
    """Fills in one group after the other."""

    def __init__(
        self,
        store: FilledStore,
        embedder: CachingEmbedder,
        clock: Clock,
        attempts: int,
        charge: Charge = _uncharged,
        embedded: Callable[[int], None] = _uncounted,
    ) -> None:
        """`charge` hears what was spent on what no item stands for, `embedded` how many rows got vectors."""
        self._store = store
        self._embedder = embedder
        self._clock = clock
        self._attempts = attempts
        self._charge = charge
        self._embedded_rows = embedded

    async def fill(self, lease: FillLease, make_room: Callable[[], bool]) -> None:
        """See FillHandler. After a process died the next rows are embedded one by one, and what was begun too
        often is passed over."""
        walk = _FillWalk(lease.place, lease.facts_rev, lease.attempt, _PAGE if lease.attempt > 1 else 0)
        while await self._looked_through(lease, walk, make_room):
            if lease.former and not await self._store.switch_space(lease):
                continue
            if lease.former:
                named = {"group_id": lease.group_id, "former": lease.former, "space": lease.space}
                log.info("a group has gone over to another embedder", extra=named)
            await self._tidy(lease, make_room)
            return

    async def _tidy(self, lease: FillLease, make_room: Callable[[], bool]) -> None:
        """Until all vectors stand in their places, which ends the fill, or others are to have room."""
        while True:
            began = self._clock.monotonic()
            if not await self._store.tidy(lease, _TIDIED) or make_room():
                return
            await self._rest(began)

    async def _looked_through(self, lease: FillLease, walk: _FillWalk, make_room: Callable[[], bool]) -> bool:
        """Whether the end was reached; False: others are to have room. Of a group that goes over the end is
        where it was at the beginning: what came after it has both vectors, else `switch_space` says so."""
        for read in (self._texts, self._facts):
            more, goal = True, 0
            while more:
                began = self._clock.monotonic()
                page = await read(lease, walk)
                goal = goal or page.rev
                more = page.more and not (lease.former and page.upto >= goal)
                await self._page(lease, walk, page)
                if more and make_room():
                    return False
                if more:
                    await self._rest(began)
        return not make_room() if lease.former else True

    async def _rest(self, began: float) -> None:
        await asyncio.sleep(min(_REST * (self._clock.monotonic() - began), _REST_MOST_S))

    async def _page(self, lease: FillLease, walk: _FillWalk, page: _FillPage) -> None:
        if lease.former and page.uuids:
            page = page.only(await self._store.lacking(lease, page.uuids))
        if walk.attempt > self._attempts and page.uuids:
            _pass_over(lease.group_id, page.uuids, f"the process died {self._attempts} times")
            page = page.only(())
        spent: Costs = {}
        wanted = {**page.episodes, **page.others}
        vectors = await self._embedded(lease.group_id, wanted, spent)
        items = {} if lease.former else {uuid: spent.pop(uuid) for uuid in page.episodes if uuid in spent}
        filled = Filled(
            page.place,
            {uuid: vectors[uuid] for uuid in page.episodes if uuid in vectors},
            self._embedder.space,
            items,
            page.facts_rev,
            {uuid: vectors[uuid] for uuid in page.others if uuid in vectors},
        )
        await self._store.fill(lease, filled, self._clock.now_ms())
        self._embedded_rows(len(vectors))
        if spent:
            await self._charge(lease.group_id, sum(spent.values(), Usage()))
        walk.place, walk.facts_rev, walk.attempt, walk.alone = page.place, page.facts_rev, 1, walk.alone - 1

    async def _texts(self, lease: FillLease, walk: _FillWalk) -> _FillPage:
        size, (rev, uuid) = 1 if walk.alone > 0 else _PAGE, walk.place
        page = await self._store.text_changes(lease.group_id, rev, size, _PAGE_BYTES, uuid)
        _check_epoch(page.head, lease)
        others = [(each.entity.uuid, each.entity.name, each.vector, each.space) for each in page.entities]
        others += [(each.uuid, each.name, each.vector, each.space) for each in page.communities or ()]
        episodes = await self._passages(page)
        place = (page.upto_rev, page.upto_uuid)
        upto = page.upto_rev
        return _FillPage(place, walk.facts_rev, page.more, page.head.rev, upto, episodes, self._bare(others))

    async def _facts(self, lease: FillLease, walk: _FillWalk) -> _FillPage:
        size = 1 if walk.alone > 0 else _FACTS
        page = await self._store.changes(lease.group_id, walk.facts_rev, size)
        _check_epoch(page.head, lease)
        facts = [(each.fact.uuid, each.fact.fact, each.vector, each.space) for each in page.facts]
        upto = page.upto_rev
        return _FillPage(walk.place, upto, page.more, page.head.rev, upto, others=self._bare(facts))

    def _bare(self, rows: Sequence[tuple[str, str, bytes | None, str]]) -> Texts:
        """What has no vector of the embedder in use."""
        space = self._embedder.space
        return {
            uuid: (text,)
            for uuid, text, vector, own in rows
            if text.strip() and (vector is None or own != space)
        }

    async def _passages(self, page: TextChanges) -> Texts:
        """The passages of episodes that have no vectors."""
        space = self._embedder.space
        bare = {
            each.episode.uuid: each.episode.body
            for each in page.episodes
            if each.passages is None or each.space != space
        }

        def cut() -> Texts:
            return {uuid: found for uuid, body in bare.items() if (found := passages(body))}

        return await offload(sum(map(len, bare.values())) / EMBEDDED_CHARS, cut)

    async def _embedded(self, group_id: str, wanted: Texts, spent: Costs) -> dict[str, bytes]:
        """The vectors of rows, as GraphDelta has them."""
        vectors = await self._vectors(group_id, wanted, spent) if wanted else {}
        whole = [uuid for uuid, texts in wanted.items() if vectors.keys() >= set(texts)]
        return {uuid: b"".join(vectors[text] for text in wanted[uuid]) for uuid in whole}

    async def _vectors(self, group_id: str, wanted: Texts, spent: Costs) -> Vectors:
        """All in one request; if the answer is bad, row by row: one whose text fails stays without. Raises
        ModelUnavailable."""
        try:
            texts = set[str]().union(*wanted.values())
            vectors, cost = await self._embedder.vectors_and_cost(texts, group_id)
        except ModelUnavailable:
            raise
        except StepError as error:
            _add(spent, wanted, error.usage)
            if len(wanted) == 1:
                _pass_over(group_id, wanted, str(error))
                return {}
            found: dict[str, bytes] = {}
            for uuid, own in wanted.items():
                found |= await self._vectors(group_id, {uuid: own}, spent)
            return found
        _add(spent, wanted, cost)
        return vectors


def _check_epoch(head: GroupHead, lease: FillLease) -> None:
    if head.epoch != lease.epoch:
        raise LeaseLost("the group was deleted")


def _pass_over(group_id: str, uuids: Collection[str], why: str) -> None:
    for uuid in sorted(uuids):
        log.warning(
            "an episode, an entity, a fact or a community stays without a vector: %s",
            why,
            extra={"group_id": group_id, "uuid": uuid},
        )


def _add(spent: Costs, uuids: Collection[str], cost: Usage) -> None:
    for uuid, part in zip(uuids, cost.split(len(uuids)), strict=True):
        spent[uuid] = spent[uuid] + part if uuid in spent else part
