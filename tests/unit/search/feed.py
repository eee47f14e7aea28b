"""A SearchStore over dicts, and makers of facts and vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from hypothesis import HealthCheck, settings

from kgsvc.domain.model.delta import GroupHead
from kgsvc.domain.model.graph import Fact
from kgsvc.domain.model.usage import Usage
from kgsvc.models.protocol import Vectors
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
from tests.support.cold_search import candidates_among

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


@dataclass
class _Group:
    head: GroupHead
    facts: dict[str, tuple[int, IndexedFact]] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)


class Feed:
    """Groups of facts whose revisions move with every call."""

    def __init__(self) -> None:
        self._groups: dict[str, _Group] = {}
        self.text_reads: list[tuple[str, int]] = []  # likewise of each `text_changes`
        self.episodes: tuple[IndexedEpisode, ...] = ()  # what `text_changes` answers
        self.reads: list[tuple[str, int]] = []  # (group, after_rev) of each `changes`
        self.cold_reads: list[str] = []  # the group of each `search_candidates`
        self.searches = True  # whether that finds anything
        self.gate: asyncio.Event | None = None  # `changes` waits here
        self.waiting = asyncio.Event()  # set when it does
        self.error: Exception | None = None  # raised once by the next `changes`

    def write(self, *facts: Fact | IndexedFact) -> None:
        """One revision for each fact, of its own group."""
        for one in facts:
            row = one if isinstance(one, IndexedFact) else IndexedFact(one)
            group = self._group(row.fact.group_id)
            self._bump(group)
            group.facts[row.fact.uuid] = (group.head.rev, row)

    def remove(self, group_id: str, uuid: str) -> None:
        """A hard delete."""
        group = self._group(group_id)
        self._bump(group)
        del group.facts[uuid]
        group.removed[uuid] = group.head.rev

    def delete_group(self, group_id: str) -> None:
        """A new epoch with nothing in it; the revision goes on."""
        old = self._groups[group_id].head
        self._groups[group_id] = _Group(GroupHead(group_id, old.rev + 1, old.epoch + 1))

    def vanish(self, group_id: str) -> None:
        """The group's record is gone altogether."""
        del self._groups[group_id]

    async def heads(self, group_ids: Collection[str]) -> dict[str, GroupHead]:
        return {g: self._groups[g].head for g in group_ids if g in self._groups}

    async def changes(self, group_id: str, after_rev: int, limit: int) -> Changes:
        self.reads.append((group_id, after_rev))
        if self.gate is not None:
            self.waiting.set()
            await self.gate.wait()
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        group = self._groups[group_id]
        rows = sorted((rev, uuid) for uuid, (rev, _) in group.facts.items() if rev > after_rev)
        more = len(rows) > limit
        upto = rows[limit - 1][0] if more else group.head.rev
        facts = tuple(group.facts[uuid][1] for rev, uuid in rows if rev <= upto)
        removed = tuple(uuid for uuid, rev in group.removed.items() if rev > after_rev)
        return Changes(group.head, facts, removed, upto, more)

    async def text_changes(
        self,
        group_id: str,
        after_rev: int,
        limit: int,
        max_bytes: int = TEXT_BYTES,
        after_uuid: str = "",
    ) -> TextChanges:
        self.text_reads.append((group_id, after_rev))
        group = self._groups[group_id]
        page = no_texts(group_id)
        return replace(page, head=group.head, upto_rev=group.head.rev, episodes=self.episodes)

    async def search_candidates(self, group_id: str, asked: FactsAsked) -> FactCandidates | None:
        self.cold_reads.append(group_id)
        group = self._groups.get(group_id)
        if group is None or not self.searches:
            return None
        return candidates_among(group.head, (row for _, row in group.facts.values()), asked)

    def _group(self, group_id: str) -> _Group:
        return self._groups.setdefault(group_id, _Group(GroupHead(group_id)))

    @staticmethod
    def _bump(group: _Group) -> None:
        group.head = GroupHead(group.head.group_id, group.head.rev + 1, group.head.epoch)


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
