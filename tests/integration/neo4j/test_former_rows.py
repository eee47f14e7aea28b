"""A database that an earlier version wrote: ends that were facts of their own, and former values whose ends
closed the present ones."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from neo4j import AsyncDriver

from kgsvc.domain.model.delta import GraphDelta, GroupHead, Guard
from kgsvc.domain.model.graph import Fact
from kgsvc.stores.neo4j import Neo4jStore, upgrading
from kgsvc.stores.neo4j.schema import ENDS_SINCE, VALUES_SINCE
from tests.support.former_ends import former_graph, told
from tests.support.former_values import MENDED, former_values, rows


@pytest.mark.parametrize(
    ("since", "former", "read", "mended"),
    [
        pytest.param(ENDS_SINCE, former_graph, told, told(), id="ends"),
        pytest.param(VALUES_SINCE, former_values, rows, MENDED, id="values"),
    ],
)
async def test_they_are_mended_also_when_the_process_dies_halfway(
    since: int,
    former: Callable[[str], GraphDelta],
    read: Callable[[Iterable[Fact]], Any],
    mended: object,
    store: Neo4jStore,
    raw: AsyncDriver,
    group: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    head = (await store.names(group, ())).head
    before = former(group)
    await store.apply(before, Guard(head.rev, head.epoch))
    await raw.execute_query("MATCH (s:KgSchema) SET s.version = $version", version=since - 1)
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
    assert read((await store.dump(group)).facts) not in (read(before.facts), mended), "half is done"
    monkeypatch.setattr(Neo4jStore, "apply", apply)
    await store.migrate()
    dump = await store.dump(group)
    assert read(dump.facts) == mended
    await store.migrate()
    assert (await store.dump(group)).head == dump.head
