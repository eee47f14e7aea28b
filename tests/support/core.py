"""A Core for commands that are tested without a server."""

import random
from typing import Any

from kgsvc.commands.core import Core
from kgsvc.domain.limits import Limits
from kgsvc.jobs.activity import ActivityWatch
from kgsvc.observability.metrics import Metrics
from kgsvc.runtime import SystemClock


def core_of(store: Any, **parts: Any) -> Core:
    """A Core over `store`, without an embedder; keywords set other parts."""
    rng = random.Random(1)
    given = {"clock": SystemClock(), "rng": rng, "limits": Limits(), "metrics": Metrics(), **parts}
    return Core(store=store, activity=ActivityWatch(store, 0.01, rng), **given)
