"""Ends as earlier versions stored them: facts of their own, called NO_LONGER_X and open. Pure."""

from __future__ import annotations

from dataclasses import replace

from kgsvc.domain.model.graph import EARLIEST_MS, ENDED, Fact, Polarity

PREFIX = "NO_LONGER_"


def as_relation(fact: Fact) -> Fact:
    """The relation that ended, until then and from nobody knows when; any other fact as it is."""
    if fact.polarity is not Polarity.ENDS:
        return fact
    ended_ms = fact.start_ms
    said = (replace(e, stated_invalid_ms=None, said=e.said or fact.fact, says=ENDED) for e in fact.evidence)
    return replace(
        fact,
        name=fact.name.removeprefix(PREFIX),
        polarity=Polarity.ASSERTS,
        valid_ms=None,
        reference_ms=EARLIEST_MS,
        invalid_ms=ended_ms,
        invalid_before_ms=None if fact.expired_ms is None else ended_ms,
        evidence=tuple(sorted(said)),
        beliefs=(),  # they told when it had ended
    )
