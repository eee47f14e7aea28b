"""A SearchStore over dicts, and makers of facts and vectors."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from hypothesis import HealthCheck, settings
from numpy.typing import NDArray

from kgsvc.domain.model.delta import GroupHead
from kgsvc.domain.model.graph import Fact, Usage
from kgsvc.models.protocol import Embedder as AnyEmbedder
from kgsvc.models.protocol import Vectors
from kgsvc.runtime import Clock
from kgsvc.search.engine import Engine, EngineStore
from kgsvc.search.filters import NONE
from kgsvc.search.index.cache import LOADED_AT_ONCE
from kgsvc.search.plans import Method, Scope, ScopePlan
from kgsvc.search.query import parse
from kgsvc.search.ranking.pool import ScopeQuery
from kgsvc.search.settings import SearchSettings
from kgsvc.stores.search_protocol import (
    TEXT_BYTES,
    Changes,
    FactCandidates,
    FactsAsked,
    IndexedEpisode,
    IndexedFact,
    TextChanges,
    no_texts,
)
from tests.support.model_rows import Group
from tests.support.model_store import ModelStore

NOW = 1_700_000_000_000
SPACE = "test:4"

# A busy machine is no failure.
patient = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def fact(
    uuid: str, text: str = "", group: str = "g", source: str = "ann", target: str = "bob", **more: object
) -> Fact:
    """A fact valid since long before NOW; the ends are named as their uuids."""
    values: dict[str, object] = {
        "uuid": uuid,
        "group_id": group,
        "name": "KNOWS",
        "fact": text,
        "source_uuid": source,
        "target_uuid": target,
        "source_name": source,
        "target_name": target,
        "created_ms": NOW - 1000,
        "reference_ms": NOW - 1000,
        "slot": "",
        "fact_key": "",
        **more,
    }
    return Fact(**values)  # type: ignore[arg-type]


def vector(*values: float) -> bytes:
    """A unit vector in the direction given."""
    array = np.array(values, "<f4")
    packed: bytes = (array / np.linalg.norm(array)).astype("<f4").tobytes()
    return packed


def indexed(one: Fact, vector: bytes | None = None, space: str = SPACE) -> IndexedFact:
    """The fact as a store hands it over."""
    return IndexedFact(one, space if vector else "", vector)


def page(*facts: IndexedFact, rev: int = 1, epoch: int = 0, removed: Sequence[str] = ()) -> Changes:
    """All changes up to `rev` in one page."""
    return Changes(GroupHead("g", rev, epoch), tuple(facts), tuple(removed), rev)


class Feed(ModelStore):
    """Groups of facts whose revisions move with every call."""

    def __init__(self) -> None:
        super().__init__()
        self.text_reads: list[tuple[str, int]] = []  # likewise of each `text_changes`
        self.episodes: tuple[IndexedEpisode, ...] = ()  # what `text_changes` answers
        self.reads: list[tuple[str, int]] = []  # (group, after_rev) of each `changes` of a load
        self.cold_reads: list[str] = []  # the group of each `search_candidates`
        self.searches = True  # whether that finds anything
        self.gate: asyncio.Event | None = None  # `changes` waits here
        self.waiting = asyncio.Event()  # set when it does
        self.error: Exception | None = None  # raised once by the next `changes`

    def write(self, *facts: Fact | IndexedFact) -> None:
        """One revision for each fact, of its own group."""
        for one in facts:
            row = one if isinstance(one, IndexedFact) else IndexedFact(one)
            group, uuid = self._group(row.fact.group_id), row.fact.uuid
            group.rev += 1
            group.facts[uuid], group.fact_rev[uuid] = row.fact, group.rev
            group.vectors.pop(uuid, None)
            if row.vector is not None:
                group.vectors[uuid] = row.space, row.vector

    def remove(self, group_id: str, uuid: str) -> None:
        """A hard delete."""
        group = self._group(group_id)
        group.rev += 1
        del group.facts[uuid], group.fact_rev[uuid]
        group.removed_rev[uuid] = group.rev

    def empty(self, group_id: str) -> None:
        """A new epoch with nothing in it; the revision goes on."""
        old = self._groups[group_id]
        self._groups[group_id] = Group(group_id, rev=old.rev + 1, epoch=old.epoch + 1)

    def vanish(self, group_id: str) -> None:
        """The group's record is gone altogether."""
        del self._groups[group_id]

    async def changes(self, group_id: str, after_rev: int, limit: int) -> Changes:
        if limit != LOADED_AT_ONCE:  # more than a look whether the group is small
            self.reads.append((group_id, after_rev))
            if self.gate is not None:
                self.waiting.set()
                await self.gate.wait()
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return await super().changes(group_id, after_rev, limit)

    async def text_changes(
        self, group_id: str, after_rev: int, limit: int, max_bytes: int = TEXT_BYTES, after_uuid: str = ""
    ) -> TextChanges:
        self.text_reads.append((group_id, after_rev))
        head = self._groups[group_id].head
        return replace(no_texts(group_id), head=head, upto_rev=head.rev, episodes=self.episodes)

    async def search_candidates(self, group_id: str, asked: FactsAsked) -> FactCandidates | None:
        self.cold_reads.append(group_id)
        return await super().search_candidates(group_id, asked) if self.searches else None


def asked(
    text: str,
    near: NDArray[np.float32] | None = None,
    now_ms: int = NOW,
    center: str | None = None,
    count: int = 200,
) -> ScopeQuery:
    """What SearchFacts asks of the facts of a group."""
    plan = ScopePlan(Scope.FACTS, (Method.BM25, Method.COSINE))
    return ScopeQuery(plan, parse(text), near, 0.0, NONE, now_ms, count, count, center)


def engine(store: object, embedder: AnyEmbedder | None, settings: SearchSettings, clock: Clock) -> Engine:
    """The engine over a store of tests."""
    return Engine(cast(EngineStore, store), embedder, settings, clock)


class Stopped:
    """A clock that stands at NOW."""

    def now_ms(self) -> int:
        return NOW

    def monotonic(self) -> float:
        return 0.0


class Embedder:
    """Known texts have vectors, others none; may be told to fail or to hang."""

    space = SPACE
    dimension = 4
    min_cosine = 0.0
    costs_model_calls = False

    def __init__(self, known: dict[str, bytes] | None = None) -> None:
        self._known = known or {}
        self.asked: list[str] = []
        self.error: Exception | None = None
        self.hang = False

    async def embed(self, texts: Sequence[str], group_id: str = "") -> tuple[Vectors, Usage]:
        self.asked.extend(texts)
        if self.hang:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error
        rows = [np.frombuffer(self._known.get(text, bytes(16)), "<f4") for text in texts]
        return np.array(rows, np.float32), Usage()

    async def close(self) -> None:
        """Nothing is held."""
