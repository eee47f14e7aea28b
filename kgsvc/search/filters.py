"""What a caller asks results to fulfil (docs/search.md, Filters); the indexes decide it."""

from __future__ import annotations

from dataclasses import dataclass

from kgsvc.search.times import Named


@dataclass(frozen=True, slots=True)
class Span:
    """A span of time in milliseconds, its end not included; None: open."""

    since_ms: int | None = None
    until_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Filters:
    """All must be fulfilled; what is None or empty asks for nothing.

    `true_at_ms` reads the fact axis: superseded facts count, retracted and corrected ones do not.
    `known_at_ms` reads the system axis: what was believed then, with the ends believed then; alone it answers
    as a search at that time would have.
    """

    entity_types: frozenset[str] = (
        frozenset()
    )  # of an entity, of one at an end of a fact or named in an episode
    relations: frozenset[str] = frozenset()  # of facts
    valid: Span | None = None
    invalid: Span | None = None
    created: Span | None = None
    expired: Span | None = None
    true_at_ms: int | None = None
    known_at_ms: int | None = None
    holding_now: bool = False  # however the question is worded
    past: tuple[Named, ...] | None = (
        None  # facts that held in one of these times; none named: at any; None: now
    )

    @property
    def on_fact_axis(self) -> bool:
        """Whether the past of what was true is asked for, so that superseded facts count."""
        return bool(self.true_at_ms is not None or self.valid or self.invalid or self.past is not None)

    @property
    def needs_holding(self) -> bool:
        """Whether a fact must hold at one time: a span of its own times takes the place of that."""
        return self.true_at_ms is not None or not (
            self.valid or self.invalid or self.expired or self.past is not None
        )

    @property
    def unasked(self) -> bool:
        """Whether nothing is said of when facts must hold, so that the question may say it."""
        return not (self.on_fact_axis or self.expired or self.holding_now)

    @property
    def as_of(self) -> Filters:
        """The times on both axes alone."""
        return Filters(true_at_ms=self.true_at_ms, known_at_ms=self.known_at_ms)

    def at_ms(self, now_ms: int) -> int:
        """The time at which facts must hold."""
        if self.true_at_ms is not None:
            return self.true_at_ms
        return now_ms if self.known_at_ms is None else self.known_at_ms


NONE = Filters()
