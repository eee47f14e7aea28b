"""What passes between the queue and the pipeline that it drives; the two do not know each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kgsvc.domain.errors import StepError
from kgsvc.domain.items import QueuedItem, Step
from kgsvc.domain.usage import Usage


@dataclass(frozen=True, slots=True)
class Prepared:
    """An item whose model work is done; `work` is the handler's own."""

    item: QueuedItem
    work: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """An item that failed in a step; `stage` is the output of the last step that succeeded, to be kept.

    `usage` is its part of what the failed work cost; None: all that the error tells.
    """

    item: QueuedItem
    step: Step
    error: StepError
    stage: bytes | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class PreparedBatch:
    """The outcome of preparing some items: each is in one of the two."""

    ready: tuple[Prepared, ...]
    failed: tuple[Failure, ...] = ()
