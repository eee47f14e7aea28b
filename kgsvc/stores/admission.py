"""What accepting calls and committing changes come to, and what calls use of their quotas, given what the
database holds: pure, so that every store decides alike. A store reads what is asked for here, calls the
decision and writes what it says."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kgsvc.domain.errors import (
    Conflict,
    LeaseLost,
    Overloaded,
    QuotaExceeded,
    RevisionChanged,
    StoreUnavailable,
    Violation,
)
from kgsvc.domain.limits import DAY_MS, Allowance, Counted, Counter
from kgsvc.domain.model.delta import Claim, GraphDelta, GroupHead, Guard, StaleItems
from kgsvc.domain.model.items import AcceptBatch, Accepted, ItemState, ItemStatus, NewItem

_RETRY_AFTER_MS = 1_000
GROUP_DELETED = "group_deleted"  # the reason of items that were unfinished when their group was deleted
Key = tuple[str, str, str]  # group_id, operation, idempotency key


def check_schema(store: str, found: int, wanted: int) -> None:
    """StoreUnavailable for a schema that is not the one of this version."""
    if found > wanted:
        raise StoreUnavailable(f"{store} has schema {found}, this version knows {wanted}: upgrade kgsvc")
    if found < wanted:
        raise StoreUnavailable(
            f"{store} has schema {found}, this version knows {wanted} alone: scripts/move_store.py takes"
            " such a store over (docs/operations.md, Upgrades)"
        )


@dataclass(frozen=True, slots=True)
class KnownItem:
    """An item of its group's present epoch."""

    status: ItemStatus
    content_hash: str


@dataclass(frozen=True, slots=True)
class KnownReceipt:
    """A receipt that is there, how many items it lists, and when it was made."""

    group_id: str
    size: int
    created_ms: int


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """What an idempotency key stands for: an accepted call with its items' present states, or a change of
    the graph, which has no receipt."""

    input_hash: str
    expires_ms: int
    receipt_id: str | None
    items: tuple[ItemStatus, ...]


@dataclass(slots=True)
class Known:
    """What the database holds that the calls may repeat. Accepted calls are added, so that those behind them
    see them.

    Of the calls' groups: the items with their uuids, the answers under their keys (lapsed ones may be among
    them). The receipts of those items, and any with a call's receipt id.
    """

    unfinished: int  # items of all groups
    repeats: bool = False  # whether the store may run a call again whose commit was not confirmed
    items: dict[tuple[str, str], KnownItem] = field(default_factory=dict)  # by group_id and uuid
    answers: dict[Key, KnownAnswer] = field(default_factory=dict)
    receipts: dict[str, KnownReceipt] = field(default_factory=dict)
    used: dict[Counter, int] = field(default_factory=dict)  # of the calls' quotas

    def add(self, made: Admission) -> None:
        """Take in an accepted call as though it were committed."""
        batch, answer = made.batch, made.answer
        self.unfinished += len(made.fresh)
        for counter, amount in made.charges.items():
            self.used[counter] = self.used.get(counter, 0) + amount
        new = {status.uuid: status for status in answer.items if not status.duplicate}
        for item in made.fresh:
            uuid = item.episode.uuid
            self.items[batch.group_id, uuid] = KnownItem(new[uuid], item.episode.content_hash)
        if made.records_receipt:
            made_now = KnownReceipt(batch.group_id, len(answer.items), batch.now_ms)
            self.receipts[batch.receipt_id] = made_now
        if (key := key_of(batch)) is not None:
            self.answers[key] = KnownAnswer(
                batch.input_hash, made.expires_ms, answer.receipt_id, answer.items
            )


@dataclass(frozen=True, slots=True)
class Admission:
    """An accepted call and what it adds: new items, a receipt of all its items, the answer under its key."""

    batch: AcceptBatch
    answer: Accepted
    fresh: tuple[NewItem, ...]
    records_receipt: bool  # under the call's receipt id; otherwise an older receipt lists the same items
    place: int  # of the call among those decided together
    charges: Mapping[Counter, int] = field(default_factory=dict)  # what it adds to counters of quotas

    @property
    def expires_ms(self) -> int:
        """Until when its idempotency key stands for it."""
        return self.batch.now_ms + self.batch.dedup_window_ms


def key_of(batch: AcceptBatch) -> Key | None:
    """The call's idempotency key with what it is scoped to."""
    if batch.idempotency_key is None:
        return None
    return (batch.group_id, batch.operation, batch.idempotency_key)


