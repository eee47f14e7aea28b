"""Slows down whoever presents wrong credentials again and again."""

from __future__ import annotations

from collections import OrderedDict

_AT_ONCE = 10  # failures of an address before it must wait
_REGAIN_S = 1.0  # after which it may fail once more
_ADDRESSES = 10_000  # remembered; then the ones that failed longest ago are forgotten


class Throttle:
    """Counts failures by address, in a bounded memory. Times are seconds of a monotonic clock."""

    def __init__(self) -> None:
        self._full_at: OrderedDict[str, float] = OrderedDict()  # when all failures will be forgiven

    def wait_s(self, address: str, now: float) -> float:
        """How long the address must wait before it may try again; 0: not at all."""
        left = self._full_at.get(address, now) - now
        return max(0.0, left - (_AT_ONCE - 1) * _REGAIN_S)

    def failed(self, address: str, now: float) -> None:
        """A wrong credential came from there."""
        full_at = max(now, self._full_at.pop(address, now)) + _REGAIN_S
        # Many that came at once, and were let in before the first had failed, do not add up.
        self._full_at[address] = min(full_at, now + _AT_ONCE * _REGAIN_S)
        while len(self._full_at) > _ADDRESSES:
            self._full_at.popitem(last=False)
