"""Writes that the engine refuses for what they say: told apart from a store that cannot be reached."""

from typing import Any

import apsw
import pytest

from kgsvc.domain.errors import StoreRefused
from kgsvc.stores.embedded import EmbeddedStore
from tests.support.samples import delta, fact, guard, pair

SECRET = "what Ann said"


@pytest.mark.parametrize(
    ("fields", "cause"),
    [({"weight": SECRET}, apsw.ConstraintError), ({"text": 50_000 * "b"}, apsw.TooBigError)],
    ids=["wrong type", "too large"],
)
async def test_a_refused_write_is_no_outage(
    store: EmbeddedStore, fields: dict[str, Any], cause: type[apsw.Error]
) -> None:
    """StoreRefused without the data, nothing written; the next write is none the worse."""
    ada, bob = await pair(store, "g")
    await store._writer.run(lambda db: db.limit(apsw.SQLITE_LIMIT_LENGTH, 40_000))
    now = await guard(store, "g")
    with pytest.raises(StoreRefused) as refused:
        await store.apply(delta("g", facts=(fact("f0", ada, bob), fact("f1", ada, bob, **fields))), now)
    assert isinstance(refused.value.__cause__, cause)
    assert SECRET not in str(refused.value)
    await store.apply(delta("g", facts=(fact("f2", ada, bob),)), now)
    assert [found.uuid for found in (await store.dump("g")).facts] == ["f2"]
