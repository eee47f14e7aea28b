"""Bounded exponential backoff, and parking after N attempts of one step (spec 004 §5, §11)."""

from __future__ import annotations

import random

from kgsvc.domain.errors import ModelUnavailable
from kgsvc.domain.items import CRASH, ItemState, QueuedItem, Transition
from kgsvc.domain.work import Failure
from kgsvc.queue.settings import QueueSettings


class RetryPolicy:
    """Turns failures into transitions."""

    def __init__(self, settings: QueueSettings, rng: random.Random) -> None:
        self._settings = settings
        self._rng = rng

    def delay_ms(self, attempt: int, asked_ms: int | None = None) -> int:
        """How long to wait before trying again after the `attempt`-th failure: doubled each time, up to
        the cap, the last half of it random; not less than a server asked for."""
        settings = self._settings
        full = min(settings.backoff_cap_ms, settings.backoff_base_ms << min(attempt - 1, 20))
        drawn = full // 2 + int(self._rng.random() * (full - full // 2))
        return max(drawn, min(asked_ms or 0, settings.backoff_cap_ms))

    def after(self, failure: Failure, now_ms: int) -> Transition:
        """The failure substate with its next attempt, or PARKED with the reason."""
        item, step, error = failure.item, failure.step, failure.error
        attempt = item.attempts.get(step.value, 0) + 1
        parked = attempt >= self._settings.attempts_per_step
        asked = error.retry_after_ms if isinstance(error, ModelUnavailable) else None
        return Transition(
            uuid=item.episode.uuid,
            state=ItemState.PARKED if parked else step.failed,
            now_ms=now_ms,
            step=step,
            attempts=attempt,
            reason=str(error) or type(error).__name__,
            next_ms=0 if parked else now_ms + self.delay_ms(attempt, asked),
            stage=failure.stage,
            keep_stage=failure.stage is None,
            usage=error.usage if failure.usage is None else failure.usage,
        )

    def after_crashes(self, item: QueuedItem, now_ms: int) -> Transition | None:
        """PARKED for an item during which the process died N times while it ran alone."""
        limit = self._settings.attempts_per_step
        if item.attempts.get(CRASH, 0) <= limit:
            return None
        reason = f"the process died {limit} times while it worked on this item alone"
        return Transition(item.episode.uuid, ItemState.PARKED, now_ms, reason=reason, keep_stage=True)
