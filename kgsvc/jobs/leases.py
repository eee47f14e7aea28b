"""Whether another process's lease has lapsed: its counter stood still on our monotonic clock (design §4)."""

from __future__ import annotations

from kgsvc.domain.clock import Clock
from kgsvc.domain.model.items import GroupWork


class LapseWatch:
    """Remembers since when each owner's renewal counter has not moved."""

    def __init__(self, clock: Clock, lease_s: float) -> None:
        self._clock = clock
        self._lease_s = lease_s
        self._seen: dict[str, tuple[int, int, float]] = {}

    def may_claim(self, work: GroupWork) -> bool:
        """Free, or its owner gave no sign of life for the length of a lease while we watched."""
        if work.owner_id is None:
            self._seen.pop(work.group_id, None)
            return True
        now = self._clock.monotonic()
        token, renewals, since = self._seen.get(work.group_id, (-1, -1, now))
        if (token, renewals) != (work.owner_token, work.renewals):
            self._seen[work.group_id] = (work.owner_token, work.renewals, now)
            return False
        return now - since >= self._lease_s

    def forget(self, group_id: str) -> None:
        """The group was claimed."""
        self._seen.pop(group_id, None)
