"""How the statements run: by index, and the queue's at a cost that does not grow with a backlog."""

from collections.abc import Iterator
from typing import Any

import pytest
from neo4j import AsyncDriver, Query

from kgsvc.stores.neo4j import Neo4jStore, queue
from kgsvc.stores.neo4j.base import whole_text
from tests.integration.neo4j.support import scans
from tests.support.samples import NOW, accepted, episode


async def test_no_statement_reads_a_whole_label(store: Neo4jStore, raw: AsyncDriver) -> None:
    """Every tenant's rows are behind one label: a scan costs O(all tenants)."""
    assert await scans(raw) == []


@pytest.mark.parametrize("statement", ["_READY", "_NEXT_DUE"])
async def test_finding_work_costs_the_same_for_any_backlog(
    store: Neo4jStore, raw: AsyncDriver, group: str, statement: str
) -> None:
    hits: list[int] = []
    for size in (1, 400):
        await accepted(store, *[episode(group, f"{size}-{n}", at=n) for n in range(size)])
        async with raw.session(database="neo4j") as session:
            text = "PROFILE " + whole_text(vars(queue)[statement]).replace(
                "(w:KgWork)", "(w:KgWork {group_id: $p.group})"
            )
            result = await session.run(
                Query(text), p={"now_ms": NOW, "limit": 10, "never": 2**63 - 1, "group": group}
            )
            profile = (await result.consume()).profile
        assert profile is not None
        hits.append(sum(_hits(profile)))
    assert hits[1] <= hits[0] + 5


def _hits(profile: dict[str, Any]) -> Iterator[int]:
    yield profile["args"]["DbHits"]
    for child in profile.get("children", ()):
        yield from _hits(child)
