"""The model's IntakeStore and QueueStore."""

import itertools
from collections.abc import Collection, Sequence
from dataclasses import replace

from kgsvc.domain.errors import Conflict, InvalidArgument, LeaseLost, Overloaded, Violation
from kgsvc.domain.model.graph import TOLD, Episode
from kgsvc.domain.model.items import (
    AcceptBatch,
    Accepted,
    Claimed,
    GroupWork,
    ItemState,
    ItemStatus,
    Lease,
    QueuedItem,
    Receipt,
    Transition,
)
from kgsvc.stores.intake_protocol import Activity, Page, QueueDepth
from kgsvc.stores.protocol import Anchor
from tests.support.model_rows import Answer, Group, Item, ReceiptRow


class ModelIntake:
    """Accepting items and telling what became of them."""

    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}
        self._receipts: dict[str, ReceiptRow] = {}
        self._activity = 0

    def _group(self, group_id: str) -> Group:
        """The group, created if needed."""
        return self._groups.setdefault(group_id, Group(group_id))

    def peek(self, group_id: str) -> Group:
        """The group; an empty one, not kept, if it is unknown."""
        return self._groups.get(group_id) or Group(group_id)

    def _items(self) -> list[Item]:
        return [item for group in self._groups.values() for item in group.items.values()]

    async def accept(self, batches: Sequence[AcceptBatch]) -> list[Accepted | Exception]:
        results: list[Accepted | Exception] = []
        for batch in batches:
            try:
                results.append(self._accept(batch))
            except (Conflict, Overloaded) as error:
                results.append(error)
        return results

    def _accept(self, batch: AcceptBatch) -> Accepted:
        group = self.peek(batch.group_id)
        key = batch.idempotency_key
        if key is not None:
            known = group.known_answer(batch.operation, key, batch.input_hash, batch.now_ms)
            if known is not None and known.receipt_id is not None:
                return Accepted(known.receipt_id, tuple(i.status(duplicate=True) for i in known.items))
        entries = self._entries(group, batch)
        new = [item for item, duplicate in entries if not duplicate]
        unfinished = sum(item.unfinished for item in self._items())
        if new and unfinished + len(new) > batch.queue_items:
            raise Overloaded("the queue is full", 1_000)
        return self._store(batch, entries)

    def _entries(self, group: Group, batch: AcceptBatch) -> tuple[tuple[Item, bool], ...]:
        """Each item of the call, known or new, and whether it is a duplicate."""
        fresh: dict[str, Item] = {}
        entries: list[tuple[Item, bool]] = []
        taken: list[Violation] = []
        for n, new in enumerate(batch.items):
            uuid = new.episode.uuid
            known = group.items.get(uuid) or fresh.get(uuid)
            if known is None:
                fresh[uuid] = Item(
                    new.episode,
                    batch.receipt_id,
                    batch.now_ms,
                    batch.now_ms,
                    previous=new.previous,
                    request_id=new.request_id,
                    trace=new.trace,
                )
            elif known.episode.content_hash != new.episode.content_hash:
                taken.append(Violation(f"items[{n}].uuid", "belongs to an item with other content"))
            entries.append((known or fresh[uuid], known is not None))
        if taken:
            raise Conflict("known with other content", taken)
        return tuple(entries)

    def _store(self, batch: AcceptBatch, entries: tuple[tuple[Item, bool], ...]) -> Accepted:
        group = self._group(batch.group_id)
        receipt_id = batch.receipt_id
        homes = {item.receipt_id for item, _ in entries}
        home = homes.pop() if len(homes) == 1 else receipt_id
        known = self._receipts.get(home)
        oldest_ms = batch.now_ms + batch.dedup_window_ms - batch.receipt_window_ms
        if known is not None and len(known.entries) == len(entries) and known.created_ms >= oldest_ms:
            receipt_id = home
        else:
            self._receipts[receipt_id] = ReceiptRow(batch.group_id, batch.now_ms, entries)
        group.items.update({item.episode.uuid: item for item, duplicate in entries if not duplicate})
        if batch.idempotency_key is not None:
            until_ms = batch.now_ms + batch.dedup_window_ms
            items = tuple(item for item, _ in entries)
            group.answers[batch.operation, batch.idempotency_key] = Answer(
                batch.input_hash, until_ms, receipt_id, items
            )
        self._activity += 1
        return Accepted(receipt_id, tuple(item.status(duplicate=dup) for item, dup in entries))

    async def receipt(self, receipt_id: str) -> Receipt | None:
        row = self._receipts.get(receipt_id)
        if row is None:
            return None
        items = tuple(item.status(duplicate=duplicate) for item, duplicate in row.entries)
        return Receipt(receipt_id, row.group_id, row.created_ms, items)

    async def list_items(
        self, group_id: str, states: Collection[ItemState], limit: int, token: str | None
    ) -> Page[ItemStatus]:
        if token is not None and not (token.isascii() and token.isdigit() and len(token) < 10):
            raise InvalidArgument.of([Violation("page_token", "is not a page token of this listing")])
        rows = list(enumerate(self.peek(group_id).items.values()))
        rows = [(n, i) for n, i in rows if n >= int(token or 0) and (not states or i.state in states)]
        following = str(rows[limit][0]) if len(rows) > limit else None
        return Page(tuple(item.status() for _, item in rows[:limit]), following)

    async def retry_items(self, group_id: str, uuids: Collection[str] | None, now_ms: int) -> list[str]:
        parked = [i for i in self.peek(group_id).items.values() if i.state is ItemState.PARKED]
        revived = [i for i in parked if uuids is None or i.episode.uuid in uuids]
        for item in revived:
            item.revive(now_ms)
        self._activity += 1
        return [item.episode.uuid for item in revived]

    async def remove_receipts(self, before_ms: int, after: str, limit: int) -> str | None:
        for receipt_id, row in list(self._receipts.items()):
            items = [item for item, _ in row.entries]
            if row.created_ms < before_ms and not any(
                i.unfinished or i.state is ItemState.PARKED for i in items
            ):
                del self._receipts[receipt_id]
                for item in items:
                    item.receipt_id = "" if item.receipt_id == receipt_id else item.receipt_id
        return None

    def _depth(self) -> QueueDepth:
        waiting = [item for item in self._items() if item.unfinished]
        parked = sum(item.state is ItemState.PARKED for item in self._items())
        return QueueDepth(len(waiting), parked, min((i.accepted_ms for i in waiting), default=None))

    async def activity(self) -> Activity:
        return Activity(self._activity, self._activity, depth=self._depth())


