"""Where the service is, who calls, and when a call is tried again."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from kgsvc_client.errors import KgsvcError

ADDRESS = "127.0.0.1:50051"
_MIB = 1024 * 1024
_LOOPBACK = ("127.", "localhost:", "[::1]:", "unix:")
_CHANNEL = [
    ("grpc.max_receive_message_length", 8 * _MIB),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),
    ("grpc.max_reconnect_backoff_ms", 5_000),
]
TRIES = 5
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0


@dataclass(frozen=True, slots=True)
class Runtime:
    """Time and chance; tests give their own."""

    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    chance: Callable[[], float] = random.random
    new_id: Callable[[], str] = lambda: os.urandom(16).hex()


@dataclass(frozen=True, slots=True)
class Connection:
    """The address of the service, and what proves who calls."""

    address: str
    token: str = field(default="", repr=False)
    tls: bool = False
    ca: Path | None = None  # PEM to trust instead of the usual authorities
    cert: Path | None = None  # PEM of the caller's own certificate, and its key
    key: Path | None = None
    name: str = ""  # in the service's certificate, where that is not the address

    @classmethod
    def of(cls, given: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> Connection:
        """What is given, and else what KGSVC_SERVER, KGSVC_TOKEN, KGSVC_TLS_CA, KGSVC_TLS_CERT, KGSVC_TLS_KEY
        and KGSVC_TLS_NAME say. Raises ValueError."""

        def value(name: str, variable: str) -> Any:
            return given.get(name) if given.get(name) is not None else environ.get(variable) or None

        ca, cert, key = (
            Path(found) if (found := value(f"tls_{name}", f"KGSVC_TLS_{name.upper()}")) else None
            for name in ("ca", "cert", "key")
        )
        if (cert is None) != (key is None):
            raise ValueError("tls_cert and tls_key must be given together")
        made = cls(
            value("server", "KGSVC_SERVER") or ADDRESS,
            value("token", "KGSVC_TOKEN") or "",
            bool(given.get("tls")) or ca is not None or cert is not None,
            ca,
            cert,
            key,
            value("tls_name", "KGSVC_TLS_NAME") or "",
        )
        if made.token and not made.tls and not made.address.startswith(_LOOPBACK):
            raise ValueError(
                f"the token would travel to {made.address} readable by all: use tls=True or tls_ca"
            )
        return made

    def channel(self, grpc_api: Any) -> Any:
        """A channel of `grpc` or of `grpc.aio`, which connects with the first call. Raises OSError."""
        options: list[tuple[str, Any]] = list(_CHANNEL)
        if not self.tls:
            return grpc_api.insecure_channel(self.address, options=options)
        if self.name:
            options.append(("grpc.ssl_target_name_override", self.name))
        pems = (None if path is None else path.read_bytes() for path in (self.ca, self.key, self.cert))
        credentials = grpc.ssl_channel_credentials(*pems)
        return grpc_api.secure_channel(self.address, credentials, options=options)

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Of every call: errors come as gRPC statuses; who calls."""
        asked = (("kgsvc-errors", "status"),)
        return (*asked, ("authorization", f"Bearer {self.token}")) if self.token else asked


class Attempts:
    """When a call is tried again: after what may pass, for as long as it may take and not too often."""

    def __init__(self, runtime: Runtime, within_s: float, tries: float = TRIES) -> None:
        self._runtime = runtime
        self._until = runtime.monotonic() + within_s
        self._tries = tries
        self._failed = 0

    @property
    def left_s(self) -> float:
        """Until the deadline; never quite nothing, since a call without time is one without a deadline."""
        return max(self._until - self._runtime.monotonic(), 0.001)

    def progressed(self, tries: float | None = None) -> None:
        """Something came of it: pauses begin anew, or there is `tries` more only."""
        self._failed = 0
        self._tries = self._tries if tries is None else tries

    def pause_s(self, error: KgsvcError) -> float:
        """How long to wait before the next attempt. Raises the error when there is none."""
        self._failed += 1
        pause = min(_FIRST_PAUSE_S * 2.0 ** min(self._failed - 1, 16), _LONGEST_PAUSE_S)
        pause *= 0.5 + self._runtime.chance() / 2
        if error.retry_after_s is not None:
            pause += error.retry_after_s
        if not error.retryable or self._failed >= self._tries or pause >= self.left_s:
            raise error
        return pause
