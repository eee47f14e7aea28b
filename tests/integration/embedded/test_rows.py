"""Rows are read by the names of their columns: these are those of the views, in their order."""

from pathlib import Path

import apsw
import pytest

from kgsvc.stores.embedded.connection import VIEWS
from kgsvc.stores.embedded.item_rows import ItemRow
from kgsvc.stores.embedded.schema import SCHEMA


@pytest.mark.parametrize("view", ["live_items", "all_items"])
def test_the_columns_of_items_have_their_names(view: str, tmp_path: Path) -> None:
    db = apsw.Connection(str(tmp_path / "store.db"))
    db.execute(SCHEMA)
    db.execute(VIEWS)
    columns = tuple(name for _cid, name, *_more in db.execute(f"PRAGMA table_info({view})"))
    assert columns == ItemRow._fields
    db.close()