def admit_all(
    batches: Sequence[AcceptBatch], known: Known
) -> tuple[list[Accepted | Exception], list[Admission]]:
    """One outcome a call, in order (see IntakeStore.accept), and what is to be written."""
    outcomes: list[Accepted | Exception] = []
    admissions: list[Admission] = []
    for place, batch in enumerate(batches):
        try:
            made = _replay(batch, known) or _admit(batch, known, place)
        except (Conflict, Overloaded) as refusal:
            outcomes.append(refusal)
            continue
        if isinstance(made, Admission):
            known.add(made)
            admissions.append(made)
            made = made.answer
        outcomes.append(made)
    return outcomes, admissions


def _replay(batch: AcceptBatch, known: Known) -> Accepted | None:
    """The first answer to a key within its window. Conflict: the key stands for something else."""
    key = key_of(batch)
    answer = None if key is None else known.answers.get(key)
    if answer is None or answer.expires_ms <= batch.now_ms:
        return None
    check_input(answer.input_hash, batch.input_hash)
    if answer.receipt_id is None:
        raise Conflict("the idempotency key stands for another operation")
    return Accepted(answer.receipt_id, tuple(replace(status, duplicate=True) for status in answer.items))


def of_deleted_group(group_id: str, uuid: str, receipt_id: str, at_ms: int, *, parked: bool) -> ItemStatus:
    """An item in the receipt of a deleted group. `parked`: it was unfinished, and its reason says so."""
    reason = GROUP_DELETED if parked else None
    return ItemStatus(group_id, uuid, ItemState.DELETED, receipt_id, at_ms, reason=reason)


def check_input(known_hash: str, input_hash: str) -> None:
    """Conflict: an idempotency key that is known was used for other input."""
    if known_hash != input_hash:
        used = "was used before with other input"
        raise Conflict(f"idempotency_key {used}", [Violation("idempotency_key", used)])


def _admit(batch: AcceptBatch, known: Known, place: int) -> Admission:
    statuses, fresh = _items(batch, known)
    if fresh and known.unfinished + len(fresh) > batch.queue_items:
        raise Overloaded("the queue is full", _RETRY_AFTER_MS)
    charges = charges_of(batch, fresh, known.used)
    home = _home(batch, statuses, known)
    receipt_id = batch.receipt_id if home is None else home
    answer = Accepted(receipt_id, tuple(statuses))
    return Admission(batch, answer, tuple(fresh), home is None, place, charges)


def _items(batch: AcceptBatch, known: Known) -> tuple[list[ItemStatus], list[NewItem]]:
    """The call's items as they are answered, and the new ones. Conflict: a uuid with other content."""
    statuses: list[ItemStatus] = []
    fresh: list[NewItem] = []
    own: dict[str, KnownItem] = {}
    taken: list[Violation] = []
    for position, item in enumerate(batch.items):
        episode = item.episode
        first = known.items.get((batch.group_id, episode.uuid)) or own.get(episode.uuid)
        if first is None:
            status = ItemStatus(
                batch.group_id, episode.uuid, ItemState.ACCEPTED, batch.receipt_id, batch.now_ms, episode.name
            )
            own[episode.uuid] = KnownItem(status, episode.content_hash)
            fresh.append(item)
            statuses.append(status)
            continue
        if first.content_hash != episode.content_hash:
            taken.append(Violation(f"items[{position}].uuid", "belongs to an item with other content"))
        statuses.append(replace(first.status, duplicate=True))
    if taken:
        raise Conflict("; ".join(f"{v.field} {v.description}" for v in taken), taken)
    return statuses, fresh


def _home(batch: AcceptBatch, statuses: Sequence[ItemStatus], known: Known) -> str | None:
    """The receipt that lists exactly these items already. Conflict: the call needs a receipt of its own, and
    its id is taken."""
    homes = {status.receipt_id for status in statuses}
    if len(homes) == 1 and all(status.duplicate for status in statuses):
        home = homes.pop()
        listed = known.receipts.get(home)
        if home == batch.receipt_id:
            return home
        # An answer under a key names its receipt for the key's window, within which none goes.
        oldest_ms = batch.now_ms + batch.dedup_window_ms - batch.receipt_window_ms
        if listed is not None and listed.size == len(statuses) and listed.created_ms >= oldest_ms:
            return home
    taken = known.receipts.get(batch.receipt_id)
    if taken is not None and not (known.repeats and taken.group_id == batch.group_id):
        raise Conflict("the receipt id belongs to another call")
    return None


