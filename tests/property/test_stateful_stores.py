"""Random operations on the model store and on every real store, compared after each.

The Neo4js, which share their code, share out the seeds. A failure names its seed; KGSVC_TEST_RUN repeats the
group ids of a failed run, from which uuids are minted.
"""

import os
import uuid

import pytest

from kgsvc.stores.neo4j import Neo4jStore
from kgsvc.stores.protocol import Store
from tests.support.neo4j_fixture import NEO4J_LABELS
from tests.support.stateful import groups_of, run

SEEDS = range(200)
_QUICK = 30  # seeds that `make test` runs too
ON_STORES = [
    *(pytest.param("embedded", seed, marks=() if seed < _QUICK else pytest.mark.slow) for seed in SEEDS),
    *((NEO4J_LABELS[seed % len(NEO4J_LABELS)], seed) for seed in SEEDS),
]
RUN = os.environ.get("KGSVC_TEST_RUN") or f"stateful-{uuid.uuid4().hex[:8]}"


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(("any_store", "seed"), ON_STORES, indirect=["any_store"])
async def test_a_store_does_as_the_model_does(any_store: Store, seed: int) -> None:
    try:
        await run(seed, any_store, RUN)
    finally:
        if isinstance(any_store, Neo4jStore):  # its database outlives the tests
            for group_id in groups_of(seed, RUN):
                await any_store.delete_group(group_id, 0)


@pytest.mark.parametrize("any_store", ["model"], indirect=True)
@pytest.mark.asyncio(loop_scope="session")
async def test_the_model_does_as_itself(any_store: Store) -> None:
    await run(1, any_store, RUN)
