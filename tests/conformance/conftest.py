"""The group that each promise of stores/protocol.py is tried in."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from kgsvc.stores.protocol import Store
from tests.support.samples import NOW, Scratch

HERE = Path(__file__).parent
SIBLINGS = ("", "-2", "-3")  # of the groups that a test may use


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests here run on the loop of the stores."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(loop_scope="session")
async def g(any_store: Store) -> AsyncIterator[Scratch]:
    """A new group of each store; deleted afterwards with its siblings, since a Neo4j outlives the tests."""
    scratch = Scratch(any_store, f"scratch-{uuid.uuid4()}")
    yield scratch
    for group_id in sorted(await any_store.heads([scratch.id + suffix for suffix in SIBLINGS])):
        await any_store.delete_group(group_id, NOW)
