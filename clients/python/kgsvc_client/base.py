"""What the blocking client and the one for asyncio have in common."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from google.protobuf.message_factory import GetMessageClass

from kgsvc_client.connection import Attempts, Connection, Runtime
from kgsvc_client.errors import DeadlineExceeded, KgsvcError, error, from_grpc
from kgsvc_client.operations import FOREVER, WAIT_S, Call, Scope
from kgsvc_client.v1 import admin_pb2, ingestion_pb2, retrieval_pb2
from kgsvc_client.v1.admin_pb2_grpc import AdminServiceStub
from kgsvc_client.v1.ingestion_pb2_grpc import IngestionServiceStub
from kgsvc_client.v1.retrieval_pb2_grpc import RetrievalServiceStub
from kgsvc_client.values import Changes
from kgsvc_client.window import Window

_REQUESTS: dict[str, Any] = {
    method.name: GetMessageClass(method.input_type)
    for module in (admin_pb2, ingestion_pb2, retrieval_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}


class BaseClient:
    """A service, reached over one channel; close it, or use it as a context manager.

    What is left out is read from KGSVC_SERVER, KGSVC_TOKEN, KGSVC_TLS_CA, KGSVC_TLS_CERT, KGSVC_TLS_KEY and
    KGSVC_TLS_NAME. `timeout_s` is how long a call may take with all its attempts.
    """

    _grpc: ClassVar[Any]

    def __init__(
        self,
        server: str | None = None,
        token: str | None = None,
        *,
        tls: bool = False,
        tls_ca: Path | str | None = None,
        tls_cert: Path | str | None = None,
        tls_key: Path | str | None = None,
        tls_name: str | None = None,
        timeout_s: float = 30.0,
        runtime: Runtime = Runtime(),  # noqa: B008
    ) -> None:
        tls_files = {"tls_ca": tls_ca, "tls_cert": tls_cert, "tls_key": tls_key, "tls_name": tls_name}
        self._connection = Connection.of({"server": server, "token": token, "tls": tls, **tls_files})
        self._channel = self._connection.channel(self._grpc)
        # The stubs of the contract, with what to send with each call: for what this client has no word for.
        self.ingestion: Any = IngestionServiceStub(self._channel)
        self.retrieval: Any = RetrievalServiceStub(self._channel)
        self.admin: Any = AdminServiceStub(self._channel)
        self.metadata = self._connection.metadata
        self.client = self
        self.scope = Scope("", timeout_s, runtime)
        stubs = (self.ingestion, self.retrieval, self.admin)
        self._methods = {name: method for stub in stubs for name, method in vars(stub).items()}

    def attempts(self, step: Call) -> Attempts:
        """When a call is tried again."""
        timeout_s = self.scope.timeout_s if step.timeout_s is None else step.timeout_s
        return Attempts(self.scope.runtime, timeout_s, step.tries)

    def request(self, step: Call) -> Any:
        """What a call sends in every attempt."""
        if step.parts is not None:
            return None
        made = _REQUESTS[step.method](request_id=self.scope.runtime.new_id(), input=step.input)
        if step.key is not None:
            made.idempotency_key = step.key
        return made

    def begin(self, step: Call, request: Any, attempts: Attempts) -> Any:
        """One attempt, under way."""
        sent = request if step.parts is None else step.parts()
        return self._methods[step.method](sent, timeout=attempts.left_s, metadata=self.metadata)

    def error(self, failure: Any, request: Any = None) -> KgsvcError:
        """The exception for a gRPC status."""
        return from_grpc(failure, self._connection.address, "" if request is None else request.request_id)


class Following:
    """Where a follower of a group is, and how its attempts fare."""

    def __init__(self, client: BaseClient, group_id: str, cursor: str | None) -> None:
        self._client = client
        self._wanted: dict[str, Any] = {"group_id": group_id, "cursor": cursor}
        self._began()

    def _began(self) -> None:
        step = Call("WatchGroup", self._wanted, timeout_s=WAIT_S, tries=FOREVER)
        self._step, self._attempts = step, self._client.attempts(step)

    def begin(self) -> Any:
        """The stream from here on."""
        return self._client.begin(self._step, self._client.request(self._step), self._attempts)

    def told(self, answer: Any) -> Changes:
        """What a message of the stream says."""
        self._wanted["cursor"] = answer.output.cursor
        self._began()
        return Changes(answer.output)

    def pause_s(self, failure: Any) -> float:
        """How long to wait before the next stream. Raises KgsvcError when there is none. A stream that was
        quiet until its deadline is no failure."""
        found = self._client.error(failure)
        if isinstance(found, DeadlineExceeded):
            self._began()
        return self._attempts.pause_s(found)


class Sending:
    """The state of a stream that survives: what is on its way, and how its attempts fare."""

    def __init__(self, client: BaseClient) -> None:
        self.window = Window()
        self.failed: KgsvcError | None = None  # for good
        self._last: KgsvcError | None = None  # that may pass
        self._attempts = Attempts(client.scope.runtime, FOREVER, FOREVER)
        self._before = 0

    def pause_s(self, failure: KgsvcError | None) -> float | None:
        """A stream has ended: how long to wait before the next one; None: there is none, see `failed`."""
        if self.window.answered > self._before:
            self._attempts.progressed()
        self._before = self.window.answered
        if self.window.done:
            return None
        self._last = failure or error("BROKEN", "the service ended the stream too early")
        try:
            return self._attempts.pause_s(self._last)
        except KgsvcError as hopeless:
            self.failed = hopeless
            return None

    def moved(self, reached: Callable[[], bool]) -> Callable[[], bool]:
        """Whether a wait for something is over, or may go on for another while."""
        before = self.window.answered
        return lambda: reached() or self.failed is not None or self.window.answered > before

    def stalled(self) -> KgsvcError:
        """Nothing was answered for too long."""
        return self._last or error("DEADLINE_EXCEEDED", "nothing was answered in time")
