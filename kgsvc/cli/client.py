"""Talking to a running service: the channel, unary calls, and gRPC's failures as sentences."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message

from kgsvc.cli.options import Failure
from kgsvc.config import Client, is_loopback
from kgsvc.v1 import admin_pb2_grpc, envelope_pb2, ingestion_pb2_grpc, retrieval_pb2_grpc

if TYPE_CHECKING:
    from kgsvc.v1.admin_pb2_grpc import AdminServiceAsyncStub
    from kgsvc.v1.ingestion_pb2_grpc import IngestionServiceAsyncStub
    from kgsvc.v1.retrieval_pb2_grpc import RetrievalServiceAsyncStub

MIB = 1024 * 1024
R = TypeVar("R", bound=Message)


class CallRefused(Failure):
    """A call that failed, for people as a sentence, and what programs make of it."""

    def __init__(
        self, sentence: str, code: str, said: str = "", fields: Sequence[tuple[str, str]] = ()
    ) -> None:
        super().__init__(sentence)
        self.code = code  # of the contract, or UNREACHABLE or that of gRPC
        self.said = said or sentence  # without the address of the service
        self.fields = tuple(fields)  # every field that was wrong, with what is wrong with it


@dataclass(frozen=True, slots=True)
class Service:
    """A connected service."""

    ingestion: IngestionServiceAsyncStub
    retrieval: RetrievalServiceAsyncStub
    admin: AdminServiceAsyncStub
    channel: grpc.aio.Channel
    address: str
    timeout_s: float
    metadata: tuple[tuple[str, str], ...] = ()  # of every call: who calls

    async def call(self, method: grpc.aio.UnaryUnaryMultiCallable[Any, R], request: Message) -> R:
        """One call; its answer unless that is an error. Raises CallRefused."""
        try:
            answer = await method(request, timeout=self.timeout_s, metadata=self.metadata)
        except grpc.aio.AioRpcError as error:
            raise self.failure(error) from error
        return accepted(answer)

    def failure(self, error: grpc.aio.AioRpcError) -> CallRefused:
        """A gRPC status in one sentence."""
        details = (error.details() or "").rstrip(".")
        status, code = error.code(), _code_of(error)
        if status is grpc.StatusCode.UNAVAILABLE and code is None:
            sentence = f"no service answers at {self.address}: is `kgsvc serve` running there?"
            return CallRefused(sentence, "UNREACHABLE")
        if status is grpc.StatusCode.DEADLINE_EXCEEDED:
            return CallRefused(f"{self.address} gave no answer within {self.timeout_s:g} s", status.name)
        if status is grpc.StatusCode.UNIMPLEMENTED:
            return CallRefused(
                f"{self.address} does not know this operation: is it a kgsvc service of this version?",
                status.name,
            )
        return CallRefused(f"{self.address} answered {status.name}: {details}", code or status.name, details)


Method: TypeAlias = "Callable[[Service], grpc.aio.UnaryUnaryMultiCallable[Any, R]]"


@asynccontextmanager
async def connect(client: Client) -> AsyncIterator[Service]:
    """A channel to the service that the settings name. Connects with the first call. Raises Failure."""
    options = [("grpc.max_receive_message_length", 8 * MIB), ("grpc.max_send_message_length", 8 * MIB)]
    async with _channel(client, options) as channel:
        yield Service(
            ingestion_pb2_grpc.IngestionServiceStub(channel),
            retrieval_pb2_grpc.RetrievalServiceStub(channel),
            admin_pb2_grpc.AdminServiceStub(channel),
            channel,
            client.server,
            client.timeout_s,
            (("authorization", f"Bearer {client.token}"),) if client.token else (),
        )


async def ask(client: Client, method: Method[R], request: Message) -> R:
    """The answer to one call on a channel of its own. Raises Failure."""
    async with connect(client) as service:
        return await service.call(method(service), request)


def _channel(client: Client, options: list[tuple[str, Any]]) -> grpc.aio.Channel:
    secure = client.tls or client.tls_ca is not None
    if client.token and not secure and not is_loopback(client.server):
        raise Failure(f"the token would travel to {client.server} readable by all: use --ca or client.tls")
    if not secure:
        return grpc.aio.insecure_channel(client.server, options)
    if (client.tls_cert is None) != (client.tls_key is None):
        raise Failure("client.tls_cert and client.tls_key (--cert, --key) must be set together")
    if client.tls_name:
        options.append(("grpc.ssl_target_name_override", client.tls_name))
    pems = (_pem(name, getattr(client, name)) for name in ("tls_ca", "tls_key", "tls_cert"))
    credentials = grpc.ssl_channel_credentials(*pems)
    return grpc.aio.secure_channel(client.server, credentials, options)


def _pem(name: str, path: Path | None) -> bytes | None:
    try:
        return None if path is None else path.read_bytes()
    except OSError as error:
        raise Failure(f"client.{name}: {path} cannot be read: {error.strerror}") from error


def accepted(answer: R) -> R:
    """The answer unless its envelope holds an error. Raises CallRefused with the error's own sentence."""
    envelope: Any = answer
    if envelope.status == envelope_pb2.STATUS_ERROR:
        error: envelope_pb2.Error = envelope.error
        fields = [(each.field, each.description) for each in error.field_violations]
        raise CallRefused(error.message or error.error_code, error.error_code, fields=fields)
    return answer


def retryable(error: grpc.aio.AioRpcError) -> bool:
    """Whether a stream may be opened again: overloaded, gone away, or broken while something was sent."""
    broken = error.code() is grpc.StatusCode.INTERNAL and _code_of(error) is None
    return broken or error.code() in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED}


def _code_of(error: grpc.aio.AioRpcError) -> str | None:
    """The error code that the service names in the trailers; None: gRPC said it, not the service."""
    trailers = dict(error.trailing_metadata() or ())
    code = trailers.get("kgsvc-error-code")
    return None if code is None else str(code)
