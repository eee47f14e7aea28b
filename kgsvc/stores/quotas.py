"""What accepted calls use of their quotas: pure, so that every store counts alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kgsvc.domain.errors import QuotaExceeded
from kgsvc.domain.limits import DAY_MS, Allowance, Counted, Counter
from kgsvc.domain.model.items import AcceptBatch, NewItem


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
