"""Two stores under the same calls, and what of their answers must be equal."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from kgsvc.domain.errors import KgError, OperationError, StoreUnavailable
from kgsvc.domain.model.delta import GroupHead, StaleItems
from kgsvc.domain.model.items import Accepted, GroupWork, ItemState, ItemStatus, Lease, QueuedItem, Receipt
from kgsvc.stores.protocol import Store
from tests.support.model_rows import GROUP_DELETED

Comparable = Any  # built of tuples, dicts and frozen dataclasses


@dataclass
class Side:
    """One store, with the handles it gave out; both sides hold theirs at the same places."""

    store: Store
    leases: dict[str, list[Lease]] = field(default_factory=dict)
    sights: list[GroupWork] = field(default_factory=list)
    bases: dict[str, GroupHead] = field(default_factory=dict)  # heads where the present epochs began
    marks: dict[str, list[int]] = field(default_factory=dict)  # revisions seen in the present epoch

    async def head(self, group_id: str) -> GroupHead:
        """The head as it is; zeros for an unknown group."""
        return (await self.store.heads([group_id])).get(group_id, GroupHead(group_id))

    async def begin_epoch(self, group_id: str) -> None:
        """Remember where the epoch begins: stores may count on or anew."""
        self.bases[group_id] = await self.head(group_id)
        self.marks[group_id] = [0]

    def relative(self, head: GroupHead) -> tuple[int, int, int]:
        """Revision and epoch from where the epoch began; last_ms once something was written since."""
        base = self.bases[head.group_id]
        rev = head.rev - base.rev
        return rev, head.epoch - base.epoch, head.last_ms if rev else 0


@dataclass
class Twins:
    """The model, which is right by definition, and the store that is compared with it."""

    model: Side
    real: Side

    async def agree(self, what: str, call: Callable[[Side], Awaitable[Comparable]]) -> Comparable:
        """The answer of both stores; AssertionError when they differ."""
        wanted = await outcome(call(self.model))
        found = await outcome(call(self.real))
        assert found == wanted, difference(what, found, wanted)
        return wanted


async def outcome(call: Awaitable[Comparable]) -> Comparable:
    """The comparable answer of a call, or of its refusal."""
    try:
        return await call
    except StoreUnavailable:
        raise
    except (KgError, StaleItems) as error:
        return refusal(error)


def refusal(error: Exception) -> Comparable:
    """What two stores must have in common when they refuse."""
    named: Iterable[str] = ()
    if isinstance(error, StaleItems):
        named = error.uuids
    elif isinstance(error, OperationError):
        named = [violation.field for violation in error.violations]
    return ("refused", type(error).__name__, tuple(sorted(set(named))))


def answer(result: Accepted | Exception) -> Comparable:
    """One result of accept."""
    if isinstance(result, Exception):
        return refusal(result)
    return result.receipt_id, tuple(map(status, result.items))


def receipt(found: Receipt | None) -> Comparable:
    """A receipt."""
    if found is None:
        return None
    return found.receipt_id, found.group_id, found.created_ms, tuple(map(status, found.items))


def status(item: ItemStatus) -> Comparable:
    """An item's status; of one that is gone only what is promised."""
    gone = item.state is ItemState.DELETED or item.reason == GROUP_DELETED
    return (item.group_id, item.uuid, item.state, item.reason, item.duplicate) if gone else item


def queued(item: QueuedItem) -> QueuedItem:
    """A queued item without counts of zero."""
    return replace(item, attempts={step: count for step, count in item.attempts.items() if count})


def difference(what: str, found: Comparable, wanted: Comparable) -> str:
    """Where two answers differ, as deep as the parts can be told apart."""
    if type(found) is type(wanted):
        if isinstance(found, dict):
            for key in sorted({*found, *wanted}, key=repr):
                if found.get(key) != wanted.get(key):
                    return difference(f"{what}[{key!r}]", found.get(key), wanted.get(key))
        if isinstance(found, tuple) and len(found) == len(wanted):
            for n, (left, right) in enumerate(zip(found, wanted, strict=True)):
                if left != right:
                    return difference(f"{what}[{n}]", left, right)
    return f"{what}:\n  store: {found!r}\n  model: {wanted!r}"
