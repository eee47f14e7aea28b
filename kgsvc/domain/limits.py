"""The bounds of the service, how a setting says what it may be, and quotas.

A quota is how much a token or a group may bring in, counted in the store so that processes share it. What is
counted stands under a counter: a subject (a group or a token), what is counted, and the day in UTC (0 for
what does not begin anew every day).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, NamedTuple

MIB = 1024 * 1024
DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers a setting may be: `Annotated[int, Range(0, 10)]`. Without one, whole numbers begin at 1 and
    others above 0."""

    least: float | None = None
    most: float | None = None


class Fixed:
    """Marks a field that is not a setting: `Annotated[int, Fixed]`. Its value was measured, or hangs on other
    values; code and tests may construct another, the configuration does not offer it."""


FROM_ZERO = Range(least=0)  # where 0 means none


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on input. Lengths count code points, sizes count bytes; beyond is LIMIT_EXCEEDED."""

    payload_bytes: int = 4 * MIB  # S
    items_per_call: int = 256  # M
    attempts_per_step: Annotated[int, Range(1, 1_000)] = 5  # N
    dedup_window_ms: int = DAY_MS  # W
    receipt_window_ms: int = (
        30 * DAY_MS
    )  # receipts are kept so long, at least W; then they go (docs/ingestion.md)
    group_id: int = 128
    uuid: Annotated[int, Fixed] = 128
    idempotency_key: Annotated[int, Fixed] = 256
    name: int = 512
    role: int = 256
    query: int = 32_768
    fact: int = 2_048
    reason: Annotated[int, Fixed] = 1_024
    summary: int = 4_096
    source_description: int = 4_096
    body_bytes: int = MIB
    attributes_bytes: int = 64 * 1024
    max_facts_default: int = 10
    max_facts_bound: int = 100
    context_tokens_default: Annotated[int, Fixed] = 2_000  # of contexts (SearchGraph, Ask), 4 characters each
    context_tokens_bound: Annotated[int, Fixed] = 32_000
    entity_facts_bound: Annotated[int, Fixed] = 500  # of GetEntityNode
    entity_episodes_bound: Annotated[int, Fixed] = 100
    history_bound: Annotated[int, Fixed] = 500  # facts of GetFactHistory
    merge_bound: Annotated[int, Fixed] = 10_000  # facts and mentions of an entity that is merged into another
    last_n_bound: Annotated[int, Fixed] = 1_000
    page_size_bound: Annotated[int, Fixed] = 1_000
    response_bytes: int = 3 * MIB  # under the 4 MiB that gRPC clients accept by default
    previous_episodes: Annotated[int, Fixed] = 50  # named by an item as its context
    nodes_per_extraction: Annotated[int, Fixed] = 200
    edges_per_extraction: Annotated[int, Fixed] = 400
    queue_items: int = 1_000_000  # unfinished items in the store before accepting is refused
    stream_inflight_bytes: Annotated[int, Fixed] = 8 * MIB
    import_bytes: int = 16 * 1024 * MIB  # of the files of ImportGroup that are here at a time


_BYTES_RETRY_MS = 3_600_000  # no time frees bytes, deleting does: ask again after this


class Counter(NamedTuple):
    """What a use is counted under."""

    subject: str
    counted: str
    day: int  # 0: of all days


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
        day = 0 if self.counted is Counted.BYTES else now_ms // DAY_MS
        return Counter(self.subject, str(self.counted), day)

    def retry_after_ms(self, now_ms: int) -> int:
        """When there may be room again."""
        return _BYTES_RETRY_MS if self.counted is Counted.BYTES else DAY_MS - now_ms % DAY_MS
