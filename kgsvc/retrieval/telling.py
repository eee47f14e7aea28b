"""Which episodes tell which fact."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat

_ROW_BYTES = 180  # measured: tuple of uuids, share of an episode's set and of its name


class Telling:
    """Facts by row and their episodes by uuid, in both directions."""

    def __init__(self) -> None:
        self._uuids: dict[str, str] = {}  # one string for all facts of an episode
        self._told_in: dict[int, tuple[str, ...]] = {}
        self._tells: dict[str, set[int]] = {}

    @property
    def nbytes(self) -> int:
        """About the memory held, in bytes."""
        return len(self._told_in) * _ROW_BYTES

    def put(self, row: int, episodes: Iterable[str]) -> None:
        """Set the episodes of a fact."""
        self.clear(row)
        once = dict.fromkeys(episodes)
        uuids = self._told_in[row] = tuple(self._uuids.setdefault(uuid, uuid) for uuid in once)
        for uuid in uuids:
            self._tells.setdefault(uuid, set()).add(row)

    def clear(self, row: int) -> None:
        """Forget a fact, if it is there."""
        for uuid in self._told_in.pop(row, ()):
            rows = self._tells[uuid]
            rows.discard(row)
            if not rows:
                del self._tells[uuid], self._uuids[uuid]

    def told_in(self, rows: Iterable[int]) -> list[tuple[str, ...]]:
        """The episodes of facts, in their order."""
        return list(map(self._told_in.get, rows, repeat(())))

    def tells(self, episode: str) -> list[int]:
        """The rows of the facts that an episode tells, ascending."""
        return sorted(self._tells.get(episode, ()))
