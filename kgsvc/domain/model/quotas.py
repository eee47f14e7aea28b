"""Quotas: how much a token or a group may bring in, counted in the store so that processes share them.

What is counted stands under a counter: a subject (a group or a token), what is counted, and the day in UTC
(0 for what does not begin anew every day).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kgsvc.domain.limits import DAY_MS

_BYTES_RETRY_MS = 3_600_000  # no time frees bytes, deleting does: ask again after this
Counter = tuple[str, str, int]  # subject, what is counted, day


class Counted(StrEnum):
    """What is counted."""

    ITEMS = "items"  # accepted on a day
    MODEL_TOKENS = "model_tokens"  # of models, for items accepted on a day: set aside, then what they cost
    BYTES = "bytes"  # of the bodies that are kept


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much a subject may use. `name`: of the setting that says so."""

    subject: str
    counted: Counted
    limit: int
    name: str

    def counter(self, now_ms: int) -> Counter:
        """Under which the present use is counted."""
        return (self.subject, str(self.counted), 0 if self.counted is Counted.BYTES else now_ms // DAY_MS)

    def retry_after_ms(self, now_ms: int) -> int:
        """When there may be room again."""
        return _BYTES_RETRY_MS if self.counted is Counted.BYTES else DAY_MS - now_ms % DAY_MS
