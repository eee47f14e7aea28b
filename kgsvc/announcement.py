"""What a service reports once it has started, and where it serves its metrics."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack, ExitStack
from dataclasses import asdict, dataclass

from prometheus_client import CollectorRegistry

from kgsvc.config import ConfigError, Settings, split_address
from kgsvc.observability.metrics import MetricsEndpoint
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


def serve_metrics(
    settings: Settings, registry: CollectorRegistry, stack: ExitStack | AsyncExitStack
) -> str | None:
    """Serve /metrics until the stack is closed; where (None: none is wanted). Raises ConfigError."""
    if not settings.server.metrics_listen:
        return None
    host, port = split_address(settings.server.metrics_listen)
    try:
        endpoint = MetricsEndpoint(registry, port, host)
    except OSError as error:
        raise ConfigError(f"server.metrics_listen: cannot listen on {host}:{port}") from error
    stack.callback(endpoint.close)
    return f"{host}:{endpoint.port}"
