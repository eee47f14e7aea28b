"""Names and summaries composed from what is known, without a model: the same for the same graph."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from kgsvc.domain.errors import ModelOutputInvalid
from kgsvc.domain.model.communities import Described, Draft
from kgsvc.domain.model.graph import Entity, Fact
from kgsvc.domain.text import normalise
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.models.protocol import NAME_CHARS, SUMMARY_CHARS, Gist, Summariser
from kgsvc.stores.protocol import ReadStore

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
