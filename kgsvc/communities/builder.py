"""Builds of communities: found, drafted, described with a model or without, published."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile, zip_longest
from typing import Annotated

from kgsvc.communities.detection import Ends, Louvain
from kgsvc.domain.errors import ModelOutputInvalid
from kgsvc.domain.limits import FROM_ZERO, Fixed
from kgsvc.domain.model.communities import BuildLease, Described, Draft, Link, community_uuid
from kgsvc.domain.model.graph import Entity, Fact
from kgsvc.domain.text import normalise
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.models.protocol import NAME_CHARS, SUMMARY_CHARS, Gist, Summariser
from kgsvc.runtime import Clock
from kgsvc.stores.community_protocol import DraftStore
from kgsvc.stores.protocol import ReadStore


@dataclass(frozen=True, slots=True)
class CommunitySettings:
    """Times in seconds."""

    detection_s: Annotated[float, Fixed] = 600.0  # detection that takes longer is a failed attempt
    follow: bool = False  # entities new to a group join the community of most of their neighbours
    model_calls: Annotated[int, FROM_ZERO] = 200  # of one build; further communities get a composed summary


HUBS = 8
_FACTS_A_HUB = 4
_FACTS = 24
_BY_MODEL_FROM = 3  # members


class FactGraph:
    """The current facts of a group, collected from pages of links."""

    def __init__(self) -> None:
        self._facts: dict[str, Ends] = {}
        self._uuids: dict[str, str] = {}  # each entity's uuid once, however many facts it has

    def add(self, links: Iterable[Link]) -> None:
        """Take in a page; the last row of a fact counts. A fact about one entity alone links nothing."""
        for link in links:
            if link.current and link.source_uuid != link.target_uuid:
                self._facts[link.fact_uuid] = (self._one(link.source_uuid), self._one(link.target_uuid))
            else:
                self._facts.pop(link.fact_uuid, None)

    @property
    def facts(self) -> Mapping[str, Ends]:
        """The ends of each current fact."""
        return self._facts

    def _one(self, uuid: str) -> str:
        return self._uuids.setdefault(uuid, uuid)


def drafts_of(
    group_id: str, build_id: str, facts: Mapping[str, Ends], communities: Sequence[Sequence[str]]
) -> list[Draft]:
    """A draft for each community, by uuid. Depends on nothing but its arguments."""
    home = {member: n for n, members in enumerate(communities) for member in members}
    inside: list[dict[str, Ends]] = [{} for _ in communities]
    for uuid in sorted(facts):
        source, target = facts[uuid]
        if home[source] == home[target]:
            inside[home[source]][uuid] = (source, target)
    drafts = [
        _draft(group_id, build_id, members, own) for members, own in zip(communities, inside, strict=True)
    ]
    return sorted(drafts, key=lambda draft: draft.uuid)


def _draft(group_id: str, build_id: str, members: Sequence[str], facts: Mapping[str, Ends]) -> Draft:
    degree = Counter(end for ends in facts.values() for end in ends)
    hubs = sorted(members, key=lambda member: (-degree[member], member))[:HUBS]
    return Draft(
        uuid=community_uuid(group_id, build_id, members),
        members=tuple(sorted(members)),
        hubs=tuple(hubs),
        facts=_informative(hubs, facts, degree),
    )


def _informative(hubs: Sequence[str], facts: Mapping[str, Ends], degree: Counter[str]) -> tuple[str, ...]:
    """Some facts of each hub in turn; of a hub's facts those with the most connected other end first."""
    of_hub: dict[str, list[tuple[int, str]]] = {hub: [] for hub in hubs}
    for uuid, (source, target) in facts.items():
        for hub, other in ((source, target), (target, source)):
            if hub in of_hub:
                of_hub[hub].append((-degree[other], uuid))
    rows = [[uuid for _, uuid in sorted(of_hub[hub])] for hub in hubs]
    chosen: dict[str, None] = {}
    for turn in zip_longest(*rows):
        chosen |= dict.fromkeys(uuid for uuid in turn if uuid is not None)
        if len(chosen) >= min(_FACTS, _FACTS_A_HUB * len(hubs)):
            break
    return tuple(chosen)[:_FACTS]