class ModelQueue(ModelIntake):
    """Group leases and the items behind them."""

    async def ready_groups(self, now_ms: int, limit: int) -> list[GroupWork]:
        working = [g for g in self._groups.values() if g.paused_ms is None]
        ready = [g for g in working if any(i.due(now_ms) for i in g.items.values())]
        ready.sort(key=lambda g: (g.served_ms, g.group_id))
        owned = [_work(group) for group in ready if group.owner_id is not None]
        return owned[:limit] + [_work(group) for group in ready if group.owner_id is None][:limit]

    async def next_due_ms(self, after_ms: int) -> int | None:
        working = [g for g in self._groups.values() if g.paused_ms is None]
        first = [
            min((i.next_ms for i in g.items.values() if i.unfinished), default=after_ms) for g in working
        ]
        return min((due_ms for due_ms in first if due_ms > after_ms), default=None)

    def _claimed(self, seen: GroupWork, owner_id: str, now_ms: int) -> Lease | None:
        group = self.peek(seen.group_id)
        now = _work(group)
        if group.paused_ms is not None:
            return None
        if (now.owner_token, now.owner_id, now.renewals) != (seen.owner_token, seen.owner_id, seen.renewals):
            return None
        if group.owner_id == owner_id:
            group.give_up()
        elif group.owner_id is not None:
            for item in group.items.values():
                item.suspect |= item.started
                item.started = False
        group.token += 1
        group.owner_id = owner_id
        group.served_ms = now_ms
        return Lease(group.group_id, owner_id, group.token, group.epoch)

    async def begin(
        self, seen: Sequence[GroupWork], owner_id: str, now_ms: int, limit: int, max_bytes: int
    ) -> list[Claimed | None]:
        taken: list[Claimed | None] = []
        for each in seen:
            lease = self._claimed(each, owner_id, now_ms)
            items: list[QueuedItem] = []
            due = [item for item in self.peek(each.group_id).items.values() if item.due(now_ms)]
            if lease is not None and not any(item.suspect for item in due):
                items = await self.start_items(lease, now_ms, limit, max_bytes // len(seen), ())
            more = bool(items) and len(items) < min(limit, len(due))
            taken.append(None if lease is None else Claimed(lease, tuple(items), more))
        return taken

    def _held(self, lease: Lease) -> Group:
        group = self.peek(lease.group_id)
        if (group.token, group.owner_id, group.epoch) != (lease.token, lease.owner_id, lease.epoch):
            raise LeaseLost("another process owns the group now")
        return group

    async def renew(self, leases: Sequence[Lease]) -> list[str]:
        held: list[str] = []
        for lease in leases:
            try:
                self._held(lease).renewals += 1
            except LeaseLost:
                continue
            held.append(lease.group_id)
        return held

    async def release(self, lease: Lease) -> None:
        try:
            group = self._held(lease)
        except LeaseLost:
            return
        group.give_up()

    async def start_items(
        self, lease: Lease, now_ms: int, limit: int, max_bytes: int, exclude: Collection[str]
    ) -> list[QueuedItem]:
        group = self._held(lease)
        if group.paused_ms is not None:
            return []
        items = sorted(group.items.values(), key=lambda i: i.order)
        due = [item for item in items if item.due(now_ms)]
        suspects = [item for item in due if item.suspect]
        if suspects and not exclude:
            return [replace(suspects[0].begin(), ontology=group.ontology_rev)]
        free = [i for i in due if not i.suspect and i.episode.uuid not in exclude]
        sizes = itertools.accumulate(len(i.episode.body.encode()) for i in free)
        taken = [i for n, (i, size) in enumerate(zip(free, sizes, strict=True)) if not n or size <= max_bytes]
        return [replace(item.begin(), ontology=group.ontology_rev) for item in taken[:limit]]

    async def save_transitions(self, lease: Lease, transitions: Sequence[Transition]) -> None:
        self._held(lease).move(tuple(transitions), leased=True)
        self._activity += 1

    async def previous_episodes(
        self, group_id: str, anchors: Sequence[Anchor], limit: int, max_chars: int
    ) -> dict[str, tuple[Episode, ...]]:
        return {a.uuid: self._before(group_id, a, limit, max_chars) for a in anchors}

    def _before(self, group_id: str, anchor: Anchor, limit: int, max_chars: int) -> tuple[Episode, ...]:
        if anchor.named:
            everything = self.peek(group_id).episodes
            wanted = [e for e in everything if e.uuid in anchor.named and e.uuid != anchor.uuid]
            return tuple(_shortened(e, max_chars) for e in wanted)
        key = (anchor.reference_ms, anchor.uuid)
        told = [e for e in self.peek(group_id).episodes if e.source in TOLD]
        earlier = [e for e in told if (e.reference_ms, e.uuid) < key]
        return tuple(_shortened(e, max_chars) for e in earlier[max(len(earlier) - limit, 0) :])

    async def relations(self, group_id: str, latest: int, limit: int) -> list[str]:
        group = self.peek(group_id)
        written = sorted(group.facts.values(), key=lambda f: (group.fact_rev[f.uuid], f.uuid))
        names = [f.name for f in written[-latest:]]
        return sorted(set(names), key=lambda name: (-names.count(name), name))[:limit]


def _work(group: Group) -> GroupWork:
    return GroupWork(group.group_id, group.token, group.owner_id, group.renewals, group.served_ms)


def _shortened(episode: Episode, max_chars: int) -> Episode:
    return replace(episode, body=episode.body[:max_chars])
