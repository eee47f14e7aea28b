"""How the queue behaves; built by config."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Annotated

from kgsvc.domain.errors import ModelUnavailable
from kgsvc.domain.limits import FROM_ZERO, Fixed
from kgsvc.domain.model.items import CRASH, FailedItem, ItemState, QueuedItem, Transition


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """Times in seconds unless the name says milliseconds."""

    micro_batch: Annotated[int, Fixed] = 32  # items of one commit; more brings little (bench.beside_graphiti)
    batches_ahead: Annotated[int, Fixed] = 3  # micro-batches of one group prepared at the same time
    batch_bytes: Annotated[int, Fixed] = 4 * 1024 * 1024  # of bodies in a micro-batch
    groups_at_once: int = 8  # groups that one process works on at the same time
    batches_a_turn: int = 8  # then a group makes room if others wait
    attempts_per_step: Annotated[int, Fixed] = 5  # N; the limit of that name
    backoff_base_ms: int = 500
    backoff_cap_ms: int = 60_000
    lease_s: float = 5.0  # a lease whose counter stands still for so long has lapsed
    poll_s: float = 0.1  # between two looks for other processes' changes, jittered
    drain_s: Annotated[float, FROM_ZERO] = 20.0  # for running batches at shutdown


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

    def after(self, failure: FailedItem, now_ms: int) -> Transition:
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
        reason = f"the process crashed {limit} times while it worked on this item alone"
        return Transition(item.episode.uuid, ItemState.PARKED, now_ms, reason=reason, keep_stage=True)
