"""Fixtures and hooks for all tests."""

import asyncio
from collections.abc import Iterator

import grpc.aio
import pytest
from blockbuster import blockbuster_ctx

from tests.support.neo4j_fixture import neo4j_servers
from tests.support.quick import pytest_configure, pytest_ignore_collect, pytest_itemcollected
from tests.support.shares import (
    pytest_collection_modifyitems,
    pytest_terminal_summary,
    pytest_xdist_make_scheduler,
)
from tests.support.store_spec import embedded_spec, group, store_spec
from tests.support.stores import any_store
from tests.support.which_stores import pytest_generate_tests
from tests.support.witness import nothing_is_let_out

__all__ = [
    "any_store",
    "embedded_spec",
    "group",
    "neo4j_servers",
    "nothing_is_let_out",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_generate_tests",
    "pytest_ignore_collect",
    "pytest_itemcollected",
    "pytest_terminal_summary",
    "pytest_xdist_make_scheduler",
    "store_spec",
]
_IMPORT = ("<frozen importlib._bootstrap>", {"_find_and_load", "_lock_unlock_module"})


@pytest.fixture(autouse=True)
def no_blocking_calls() -> Iterator[None]:
    """A blocking call below a frame of kgsvc, while a loop runs in its thread, raises BlockingError.

    Importing may block: libraries load some of their modules on first use, once a process.
    """
    with blockbuster_ctx("kgsvc") as detector:
        for function in detector.functions.values():
            function.can_block_in(*_IMPORT)
        yield


@pytest.fixture(scope="session", autouse=True)
def keep_grpc() -> Iterator[None]:
    """Hold one reference to gRPC's asyncio part: with the last channel or server gone it would join its
    thread, wherever the garbage collector happens to run, and start anew in the next test."""

    async def begin() -> None:
        grpc.aio.init_grpc_aio()

    async def end() -> None:
        grpc.aio.shutdown_grpc_aio()

    with asyncio.Runner() as runner:
        runner.run(begin())
        yield
        runner.run(end())
