"""What became of items, as the queue tells it: metrics and log lines."""

from __future__ import annotations

import logging

from kgsvc.domain.model.items import FailedItem, Step
from kgsvc.observability.metrics import Metrics

log = logging.getLogger(__name__)


class Outcomes:
    """A jobs.groups.Observer."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._by_step = {Step.EXTRACT: metrics.extraction_failures, Step.EMBED: metrics.embedding_failures}

    def completed(self, group_id: str, count: int) -> None:
        """See jobs.groups.Observer."""
        self._metrics.ingestion_processed.inc(count)

    def failed(self, failure: FailedItem, attempt: int) -> None:
        """See jobs.groups.Observer."""
        self._metrics.ingestion_failed.inc()
        self._by_step.get(failure.step, self._metrics.upsert_conflicts).inc()
        log.warning(
            "attempt failed",
            extra={
                "group_id": failure.item.episode.group_id,
                "item": failure.item.episode.uuid,
                "step": failure.step.value,
                "attempt": attempt,
                "reason": str(failure.error),
            },
        )

    def parked(self, group_id: str, uuid: str, reason: str) -> None:
        """See jobs.groups.Observer."""
        self._metrics.parked_items.inc()
        log.error("item parked", extra={"group_id": group_id, "item": uuid, "reason": reason})
