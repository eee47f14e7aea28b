"""Accepting calls (IntakeStore.accept): one look, pure decisions, one write; again when the race was lost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Any, LiteralString

from kgsvc.domain.model.items import AcceptBatch, Accepted, NewItem
from kgsvc.stores.admission import (
    Admission,
    Key,
    Known,
    KnownAnswer,
    KnownItem,
    KnownReceipt,
    admit_all,
    counters_of,
    key_of,
    sum_of,
)
from kgsvc.stores.neo4j.base import Row, Tx
from kgsvc.stores.neo4j.quotas import (
    CHARGE,
    LOCK_USED,
    charging,
    counter_rows,
    held_columns,
    used_of,
)
from kgsvc.stores.neo4j.receipts import Receipts, present
from kgsvc.stores.neo4j.rows import episode_row, status_of, status_rows

_ITEMS_A_WRITE = 1_024
_BYTES_A_WRITE = 8 * 1024 * 1024
_FORGET_EVERY_MS = 60_000

# A known key is locked, so that an answer seen half written by a commit under way is not taken for whole;
# one that was removed meanwhile has no properties.
WHAT_IS_KNOWN: LiteralString = """
    CALL () {
        UNWIND $p.groups AS wanted
        MATCH (g:KgGroup {group_id: wanted.group_id})
        WITH wanted, g.epoch AS epoch
        CALL (wanted, epoch) {
            UNWIND wanted.uuids AS uuid
            MATCH (i:KgItem {group_id: wanted.group_id, epoch: epoch, uuid: uuid})
                USING INDEX SEEK i:KgItem(group_id, epoch, uuid)
            RETURN collect([<STATUS>]) AS items, collect(DISTINCT i.receipt_id) AS homes
        }
        CALL (wanted, epoch) {
            UNWIND wanted.keys AS key
            MATCH (k:KgIdempotency
                {group_id: wanted.group_id, epoch: epoch, operation: key.operation, key: key.key})
            SET k.lock = 0
            WITH k WHERE k.key IS NOT NULL
            CALL (k) {
                UNWIND k.uuids AS uuid
                MATCH (i:KgItem {group_id: k.group_id, epoch: k.epoch, uuid: uuid})
                    USING INDEX SEEK i:KgItem(group_id, epoch, uuid)
                RETURN collect([<STATUS>]) AS found
            }
            RETURN collect([k.operation, k.key, k.input_hash, k.receipt_id, k.expires_ms, k.uuids, k.seqs,
                            found]) AS answers
        }
        RETURN collect([wanted.group_id, epoch, items, answers]) AS groups, collect(homes) AS homes,
            sum(size(items) + size(answers)) AS known
    }
    CALL (homes) {
        UNWIND reduce(all = $p.receipts, some IN homes | all + some) AS receipt_id
        WITH DISTINCT receipt_id
        MATCH (c:KgReceipt) WHERE c.receipt_id = receipt_id AND c.part IS NOT NULL
        WITH receipt_id, c.group_id AS group_id, sum(size(c.uuids)) AS size, min(c.created_ms) AS created_ms
        RETURN collect([receipt_id, group_id, size, created_ms]) AS receipts
    }
    CALL () { MATCH (p:KgPending) RETURN count(p) AS unfinished }
    """

# All CREATE: when another client was faster with a uuid or a key, a constraint refuses the whole of it.
WHAT_IS_NEW: LiteralString = """
    CALL (writes) {
        UNWIND writes AS row
        MERGE (g:KgGroup {group_id: row.group_id})
        ON CREATE SET g.rev = 0, g.epoch = 0, g.last_ms = 0,
            g.owner_token = 0, g.renewals = 0, g.served_ms = 0
    }
    CALL (writes) {
        UNWIND writes AS of_group
        MATCH (g:KgGroup {group_id: of_group.group_id})
        WITH of_group, coalesce(of_group.epoch, g.epoch) AS epoch
        CALL (of_group, epoch) {
            UNWIND of_group.items AS row
            CREATE (:Episodic {
                group_id: row.group_id, epoch: epoch, <PUT_EPISODE>
            })
            CREATE (:KgItem:KgPending {
                group_id: row.group_id, uuid: row.uuid, epoch: epoch, seq: row.seq,
                receipt_id: row.receipt_id, accepted_ms: row.now_ms, updated_ms: row.now_ms,
                reference_ms: row.reference_ms, content_hash: row.content_hash, name: row.name,
                bytes: row.bytes, previous: row.previous, request_id: row.request_id, trace: row.trace,
                charged: row.charged, charge_day: row.charge_day, held: row.held, keeps: row.keeps,
                state: 'accepted', next_ms: 0, attempts: 0,
                extract_attempts: 0, embed_attempts: 0, upsert_attempts: 0, crash_attempts: 0
            })
        }
        CALL (of_group, epoch) {
            UNWIND of_group.receipts AS row
            MERGE (c:KgReceipt {receipt_id: row.receipt_id, part: row.part})
            SET c = row, c.epoch = epoch
        }
        CALL (of_group, epoch) {
            UNWIND of_group.answers AS row
            CREATE (k:KgIdempotency)
            SET k = row, k.epoch = epoch
        }
    }
    CALL (writes) {
        UNWIND writes AS row
        WITH row WHERE row.items <> []
        MERGE (w:KgWork {group_id: row.group_id})
        SET w.due_ms = 0
    }
    CALL (writes) {
        UNWIND writes[..1] AS any
        <COUNT_ACTIVITY>
    }
    """
_LOOK: LiteralString = WHAT_IS_KNOWN + "RETURN groups, receipts, unfinished"
_WRITE: LiteralString = "WITH $p.writes AS writes" + WHAT_IS_NEW
# Most calls repeat nothing: what they write then goes with the look, if it finds nothing.
_LOOK_AND_WRITE = (
    WHAT_IS_KNOWN
    + """
    WITH groups, receipts, unfinished, CASE
        WHEN known = 0 AND receipts = [] AND unfinished <= $p.most_unfinished
        THEN $p.writes ELSE [] END AS writes
    """
    + WHAT_IS_NEW
    + "RETURN groups, receipts, unfinished, writes <> [] AS written"
)

# Lapsed answers that this call replaces, and any others.
_FORGET_THESE: LiteralString = """
    UNWIND $p.answers AS row
    MATCH (k:KgIdempotency
        {group_id: row.group_id, epoch: row.epoch, operation: row.operation, key: row.key})
    SET k.lock = 0
    WITH k, row WHERE k.expires_ms <= row.now_ms
    DELETE k
    """
_FORGET: LiteralString = """
    MATCH (k:KgIdempotency) WHERE k.expires_ms <= $p.now_ms
    WITH k ORDER BY k.expires_ms LIMIT 100
    DELETE k
    """


@dataclass(slots=True)
class Writes:
    """Rows to write, for all accepted calls together."""

    groups: dict[str, dict[str, Any]] = field(default_factory=dict)  # what each gets, by group_id
    answers: dict[Key, dict[str, Any]] = field(default_factory=dict)
    lapsed: list[dict[str, Any]] = field(default_factory=list)  # answers that those replace

    def of_group(self, group_id: str, epoch: int | None) -> dict[str, Any]:
        """What a group gets. `epoch` None: the one that it has when this is written."""
        fresh: dict[str, Any] = {"group_id": group_id, "epoch": epoch, "items": [], "receipts": []}
        return self.groups.setdefault(group_id, fresh)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """In the order in which every client writes them; none where each call was a replay or refused."""
        answers = sorted(self.answers.items())
        return [
            {
                **group,
                "items": sorted(group["items"], key=itemgetter("uuid")),
                "answers": [row for (of_group, *_key), row in answers if of_group == group_id],
            }
            for group_id, group in sorted(self.groups.items())
        ]


@dataclass(slots=True)
class _Look:
    """The rows of the look: what the calls may repeat, and what it is stored under."""

    known: Known
    epochs: dict[str, int] = field(default_factory=dict)
    seqs: dict[tuple[str, str], int] = field(default_factory=dict)  # of items, by group_id and uuid
    answers: frozenset[Key] = frozenset()  # that are there, lapsed or not


class Intake(Receipts):
    """IntakeStore."""

    _last_seq = 0
    _forget_ms = 1

    async def accept(self, batches: Sequence[AcceptBatch]) -> list[Accepted | Exception]:
        outcomes: list[Accepted | Exception] = []
        for chunk in _chunks(batches):
            outcomes += await self._accept(chunk)
        return outcomes

    async def _accept(self, batches: Sequence[AcceptBatch]) -> list[Accepted | Exception]:
        numbers = [self._numbers(batch) for batch in batches]

        if counters_of(batches):
            counted = partial(self._look_and_write_counted, batches, numbers)
            outcomes = await self._transact(counted, repeatable=True)
        else:
            outcomes = await self._again(partial(self._look_and_write, batches, numbers))
        await self._forget_lapsed(batches)
        return outcomes

    async def _look_and_write(
        self, batches: Sequence[AcceptBatch], numbers: Sequence[int]
    ) -> list[Accepted | Exception]:
        """As though all were new, which mostly is so; else by what is known."""
        nothing = _Look(Known(0, repeats=True))
        outcomes, admissions = admit_all(batches, nothing.known)
        room = min((batch.queue_items for batch in batches), default=0) - nothing.known.unfinished
        (row,) = await self._once(
            _LOOK_AND_WRITE,
            **_wanted(batches),
            writes=_writes(admissions, numbers, nothing).rows,
            most_unfinished=room,
            shard=self._shard(),
        )
        *found, written = row
        if written:
            return outcomes
        look = _look(found)
        outcomes, admissions = admit_all(batches, look.known)
        await self._write_accepted(_writes(admissions, numbers, look), self._once)
        return outcomes

    async def _look_and_write_counted(
        self, batches: Sequence[AcceptBatch], numbers: Sequence[int], tx: Tx
    ) -> list[Accepted | Exception]:
        """The same in one transaction, for which the counters are locked."""
        locked = await tx.run(LOCK_USED, counters=counter_rows(counters_of(batches)))
        (row,) = await tx.run(_LOOK, **_wanted(batches))
        look = _look(row)
        look.known.used = used_of(locked)
        outcomes, admissions = admit_all(batches, look.known)
        await self._write_accepted(_writes(admissions, numbers, look), tx.run)
        if charges := sum_of(made.charges for made in admissions):
            await tx.run(CHARGE, **charging(charges))
        return outcomes

    async def _forget_lapsed(self, batches: Sequence[AcceptBatch]) -> None:
        """Now and then remove answers whose window is over."""
        now_ms = max((b.now_ms for b in batches if b.idempotency_key is not None), default=0)
        if now_ms >= self._forget_ms:
            self._forget_ms = now_ms + _FORGET_EVERY_MS
            await self._run(_FORGET, now_ms=now_ms)

    async def _write_accepted(self, writes: Writes, run: Callable[..., Awaitable[list[Row]]]) -> None:
        """ConstraintError when another client was faster with a uuid or a key."""
        if writes.lapsed:
            await run(_FORGET_THESE, answers=writes.lapsed)
        if rows := writes.rows:
            await run(_WRITE, writes=rows, shard=self._shard())

    def _numbers(self, batch: AcceptBatch) -> int:
        """The first of a run of numbers in order of acceptance: time and, within it, a counter."""
        first = max(self._last_seq + 1, batch.now_ms * 1_000_000)
        self._last_seq = first + len(batch.items)
        return first


def _chunks(batches: Sequence[AcceptBatch]) -> list[list[AcceptBatch]]:
    """Runs of batches that fit into one transaction."""
    chunks: list[list[AcceptBatch]] = []
    items = size = 0
    for batch in batches:
        items += len(batch.items)
        size += sum(len(item.episode.body) for item in batch.items)
        if not chunks or items > _ITEMS_A_WRITE or size > _BYTES_A_WRITE:
            chunks.append([])
            items = len(batch.items)
            size = sum(len(item.episode.body) for item in batch.items)
        chunks[-1].append(batch)
    return chunks


def _wanted(batches: Sequence[AcceptBatch]) -> dict[str, Any]:
    """Parameters of the look."""
    groups: dict[str, dict[str, Any]] = {}
    for batch in batches:
        wanted = groups.setdefault(batch.group_id, {"group_id": batch.group_id, "uuids": {}, "keys": []})
        wanted["uuids"].update((item.episode.uuid, None) for item in batch.items)
        if batch.idempotency_key is not None:
            wanted["keys"].append({"operation": batch.operation, "key": batch.idempotency_key})
    rows = [{**wanted, "uuids": list(wanted["uuids"])} for wanted in groups.values()]
    return {"groups": rows, "receipts": [batch.receipt_id for batch in batches]}


def _look(row: Row) -> _Look:
    groups, receipts, unfinished = row
    known = Known(unfinished, repeats=True)
    look = _Look(known)
    for group_id, epoch, items, answers in groups:
        look.epochs[group_id] = epoch
        for item in status_rows(items):
            known.items[group_id, item.uuid] = KnownItem(status_of(item), item.content_hash)
            look.seqs[group_id, item.uuid] = item.seq
        for operation, key, input_hash, receipt_id, expires_ms, uuids, seqs, found in answers:
            statuses = present(group_id, receipt_id, expires_ms, zip(uuids, seqs, strict=True), found)
            known.answers[group_id, operation, key] = KnownAnswer(
                input_hash, expires_ms, receipt_id or None, tuple(statuses)
            )
    for receipt_id, *listed in receipts:
        known.receipts[receipt_id] = KnownReceipt(*listed)
    look.answers = frozenset(known.answers)
    return look


def _writes(admissions: Sequence[Admission], numbers: Sequence[int], look: _Look) -> Writes:
    """`numbers`: the first of each call's own numbers, by its place."""
    writes = Writes()
    for made in admissions:
        batch, first = made.batch, numbers[made.place]
        epoch = look.epochs.get(batch.group_id)
        of_group = writes.of_group(batch.group_id, epoch)
        for seq, item in enumerate(made.fresh, first + 1):
            look.seqs[batch.group_id, item.episode.uuid] = seq
            of_group["items"].append(_item_row(batch, item, seq))
        listed = {
            "group_id": batch.group_id,
            "receipt_id": made.answer.receipt_id,
            "uuids": [status.uuid for status in made.answer.items],
            "seqs": [look.seqs[batch.group_id, status.uuid] for status in made.answer.items],
        }
        if made.records_receipt:
            duplicates = [status.duplicate for status in made.answer.items]
            of_group["receipts"].append(
                {**listed, "part": first, "created_ms": batch.now_ms, "duplicates": duplicates}
            )
        if (key := key_of(batch)) is not None:
            address = {"operation": batch.operation, "key": batch.idempotency_key}
            if key in look.answers and key not in writes.answers:
                lapsed = {"group_id": batch.group_id, "epoch": epoch, "now_ms": batch.now_ms}
                writes.lapsed.append({**lapsed, **address})
            of_call = {"input_hash": batch.input_hash, "expires_ms": made.expires_ms}
            writes.answers[key] = {**listed, **address, **of_call}
    return writes


def _item_row(batch: AcceptBatch, item: NewItem, seq: int) -> dict[str, Any]:
    """Parameters of an item and its episode."""
    return {
        "group_id": batch.group_id,
        "seq": seq,
        "receipt_id": batch.receipt_id,
        "now_ms": batch.now_ms,
        "previous": list(item.previous) or None,
        "request_id": item.request_id or None,
        "trace": item.trace or None,
        **held_columns(batch, item),
        **episode_row(item.episode),
    }
