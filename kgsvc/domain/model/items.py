"""The durable life of an item.

accepted → extracted → embedded → upserted → completed
    │          │           │
    ▼          ▼           ▼
extract_   embed_      upsert_      each retried with backoff up to N attempts a step, then
failed     failed      failed       parked (terminal, non-destructive; retry makes it accepted again)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from kgsvc.domain.errors import StepError
from kgsvc.domain.limits import Allowance
from kgsvc.domain.model.graph import FREE, Episode, Usage


class ItemState(StrEnum):
    """Of docs/ingestion.md; DELETED is what a receipt shows of an item whose episode was deleted."""

    ACCEPTED = "accepted"
    EXTRACTED = "extracted"
    EMBEDDED = "embedded"
    UPSERTED = "upserted"
    COMPLETED = "completed"
    EXTRACT_FAILED = "extract_failed"
    EMBED_FAILED = "embed_failed"
    UPSERT_FAILED = "upsert_failed"
    PARKED = "parked"
    DELETED = "deleted"


TERMINAL = frozenset({ItemState.COMPLETED, ItemState.PARKED, ItemState.DELETED})


SCRATCH = "kgsvc-doctor-"  # groups that `kgsvc doctor` tries a store with begin so; no caller may name one
CRASH = "crash"  # in a QueuedItem's attempts: how often it was begun alone after a process died with it


class Step(StrEnum):
    """The steps whose attempts are counted apart."""

    EXTRACT = "extract"
    EMBED = "embed"
    UPSERT = "upsert"

    @property
    def failed(self) -> ItemState:
        """The failure substate of this step."""
        return ItemState(f"{self.value}_failed")


@dataclass(frozen=True, slots=True)
class ItemWarning:
    """A value of the model's answer that was not taken as it was given: where it stood and what was wrong,
    never the value. docs/types.md lists the kinds."""

    path: str  # "edges[3].valid_at"
    kind: str
    dropped: bool = False  # the whole node or edge was left out


@dataclass(frozen=True, slots=True)
class ItemStatus:
    """What can be asked of an item from outside."""

    group_id: str
    uuid: str
    state: ItemState
    receipt_id: str
    updated_ms: int
    name: str | None = None
    attempts: int = 0  # of the step that failed last
    step: Step | None = None  # the step that failed last
    reason: str | None = None
    duplicate: bool = False  # within the receipt that was asked for
    usage: Usage = FREE  # model work spent on it so far
    warnings: tuple[ItemWarning, ...] = ()  # of its last extraction

    @property
    def terminal(self) -> bool:
        """Whether nothing more will happen to it by itself."""
        return self.state in TERMINAL


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item to accept: its episode (uuid already given or minted, content_hash set).

    `previous` are episodes to show as its context instead of the latest ones: no part of its content.
    `request_id` is of the call that brought it, for the logs, `trace` its W3C traceparent, for spans; both
    may be "". `tokens` of models are set aside for it.
    """

    episode: Episode
    previous: tuple[str, ...] = ()
    request_id: str = ""
    tokens: int = 0
    trace: str = ""


@dataclass(frozen=True, slots=True)
class AcceptBatch:
    """One ingestion call, or a run of items of one stream: accepted whole or not at all."""

    group_id: str
    items: tuple[NewItem, ...]
    receipt_id: str  # used when at least one item is new
    operation: str
    now_ms: int
    idempotency_key: str | None = None
    input_hash: str = ""  # over the mapped domain values; compared when the key is seen again
    dedup_window_ms: int = 24 * 3600 * 1000
    receipt_window_ms: int = 30 * 24 * 3600 * 1000  # see IntakeStore.remove_receipts
    queue_items: int = 1_000_000
    allowances: tuple[Allowance, ...] = ()  # that its new items must keep to


@dataclass(frozen=True, slots=True)
class Accepted:
    """The durable answer to an AcceptBatch, items in the order of the call."""

    receipt_id: str
    items: tuple[ItemStatus, ...]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of the items of one call."""

    receipt_id: str
    group_id: str
    created_ms: int
    items: tuple[ItemStatus, ...]

    @property
    def done(self) -> bool:
        """Whether every item is terminal."""
        return all(item.terminal for item in self.items)

    @property
    def usage(self) -> Usage:
        """Model work spent on its items so far, each counted once however often the call named it."""
        return sum({item.uuid: item.usage for item in self.items}.values(), FREE)


@dataclass(frozen=True, slots=True)
class QueuedItem:
    """An unfinished item as a worker receives it."""

    episode: Episode
    state: ItemState
    accepted_ms: int
    attempts: dict[str, int]  # by Step value, and CRASH
    stage: bytes | None = None  # output of the last stored stage
    suspect: bool = False  # a process died while it was being worked on
    previous: tuple[str, ...] = ()  # see NewItem
    ontology: int = 0  # number of the group's ontology when it was started; 0: the group never had one
    sequence: int = field(default=0, compare=False)  # greater than of what the group accepted before it
    request_id: str = ""  # see NewItem
    trace: str = field(default="", compare=False)

    @property
    def traced(self) -> tuple[str, str]:
        """What spans of its steps need (kgsvc/tracing.py)."""
        return self.trace, self.episode.uuid


_UNMARKING = TERMINAL | {ItemState.ACCEPTED} | {step.failed for step in Step}


@dataclass(frozen=True, slots=True)
class Transition:
    """A new state for one item, written under a fence."""

    uuid: str
    state: ItemState
    now_ms: int
    step: Step | None = None
    attempts: int = 0
    reason: str | None = None
    next_ms: int = 0  # not before this time
    stage: bytes | None = None  # None clears the stored stage
    keep_stage: bool = False  # leave the stored stage as it is (failures)
    usage: Usage = FREE  # added to what was spent on the item before
    warnings: tuple[ItemWarning, ...] | None = None  # in the place of those before; None leaves them

    @property
    def ends(self) -> bool:
        """Whether nothing more will happen to the item by itself."""
        return self.state in TERMINAL

    @property
    def unmarks(self) -> bool:
        """Whether the lease is done with the item: it counts no longer as started."""
        return self.state in _UNMARKING


@dataclass(frozen=True, slots=True)
class GroupWork:
    """A group with items that may be worked on now, and who leases it (docs/ingestion.md)."""

    group_id: str
    owner_token: int  # 0: never leased
    owner_id: str | None  # None: free
    renewals: int  # moves while the owner lives; watched on the observer's monotonic clock
    served_ms: int  # when it was last leased; least recently served first


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on a group: valid while the group's record holds this token (fencing)."""

    group_id: str
    owner_id: str
    token: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Claimed:
    """A group that was taken, and its items that were started with it."""

    lease: Lease
    items: tuple[QueuedItem, ...] = ()
    more: bool = False  # others are due that would have gone beyond its share


@dataclass(frozen=True, slots=True)
class FailedItem:
    """An item that failed in a step; `stage` is the output of the last step that succeeded, to be kept.

    `usage` is its part of what the failed work cost; None: all that `error` counts.
    """

    item: QueuedItem
    step: Step
    error: StepError
    stage: bytes | None = None
    usage: Usage | None = None
