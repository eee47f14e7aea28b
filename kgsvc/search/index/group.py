"""One group: its facts, and its entities, episodes and communities, which are fed together."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum

from kgsvc.domain.model.delta import GroupHead
from kgsvc.search.index.arrays import Arrays, Frozen, named, part_of, united
from kgsvc.search.index.episodes import EpisodeIndex
from kgsvc.search.index.facts import GroupIndex
from kgsvc.search.index.nodes import CommunityIndex, NodeIndex
from kgsvc.stores.search_protocol import Changes, TextChanges


class GroupTexts:
    """Current as of (`epoch`, `rev`). Not safe for concurrent use."""

    def __init__(self, group_id: str, space: str = "", dimension: int = 0) -> None:
        self.group_id = group_id
        self.space = space
        self.epoch = 0
        self.rev = 0
        self.uuid = ""  # up to which it holds the revision after `rev` too
        self.nodes = NodeIndex(group_id, space, dimension)
        self.episodes = EpisodeIndex(group_id, space, dimension)
        self.communities = CommunityIndex(group_id, space, dimension)

    def __len__(self) -> int:
        return len(self.nodes) + len(self.episodes) + len(self.communities)

    @property
    def nbytes(self) -> int:
        """About the memory held, in bytes."""
        return self.nodes.nbytes + self.episodes.nbytes + self.communities.nbytes

    def freeze(self) -> Frozen:
        """See kgsvc.search.index.arrays."""
        parts = (("nodes", self.nodes), ("episodes", self.episodes), ("communities", self.communities))
        return united(*(named(name, part.freeze()) for name, part in parts))

    def take(self, arrays: Arrays) -> None:
        """What was frozen. Raises LookupError, TypeError, ValueError: the arrays are no such indexes."""
        self.nodes.take(part_of(arrays, "nodes"))
        self.episodes.take(part_of(arrays, "episodes"))
        self.communities.take(part_of(arrays, "communities"))

    def apply(self, changes: TextChanges) -> None:
        """Advance to a page of changes; its epoch must be this index's own, or the index empty."""
        for uuid in changes.removed_entities:
            self.nodes.remove(uuid)
        for uuid in changes.removed_episodes:
            self.episodes.remove(uuid)
        self.nodes.put(changes.entities)
        self.episodes.put(changes.episodes)
        if changes.communities is not None:
            self.communities.replace(changes.communities)
            self.communities.settle()
        self.nodes.settle()
        self.episodes.settle()
        self.epoch = changes.head.epoch
        self.rev = changes.upto_rev if changes.more else changes.head.rev
        self.uuid = changes.upto_uuid


class LazyPart(StrEnum):
    """What of a group is loaded by itself, when it is first asked for."""

    FACTS = "facts"
    TEXTS = "texts"


WHOLE = (LazyPart.FACTS, LazyPart.TEXTS)


class SearchedGroup:
    """All of a group that searches look at. Not safe for concurrent use: who shares it serialises that."""

    def __init__(self, group_id: str, space: str = "", dimension: int = 0) -> None:
        self.group_id = group_id
        self.space, self._dimension = space, dimension
        self.facts = GroupIndex(group_id, space, dimension)
        self.texts = GroupTexts(group_id, space, dimension)

    def __len__(self) -> int:
        return len(self.facts) + len(self.texts)

    @property
    def nbytes(self) -> int:
        """About the memory held, in bytes."""
        return self.facts.nbytes + self.texts.nbytes

    def part(self, part: LazyPart) -> GroupIndex | GroupTexts:
        """One of its parts."""
        return self.facts if part is LazyPart.FACTS else self.texts

    def covers(self, part: LazyPart, epoch: int, rev: int) -> bool:
        """Whether a part holds at least what was there at a revision."""
        held = self.part(part)
        return (held.epoch, held.rev) >= (epoch, rev)

    def apply(self, changes: Changes | TextChanges) -> None:
        """Advance a part; if that fails the part is empty, never half of what it should be."""
        facts, texts = self.facts, self.texts
        if isinstance(changes, Changes):
            self.empty(LazyPart.FACTS)
            facts.apply(changes)
        else:
            self.empty(LazyPart.TEXTS)
            texts.apply(changes)
        self.facts, self.texts = facts, texts

    def empty(self, part: LazyPart) -> None:
        """Throw away a part."""
        if part is LazyPart.FACTS:
            self.facts = GroupIndex(self.group_id, self.space, self._dimension)
        else:
            self.texts = GroupTexts(self.group_id, self.space, self._dimension)

    def replace(self, held: GroupIndex | GroupTexts) -> None:
        """Have this part."""
        if isinstance(held, GroupIndex):
            self.facts = held
        else:
            self.texts = held


class SharedGroup:
    """A group that searches share. Holding `lock` is the right to change or read `group`."""

    def __init__(self, group: SearchedGroup, nbytes: int) -> None:
        self.group = group
        self.lock = asyncio.Lock()
        self.nbytes = nbytes  # with which it is counted
        self.complete: set[LazyPart] = set()  # what was loaded to its end
        self.looked: set[LazyPart] = set()  # for which a file was looked
        # Rows that changed since a part was last written to a file.
        self.unkept: Counter[LazyPart] = Counter()
        self.awaited = 0  # callers who wait for it
        self.seen: tuple[int, int] | None = None  # its epoch and revision when last asked whether it rests

    def ready(self, part: LazyPart) -> bool:
        """Whether a part needs no more than what changed since; one that failed is empty again."""
        return part in self.complete and self.group.part(part).rev > 0

    def covers(self, head: GroupHead, parts: Collection[LazyPart]) -> bool:
        """Whether these parts hold at least what `head` counts."""
        return all(self.group.covers(part, head.epoch, head.rev) for part in parts)


@contextmanager
def awaited(entries: Sequence[SharedGroup]) -> Iterator[None]:
    """While a caller waits for groups."""
    for entry in entries:
        entry.awaited += 1
    try:
        yield
    finally:
        for entry in entries:
            entry.awaited -= 1
