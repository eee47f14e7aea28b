"""A Prometheus summary with quantiles, which the client library does not compute."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Sequence

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

_WINDOW = 4_096


class Quantiles(Collector):
    """Quantiles over the last 4,096 observations; count and sum over all of them."""

    def __init__(self, name: str, documentation: str, quantiles: Sequence[float]) -> None:
        self._name = name
        self._documentation = documentation
        self._quantiles = tuple(quantiles)
        self._lock = threading.Lock()  # observed on the event loop, collected in the endpoint's thread
        self._window: deque[float] = deque(maxlen=_WINDOW)
        self._count = 0
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Take one observation in."""
        with self._lock:
            self._window.append(value)
            self._count += 1
            self._sum += value

    def collect(self) -> Iterable[Metric]:
        """The summary as it stands; without observations its quantiles are NaN, as is usual."""
        with self._lock:
            ordered, count, total = sorted(self._window), self._count, self._sum
        metric = Metric(self._name, self._documentation, "summary")
        for q in self._quantiles:
            metric.add_sample(self._name, {"quantile": f"{q:g}"}, _nearest_rank(ordered, q))
        metric.add_sample(f"{self._name}_count", {}, count)
        metric.add_sample(f"{self._name}_sum", {}, total)
        yield metric


def _nearest_rank(ordered: Sequence[float], q: float) -> float:
    if not ordered:
        return float("nan")
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]
