"""A server that follows a script."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message_factory import GetMessageClass

from tests.support.contract import METHODS, path, response_class


@asynccontextmanager
async def serving(name: str, handler: Callable[..., Any]) -> AsyncIterator[str]:
    """The address of a server that answers one method, of streams, by a handler, and knows no other."""
    sends = METHODS[name].client_streaming
    kind = grpc.stream_stream_rpc_method_handler if sends else grpc.unary_stream_rpc_method_handler
    serves = kind(
        handler,
        request_deserializer=GetMessageClass(METHODS[name].input_type).FromString,
        response_serializer=response_class(name).SerializeToString,
    )
    server = grpc.aio.server()
    service = path(name).split("/")[1]
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {name: serves}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)
