"""gRPC's asyncio part stays up between tests."""

import asyncio
from collections.abc import Iterator

import grpc.aio
import pytest


@pytest.fixture(scope="session", autouse=True)
def keep_grpc() -> Iterator[None]:
    """Hold one reference: with the last channel or server gone it would join its thread, wherever the
    garbage collector happens to run, and start anew in the next test."""

    async def begin() -> None:
        grpc.aio.init_grpc_aio()

    async def end() -> None:
        grpc.aio.shutdown_grpc_aio()

    with asyncio.Runner() as runner:
        runner.run(begin())
        yield
        runner.run(end())
