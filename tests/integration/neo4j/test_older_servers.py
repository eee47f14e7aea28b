"""Servers of an earlier version that write to the same database while others are replaced."""

from dataclasses import replace

from neo4j import AsyncDriver

from kgsvc.domain.model.graph import Rewriting
from kgsvc.stores.conformance.samples import NOW, entity, write
from kgsvc.stores.neo4j import Neo4jStore
from tests.integration.neo4j.support import rows


async def test_a_models_words_are_dropped_once_an_older_server_wrote_the_entity(
    store: Neo4jStore, raw: AsyncDriver, group: str
) -> None:
    """It knows nothing of them and may have taken out what they were made from."""
    made = Rewriting("In short.", (("f1", "d1"),), 1)
    ada = replace(entity(group, "n-ada", "Ada"), summary="In short.", rewriting=made, updated_ms=NOW)
    await write(store, group, entities=(ada,))
    assert await store.entity("n-ada", group) == [ada]
    older = "MATCH (n:Entity {group_id: $group}) SET n.summary = 'Words.', n.updated_ms = $now"
    await rows(raw, older, group=group, now=NOW + 1)
    (found,) = await store.entity("n-ada", group)
    assert found == replace(ada, summary="Words.", rewriting=None, updated_ms=NOW + 1)
