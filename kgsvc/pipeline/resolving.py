"""Deciding which new names and facts are known ones: by rule, else by one model call for the micro-batch.

Also which entities bear a name near a new one. The vectors of a group's
names are kept in the process that resolves for it, bounded by bytes, and followed by the revision that wrote
them: what they cost a batch is what is new since the last one, and a product of matrices.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.model.delta import GroupHead, NameView
from kgsvc.domain.model.extraction import Ontology
from kgsvc.domain.model.graph import FREE, Entity, Usage
from kgsvc.domain.names.meanings import BatchItem
from kgsvc.domain.resolution import full_names, questions
from kgsvc.domain.resolution.asking import Inquiry
from kgsvc.domain.resolution.decisions import (
    FROM_THE_FIRST,
    CandidateQuery,
    Decisions,
    NameCandidates,
    NameDecision,
    VectorPage,
    VectorsAfter,
)
from kgsvc.domain.resolution.questions import NewName
from kgsvc.domain.resolution.short_names import by_short_name
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.models.protocol import Resolver
from kgsvc.runtime import MULTIPLICATIONS, STATEMENTS, offload
from kgsvc.stores.protocol import CandidateStore


@dataclass(frozen=True, slots=True)
class Resolution:
    """What follows by rule, what a model decided and cost, and what it was compared with."""

    by_rule: Decisions = field(default_factory=Decisions)
    asked: Decisions = field(default_factory=Decisions)
    candidates: NameCandidates = field(default_factory=NameCandidates)
    usage: Usage = FREE

    def borne(self, keys: Collection[str]) -> dict[str, Entity]:
        """The candidates that bear these name keys, by key; keys that none bears are absent."""
        entities, names = self.candidates.entities, self.candidates.names
        return {key: entities[uuid] for uuid in entities for key in names.get(uuid, ()) if key in keys}


_READS = 3  # of entities near the new names: others may be written, or removed, meanwhile
_NO_VECTORS: Mapping[str, bytes] = MappingProxyType({})
_NO_TYPES = Ontology()


class Resolving:
    """Reads candidates once, asks the model once, and only where there is something to compare."""

    def __init__(
        self, store: CandidateStore, resolver: Resolver | None, embedder: CachingEmbedder | None = None
    ) -> None:
        self._store = store
        self._resolver = resolver
        likely = resolver is not None and embedder is not None  # without a model nothing could be decided
        self._nearness = Nearness(embedder.space, embedder.min_cosine) if likely and embedder else None

    async def decide(
        self,
        group_id: str,
        items: Sequence[BatchItem],
        view: NameView,
        known: Decisions,
        vectors: Mapping[str, bytes] = _NO_VECTORS,
        ontology: Ontology = _NO_TYPES,
    ) -> Resolution:
        """Everything about the batch that neither `view` nor `known` settles. `vectors` are those of new
        names, by name; `ontology` holds the fact types. Raises StepError, StoreUnavailable."""
        names = questions.new_names(items, view, known)
        places = {(i.episode.uuid, n) for i in items for n in range(len(i.extraction.edges))}
        facts = self._resolver is not None and not places <= known.facts.keys()
        if not names and not facts:
            return Resolution()

        def query(near: Mapping[str, tuple[str, ...]]) -> CandidateQuery:
            return questions.query(names, items, view, facts, near)

        candidates = await self._candidates(view.head, names, query, vectors)
        size = len(names) + len(places) + len(candidates.facts)
        by_rule = Decisions(await offload(size / STATEMENTS, questions.by_rule, names, candidates))
        if self._resolver is None:
            short = Decisions(await offload(size / STATEMENTS, by_short_name, names, candidates))
            return Resolution(short.with_more(by_rule), candidates=candidates)
        left = [new for new in names if new.key not in by_rule.names]
        known_too = {entity.uuid: entity for entity in view.by_key.values()}
        candidates = replace(candidates, entities=known_too | dict(candidates.entities))
        inquiry = Inquiry(group_id, view, candidates, left, known.with_more(by_rule), ontology)
        request = await offload(size / STATEMENTS, inquiry.request, items)
        by_rule = by_rule.with_more(Decisions(facts=inquiry.decided))
        if request is None:
            return Resolution(by_rule, candidates=candidates)
        answer = await self._resolver.resolve(request)
        asked = inquiry.decisions(answer.resolutions)
        full = full_names.unused(asked.names, names, candidates)
        if full:
            asked = replace(asked, names=await self._with_full_names(asked.names, full, names, inquiry))
        return Resolution(by_rule, asked, candidates, answer.usage)

    async def _with_full_names(
        self,
        decided: Mapping[str, NameDecision],
        full: Mapping[str, str],
        names: Sequence[NewName],
        inquiry: Inquiry,
    ) -> dict[str, NameDecision]:
        """The decisions, without full names that may be those of other entities."""
        try:
            others = await self._store.candidates(inquiry.group_id, full_names.query(full.values()))
        except StoreUnavailable:  # rather without full names than lose the answer of the model
            return full_names.without(decided, full)
        cost = (len(names) + len(full)) / STATEMENTS
        return await offload(cost, full_names.keeping, decided, full, names, inquiry.compared, others)

    async def _candidates(
        self,
        head: GroupHead,
        names: Sequence[NewName],
        query: Callable[[Mapping[str, tuple[str, ...]]], CandidateQuery],
        vectors: Mapping[str, bytes],
    ) -> NameCandidates:
        """The candidates for the batch, mostly in one round trip: entities near the new names are known from
        vectors read before, and the same answer holds the vectors written since. A second round trip where
        one of those is near too, or an entity that was near is gone."""
        nearness, group_id = self._nearness, head.group_id
        asked = {new.key: vectors[new.name] for new in names if new.name in vectors}
        if head.is_new:
            return NameCandidates(near_names=await nearness.peers(asked) if nearness else {})
        if nearness is None or not asked:
            return await self._store.candidates(group_id, query({}))
        near = await nearness.nearest(group_id, asked)
        for _ in range(_READS):
            wanted = query(near)
            candidates = await self._store.candidates(
                group_id, replace(wanted, vectors=nearness.following(group_id))
            )
            await self._follow(head, nearness, candidates)
            nearness.forget(group_id, set(wanted.uuids) - candidates.entities.keys())
            near = await nearness.nearest(group_id, asked)
            if all(uuid in candidates.entities for uuids in near.values() for uuid in uuids):
                break
        return replace(candidates, near=near, near_names=await nearness.peers(asked))

    async def _follow(self, head: GroupHead, nearness: Nearness, candidates: NameCandidates) -> None:
        """Read the rest of the vectors where an answer does not hold all of them."""
        while candidates.vectors is not None and nearness.take(head.group_id, candidates.vectors, head):
            rest = CandidateQuery(vectors=nearness.following(head.group_id))
            candidates = await self._store.candidates(head.group_id, rest)


LIKENESS = 0.6  # cosine of two names from which on they may mean the same
NEAREST = 3  # entities, and new names, that one new name is compared with for that alone
GROUP_BYTES = 64 * 1024 * 1024  # a group's names beyond are not found this way: 43,000 of 384 numbers
ALL_BYTES = 256 * 1024 * 1024  # the least recently used groups go
PAGE = 2_000  # vectors of one answer of the store
_AT_ONCE = 64  # new names of one product
_TIES = 64

Floats = NDArray[np.float32]


class _NameVectors:
    """The vectors of one group. Rows beyond `uuids` are free."""

    def __init__(self) -> None:
        self.epoch = 0
        self.place = FROM_THE_FIRST
        self.uuids: list[str] = []
        self._rows: dict[str, int] = {}
        self._matrix: Floats = np.empty((0, 0), np.float32)

    @property
    def matrix(self) -> Floats:
        """A row for each of `uuids`."""
        return self._matrix[: len(self.uuids)]

    @property
    def nbytes(self) -> int:
        """What is held."""
        return self._matrix.nbytes

    @property
    def is_full(self) -> bool:
        """Whether no other name is taken up."""
        row_bytes: int = self._matrix.itemsize * self._matrix.shape[1]
        return (len(self.uuids) + 1) * row_bytes > GROUP_BYTES

    def put(self, uuid: str, vector: Floats) -> None:
        """Set or replace; beyond GROUP_BYTES nothing is added."""
        if len(vector) != self._matrix.shape[1]:
            if self.uuids:
                return
            self._matrix = np.empty((0, len(vector)), np.float32)
        row = self._rows.get(uuid, len(self.uuids))
        if row == len(self.uuids):
            if self.is_full:
                return
            if row == len(self._matrix):
                more = np.empty((max(64, row // 2), len(vector)), np.float32)
                self._matrix = np.concatenate((self._matrix, more))
            self.uuids.append(uuid)
            self._rows[uuid] = row
        self._matrix[row] = vector

    def drop(self, uuid: str) -> None:
        """The last row takes its place."""
        row = self._rows.pop(uuid, None)
        if row is None:
            return
        last = self.uuids.pop()
        if last != uuid:
            self.uuids[row], self._rows[last] = last, row
            self._matrix[row] = self._matrix[len(self.uuids)]


class Nearness:
    """The names of the groups that this process resolves for, in one space of vectors."""

    def __init__(self, space: str, min_cosine: float) -> None:
        self._space = space
        self._likeness = max(min_cosine, LIKENESS)
        self._groups: OrderedDict[str, _NameVectors] = OrderedDict()

    def following(self, group_id: str) -> VectorsAfter:
        """What to ask a store for."""
        names = self._groups.get(group_id) or _NameVectors()
        return VectorsAfter(self._space, names.epoch, names.place, PAGE)

    def take(self, group_id: str, page: VectorPage, head: GroupHead) -> bool:
        """The store's answer to `following`; whether to read on. A group that is full is not read to its end
        but followed from `head` on: what is left out, renamed entities among it, stays so until the process
        reads the group anew."""
        names = self._groups.get(group_id)
        if names is None or names.epoch != page.epoch:
            names = self._groups[group_id] = _NameVectors()
            names.epoch = page.epoch
        for uuid, vector in page.rows:
            names.put(uuid, np.frombuffer(vector, "<f4"))
        skips = page.more and names.is_full and page.epoch == head.epoch
        names.place = max(page.place, (head.rev, "")) if skips else page.place
        self._groups.move_to_end(group_id)
        while len(self._groups) > 1 and sum(each.nbytes for each in self._groups.values()) > ALL_BYTES:
            self._groups.popitem(last=False)
        return page.more and not skips

    def forget(self, group_id: str, uuids: Iterable[str]) -> None:
        """Entities that are no more."""
        names = self._groups.get(group_id) or _NameVectors()
        for uuid in uuids:
            names.drop(uuid)

    async def nearest(self, group_id: str, asked: Mapping[str, bytes]) -> dict[str, tuple[str, ...]]:
        """For each key of `asked` the entities near its vector, the nearest first, ties by uuid; keys without
        are absent."""
        names = self._groups.get(group_id)
        if names is None or not names.uuids or not asked:
            return {}
        questions, uuids, known = _rows(asked.values()), names.uuids, names.matrix
        if questions.shape[1] != known.shape[1]:
            return {}
        cost = known.size * len(asked) / MULTIPLICATIONS
        return await offload(cost, _near, list(asked), questions, uuids, known, self._likeness)

    async def peers(self, asked: Mapping[str, bytes]) -> dict[str, tuple[str, ...]]:
        """For each key of `asked` the keys before it that are near, the nearest first; keys without are
        absent."""
        if len(asked) < 2:
            return {}
        keys, rows = list(asked), _rows(asked.values())

        def compute() -> dict[str, tuple[str, ...]]:
            found: dict[str, tuple[str, ...]] = {}
            for n in range(1, len(keys)):
                found |= _near(keys[n : n + 1], rows[n : n + 1], keys[:n], rows[:n], self._likeness)
            return found

        return await offload(rows.size * len(keys) / MULTIPLICATIONS, compute)


def _rows(vectors: Iterable[bytes]) -> Floats:
    return np.stack([np.frombuffer(vector, "<f4") for vector in vectors])


def _near(
    keys: Sequence[str], questions: Floats, names: Sequence[str], rows: Floats, likeness: float
) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for first in range(0, len(keys), _AT_ONCE):
        cosines = questions[first : first + _AT_ONCE] @ rows.T
        for key, line in zip(keys[first:], cosines, strict=False):
            near = np.flatnonzero(line >= likeness)
            if len(near) > _TIES:
                near = near[np.argpartition(-line[near], _TIES)[:_TIES]]
            ranked = sorted((-round(float(line[at]), 5), names[at]) for at in near.tolist())
            if ranked:
                found[key] = tuple(name for _cosine, name in ranked[:NEAREST])
    return found
