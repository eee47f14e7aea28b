"""What accept answers to each call, given what the database knows already: pure decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kgsvc.domain.errors import Conflict, Overloaded, Violation
from kgsvc.domain.model.items import AcceptBatch, Accepted, ItemState, ItemStatus, NewItem
from kgsvc.stores.neo4j.rows import calendar

_RETRY_AFTER_MS = 1_000


@dataclass(frozen=True, slots=True)
class KnownItem:
    """An item of the group's present epoch."""

    status: ItemStatus
    content_hash: str
    seq: int


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """The answer under an idempotency key; `entries` are (seq, present status) in the order of the call."""

    input_hash: str
    receipt_id: str
    expires_ms: int
    entries: tuple[tuple[int, ItemStatus], ...]


Key = tuple[str, str, str]  # group, operation, idempotency key


@dataclass(slots=True)
class Known:
    """What was looked up for the calls; accepted calls are added, so that later ones see them."""

    unfinished: int
    epochs: dict[str, int] = field(default_factory=dict)
    items: dict[tuple[str, str], KnownItem] = field(default_factory=dict)
    answers: dict[Key, KnownAnswer] = field(default_factory=dict)
    receipts: dict[str, tuple[str, int]] = field(default_factory=dict)  # receipt_id -> group, size


@dataclass(slots=True)
class Writes:
    """Rows to write, for all accepted calls together."""

    groups: set[str] = field(default_factory=set)  # with new items
    items: list[list[Any]] = field(default_factory=list)
    receipts: list[dict[str, Any]] = field(default_factory=list)
    answers: dict[Key, dict[str, Any]] = field(default_factory=dict)
    lapsed: list[dict[str, Any]] = field(default_factory=list)  # of `answers`, what they replace

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write: every call was a replay or was refused."""
        return not (self.items or self.receipts or self.answers)


def admit(batch: AcceptBatch, first_seq: int, known: Known, writes: Writes) -> Accepted:
    """The answer to one call; what it stores is added to `writes` and `known`. Conflict, Overloaded.

    `first_seq` and the batch's length after it are numbers of its own, in order of acceptance.
    """
    answer = _known_answer(batch, known)
    if answer is not None:
        return answer
    entries = _entries(batch, first_seq, known)
    fresh = {e.status.uuid: e for e in entries if not e.status.duplicate}
    if fresh and known.unfinished + len(fresh) > batch.queue_items:
        raise Overloaded("the queue is full", _RETRY_AFTER_MS)
    receipt_id = _home(batch, entries, known)
    if receipt_id is None:
        receipt_id = batch.receipt_id
        _add_receipt(batch, first_seq, entries, known, writes)
    _add_items(batch, fresh, known, writes)
    _add_answer(batch, receipt_id, entries, known, writes)
    return Accepted(receipt_id, tuple(entry.status for entry in entries))


def _known_answer(batch: AcceptBatch, known: Known) -> Accepted | None:
    if batch.idempotency_key is None:
        return None
    answer = known.answers.get((batch.group_id, batch.operation, batch.idempotency_key))
    if answer is None or answer.expires_ms <= batch.now_ms:
        return None
    if answer.input_hash != batch.input_hash:
        what = "was used with other input within the window"
        raise Conflict(f"idempotency_key {what}", [Violation("idempotency_key", what)])
    return Accepted(answer.receipt_id, tuple(as_duplicate(status) for _seq, status in answer.entries))


def as_duplicate(status: ItemStatus) -> ItemStatus:
    """The same item as a replay shows it."""
    return replace(status, duplicate=True)


def _entries(batch: AcceptBatch, first_seq: int, known: Known) -> list[KnownItem]:
    """The call's items, known or new. Conflict: a uuid is known with other content."""
    entries: list[KnownItem] = []
    own: dict[str, KnownItem] = {}
    taken: list[Violation] = []
    for position, item in enumerate(batch.items):
        episode = item.episode
        first = known.items.get((batch.group_id, episode.uuid)) or own.get(episode.uuid)
        if first is None:
            status = ItemStatus(
                batch.group_id, episode.uuid, ItemState.ACCEPTED, batch.receipt_id, batch.now_ms, episode.name
            )
            own[episode.uuid] = first = KnownItem(status, episode.content_hash, first_seq + 1 + position)
            entries.append(first)
            continue
        if first.content_hash != episode.content_hash:
            taken.append(Violation(f"items[{position}].uuid", "belongs to an item with other content"))
        entries.append(KnownItem(as_duplicate(first.status), first.content_hash, first.seq))
    if taken:
        raise Conflict("; ".join(f"{v.field} {v.description}" for v in taken), taken)
    return entries


