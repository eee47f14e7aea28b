"""Writes that the engine refuses for what they say: told apart from a server that cannot be reached."""

from dataclasses import replace
from typing import Any

import pytest
from neo4j.exceptions import AuthError, ClientError, DatabaseError, Neo4jError, TransientError

from kgsvc.domain.errors import StoreRefused, StoreUnavailable
from kgsvc.domain.model.delta import GraphDelta
from kgsvc.stores.neo4j import Neo4jStore
from kgsvc.stores.neo4j.errors import store_error
from tests.support.samples import delta, entity, fact, guard, pair

SECRET = "what Ann said"
CODES = {
    "Neo.ClientError.General.TransactionOutOfMemoryError": (ClientError, StoreRefused),
    "Neo.ClientError.Statement.TypeError": (ClientError, StoreRefused),
    "Neo.ClientError.Statement.SyntaxError": (ClientError, StoreUnavailable),
    "Neo.ClientError.Security.Unauthorized": (AuthError, StoreUnavailable),
    "Neo.ClientError.Transaction.TransactionTimedOut": (ClientError, StoreUnavailable),
    "Neo.TransientError.General.MemoryPoolOutOfMemoryError": (TransientError, StoreUnavailable),
    "Neo.DatabaseError.Statement.ExecutionFailed": (DatabaseError, StoreUnavailable),
}


async def _wrong_type(store: Neo4jStore, group: str) -> GraphDelta:
    ada, bob = await pair(store, group)
    slot: Any = {"a": SECRET}
    return delta(group, facts=(fact("f0", ada, bob), replace(fact("f1", ada, bob), slot=slot)))


async def _too_large(store: Neo4jStore, group: str) -> GraphDelta:
    await pair(store, group)
    return delta(group, entities=(entity(group, 3_000 * SECRET, "Eve"),))


@pytest.mark.parametrize("poison", [_wrong_type, _too_large])
async def test_a_refused_write_is_no_outage(store: Neo4jStore, group: str, poison: Any) -> None:
    """StoreRefused without the data, nothing written; the next write is none the worse."""
    change = await poison(store, group)
    now = await guard(store, group)
    with pytest.raises(StoreRefused) as refused:
        await store.apply(change, now)
    assert isinstance(refused.value.__cause__, Neo4jError)
    assert SECRET not in str(refused.value)
    await store.apply(delta(group, entities=(entity(group, "n9", "Zoe"),)), now)
    dump = await store.dump(group)
    assert ([e.uuid for e in dump.entities], dump.facts) == (["n-ada", "n-bob", "n9"], ())


@pytest.mark.parametrize("code", CODES)
def test_what_may_pass_is_an_outage(code: str) -> None:
    """By the server's code, whatever its message says."""
    kind, wanted = CODES[code]
    error = Neo4jError._hydrate_neo4j(code=code, message=SECRET)
    assert isinstance(error, kind)
    told = store_error(error)
    assert type(told) is wanted
    assert SECRET not in str(told)
