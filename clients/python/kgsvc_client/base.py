"""What the blocking client and the one for asyncio have in common."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from google.protobuf.descriptor_pool import Default
from google.protobuf.message_factory import GetMessageClass

from kgsvc_client.connection import ALWAYS_S, Attempts, Call, Connection, Runtime
from kgsvc_client.errors import KgsvcError, error, from_grpc
from kgsvc_client.operations import Scope
from kgsvc_client.v1.admin_pb2_grpc import AdminServiceStub
from kgsvc_client.v1.ingestion_pb2_grpc import IngestionServiceStub
from kgsvc_client.v1.retrieval_pb2_grpc import RetrievalServiceStub
from kgsvc_client.window import Window

_TOKEN = "kgsvc-consistency-token"  # names what was written and read so far
_SERVICES = (IngestionServiceStub, RetrievalServiceStub, AdminServiceStub)


class BaseClient(Scope):
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
        super().__init__(runtime, "")
        tls_files = {"tls_ca": tls_ca, "tls_cert": tls_cert, "tls_key": tls_key, "tls_name": tls_name}
        self._connection = Connection({"server": server, "token": token, "tls": tls, **tls_files})
        self._channel = self._connection.channel(self._grpc)
        # The stubs of the contract, with what to send with each call: for what this client has no word for.
        stubs: list[Any] = [stub(self._channel) for stub in _SERVICES]
        self.ingestion, self.retrieval, self.admin = stubs
        self.metadata = self._connection.metadata
        self.client = self
        self.timeout_s = timeout_s
        self._request_ids = map(f"{runtime.new_id()}-{{}}".format, count())
        self._methods: dict[str, tuple[Any, Any]] = {
            method.name: (GetMessageClass(method.input_type), getattr(stub, method.name))
            for stub in stubs
            for method in Default()
            .FindServiceByName(f"kgsvc.v1.{type(stub).__name__.removesuffix('Stub')}")
            .methods
        }

    def attempts(self, step: Call[Any]) -> Attempts:
        """Those of a call, of which none has begun."""
        return Attempts(self.runtime, step, self.timeout_s, next(self._request_ids))

    def begin(self, step: Call[Any], attempts: Attempts) -> Any:
        """One attempt: its answer, or its answers."""
        request, method = self._methods[step.method]
        if step.parts is None:
            sent = request(request_id=attempts.request_id, input=step.input, **step.beside)
        else:
            sent = step.parts()
        method = getattr(method, "with_call", method)  # of a blocking call: with what comes behind the answer
        return method(sent, timeout=attempts.left_s, metadata=self.metadata)

    def saw(self, trailers: Any, answer: Any = None) -> None:
        """Calls from here on see what one did that has ended so, or an item that was answered so."""
        if token := dict(trailers or ()).get(_TOKEN) or getattr(answer, "consistency_token", None):
            self.metadata = [*self._connection.metadata, (_TOKEN, token)]

    def error(self, failure: Any, attempts: Attempts) -> KgsvcError:
        """The exception for a gRPC status."""
        return from_grpc(failure, self._connection.address, attempts.request_id)


class Sending:
    """One run of `stream`, but for what waits: the caller puts items, and a call sends them."""

    _answered: Callable[[Any], None]
    _requests: Callable[[], Any]  # what a new stream sends

    def __init__(self, group: Any) -> None:
        self._client = group.client
        self._window = Window(group.id)
        self._step = Call(
            "StreamEpisodes", timeout_s=ALWAYS_S, parts=self._requests, endless=True, view=self._answered
        )
        self._attempts: Attempts = self._client.attempts(self._step)
        self._failed: Exception | None = None  # for good

    def _moved(self, reached: Callable[[], bool]) -> Callable[[], bool]:
        """Whether a wait is over, or may go on for another while. Raises what the stream failed with."""
        if self._failed is not None:
            raise self._failed
        before = self._window.answered
        return lambda: reached() or self._failed is not None or self._window.answered > before

    def _stalled(self) -> KgsvcError:
        """Nothing was answered for too long: since the last stream broke, or on one that is open."""
        return self._attempts.failure or error("DEADLINE_EXCEEDED", "nothing was answered in time")
