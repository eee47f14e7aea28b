"""Where spans go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kgsvc.domain.limits import Range


@dataclass(frozen=True, slots=True)
class Tracing:
    """Spans of calls, items and model calls, sent by OTLP over gRPC."""

    endpoint: str = ""  # of the collector, such as http://127.0.0.1:4317; "": nothing is traced
    share: Annotated[float, Range(0, 1)] = 1.0  # of the calls whose caller does not say whether to trace