@dataclass(frozen=True, slots=True)
class Holding:
    """Subjects for which an item is counted, so that its tokens can be settled and its bytes given back."""

    tokens: tuple[str, ...]
    bytes: tuple[str, ...]
    day: int  # of the tokens


def counters_of(batches: Iterable[AcceptBatch]) -> list[Counter]:
    """The counters on which these calls depend, sorted: whoever locks them does so in this order."""
    return sorted({each.counter(batch.now_ms) for batch in batches for each in batch.allowances})


def holding_of(batch: AcceptBatch) -> Holding:
    """Of each new item of a call."""
    tokens = [each.subject for each in batch.allowances if each.counted is Counted.MODEL_TOKENS]
    kept = [each.subject for each in batch.allowances if each.counted is Counted.BYTES]
    return Holding(tuple(tokens), tuple(kept), batch.now_ms // DAY_MS)


def charges_of(
    batch: AcceptBatch, fresh: Sequence[NewItem], used: Mapping[Counter, int]
) -> dict[Counter, int]:
    """What the new items of a call add to its counters. QuotaExceeded: more than is left of one of them."""
    charges: dict[Counter, int] = {}
    if not fresh:
        return charges
    amounts = {
        Counted.ITEMS: len(fresh),
        Counted.MODEL_TOKENS: sum(item.tokens for item in fresh),
        Counted.BYTES: sum(len(item.episode.body.encode()) for item in fresh),
    }
    for each in batch.allowances:
        counter, amount = each.counter(batch.now_ms), amounts[each.counted]
        if used.get(counter, 0) + amount > each.limit:
            raise QuotaExceeded(each.name, each.retry_after_ms(batch.now_ms))
        charges[counter] = amount
    return charges


def spending_of(
    allowances: Iterable[Allowance], tokens: int, now_ms: int, used: Mapping[Counter, int] | None
) -> dict[Counter, int]:
    """What tokens add to the counters. QuotaExceeded: more than is left of one of them, where `used` is
    given."""
    charges: dict[Counter, int] = {}
    for each in allowances:
        counter = each.counter(now_ms)
        if used is not None and used.get(counter, 0) + tokens > each.limit:
            raise QuotaExceeded(each.name, each.retry_after_ms(now_ms))
        charges[counter] = tokens
    return charges


def sum_of(charges: Iterable[Mapping[Counter, int]]) -> dict[Counter, int]:
    """Several calls' charges together."""
    total: dict[Counter, int] = {}
    for each in charges:
        for counter, amount in each.items():
            total[counter] = total.get(counter, 0) + amount
    return total


def check_guard(guard: Guard, head: GroupHead, token: int | None) -> None:
    """LeaseLost, RevisionChanged (see GraphStore.apply). `token`: of the lease that is held, if one is."""
    if head.epoch != guard.epoch or guard.token not in (None, token):
        raise LeaseLost("the group is owned by another process or was deleted")
    if head.rev != guard.rev:
        raise RevisionChanged("the group changed since it was read")


def is_repetition(claim: Claim | None, known_hash: str | None) -> bool:
    """Whether the caller's key is known with this input (`known_hash`: that of its last use within the
    window). Conflict: with another."""
    if claim is None or known_hash is None:
        return False
    check_input(known_hash, claim.input_hash)
    return True


def check_delta(
    delta: GraphDelta, started: Collection[str], owners: Mapping[str, str], entities: Collection[str]
) -> None:
    """StaleItems, Conflict (see GraphStore.apply), given what is there of what the delta speaks of.

    `started`: of the items that it requires those that are unfinished and, under a token, started by its
    lease. `owners`: the entities that its names lead to now. `entities`: those that exist.
    """
    stale = tuple(uuid for uuid in delta.requires_items if uuid not in started)
    if stale:
        raise StaleItems(stale)
    written = {entity.uuid for entity in delta.entities}
    free = written.union(delta.remove_entities)  # whose names may go to others
    if any(owner != delta.names[key] and owner not in free for key, owner in owners.items()):
        raise Conflict("a name belongs to another entity")
    there = written.union(entities)
    if not there.issuperset(delta.names.values()):
        raise Conflict("a name points at an entity that does not exist")
    if not all(fact.source_uuid in there and fact.target_uuid in there for fact in delta.facts):
        raise Conflict("a fact points at an entity that does not exist")
