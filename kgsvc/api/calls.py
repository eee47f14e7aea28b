"""One call as the logs and metrics see it (spec 004 §14). Nothing here holds what was said in it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass

from kgsvc.observability.metrics import Metrics

log = logging.getLogger("kgsvc.request")
_GROUPS_LOGGED = 8


@dataclass(slots=True)
class Call:
    """Filled in while a call goes on; written down when it ends."""

    operation: str
    request_id: str  # generated; replaced by the caller's once that is read
    native_errors: bool = False  # the caller asked for gRPC statuses (design §2)
    group_ids: tuple[str, ...] = ()
    status: str = ""  # of the envelope
    error_code: str | None = None
    outcome: str = "success"  # success | refused (the operation's own no) | failed | cancelled
    items: int | None = None  # of a stream
    refused_items: int | None = None
    ends_s: float | None = None  # by the monotonic clock, when its caller stops waiting; None: nobody said

    def refuse(self, error_code: str, *, outcome: str = "refused") -> None:
        """It came to nothing, for this reason."""
        self.status, self.error_code, self.outcome = "ERROR", error_code, outcome


current_call: ContextVar[Call] = ContextVar("current_call")


def record(call: Call, latency_ms: float, metrics: Metrics) -> None:
    """Write the call's log line and count it."""
    metrics.requests.labels(call.operation, call.outcome, call.error_code or "").inc()
    metrics.request_latency.labels(call.operation).observe(latency_ms)
    log.info(
        "%s %s",
        call.operation,
        call.outcome,
        extra={
            "request_id": call.request_id,
            "operation": call.operation,
            "group_id": _shown(call.group_ids),
            "status": call.status or None,
            "latency_ms": round(latency_ms, 3),
            "outcome": call.outcome,
            "error_code": call.error_code,
            "items": call.items,
            "refused_items": call.refused_items,
        },
    )


def _shown(group_ids: Sequence[str]) -> str | list[str] | None:
    if len(group_ids) == 1:
        return group_ids[0]
    return list(group_ids[:_GROUPS_LOGGED]) or None
