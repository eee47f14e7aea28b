"""Preparing items: extraction and embedding, and what they cost stored before the next step."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any

from kgsvc.documents.passages import spoken
from kgsvc.domain.errors import ModelUnavailable, StepError
from kgsvc.domain.model.extraction import (
    ExtractedEdge,
    ExtractedNode,
    Extraction,
    conform,
)
from kgsvc.domain.model.graph import FREE, FactKind, Polarity, Usage
from kgsvc.domain.model.items import FailedItem, ItemState, ItemWarning, Lease, QueuedItem, Step, Transition
from kgsvc.domain.resolution.decisions import (
    BatchFact,
    FactDecision,
    Judged,
    KnownRef,
    NameDecision,
    NameTarget,
    StoredFact,
    Verdict,
)
from kgsvc.models.embedding import CachingEmbedder, texts_of
from kgsvc.models.protocol import Extractor
from kgsvc.pipeline.extraction_context import ContextStore, ExtractionContext
from kgsvc.pipeline.ontologies import Ontologies
from kgsvc.pipeline.pressure import IntakePressure
from kgsvc.runtime import Clock
from kgsvc.stores.protocol import QueueStore
from kgsvc.tracing import NOT_TRACED, Tracer

_VERSION = 4  # of the stored form; a stage of another version is not read, and its step done again


@dataclass(frozen=True, slots=True)
class Stage:
    """What is known of an item so far. `vectors` maps texts to float32 bytes; None: not embedded yet."""

    extraction: Extraction
    vectors: Mapping[str, bytes] | None = None
    space: str = field(default="")
    names: Mapping[str, NameDecision] = field(default_factory=dict)  # what a model decided, by name key
    facts: Mapping[int, FactDecision] = field(default_factory=dict)  # by index of the edge


@dataclass(slots=True)
class PreparedItem:
    """An item whose model work is done, ready to be committed. Its stage takes up what a model decides at the
    commit: where the batch fails and is tried again in parts, nothing is asked twice."""

    item: QueuedItem
    stage: Stage

    @property
    def uuid(self) -> str:
        """Of its episode."""
        return self.item.episode.uuid

    @property
    def texts(self) -> set[str]:
        """What is embedded of it: what was extracted, and its passages."""
        return texts_of(self.stage.extraction).union(self.passages)

    @property
    def passages(self) -> list[str]:
        """What stands for its body in vectors."""
        body, edges = self.item.episode.body, self.stage.extraction.edges
        return spoken(body, (edge.fact.strip() for edge in edges))


def encode(stage: Stage) -> bytes:
    """The stored form."""
    vectors = stage.vectors
    document = {
        "version": _VERSION,
        "extraction": asdict(stage.extraction),
        "space": stage.space,
        "vectors": None if vectors is None else {t: base64.b64encode(v).decode() for t, v in vectors.items()},
        "names": {key: asdict(decision) for key, decision in stage.names.items()},
        "facts": {str(index): asdict(decision) for index, decision in stage.facts.items()},
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def decode(stored: bytes | None) -> Stage | None:
    """The stage, or None where nothing usable is stored: the step is then simply done again."""
    if stored is None:
        return None
    document = json.loads(stored)
    if document["version"] != _VERSION:
        return None
    vectors = document["vectors"]
    return Stage(
        _extraction(document["extraction"]),
        None if vectors is None else {t: base64.b64decode(v) for t, v in vectors.items()},
        document["space"],
        {key: _name_decision(decision) for key, decision in document["names"].items()},
        {int(index): _fact_decision(decision) for index, decision in document["facts"].items()},
    )


def _name_decision(document: dict[str, Any]) -> NameDecision:
    also = tuple(NameTarget(**each) for each in document["also"])
    return NameDecision(**{**document, "also": also})


def _fact_decision(document: dict[str, Any]) -> FactDecision:
    duplicate, told_as = document["duplicate"], document["told_as"]
    return FactDecision(
        None if duplicate is None else _ref(duplicate),
        tuple(map(_judged, document["contradicts"])),
        None if told_as is None else _edge(told_as),
        Verdict(document["same"]),
        document["by_model"],
    )


def _judged(document: dict[str, Any]) -> Judged:
    return Judged(_ref(document["ref"]), Verdict(document["verdict"]), document["since_ms"])


def _ref(document: dict[str, Any]) -> KnownRef:
    if "uuid" in document:
        return StoredFact(**document)
    return BatchFact(_edge(document["edge"]), document["source"], document["target"])


def _extraction(document: dict[str, Any]) -> Extraction:
    return Extraction(
        tuple(ExtractedNode(**node) for node in document["nodes"]),
        tuple(_edge(edge) for edge in document["edges"]),
    )


def _edge(document: dict[str, Any]) -> ExtractedEdge:
    return ExtractedEdge(
        **{
            **document,
            "kind": FactKind(document["kind"]),
            "polarity": Polarity(document["polarity"]),
            "keywords": tuple(document["keywords"]),
        }
    )


_NO_WARNINGS: Mapping[str, tuple[ItemWarning, ...]] = MappingProxyType({})


class Preparer:
    """Extracts and embeds queued items. Output that cost a model call is stored before the next step."""

    def __init__(
        self,
        store: ContextStore,
        extractor: Extractor,
        embedder: CachingEmbedder | None,
        clock: Clock,
        pressure: IntakePressure,
        ontologies: Ontologies,
        tracer: Tracer = NOT_TRACED,
    ) -> None:
        self._tracer = tracer
        self._store: QueueStore = store
        self._context = ExtractionContext(store, ontologies, for_model=extractor.costs_model_calls)
        self._extractor = extractor
        self._embedder = embedder
        self._clock = clock
        self._pressure = pressure

    async def prepare(
        self, lease: Lease, items: Sequence[QueuedItem]
    ) -> tuple[list[PreparedItem], list[FailedItem]]:
        """The items that can be committed and those that failed; steps whose output is stored are not done
        again. Raises LeaseLost, StoreUnavailable."""
        self._tracer.waited((item.traced, item.accepted_ms) for item in items)
        await self._pressure.lull(len(items))
        entries, failed = await self._extracted(lease, items)
        unembedded = await self._embed(lease, entries)
        bad = {failure.item.episode.uuid for failure in unembedded}
        return [entry for entry in entries if entry.uuid not in bad], [*failed, *unembedded]

    async def _extracted(
        self, lease: Lease, items: Sequence[QueuedItem]
    ) -> tuple[list[PreparedItem], list[FailedItem]]:
        stages = {item.episode.uuid: stage for item in items if (stage := decode(item.stage)) is not None}
        fresh = [item for item in items if item.episode.uuid not in stages]
        failed: list[FailedItem] = []
        if fresh:
            with self._tracer.step("extract", (item.traced for item in fresh)):
                failed = await self._extract(lease, fresh, stages)
        return [PreparedItem(item, stages[i]) for item in items if (i := item.episode.uuid) in stages], failed

    async def _extract(
        self, lease: Lease, fresh: Sequence[QueuedItem], stages: dict[str, Stage]
    ) -> list[FailedItem]:
        """Add the stages of `fresh` items, by uuid; those that failed."""
        try:
            requests = await self._context.requests(lease.group_id, fresh)
        except StepError as error:
            return [FailedItem(item, Step.EXTRACT, error) for item in fresh]
        done: list[PreparedItem] = []
        failed: list[FailedItem] = []
        costs: dict[str, Usage] = {}
        warnings: dict[str, tuple[ItemWarning, ...]] = {}
        results = await self._extractor.extract(requests)
        for item, request, result in zip(fresh, requests, results, strict=True):
            if isinstance(result, StepError):
                failed.append(FailedItem(item, Step.EXTRACT, result))
            elif isinstance(result, Exception):
                raise result
            else:
                done.append(PreparedItem(item, Stage(conform(result.extraction, request.ontology))))
                costs[item.episode.uuid] = result.usage
                warnings[item.episode.uuid] = result.warnings
        if self._extractor.costs_model_calls:
            await self._save(lease, ItemState.EXTRACTED, done, costs, warnings)
        stages.update({entry.uuid: entry.stage for entry in done})
        return failed

    async def _embed(self, lease: Lease, entries: Sequence[PreparedItem]) -> list[FailedItem]:
        """Add vectors of the current space where there are none; the items that failed."""
        embedder = self._embedder
        if embedder is None:
            return []
        todo = [each for each in entries if each.stage.vectors is None or each.stage.space != embedder.space]
        costs: dict[str, Usage] = {}
        failed: list[FailedItem] = []
        if todo:
            with self._tracer.step("embed", (entry.item.traced for entry in todo)):
                failed = await self._embed_together(lease.group_id, embedder, todo, costs)
        if embedder.costs_model_calls:
            bad = {failure.item.episode.uuid for failure in failed}
            await self._save(lease, ItemState.EMBEDDED, [e for e in todo if e.uuid not in bad], costs)
        return failed

    async def _embed_together(
        self, group_id: str, embedder: CachingEmbedder, todo: Sequence[PreparedItem], costs: dict[str, Usage]
    ) -> list[FailedItem]:
        """All in one request; if the answer is bad, item by item, so that one text cannot fail the others.

        Each item's part of the cost is added to `costs`, or stands in its failure.
        """
        wanted = [entry.texts for entry in todo]
        texts = set[str]().union(*wanted)
        try:
            vectors, cost = await embedder.vectors_and_cost(texts, group_id)
        except StepError as error:
            _add(costs, todo, error.usage)
            if len(todo) > 1 and not isinstance(error, ModelUnavailable):
                parts = [await self._embed_together(group_id, embedder, [entry], costs) for entry in todo]
                return [failure for part in parts for failure in part]
            return [
                FailedItem(each.item, Step.EMBED, error, self._kept(each.stage), costs.pop(each.uuid))
                for each in todo
            ]
        _add(costs, todo, cost)
        for entry, own_texts in zip(todo, wanted, strict=True):
            own = {text: vectors[text] for text in own_texts}
            entry.stage = replace(entry.stage, vectors=own, space=embedder.space)
        return []

    def _kept(self, stage: Stage) -> bytes | None:
        """The extraction, where it cost something."""
        return encode(stage) if self._extractor.costs_model_calls else None

    async def _save(
        self,
        lease: Lease,
        state: ItemState,
        entries: Sequence[PreparedItem],
        costs: Mapping[str, Usage],
        warnings: Mapping[str, tuple[ItemWarning, ...]] = _NO_WARNINGS,
    ) -> None:
        now_ms = self._clock.now_ms()
        transitions = [
            Transition(
                each.uuid,
                state,
                now_ms,
                stage=encode(each.stage),
                usage=costs.get(each.uuid, FREE),
                warnings=warnings.get(each.uuid),
            )
            for each in entries
        ]
        if transitions:
            await self._store.save_transitions(lease, transitions)


def _add(costs: dict[str, Usage], entries: Sequence[PreparedItem], cost: Usage) -> None:
    for entry, part in zip(entries, cost.split(len(entries)), strict=True):
        costs[entry.uuid] = costs.get(entry.uuid, FREE) + part
