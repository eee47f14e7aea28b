"""What search indexes ask of a store; part of stores/protocol.py and under its general promises."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kgsvc.domain.model.delta import GroupHead
from kgsvc.domain.model.graph import Entity, Episode, Fact


@dataclass(frozen=True, slots=True)
class IndexedFact:
    """A fact as the search index needs it: display fields, and the vector with its space."""

    fact: Fact
    space: str = ""
    vector: bytes | None = None  # float32 little-endian
    # Those of its keyword text (kgsvc.domain.text), where the store keeps them; they say nothing else.
    words: bytes | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Changes:
    """Facts of a group changed after a revision, up to `head.rev` or, if `more`, up to `upto_rev`.

    Whoever holds an older epoch throws away what it holds and begins at revision 0.
    """

    head: GroupHead
    facts: tuple[IndexedFact, ...]
    removed: tuple[str, ...]
    upto_rev: int
    more: bool = False


@dataclass(frozen=True, slots=True)
class IndexedEntity:
    """An entity as the search index needs it: all name keys that lead to it, and the vector of its name."""

    entity: Entity
    names: tuple[str, ...] = ()  # sorted
    space: str = ""
    vector: bytes | None = None  # float32 little-endian


@dataclass(frozen=True, slots=True)
class IndexedEpisode:
    """An episode as the search index needs it."""

    episode: Episode
    entities: tuple[str, ...] = ()  # that it names, by uuid
    space: str = ""
    passages: bytes | None = None  # vectors of its passages: float32 little-endian, one behind the other


@dataclass(frozen=True, slots=True)
class IndexedCommunity:
    """A community as the search index needs it."""

    uuid: str
    name: str
    summary: str
    created_ms: int
    space: str = ""
    vector: bytes | None = None  # of the name: float32 little-endian


@dataclass(frozen=True, slots=True)
class TextChanges:
    """Entities and episodes of a group changed after a place; otherwise as `Changes`. An episode comes
    once its item is in the graph (`GraphDelta.found`), and again when it names others. Communities come all
    at once: those published last, when they were, or when something was removed from the graph.

    A place is a revision that is read whole, and a uuid up to which the next one is read too: one revision
    may touch more than a page holds. What is written between two pages has a later revision: it comes then.
    """

    head: GroupHead
    entities: tuple[IndexedEntity, ...]
    episodes: tuple[IndexedEpisode, ...]
    removed_entities: tuple[str, ...]
    removed_episodes: tuple[str, ...]
    upto_rev: int
    more: bool = False
    communities: tuple[IndexedCommunity, ...] | None = None  # None: as before
    upto_uuid: str = ""  # of revision upto_rev + 1, if `more`; empty: none of it


@dataclass(frozen=True, slots=True)
class FactsAsked:
    """A search of one group's facts that the store answers from its own indexes.

    A fact is visible if it is valid at `now_ms` (start_ms <= now_ms < invalid_ms) and not expired.
    """

    terms: tuple[str, ...]  # distinct (kgsvc.domain.text.tokens); with `prefixes` at most 256
    prefixes: tuple[str, ...]  # distinct lone CJK characters: terms that begin with one count as the same
    vector: bytes | None  # of unit length, float32 little-endian; None: keywords alone
    space: str  # that the vector is of; a fact's vector of another space or length does not count
    now_ms: int
    count: int  # candidates wanted of each list
    min_cosine: float = 0.0  # of semantic candidates; nearly as near is welcome too
    weights: Mapping[str, float] = field(default_factory=dict)  # what a term counts, where that is not 1
    all_vectors: bool = False  # whether every candidate comes with its vector


@dataclass(frozen=True, slots=True)
class FactCandidate:
    """A visible fact with what its scores are made of. `show` gives the fact, which may lack what display
    leaves out: `slot`, `fact_key`, `evidence` and `closures`. Few candidates are shown in the end."""

    uuid: str
    show: Callable[[], Fact]
    counts: Mapping[str, int] = field(default_factory=dict)  # of those asked that it holds; keyword list only
    length: int = 0  # terms of its keyword text (kgsvc.domain.text); keyword list only
    vector: bytes | None = None  # of the space that was asked for; with `all_vectors`, or without `cosine`
    cosine: float | None = None  # semantic list; to 1e-6 or exact. None: it is up to the reader of `vector`


@dataclass(frozen=True, slots=True)
class FactCandidates:
    """The facts among which the best of one group are. The numbers describe all its facts, those expired
    and not yet valid too, as of one snapshot."""

    head: GroupHead
    facts: int
    total_length: int  # terms of all keyword texts
    frequencies: Mapping[str, int]  # facts that hold each of the terms and prefixes asked; absent: none
    keyword: tuple[FactCandidate, ...] = ()  # in any order; more than `count` are welcome
    semantic: tuple[FactCandidate, ...] = ()


TEXT_BYTES = 16 * 1024 * 1024  # of bodies in one page


def no_texts(group_id: str) -> TextChanges:
    """Of a group that does not exist."""
    return TextChanges(GroupHead(group_id), (), (), (), (), 0)


class SearchStore(Protocol):
    """What the in-process search index is fed from."""

    async def heads(self, group_ids: Collection[str]) -> dict[str, GroupHead]:
        """The records of these groups in one cheap read; unknown groups are absent."""

    async def changes(self, group_id: str, after_rev: int, limit: int) -> Changes:
        """Facts written after `after_rev` by ascending rev, about `limit` of them (all of one rev
        together), and facts removed after it. Consistent: one snapshot."""

    async def text_changes(
        self,
        group_id: str,
        after_rev: int,
        limit: int,
        max_bytes: int = TEXT_BYTES,
        after_uuid: str = "",
    ) -> TextChanges:
        """The same of entities and episodes, after the place (`after_rev`, `after_uuid`), by ascending rev
        and uuid: at most `limit` of each, and bodies until they exceed `max_bytes`."""


PROOFS = 64  # of one group that a store keeps, the latest: two parts, by each of some processes


class ProofStore(Protocol):
    """What files beside a store ask it: whether they are of this store, and from before no erasure."""

    async def note_proof(self, head: GroupHead, proof: str) -> bool:
        """Keep a random text with a group, if its epoch and revision are still those of `head`; whether they
        are. An erasure in the group (`ErasureStore`) forgets its proofs in the transaction that removes."""

    async def proven(self, group_id: str, proof: str) -> bool:
        """Whether a proof is among the latest of the group."""


class ColdSearchStore(Protocol):
    """What answers a search of facts while no index of the group is in memory."""

    async def search_candidates(self, group_id: str, asked: FactsAsked) -> FactCandidates | None:
        """Candidates for the `asked.count` best by BM25 and the nearest by cosine, among visible facts only.

        Sees what was committed when the call began and what receipts showed by then. Its cost does not grow
        with other groups. Nearly all of the true best are among the candidates, whatever share is expired:
        recall >= 0.95 by keyword, >= 0.98 by vector. None: the group is unknown, was begun by a version that
        did not index it so, or the store cannot compare vectors as long as the one asked.
        """
