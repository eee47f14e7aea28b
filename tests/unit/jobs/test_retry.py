"""Backoff, parking, lapsed leases (docs/ingestion.md)."""

import random

import pytest

from kgsvc.domain.errors import ModelOutputInvalid, ModelUnavailable
from kgsvc.domain.model.graph import Episode, Source
from kgsvc.domain.model.items import CRASH, FailedItem, ItemState, QueuedItem, Step
from kgsvc.jobs.dispatcher import LapseWatch, Offer, QueueSettings, RetryPolicy

SETTINGS = QueueSettings(attempts_per_step=3, backoff_base_ms=100, backoff_cap_ms=1_000)


def item(**attempts: int) -> QueuedItem:
    return QueuedItem(Episode("u", "g", "b", Source.TEXT, 0, 0), ItemState.ACCEPTED, 0, dict(attempts))


def policy(seed: int = 1) -> RetryPolicy:
    return RetryPolicy(SETTINGS, random.Random(seed))


@pytest.mark.parametrize(
    ("attempt", "low", "high"), [(1, 50, 100), (2, 100, 200), (5, 500, 1000), (99, 500, 1000)]
)
def test_delays_double_up_to_the_cap_and_jitter(attempt: int, low: int, high: int) -> None:
    drawn = {policy(seed).delay_ms(attempt) for seed in range(50)}
    assert min(drawn) >= low
    assert max(drawn) <= high
    assert len(drawn) > 5


def test_a_servers_wish_to_wait_is_granted_up_to_the_cap() -> None:
    assert policy().delay_ms(1, asked_ms=700) == 700
    assert policy().delay_ms(1, asked_ms=10**9) == 1_000


def test_a_failure_is_retried_and_keeps_the_stage() -> None:
    after = policy().after(
        FailedItem(item(extract=1), Step.EXTRACT, ModelUnavailable("429", 400)), now_ms=1_000
    )
    assert (after.state, after.attempts, after.step) == (ItemState.EXTRACT_FAILED, 2, Step.EXTRACT)
    assert after.next_ms >= 1_400
    assert after.keep_stage


def test_the_nth_failure_of_a_step_parks_with_the_reason() -> None:
    after = policy().after(
        FailedItem(item(extract=2), Step.EXTRACT, ModelOutputInvalid("no nodes")), now_ms=5
    )
    assert (after.state, after.reason) == (ItemState.PARKED, "no nodes")


def test_attempts_are_counted_by_step() -> None:
    after = policy().after(FailedItem(item(extract=2), Step.UPSERT, ModelOutputInvalid("x")), now_ms=5)
    assert (after.state, after.attempts) == (ItemState.UPSERT_FAILED, 1)


def test_only_crashes_alone_beyond_n_park() -> None:
    assert policy().after_crashes(item(**{CRASH: 3}), 5) is None
    parked = policy().after_crashes(item(**{CRASH: 4}), 5)
    assert parked is not None
    assert parked.state is ItemState.PARKED


class Hands:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.at = 0.0

    def now_ms(self) -> int:
        return 0

    def monotonic(self) -> float:
        return self.at


def offer(owner: str | None, renewals: int) -> Offer:
    return Offer("g", "g", owner, (3, renewals), None)


def watch(clock: Hands) -> LapseWatch:
    return LapseWatch(clock, 5, "own")


def test_a_lease_lapses_only_after_standing_still_while_watched() -> None:
    watched = watch(clock := Hands())
    held = [offer("other", renewals=7)]
    assert watched.claimable(held) == []
    clock.at = 4.9
    assert watched.claimable(held) == []
    clock.at = 5.0
    assert watched.claimable(held) == held


def test_a_renewal_starts_the_watch_anew() -> None:
    watched = watch(clock := Hands())
    watched.claimable([offer("other", renewals=7)])
    clock.at = 5.0
    assert watched.claimable([offer("other", renewals=8)]) == []
    clock.at = 9.0
    assert watched.claimable([offer("other", renewals=8)]) == []


def test_what_is_no_longer_offered_is_watched_anew() -> None:
    """Or the process would remember every group that ever had an owner."""
    watched = watch(clock := Hands())
    held = [offer("other", renewals=7)]
    watched.claimable(held)
    watched.claimable([])
    clock.at = 5.0
    assert watched.claimable(held) == []
    clock.at = 10.0
    assert watched.claimable(held) == held


@pytest.mark.parametrize("owner", [None, "own"])
def test_a_group_that_is_free_or_its_own_may_be_claimed_at_once(owner: str | None) -> None:
    found = [offer(owner, renewals=0)]
    assert watch(Hands()).claimable(found) == found
