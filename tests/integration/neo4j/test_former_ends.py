"""A database that an earlier version wrote: ends that were facts of their own."""

import pytest
from neo4j import AsyncDriver

from kgsvc.domain.model.delta import GraphDelta, GroupHead, Guard
from kgsvc.stores.neo4j import Neo4jStore, upgrading
from kgsvc.stores.neo4j.schema import ENDS_SINCE
from tests.support.former_ends import former_graph, told


async def test_they_become_part_of_the_relations_that_ended(
    store: Neo4jStore, raw: AsyncDriver, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = (await store.names(group, ())).head
    await store.apply(former_graph(group), Guard(head.rev, head.epoch))
    await raw.execute_query("MATCH (s:KgSchema) SET s.version = $version", version=ENDS_SINCE - 1)
    apply = Neo4jStore.apply
    written: list[GraphDelta] = []

    async def dying(self: Neo4jStore, delta: GraphDelta, guard: Guard) -> GroupHead:
        if written:
            raise RuntimeError("the process dies")
        written.append(delta)
        return await apply(self, delta, guard)

    monkeypatch.setattr(upgrading, "_SLOTS", 1)
    monkeypatch.setattr(Neo4jStore, "apply", dying)
    with pytest.raises(RuntimeError):
        await store.migrate()
    assert "NO_LONGER_WORKS_AT" in {fact.name for fact in (await store.dump(group)).facts}, "half is done"
    monkeypatch.setattr(Neo4jStore, "apply", apply)
    await store.migrate()
    dump = await store.dump(group)
    assert told(dump.facts) == told()
    await store.migrate()
    assert (await store.dump(group)).head == dump.head
