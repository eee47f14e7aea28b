"""The metrics of several processes on one page: every sample gets the label `process`."""

from __future__ import annotations

import http.client
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

_READ_S = 2.0


class ProcessMetrics(Collector):
    """Asks each process for its metrics whenever it is read, and counts restarts of processes."""

    def __init__(self) -> None:
        self.addresses: dict[str, str] = {}  # HOST:PORT of the endpoint of each process that runs, by name
        self.registry = CollectorRegistry(auto_describe=True)
        self.restarts = Counter(
            "process_restarts", "Processes started again after they died", ["process"], registry=self.registry
        )
        self.registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """Every family once. A process that does not answer is absent."""
        families: dict[str, Metric] = {}
        for name, address in sorted(self.addresses.copy().items()):
            for family in text_string_to_metric_families(metrics_page(address)):
                known = families.setdefault(
                    family.name, Metric(family.name, family.documentation, family.type)
                )
                known.samples += [
                    sample._replace(labels=sample.labels | {"process": name}) for sample in family.samples
                ]
        yield from families.values()


def metrics_page(address: str, timeout_s: float = _READ_S) -> str:
    """What the endpoint at HOST:PORT shows; "" if there is no answer. Asks directly, never through a proxy
    that the environment names."""
    connection = http.client.HTTPConnection(address, timeout=timeout_s)
    try:
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()
    except (OSError, http.client.HTTPException):
        return ""
    finally:
        connection.close()