def give_to_model(drafts: Sequence[Draft], calls_a_draft: int, calls: int) -> list[Draft]:
    """The drafts with the largest of them marked for a model, as many as its calls suffice for."""
    large = [draft for draft in drafts if len(draft.members) >= _BY_MODEL_FROM]
    large.sort(key=lambda draft: (-len(draft.members), draft.uuid))
    chosen = {draft.uuid for draft in large[: calls // calls_a_draft]}
    return [replace(draft, by_model=draft.uuid in chosen) for draft in drafts]


_LINKS_A_PAGE = 2_000
_MEMBERS_A_WRITE = 1_000
_DRAFTS_A_WRITE = 200
_DESCRIBED_AT_ONCE = 25


class CommunityBuilder:
    """Carries builds out under their leases; what a step has stored is not done again."""

    def __init__(
        self,
        store: DraftStore,
        detector: Louvain,
        describer: Describer,
        settings: CommunitySettings,
        clock: Clock,
    ) -> None:
        self._store = store
        self._detector = detector
        self._describer = describer
        self._settings = settings
        self._clock = clock

    async def build(self, lease: BuildLease) -> None:
        """Detect, draft, describe, publish. Raises StepError, StoreUnavailable, LeaseLost; then the next
        attempt goes on from what is stored."""
        if not lease.drafted:
            await self._draft(lease)
        while drafts := await self._store.drafts(lease, _DESCRIBED_AT_ONCE):
            # Summaries that cost model calls are stored one by one.
            run = list(takewhile(lambda draft: not draft.by_model, drafts)) or drafts[:1]
            described = await self._describer.describe(lease.group_id, run)
            await self._store.describe(lease, described, self._clock.now_ms())
        await self._store.publish(lease, self._clock.now_ms())

    async def _draft(self, lease: BuildLease) -> None:
        """Detection is the same when it is repeated: facts count as they did when the build was asked for."""
        graph = await self._read(lease)
        found = await self._detector.detect(list(graph.facts.values()))
        drafts = await asyncio.to_thread(drafts_of, lease.group_id, lease.build_id, graph.facts, found)
        if self._describer.asks_model:
            drafts = give_to_model(drafts, CALLS_A_DRAFT, self._settings.model_calls)
        await self._store.clear_drafts(lease)
        for some in writes_of(drafts):
            await self._store.put_drafts(lease, some)
        await self._store.end_drafts(lease, len(drafts), self._clock.now_ms())

    async def _read(self, lease: BuildLease) -> FactGraph:
        graph, after_rev, more = FactGraph(), 0, True
        while more:
            page = await self._store.links(lease.group_id, lease.created_ms, after_rev, _LINKS_A_PAGE)
            graph.add(page.rows)
            after_rev, more = page.upto_rev, page.more
        return graph


def writes_of(drafts: Sequence[Draft]) -> Iterator[list[Draft]]:
    """The drafts in runs that fit into a transaction each; a large one comes in pieces."""
    run: list[Draft] = []
    members = 0
    for piece in _pieces(drafts):
        if run and (len(run) >= _DRAFTS_A_WRITE or members + len(piece.members) > _MEMBERS_A_WRITE):
            yield run
            run, members = [], 0
        run.append(piece)
        members += len(piece.members)
    if run:
        yield run


def _pieces(drafts: Sequence[Draft]) -> Iterator[Draft]:
    for draft in drafts:
        for start in range(0, len(draft.members), _MEMBERS_A_WRITE):
            yield replace(draft, members=draft.members[start : start + _MEMBERS_A_WRITE])


_NAMED = 3  # hubs in a name
_CUT = "…"


def name_of(hubs: Sequence[str]) -> str:
    """A name from those of the most connected members: "Ada, Acme and Bob", as many as have room."""
    best = _shortened(hubs[0], NAME_CHARS) if hubs else ""
    for count in range(2, min(len(hubs), _NAMED) + 1):
        longer = f"{', '.join(hubs[: count - 1])} and {hubs[count - 1]}"
        if len(longer) > NAME_CHARS:
            break
        best = longer
    return best


def summary_of(sentences: Iterable[str]) -> str:
    """As many whole sentences, each once, as have room; of a first one that has none its beginning."""
    taken: list[str] = []
    seen: set[str] = set()
    room = SUMMARY_CHARS
    for sentence in map(_closed, sentences):
        if not sentence or normalise(sentence) in seen:
            continue
        if len(sentence) <= room:
            taken.append(sentence)
            seen.add(normalise(sentence))
            room -= len(sentence) + 1
        elif not taken:
            return _shortened(sentence, SUMMARY_CHARS)
    return " ".join(taken)


def _closed(sentence: str) -> str:
    """The sentence on one line, with a full stop."""
    plain = " ".join(sentence.split())
    return plain if not plain or plain[-1] in ".!?…。！？" else f"{plain}."


def _shortened(text: str, chars: int) -> str:
    """`text` within `chars`, cut behind a word."""
    if len(text) <= chars:
        return text
    head, space, _ = text[: chars - len(_CUT)].rpartition(" ")
    return (head if space else text[: chars - len(_CUT)]) + _CUT


log = logging.getLogger(__name__)
PARTS = 4  # summaries that a model reduces pairwise to one
CALLS_A_DRAFT = PARTS - 1


class Describer:
    """Describes drafts."""

    def __init__(
        self, store: ReadStore, embedder: CachingEmbedder | None, summariser: Summariser | None
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._summariser = summariser

    @property
    def asks_model(self) -> bool:
        """Whether drafts may be marked for a model."""
        return self._summariser is not None

    async def describe(self, group_id: str, drafts: Sequence[Draft]) -> list[Described]:
        """Drafts in, descriptions out, in order. Raises StepError (a model server that cannot be reached),
        StoreUnavailable."""
        hubs = {uuid for draft in drafts for uuid in draft.hubs}
        names = (await self._store.names(group_id, (), hubs)).by_uuid if hubs else {}
        wanted = {uuid for draft in drafts for uuid in draft.facts}
        facts = {fact.uuid: fact for fact in await self._store.facts(group_id, wanted)}
        gists = []
        for draft in drafts:
            entities = [names[uuid] for uuid in draft.hubs if uuid in names]
            own = [facts[uuid] for uuid in draft.facts if uuid in facts]
            gists.append(await self._gist(group_id, draft, entities, own))
        return await self._with_vectors(group_id, drafts, gists)

    async def _gist(self, group_id: str, draft: Draft, hubs: Sequence[Entity], facts: Sequence[Fact]) -> Gist:
        plain = Gist(name_of([hub.name for hub in hubs]), summary_of(fact.fact for fact in facts))
        if self._summariser is None or not draft.by_model:
            return plain
        try:
            return await reduced(self._summariser, group_id, parts_of(facts)) or plain
        except ModelOutputInvalid as error:
            log.warning("a community is summarised without a model: %s", error, extra={"group_id": group_id})
            return plain

    async def _with_vectors(
        self, group_id: str, drafts: Sequence[Draft], gists: Sequence[Gist]
    ) -> list[Described]:
        if self._embedder is None:
            return [Described(d.uuid, gist.name, gist.summary) for d, gist in zip(drafts, gists, strict=True)]
        vectors = await self._embedder.vectors({gist.name for gist in gists if gist.name}, group_id)
        space = self._embedder.space
        return [
            Described(d.uuid, gist.name, gist.summary, vectors.get(gist.name), space)
            for d, gist in zip(drafts, gists, strict=True)
        ]


def parts_of(facts: Sequence[Fact]) -> list[str]:
    """The facts as up to PARTS summaries, dealt out in turn: each has some of the most informative ones."""
    dealt = [summary_of(fact.fact for fact in facts[start::PARTS]) for start in range(PARTS)]
    return [part for part in dealt if part]


async def reduced(summariser: Summariser, group_id: str, parts: Sequence[str]) -> Gist | None:
    """All `parts` in one, two at a time: one call less than there are parts. None for fewer than two."""
    gist: Gist | None = None
    left = list(parts)
    while len(left) > 1:
        gist = await summariser.combine(group_id, left.pop(0), left.pop(0))
        left.append(gist.summary)
    return gist
