"""The history of beliefs: a fact as it was held at an earlier system time. Pure.

A row is changed in place: it expires, is bounded, reopened, reworded, or begins earlier than was thought.
What it said before is appended to its `beliefs`. An expiry alone is not: `expired_ms` and `invalid_before_ms`
tell as much, and it is what happens to most facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kgsvc.domain.model.beliefs import Belief
from kgsvc.domain.model.graph import Fact

MOST = 32  # beliefs that a fact keeps; of older times the oldest kept one is told


def remembering(was: Fact, fact: Fact, system_ms: int) -> Fact:
    """`fact` with the beliefs of the stored row `was`, which it replaces at `system_ms`, and what that row
    said itself if it said something else."""
    if _held(was) == _held(fact) or _merely_expired(was, fact, system_ms):
        beliefs = was.beliefs
    else:
        beliefs = past_of(was)
        if system_ms > _since_ms(was, beliefs):  # else nobody could have read it
            beliefs = (*beliefs, _belief(was, system_ms))
    if was.fact != fact.fact:
        beliefs = tuple(replace(each, fact=each.fact or was.fact) for each in beliefs)
    beliefs = beliefs[-MOST:]
    return fact if fact.beliefs == beliefs else replace(fact, beliefs=beliefs)


def all_remembering(stored: Iterable[Fact], written: Mapping[str, Fact], system_ms: int) -> dict[str, Fact]:
    """`written`, by uuid, each with the beliefs of the stored row that it replaces."""
    before = {fact.uuid: fact for fact in stored}
    return {
        uuid: remembering(before[uuid], fact, system_ms) if uuid in before else fact
        for uuid, fact in written.items()
    }


def past_of(fact: Fact) -> tuple[Belief, ...]:
    """Every belief before the present one, the oldest first; the one that its expiry ended included."""
    beliefs, expired_ms = fact.beliefs, fact.expired_ms
    if expired_ms is None or expired_ms <= _since_ms(fact, beliefs):
        return beliefs
    before = Belief(expired_ms, fact.valid_ms, fact.reference_ms, fact.invalid_before_ms)
    return (*beliefs, before)


def as_known_at(fact: Fact, known_ms: int | None) -> Fact:
    """The fact as it was held at a system time; as it is now for None."""
    if known_ms is None:
        return fact
    held = next((each for each in past_of(fact) if known_ms < each.until_ms), None)
    if held is None:
        return fact
    if held.expired_ms is None:
        fact = replace(fact, expired_by_fact=None, expired_by_episode=None, retract_reason=None)
    return replace(
        fact,
        valid_ms=held.valid_ms,
        reference_ms=held.reference_ms,
        invalid_ms=held.invalid_ms,
        expired_ms=held.expired_ms,
        expired_reason=held.expired_reason,
        fact=held.fact or fact.fact,
    )


def _since_ms(fact: Fact, beliefs: tuple[Belief, ...]) -> int:
    """When the present belief began, or the one before an expiry."""
    return beliefs[-1].until_ms if beliefs else fact.created_ms


def _merely_expired(was: Fact, fact: Fact, system_ms: int) -> bool:
    if was.expired_ms is not None or fact.expired_ms != system_ms:
        return False
    before = replace(fact, invalid_ms=fact.invalid_before_ms, expired_ms=None, expired_reason=None)
    return _held(was) == _held(before)


def _held(fact: Fact) -> tuple[object, ...]:
    """What a belief is about."""
    interval = (fact.valid_ms, fact.start_ms, fact.invalid_ms)
    return (*interval, fact.expired_ms, fact.expired_reason, fact.fact)


def _belief(fact: Fact, until_ms: int) -> Belief:
    interval = (fact.valid_ms, fact.reference_ms, fact.invalid_ms)
    return Belief(until_ms, *interval, fact.expired_ms, fact.expired_reason)
