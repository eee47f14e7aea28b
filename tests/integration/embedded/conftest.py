"""An embedded store of the test's own."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import apsw
import pytest

from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.stores.embedded.connection import FILE_NAME, BusyHandler, open_writer
from tests.support.embedded_counts import check_counts


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[EmbeddedStore]:
    """Open, migrated, and closed after the test."""
    opened = await EmbeddedStore.open(tmp_path)
    await opened.migrate()
    yield opened
    await opened.close()
    if (tmp_path / FILE_NAME).exists():
        check_counts(tmp_path)


@pytest.fixture
def beside(store: EmbeddedStore, tmp_path: Path) -> Iterator[apsw.Connection]:
    """Another connection to the store's file, as another process would have."""
    db = open_writer(tmp_path, BusyHandler(5.0))
    yield db
    db.close()
