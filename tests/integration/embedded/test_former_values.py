"""A store of an earlier version, in which the end of a former value closed the present one."""

from pathlib import Path

import apsw
import pytest

from kgsvc.domain.model.delta import Guard
from kgsvc.domain.model.graph import EARLIEST_MS
from kgsvc.stores.embedded import EmbeddedStore, admin
from kgsvc.stores.embedded.admin import mend_values
from kgsvc.stores.embedded.schema import VALUES_SINCE
from tests.support.former_values import former_values, rows

MENDED = [
    ("Falcon cost 60 until May.", EARLIEST_MS, 50, None),
    ("Falcon was in review until July.", EARLIEST_MS, 70, None),
    ("Falcon costs 75.", 50, None, None),
    ("Falcon is done.", 70, None, None),
]


async def test_both_values_have_a_row_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await EmbeddedStore.open(tmp_path)
    await store.migrate()
    await store.apply(former_values("g"), Guard(0, 0))
    await store.close()
    db = apsw.Connection(str(tmp_path / "kgsvc.db"))
    db.pragma("user_version", VALUES_SINCE - 1)
    db.close()
    store = await EmbeddedStore.open(tmp_path)

    def dying(db: apsw.Connection) -> None:
        mend_values(db)
        raise RuntimeError("the process dies")

    monkeypatch.setattr(admin, "mend_values", dying)
    with pytest.raises(RuntimeError):
        await store.migrate()
    assert len((await store.dump("g")).facts) == 2, "nothing was written"
    monkeypatch.setattr(admin, "mend_values", mend_values)
    await store.migrate()
    assert rows((await store.dump("g")).facts) == MENDED
    rev = (await store.dump("g")).head.rev
    assert rev == 2, "indexes hear of it"
    await store.migrate()
    assert (await store.dump("g")).head.rev == rev
    await store.close()
