"""The single golden path of an item: extract, embed, commit (spec 004 §5, design §4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kgsvc.domain.clock import Clock
from kgsvc.domain.errors import ModelUnavailable, StepError
from kgsvc.domain.model.extraction import ExtractionRequest, conform
from kgsvc.domain.model.items import (
    Failure,
    ItemState,
    Lease,
    Prepared,
    PreparedBatch,
    QueuedItem,
    Step,
    Transition,
)
from kgsvc.domain.model.usage import FREE, Usage
from kgsvc.models.embedding import CachingEmbedder, texts_of
from kgsvc.models.protocol import Extractor
from kgsvc.pipeline.commit import Committer, Work
from kgsvc.pipeline.ontologies import Ontologies
from kgsvc.pipeline.pressure import IntakePressure
from kgsvc.pipeline.stages import Stage, decode, encode
from kgsvc.stores.protocol import Anchor, QueueStore


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """How much context an extraction gets (spec 002: the last ten episodes of the same source)."""

    previous_episodes: int = 10
    previous_chars: int = 4_000


class Pipeline:
    """The queue's handler: turns queued episodes into graph."""

    def __init__(
        self,
        store: QueueStore,
        extractor: Extractor,
        embedder: CachingEmbedder | None,
        committer: Committer,
        clock: Clock,
        settings: PipelineSettings,
        pressure: IntakePressure,
        ontologies: Ontologies,
    ) -> None:
        self._store = store
        self._extractor = extractor
        self._embedder = embedder
        self._committer = committer
        self._clock = clock
        self._settings = settings
        self._pressure = pressure
        self._ontologies = ontologies

    async def prepare(self, lease: Lease, items: Sequence[QueuedItem]) -> PreparedBatch:
        """Extract and embed what is not stored yet; store what cost a model call."""
        await self._pressure.lull()
        stages, failed = await self._extracted(lease, items)
        stages, unembedded = await self._embedded(lease, stages)
        ready = tuple(Prepared(item, Work(item, stage)) for item, stage in stages)
        return PreparedBatch(ready, (*failed, *unembedded))

    async def commit(self, lease: Lease, batch: Sequence[Prepared]) -> None:
        """See Committer.commit."""
        await self._committer.commit(lease, [entry.work for entry in batch])

    async def _extracted(
        self, lease: Lease, items: Sequence[QueuedItem]
    ) -> tuple[list[tuple[QueuedItem, Stage]], list[Failure]]:
        stages = {item.episode.uuid: stage for item in items if (stage := decode(item.stage)) is not None}
        fresh = [item for item in items if item.episode.uuid not in stages]
        failed = await self._extract(lease, fresh, stages) if fresh else []
        return [(item, stages[i]) for item in items if (i := item.episode.uuid) in stages], failed

    async def _extract(
        self, lease: Lease, fresh: Sequence[QueuedItem], stages: dict[str, Stage]
    ) -> list[Failure]:
        """Add the stages of `fresh` items, by uuid; those that failed."""
        try:
            requests = await self._requests(lease.group_id, fresh)
        except StepError as error:
            return [Failure(item, Step.EXTRACT, error) for item in fresh]
        failed: list[Failure] = []
        costs: dict[str, Usage] = {}
        results = await self._extractor.extract(requests)
        for item, request, result in zip(fresh, requests, results, strict=True):
            if isinstance(result, StepError):
                failed.append(Failure(item, Step.EXTRACT, result))
            elif isinstance(result, Exception):
                raise result
            else:
                stages[item.episode.uuid] = Stage(conform(result.extraction, request.ontology))
                costs[item.episode.uuid] = result.usage
        if self._extractor.costs_model_calls:
            new = [(item, stages[i]) for item in fresh if (i := item.episode.uuid) in stages]
            await self._save(lease, ItemState.EXTRACTED, new, costs)
        return failed

    async def _requests(self, group_id: str, items: Sequence[QueuedItem]) -> list[ExtractionRequest]:
        anchors = [_anchor(item) for item in items]
        settings = self._settings
        previous = await self._store.previous_episodes(
            group_id, anchors, settings.previous_episodes, settings.previous_chars
        )
        ontology = await self._ontologies.of(group_id, max(item.ontology for item in items))
        return [
            ExtractionRequest(item.episode, previous.get(item.episode.uuid, ()), ontology) for item in items
        ]

    async def _embedded(
        self, lease: Lease, stages: list[tuple[QueuedItem, Stage]]
    ) -> tuple[list[tuple[QueuedItem, Stage]], list[Failure]]:
        embedder = self._embedder
        if embedder is None:
            return stages, []
        todo = [s for s in stages if s[1].vectors is None or s[1].space != embedder.space]
        costs: dict[str, Usage] = {}
        done, failed = await self._embed(lease.group_id, embedder, todo, costs)
        if embedder.costs_model_calls:
            await self._save(lease, ItemState.EMBEDDED, done, costs)
        fresh = {item.episode.uuid: stage for item, stage in done}
        bad = {failure.item.episode.uuid for failure in failed}
        kept = [
            (item, fresh.get(item.episode.uuid, stage))
            for item, stage in stages
            if item.episode.uuid not in bad
        ]
        return kept, failed

    async def _embed(
        self,
        group_id: str,
        embedder: CachingEmbedder,
        todo: list[tuple[QueuedItem, Stage]],
        costs: dict[str, Usage],
    ) -> tuple[list[tuple[QueuedItem, Stage]], list[Failure]]:
        """All in one request; if the answer is bad, item by item, so that one text cannot fail the others.

        Each item's part of what it cost is added to `costs`, or told with its failure.
        """
        if not todo:
            return [], []
        texts = {text for _, stage in todo for text in texts_of(stage.extraction)}
        try:
            vectors, cost = await embedder.vectors_and_cost(texts, group_id)
        except StepError as error:
            _add(costs, todo, error.usage)
            if len(todo) > 1 and not isinstance(error, ModelUnavailable):
                parts = [await self._embed(group_id, embedder, [entry], costs) for entry in todo]
                return [d for done, _ in parts for d in done], [f for _, failed in parts for f in failed]
            return [], [
                Failure(item, Step.EMBED, error, self._kept(stage), costs.pop(item.episode.uuid))
                for item, stage in todo
            ]
        done = [
            (
                item,
                replace(
                    stage, vectors={t: vectors[t] for t in texts_of(stage.extraction)}, space=embedder.space
                ),
            )
            for item, stage in todo
        ]
        _add(costs, todo, cost)
        return done, []

    def _kept(self, stage: Stage) -> bytes | None:
        """The extraction, where it cost something."""
        return encode(stage) if self._extractor.costs_model_calls else None

    async def _save(
        self,
        lease: Lease,
        state: ItemState,
        entries: list[tuple[QueuedItem, Stage]],
        costs: Mapping[str, Usage],
    ) -> None:
        now_ms = self._clock.now_ms()
        transitions = [
            Transition(uuid, state, now_ms, stage=encode(stage), usage=costs.get(uuid, FREE))
            for uuid, stage in ((item.episode.uuid, stage) for item, stage in entries)
        ]
        if transitions:
            await self._store.save_transitions(lease, transitions)


def _anchor(item: QueuedItem) -> Anchor:
    episode = item.episode
    return Anchor(episode.uuid, episode.source.value, episode.reference_ms, item.previous)


def _add(costs: dict[str, Usage], entries: Sequence[tuple[QueuedItem, Stage]], cost: Usage) -> None:
    for (item, _), part in zip(entries, cost.split(len(entries)), strict=True):
        uuid = item.episode.uuid
        costs[uuid] = costs.get(uuid, FREE) + part
