"""Which episodes tell which fact."""

from __future__ import annotations

from collections.abc import Iterable

_ROW_BYTES = 180  # measured: tuple of numbers, share of an episode's set and of its name


class Telling:
    """Facts by row and their episodes by uuid, in both directions."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._uuids: list[str] = []
        self._told_in: dict[int, tuple[int, ...]] = {}
        self._tells: list[set[int]] = []

    @property
    def nbytes(self) -> int:
        """About the memory held, in bytes."""
        return len(self._told_in) * _ROW_BYTES

    def put(self, row: int, episodes: Iterable[str]) -> None:
        """Set the episodes of a fact."""
        self.clear(row)
        numbers = tuple(map(self._number, episodes))
        self._told_in[row] = numbers
        for number in numbers:
            self._tells[number].add(row)

    def clear(self, row: int) -> None:
        """Forget a fact, if it is there."""
        for number in self._told_in.pop(row, ()):
            self._tells[number].discard(row)

    def told_in(self, row: int) -> list[str]:
        """The episodes of a fact, in their order."""
        return [self._uuids[number] for number in self._told_in.get(row, ())]

    def tells(self, episode: str) -> list[int]:
        """The rows of the facts that an episode tells, ascending."""
        number = self._numbers.get(episode)
        return [] if number is None else sorted(self._tells[number])

    def _number(self, uuid: str) -> int:
        number = self._numbers.get(uuid)
        if number is None:
            number = self._numbers[uuid] = len(self._uuids)
            self._uuids.append(uuid)
            self._tells.append(set())
        return number