def _home(batch: AcceptBatch, entries: Sequence[KnownItem], known: Known) -> str | None:
    """The receipt that already tells of exactly these items. Conflict: the call's own is another group's."""
    own_group, _ = known.receipts.get(batch.receipt_id, (batch.group_id, 0))
    if own_group != batch.group_id:
        raise Conflict("the receipt belongs to another group")
    homes = {entry.status.receipt_id for entry in entries}
    if len(homes) != 1 or not all(entry.status.duplicate for entry in entries):
        return None
    home = homes.pop()
    _, size = known.receipts.get(home, ("", 0))
    return home if size == len(entries) or home == batch.receipt_id else None


def _add_receipt(
    batch: AcceptBatch, part: int, entries: Sequence[KnownItem], known: Known, writes: Writes
) -> None:
    _, size = known.receipts.get(batch.receipt_id, ("", 0))
    known.receipts[batch.receipt_id] = (batch.group_id, size + len(entries))
    writes.receipts.append(
        {
            "receipt_id": batch.receipt_id,
            "part": part,
            "group_id": batch.group_id,
            "epoch": known.epochs.get(batch.group_id, 0),
            "created_ms": batch.now_ms,
            "uuids": [entry.status.uuid for entry in entries],
            "seqs": [entry.seq for entry in entries],
            "duplicates": [entry.status.duplicate for entry in entries],
        }
    )


def _add_items(batch: AcceptBatch, fresh: dict[str, KnownItem], known: Known, writes: Writes) -> None:
    epoch = known.epochs.get(batch.group_id, 0)
    for item in batch.items:
        entry = fresh.pop(item.episode.uuid, None)
        if entry is None:
            continue
        known.unfinished += 1
        known.items[batch.group_id, item.episode.uuid] = entry
        writes.groups.add(batch.group_id)
        writes.items.append(_item_row(batch, item, epoch, entry.seq))


def _item_row(batch: AcceptBatch, item: NewItem, epoch: int, seq: int) -> list[Any]:
    """Parameters of an item and its episode, by position."""
    episode = item.episode
    return [
        batch.group_id,
        episode.uuid,
        epoch,
        seq,
        batch.receipt_id,
        batch.now_ms,
        episode.reference_ms,
        episode.content_hash,
        episode.name,
        len(episode.body.encode()),
        episode.body,
        str(episode.source),
        episode.source_description,
        episode.created_ms,
        None if episode.role_type is None else str(episode.role_type),
        episode.role,
        calendar(episode.reference_ms),
        calendar(episode.created_ms),
        list(item.previous) or None,
    ]


def _add_answer(
    batch: AcceptBatch, receipt_id: str, entries: Sequence[KnownItem], known: Known, writes: Writes
) -> None:
    if batch.idempotency_key is None:
        return
    key = (batch.group_id, batch.operation, batch.idempotency_key)
    address = {
        "group_id": batch.group_id,
        "epoch": known.epochs.get(batch.group_id, 0),
        "operation": batch.operation,
        "key": batch.idempotency_key,
    }
    if key in known.answers and key not in writes.answers:
        writes.lapsed.append({**address, "now_ms": batch.now_ms})
    expires_ms = batch.now_ms + batch.dedup_window_ms
    pairs = tuple((entry.seq, entry.status) for entry in entries)
    known.answers[key] = KnownAnswer(batch.input_hash, receipt_id, expires_ms, pairs)
    writes.answers[key] = {
        **address,
        "input_hash": batch.input_hash,
        "receipt_id": receipt_id,
        "expires_ms": expires_ms,
        "uuids": [entry.status.uuid for entry in entries],
        "seqs": [entry.seq for entry in entries],
    }
