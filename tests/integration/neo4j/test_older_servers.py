"""Older servers that write to the same database while others are replaced."""

from dataclasses import replace

from neo4j import AsyncDriver

from kgsvc.domain.model.graph import Rewriting, keyword_text
from kgsvc.domain.text import words
from kgsvc.stores.neo4j import Neo4jStore
from tests.integration.neo4j.support import rows
from tests.support.samples import NOW, entity, fact, write


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


async def test_words_of_facts_are_those_of_their_texts_or_none(
    store: Neo4jStore, raw: AsyncDriver, group: str
) -> None:
    """An older server changes a text and leaves the words that are stored with it; so does a rename."""

    async def stored() -> dict[str, bool | None]:
        changes = await store.changes(group, 0, 100)
        return {
            each.fact.uuid: None if each.words is None else each.words == words(keyword_text(each.fact))
            for each in changes.facts
        }

    ada, bob = entity(group, "n-ada", "Ada"), entity(group, "n-bob", "Bob")
    first, second = fact("f1", ada, ada, "Ada drinks 茶"), fact("f2", bob, bob, keywords=("tea",))
    await write(store, group, entities=(ada, bob), facts=(first, second))
    assert await stored() == {"f1": True, "f2": True}
    older = "MATCH ()-[r:RELATES_TO {group_id: $group, uuid: 'f1'}]->() SET r.fact = 'Ada drinks wine'"
    await rows(raw, older, group=group)
    assert await stored() == {"f1": None, "f2": True}
    await write(store, group, entities=(replace(bob, name="Rob"),))
    assert await stored() == {"f1": None, "f2": None}
    await write(store, group, facts=(first, replace(second, source_name="Rob", target_name="Rob")))
    assert await stored() == {"f1": True, "f2": True}
