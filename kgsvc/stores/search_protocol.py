"""What search indexes ask of a store; part of stores/protocol.py and under its general promises."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from kgsvc.domain.delta import GroupHead
from kgsvc.domain.model import Entity, Episode, Fact


@dataclass(frozen=True, slots=True)
class IndexedFact:
    """A fact as the search index needs it: display fields, and the vector with its space."""

    fact: Fact
    space: str = ""
    vector: bytes | None = None  # float32 little-endian


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
