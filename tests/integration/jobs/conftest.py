"""Fixtures of the queue's tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kgsvc.stores.embedded import EmbeddedStore
from tests.integration.jobs.support import Queue, ScriptedHandler, open_store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[EmbeddedStore]:
    """A migrated embedded store."""
    opened = await open_store(tmp_path / "data")
    yield opened
    await opened.close()


@pytest.fixture
def queue(store: EmbeddedStore) -> Queue:
    """A queue on that store."""
    return Queue(store)


@pytest.fixture
def handler(store: EmbeddedStore) -> ScriptedHandler:
    """A handler on that store."""
    return ScriptedHandler(store)
