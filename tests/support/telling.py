"""Days on which something is told, with a model that judges by a script, on any store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from kgsvc.domain.model.extraction import ExtractedEdge, ExtractedNode, Extraction
from kgsvc.domain.model.graph import EARLIEST_MS, Fact, FactKind, Polarity
from kgsvc.domain.resolution.decisions import (
    FactResolution,
    NodeResolution,
    ResolutionRequest,
    Resolutions,
    Verdict,
)
from kgsvc.models.protocol import Resolved
from kgsvc.pipeline.commit import Committer
from kgsvc.pipeline.preparing import PreparedItem, Stage
from kgsvc.search.filters import Filters
from kgsvc.search.index.fact_columns import FactColumns
from kgsvc.stores.protocol import Store
from tests.support.clock import SetClock
from tests.support.samples import HUGE, MANY, NOW, accepted, episode, leased

SECOND_MS = 1_000


def _on(day: str | None) -> int | None:
    return None if day is None else ms_of(day)


def ms_of(day: str) -> int:
    """The first millisecond of a day in UTC, or a time of that day."""
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class Saying:
    """What is said on a day, and what the model says it means for texts that it is compared with: a verdict,
    or a verdict and the day since when."""

    day: str
    text: str
    relation: str = "WORKS_AT"
    target: str = "Clinic"
    verdicts: Mapping[str, str | tuple[str, str]] = field(default_factory=dict)
    source: str = "Maya"
    kind: FactKind = FactKind.FUNCTIONAL
    polarity: Polarity = Polarity.ASSERTS
    valid: str | None = None
    invalid: str | None = None
    now: str | None = None  # the day on which it arrives; None: long after all that is told

    def extracted(self) -> Extraction:
        """As it is read."""
        of_itself = self.source == self.target
        edge = ExtractedEdge(
            self.relation,
            self.text,
            "s",
            "s" if of_itself else "t",
            valid_ms=_on(self.valid),
            invalid_ms=_on(self.invalid),
            kind=self.kind,
            polarity=self.polarity,
        )
        nodes = [ExtractedNode("s", self.source), ExtractedNode("t", self.target)]
        return Extraction(tuple(nodes[:1] if of_itself else nodes), (edge,))


def _joined(sayings: Sequence[Saying]) -> Extraction:
    """All as one extraction. Names that occur in several are the same node."""
    nodes: dict[str, ExtractedNode] = {}
    edges: list[ExtractedEdge] = []
    for said in sayings:
        extraction = said.extracted()
        names = {node.ref: node.name for node in extraction.nodes}
        nodes |= {name: ExtractedNode(name, name) for name in names.values()}
        edges += [
            replace(edge, source_ref=names[edge.source_ref], target_ref=names[edge.target_ref])
            for edge in extraction.edges
        ]
    return Extraction(tuple(nodes.values()), tuple(edges))


class Judge:
    """A resolver: names are new, facts as the sayings tell. Notes what was offered for each text."""

    name = "scripted"

    def __init__(self) -> None:
        self.sayings: dict[str, Saying] = {}
        self.offered: dict[str, list[str]] = {}

    async def resolve(self, request: ResolutionRequest) -> Resolved:
        """By the texts alone."""
        texts = {known.idx: known.fact for known in request.known_facts}
        facts: dict[int, FactResolution] = {}
        for question in request.facts:
            self.offered[question.fact] = [texts[idx] for idx in question.compare_with]
            said = self.sayings[question.fact].verdicts
            facts[question.id] = FactResolution(
                {idx: _verdict(said[texts[idx]]) for idx in question.compare_with if texts[idx] in said}
            )
        return Resolved(Resolutions({q.id: NodeResolution() for q in request.nodes}, facts))

    async def close(self) -> None:
        """Nothing."""


def _verdict(said: str | tuple[str, str]) -> tuple[Verdict, int | None]:
    return (Verdict(said), None) if isinstance(said, str) else (Verdict(said[0]), ms_of(said[1]))


class World:
    """A group of a store in which sayings are committed one by one. `judge` None: without a model. The clock
    goes on by a second with each saying, unless that tells when it arrives."""

    def __init__(self, store: Store, group: str, judge: Judge | None) -> None:
        self.store, self.group, self.judge, self.clock = store, group, judge, SetClock(NOW)
        self._committer = Committer(store, None, self.clock, judge)
        self._told = 0

    async def tell(self, *sayings: Saying) -> None:
        """One commit for each; its episode is called e0, e1 and so on."""
        for said in sayings:
            await self.tell_at_once(said)

    async def tell_at_once(self, *sayings: Saying) -> None:
        """One commit for all; it arrives when the last does."""
        await self._tell([(said,) for said in sayings])

    async def tell_in_one(self, *sayings: Saying) -> None:
        """One episode that says all, on the day of the last one."""
        await self._tell([sayings])

    async def _tell(self, episodes: Sequence[Sequence[Saying]]) -> None:
        told: dict[str, Extraction] = {}
        for sayings in episodes:
            last = sayings[-1]
            self.clock.ms = ms_of(last.now) if last.now else self.clock.ms + SECOND_MS
            if self.judge is not None:
                self.judge.sayings |= {said.text: said for said in sayings}
            uuid = f"{self.group}-e{self._told}"
            self._told += 1
            told[uuid] = _joined(sayings)
            day_ms = max(ms_of(said.day) for said in sayings)
            await accepted(self.store, episode(self.group, uuid, reference_ms=day_ms))
        lease = await leased(self.store, self.group)
        items = await self.store.start_items(lease, NOW, MANY, HUGE, ())
        await self._committer.commit(
            lease, [PreparedItem(item, Stage(told[item.episode.uuid])) for item in items]
        )
        await self.store.release(lease)

    async def facts(self) -> list[Fact]:
        """All rows, by start and text."""
        return sorted((await self.store.dump(self.group)).facts, key=lambda fact: (fact.start_ms, fact.fact))

    async def rows(self) -> list[tuple[str, str | None, str | None, str | None]]:
        """Text, start ("?": not known), end and why it expired."""
        return [(f.fact, _day(f.start_ms), _day(f.invalid_ms), f.expired_reason) for f in await self.facts()]

    async def holding(self, valid: str | None = None, known_ms: int | None = None) -> list[str]:
        """What a search finds: now, at a day of fact time, or as was known at a system time."""
        facts = await self.facts()
        columns = FactColumns()
        columns.reserve(len(facts))
        columns.put(range(len(facts)), facts)
        filters = Filters(true_at_ms=_on(valid), known_at_ms=known_ms)
        kept = columns.fulfilling(len(facts), filters, self.clock.ms)
        return sorted(fact.fact for fact, stands in zip(facts, kept, strict=True) if stands)


def _day(ms: int | None) -> str | None:
    if ms is None:
        return None
    return "?" if ms == EARLIEST_MS else datetime.fromtimestamp(ms / 1000, UTC).date().isoformat()
