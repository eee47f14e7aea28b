"""Fixtures for all tests."""

from tests.support.blocking import no_blocking_calls
from tests.support.keep_grpc import keep_grpc
from tests.support.neo4j_fixture import neo4j_servers
from tests.support.shares import (
    pytest_collection_modifyitems,
    pytest_terminal_summary,
    pytest_xdist_make_scheduler,
)
from tests.support.skips import pytest_unconfigure
from tests.support.store_spec import embedded_spec, group, store_spec
from tests.support.stores import any_store
from tests.support.which_stores import pytest_generate_tests
from tests.support.witness import nothing_is_let_out

__all__ = [
    "any_store",
    "embedded_spec",
    "group",
    "keep_grpc",
    "neo4j_servers",
    "no_blocking_calls",
    "nothing_is_let_out",
    "pytest_collection_modifyitems",
    "pytest_generate_tests",
    "pytest_terminal_summary",
    "pytest_unconfigure",
    "pytest_xdist_make_scheduler",
    "store_spec",
]
