"""What a client finds before it calls an operation: reflection, health, ports, every method served."""

import asyncio
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from kgsvc.api.server import SERVICES, KgServer, ServerSettings
from kgsvc.domain.errors import StoreUnavailable
from kgsvc.stores.protocol import Store
from kgsvc.v1 import envelope_pb2
from tests.support.requests import METHODS
from tests.support.served import Serve, Stack, Wrapped
from tests.unit.api.samples import call, request

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


async def _reflect(stack: Stack, **asked: Any) -> reflection_pb2.ServerReflectionResponse:
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(stack.client.channel)  # type: ignore[arg-type]
    made: Any = reflection_pb2.ServerReflectionRequest
    return await anext(aiter(stub.ServerReflectionInfo(iter([made(**asked)]))))


async def test_reflection_lists_every_service_and_describes_it(stack: Stack) -> None:
    listed = await _reflect(stack, list_services="")
    names = {service.name for service in listed.list_services_response.service}
    assert names == {
        "kgsvc.v1.IngestionService",
        "kgsvc.v1.RetrievalService",
        "kgsvc.v1.AdminService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
    }
    for service in SERVICES:
        described = await _reflect(stack, file_containing_symbol=service.full_name)
        assert described.file_descriptor_response.file_descriptor_proto


@pytest.mark.parametrize("name", METHODS)
async def test_every_method_answers_a_sound_request(stack: Stack, name: str) -> None:
    response = await call(stack.client.channel, name, request(name).SerializeToString())
    assert response.status != envelope_pb2.STATUS_UNSPECIFIED
    assert response.error.error_code in ("", "NOT_FOUND")


async def test_health_names_every_service(stack: Stack) -> None:
    health: Any = stack.client.health
    for name in ("", *(service.full_name for service in SERVICES)):
        assert (await health.Check(health_pb2.HealthCheckRequest(service=name))).status == SERVING


async def test_health_follows_the_store(serve: Serve) -> None:
    broken = asyncio.Event()

    def wrap(store: Store) -> Wrapped:
        async def info() -> Any:
            if broken.is_set():
                raise StoreUnavailable("gone")
            return await store.info()

        return Wrapped(store, info=info)

    async with serve(wrap=wrap, settings=ServerSettings(readiness_s=0.25, grace_s=0.1)) as stack:
        health: Any = stack.client.health
        seen = aiter(health.Watch(health_pb2.HealthCheckRequest(service="")))
        assert (await anext(seen)).status == SERVING
        broken.set()
        assert (await anext(seen)).status == NOT_SERVING
        broken.clear()
        assert (await anext(seen)).status == SERVING
        stopping = asyncio.create_task(stack.server.stop())
        assert (await anext(seen)).status == NOT_SERVING
        await stopping


async def test_a_port_in_use_is_an_error(stack: Stack) -> None:
    other = KgServer(stack.core, stack.served)
    with pytest.raises(RuntimeError):
        other.listen(stack.client.address)


async def test_no_call_is_taken_after_the_stop(stack: Stack) -> None:
    await stack.server.stop()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(stack.client.channel, "Healthcheck", b"", timeout_s=2)
    assert caught.value.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
