"""The groups in the memory of this process, bounded in bytes: the least recently used go first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator

from kgsvc.domain.model.delta import GroupHead
from kgsvc.search.index.group import SearchedGroup, SharedGroup

ENTRY_BYTES = 8 * 1024  # of an index without facts: many empty groups are bounded too


class HeldGroups:
    """Each in its embedding space (dimension 0: no vectors). The group used last stays even if it exceeds the
    bound alone; so do those that are in use."""

    def __init__(self, most_bytes: int, space: str, dimension_of: Callable[[str], int]) -> None:
        """`space`: of groups of which no other is said."""
        self._most_bytes = most_bytes
        self._space = space
        self._dimension_of = dimension_of
        self._entries: OrderedDict[str, SharedGroup] = OrderedDict()
        self.nbytes = 0  # about the memory that all hold

    @property
    def group_ids(self) -> tuple[str, ...]:
        """Least recently used first."""
        return tuple(self._entries)

    def latest_first(self) -> Iterator[SharedGroup]:
        """The groups, the one used last first."""
        return reversed(self._entries.values())

    def get(self, group_id: str) -> SharedGroup | None:
        """A group, if it is in memory; that is no use of it."""
        return self._entries.get(group_id)

    def agree(self, head: GroupHead) -> None:
        """Drop a group that is in memory with vectors of another space than it has now. Who uses it still
        ends with what it has."""
        entry = self._entries.get(head.group_id)
        if entry is not None and entry.group.space != (head.space or self._space):
            self.drop(head.group_id)

    def use(self, head: GroupHead) -> SharedGroup:
        """The group in the space that it has now, as the one used last; an empty one if there is none."""
        self.agree(head)
        group_id, space = head.group_id, head.space or self._space
        entry = self._entries.get(group_id)
        if entry is None:
            group = SearchedGroup(group_id, space, self._dimension_of(space))
            entry = self._entries[group_id] = SharedGroup(group, ENTRY_BYTES)
            self.nbytes += entry.nbytes
            self._make_room(group_id)
        self._entries.move_to_end(group_id)
        return entry

    def account(self, entry: SharedGroup) -> None:
        """Count what a group holds now, if it is still in memory."""
        group_id, nbytes = entry.group.group_id, ENTRY_BYTES + entry.group.nbytes
        if self._entries.get(group_id) is not entry:
            return
        self.nbytes += nbytes - entry.nbytes
        entry.nbytes = nbytes
        self._make_room(group_id)

    def _make_room(self, group_id: str) -> None:
        """Drop other groups, least recently used first, until the bound holds."""
        while self.nbytes > self._most_bytes:
            others = ((each, entry) for each, entry in self._entries.items() if each != group_id)
            oldest = next((each for each, entry in others if not entry.lock.locked()), None)
            if oldest is None:
                return
            self.drop(oldest)

    def drop(self, group_id: str) -> None:
        """Forget a group that is in memory."""
        self.nbytes -= self._entries.pop(group_id).nbytes

    def clear(self) -> None:
        """Forget all."""
        self._entries.clear()
        self.nbytes = 0
