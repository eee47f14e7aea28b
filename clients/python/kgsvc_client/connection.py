"""Where the service is, who calls, and when a call is tried again."""

import os
import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import grpc

from kgsvc_client.errors import DeadlineExceeded, KgsvcError

T = TypeVar("T")
_MIB = 1024 * 1024
_VARIABLES = ("server", "token", "tls_ca", "tls_cert", "tls_key", "tls_name")
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
FOREVER = float("inf")
ALWAYS_S = 10 * 365 * 86_400.0
WAIT_S = 600.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0


@dataclass(frozen=True, slots=True)
class Runtime:
    """Time and chance; tests give their own."""

    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    chance: Callable[[], float] = random.random
    new_id: Callable[[], str] = lambda: os.urandom(16).hex()


class Connection:
    """The address of the service, and what proves who calls: as given, or else as the environment says."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        """Raises ValueError where the two do not go together."""
        said = {name: each for name, each in given.items() if each is not None}
        told = {name: os.environ.get(f"KGSVC_{name.upper()}") for name in _VARIABLES}
        self._set = {name: each for name, each in (told | said).items() if each}
        self.address: str = self._set.get("server", "127.0.0.1:50051")
        # Of every call: errors come as gRPC statuses; who calls.
        self.metadata = [("kgsvc-errors", "status")]
        if token := self._set.get("token"):
            self.metadata.append(("authorization", f"Bearer {token}"))
        self._tls = bool({"tls", "tls_ca", "tls_cert"} & self._set.keys())
        if ("tls_cert" in self._set) != ("tls_key" in self._set):
            raise ValueError("tls_cert and tls_key must be given together")
        if token and not self._tls and not self.address.startswith(_LOOPBACK):
            raise ValueError(
                f"the token would travel to {self.address} readable by all: use tls=True or tls_ca"
            )

    def channel(self, grpc_api: Any) -> Any:
        """A channel of `grpc` or of `grpc.aio`, which connects with the first call. Raises OSError."""
        options: list[tuple[str, Any]] = list(_CHANNEL)
        if not self._tls:
            return grpc_api.insecure_channel(self.address, options=options)
        if "tls_name" in self._set:
            options.append(("grpc.ssl_target_name_override", self._set["tls_name"]))
        paths = (self._set.get(name) for name in ("tls_ca", "tls_key", "tls_cert"))
        credentials = grpc.ssl_channel_credentials(*(path and Path(path).read_bytes() for path in paths))
        return grpc_api.secure_channel(self.address, credentials, options=options)


@dataclass(slots=True)
class Call(Generic[T]):
    """A call, and what becomes of its answers. It may be sent again after a failure that passes: it reads, or
    the service knows what it was sent before."""

    method: str
    input: Mapping[str, Any] = field(default_factory=dict)  # looked at in each attempt
    beside: Mapping[str, Any] = field(default_factory=dict)  # of the request: an idempotency key
    timeout_s: float | None = None  # with all attempts; None: that of the client
    tries: float = TRIES
    parts: Callable[[], Iterable[Any]] | None = None  # the requests, if they are a stream
    streams: bool = False  # whether there are any number of answers
    once_begun: bool = False  # whether nothing is tried again after the first of them
    endless: bool = False  # whether it goes on after its end, and `timeout_s` is since the last answer
    view: Callable[[Any], T] = lambda output: output  # gets the output, or each answer of a stream


class Attempts:
    """Those of a call: another one after what may pass, for as long as it may take and not too often."""

    failure: KgsvcError | None = None  # of the last one, if nothing was answered since
    stream: Any = None  # the one that is open
    _failed = 0

    def __init__(self, runtime: Runtime, step: Call[Any], timeout_s: float, request_id: str = "") -> None:
        self.request_id = request_id
        self._runtime = runtime
        self._step = step
        self._within_s = timeout_s if step.timeout_s is None else step.timeout_s
        self._until = runtime.monotonic() + self._within_s
        self._tries = FOREVER if step.endless else step.tries

    @property
    def left_s(self) -> float:
        """Until the deadline; never quite nothing, since a call without time is one without a deadline."""
        return max(self._until - self._runtime.monotonic(), 0.001)

    def progressed(self) -> None:
        """Something came of it: pauses begin anew."""
        self._failed, self.failure = 0, None
        if self._step.once_begun:
            self._tries = 1
        if self._step.endless:
            self._until = self._runtime.monotonic() + self._within_s

    def cancel(self) -> bool:
        """End the open stream, if it can be: those of interceptors, as of OpenTelemetry, end when dropped."""
        can = hasattr(self.stream, "cancel")
        if can:
            self.stream.cancel()
        return can

    def pause_s(self, error: KgsvcError) -> float:
        """How long to wait before the next attempt. Raises the error when there is none."""
        if self._step.endless and isinstance(error, DeadlineExceeded):
            self.progressed()  # it was quiet until then
        self.failure = error
        self._failed += 1
        pause = min(_FIRST_PAUSE_S * 2.0 ** min(self._failed - 1, 16), _LONGEST_PAUSE_S)
        pause *= 0.5 + self._runtime.chance() / 2
        pause += error.retry_after_s or 0.0
        if not error.retryable or self._failed >= self._tries or pause >= self.left_s:
            raise error
        return pause
