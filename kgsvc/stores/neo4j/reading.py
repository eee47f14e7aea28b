"""Reads of several groups in one round trip: what many plans need comes together."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from neo4j import AsyncDriver

from kgsvc.domain.errors import StoreRefused
from kgsvc.stores.consistency import from_the_leader, may_lag
from kgsvc.stores.neo4j.base import Base, Row, for_each, whole_text
from kgsvc.together import Together, by_halves

_TOGETHER = 128  # reads of one round trip
_AT_ONCE = 2  # such round trips


@dataclass(frozen=True, slots=True)
class GroupRead:
    """A statement that reads one group, `$p.group_id`, and can be run for many.

    `bounds` are the parameters that stand in a LIMIT: reads that differ in them are run apart.
    """

    each: LiteralString
    bounds: frozenset[str]

    @classmethod
    def of(cls, statement: LiteralString, columns: LiteralString, bounds: Collection[str] = ()) -> GroupRead:
        """`columns` are what it returns, all of them named."""
        return cls(for_each(whole_text(statement), f"each.place, {columns}", bounds), frozenset(bounds))


@dataclass(frozen=True, slots=True)
class _Read:
    what: GroupRead
    values: dict[str, Any]

    @property
    def bounds(self) -> dict[str, Any]:
        return {name: self.values[name] for name in sorted(self.what.bounds)}

    @property
    def kind(self) -> tuple[str, tuple[Any, ...]]:
        return self.what.each, tuple(self.bounds.values())


class Reading(Base):
    """Reads that come at the same time share a round trip."""

    def __init__(self, driver: AsyncDriver, database: str, deadline_s: float, patience_s: float) -> None:
        super().__init__(driver, database, deadline_s, patience_s)
        self._reads = Together[_Read, list[Row]](self._read_all, lambda _: 1, _TOGETHER, _TOGETHER, _AT_ONCE)

    async def _read(self, what: GroupRead, **values: Any) -> list[Row]:
        """The rows of one group. StoreUnavailable, StoreRefused."""
        read = _Read(what, values)
        rows = (await self._read_alike([read]))[0] if may_lag.get() else await self._reads.run(None, read)
        if isinstance(rows, Exception):
            raise rows
        return rows

    async def _read_all(self, reads: Sequence[_Read]) -> list[list[Row] | Exception]:
        kinds: dict[tuple[str, tuple[Any, ...]], list[int]] = {}
        for place, read in enumerate(reads):
            kinds.setdefault(read.kind, []).append(place)
        with from_the_leader():  # plans are made of them, and several callers share them
            parts = await asyncio.gather(
                *(self._read_alike([reads[place] for place in places]) for places in kinds.values())
            )
        found = {
            place: rows
            for places, part in zip(kinds.values(), parts, strict=True)
            for place, rows in zip(places, part, strict=True)
        }
        return [found[place] for place in range(len(reads))]

    async def _read_alike(self, reads: Sequence[_Read]) -> list[list[Row] | Exception]:
        """What the server refuses for its values is found by halves."""
        return await by_halves(reads, self._read_at_once, StoreRefused)

    async def _read_at_once(self, reads: Sequence[_Read]) -> list[list[Row] | Exception]:
        """One round trip, in the order of the groups, whose locks some reads take for a moment."""
        order = sorted(range(len(reads)), key=lambda place: reads[place].values["group_id"])
        asked = [reads[place].values | {"place": place} for place in order]
        rows = await self._run(reads[0].what.each, all=asked, **reads[0].bounds)
        found: list[list[Row]] = [[] for _ in reads]
        for place, *row in rows:
            found[place].append(row)
        return list(found)
