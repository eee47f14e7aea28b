"""Types of entities as labels of the database: kept in step, and never what is no plain name or reserved."""

from dataclasses import replace

import pytest
from neo4j import AsyncDriver

from kgsvc.stores.neo4j import Neo4jStore
from tests.integration.neo4j.support import rows
from tests.support.samples import entity, write

HOSTILE = ("Episodic", "KgGroup", "community", "A`) DETACH DELETE (n", "", "Ein Typ", "T" * 65)


async def labels(raw: AsyncDriver, group: str) -> set[str]:
    """Labels of the group's only entity."""
    ((found,),) = await rows(raw, "MATCH (n:Entity {group_id: $group}) RETURN labels(n)", group=group)
    return set(found)


async def test_labels_follow_the_types_of_an_entity(store: Neo4jStore, raw: AsyncDriver, group: str) -> None:
    ada = entity(group, "n-ada", "Ada")
    for types in (("Entity",), ("Person",), ("Customer", "Person"), ("Customer",), ("Entity",), ()):
        await write(store, group, entities=(replace(ada, labels=types),))
        assert await labels(raw, group) == {"Entity", *types}
        assert [each.labels for each in await store.entity("n-ada", group)] == [types]


async def test_a_label_that_somebody_else_gave_stays(store: Neo4jStore, raw: AsyncDriver, group: str) -> None:
    ada = entity(group, "n-ada", "Ada")
    await write(store, group, entities=(replace(ada, labels=("Person",)),))
    await rows(raw, "MATCH (n:Entity {group_id: $group}) SET n:Pinned", group=group)
    await write(store, group, entities=(replace(ada, labels=("Customer",)),))
    assert await labels(raw, group) == {"Entity", "Customer", "Pinned"}


@pytest.mark.parametrize("name", HOSTILE)
async def test_what_is_no_type_never_becomes_a_label(
    store: Neo4jStore, raw: AsyncDriver, group: str, name: str
) -> None:
    ada = entity(group, "n-ada", "Ada")
    for summary in ("first", "again"):
        await write(store, group, entities=(replace(ada, summary=summary, labels=(name, "Person")),))
        assert await labels(raw, group) == {"Entity", "Person"}
