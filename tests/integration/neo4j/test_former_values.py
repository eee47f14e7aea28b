"""A database of an earlier version, in which the end of a former value closed the present one."""

import pytest
from neo4j import AsyncDriver

from kgsvc.domain.model.delta import GraphDelta, GroupHead, Guard
from kgsvc.stores.neo4j import Neo4jStore, upgrading
from kgsvc.stores.neo4j.schema import VALUES_SINCE
from tests.integration.embedded.test_former_values import MENDED
from tests.support.former_values import former_values, rows


async def test_both_values_have_a_row_again(
    store: Neo4jStore, raw: AsyncDriver, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = (await store.names(group, ())).head
    await store.apply(former_values(group), Guard(head.rev, head.epoch))
    await raw.execute_query("MATCH (s:KgSchema) SET s.version = $version", version=VALUES_SINCE - 1)
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
    assert len((await store.dump(group)).facts) == 3, "half is done"
    monkeypatch.setattr(Neo4jStore, "apply", apply)
    await store.migrate()
    dump = await store.dump(group)
    assert rows(dump.facts) == MENDED
    await store.migrate()
    assert (await store.dump(group)).head == dump.head
