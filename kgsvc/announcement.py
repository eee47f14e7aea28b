"""What a service shows of itself: what it reports once it has started, its log, its metrics and probes."""

from __future__ import annotations

import json
import logging
import sys
from contextlib import AsyncExitStack, ExitStack
from dataclasses import asdict, dataclass

from prometheus_client import CollectorRegistry

from kgsvc.config import ConfigError, Settings, split_address
from kgsvc.observability.endpoint import MetricsEndpoint, Probed
from kgsvc.observability.logs import LogWriter
from kgsvc.stores.protocol import StoreInfo


@dataclass(frozen=True, slots=True)
class Running:
    """A running service: where it listens (None: it does not) and what it runs on."""

    address: str | None
    http_address: str | None
    metrics_address: str | None
    store: StoreInfo
    extractor: str
    embedder: str | None

    def to_json(self) -> str:
        """As one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def of_json(cls, line: str | bytes) -> Running:
        """The value that `to_json` wrote."""
        fields = json.loads(line)
        return cls(**{**fields, "store": StoreInfo(**fields["store"])})


def log_writer(settings: Settings) -> LogWriter:
    """What writes the log to standard error until it is closed."""
    level = logging.getLevelNamesMapping()[settings.logging.level.upper()]
    return LogWriter(sys.stderr, level, settings.logging.hash_groups)


def serve_metrics(
    settings: Settings, registry: CollectorRegistry, asked: Probed, stack: ExitStack | AsyncExitStack
) -> str | None:
    """Serve /metrics, /healthz and /readyz until the stack is closed; where (None: none are wanted). Raises
    ConfigError."""
    if not settings.server.metrics_listen:
        return None
    host, port = split_address(settings.server.metrics_listen)
    try:
        endpoint = MetricsEndpoint(registry, port, host, asked)
    except OSError as error:
        raise ConfigError(f"server.metrics_listen: cannot listen on {host}:{port}") from error
    stack.callback(endpoint.close)
    return f"{host}:{endpoint.port}"
