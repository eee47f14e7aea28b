"""Standing in a store's way, and looking behind it."""

import asyncio
import importlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pkgutil import iter_modules
from typing import Any, LiteralString

from neo4j import AsyncDriver, AsyncTransaction, Query

from kgsvc.stores import neo4j
from kgsvc.stores.neo4j.base import whole_text

DEADLINE_S = 30.0
_BLOCKED: LiteralString = "SHOW TRANSACTIONS YIELD status WHERE status STARTS WITH 'Blocked' RETURN status"


async def rows(driver: AsyncDriver, statement: LiteralString, **values: Any) -> list[list[Any]]:
    """What a statement of the test's own finds."""
    async with driver.session(database="neo4j") as session:
        return await (await session.run(statement, values)).values()


@asynccontextmanager
async def locked(driver: AsyncDriver, group_id: str) -> AsyncIterator[AsyncTransaction]:
    """An open transaction that holds the group's lock; rolled back unless the test commits it."""
    async with driver.session(database="neo4j") as session, await session.begin_transaction() as tx:
        await (await tx.run("MATCH (g:KgGroup {group_id: $g}) SET g.lock = 0", g=group_id)).consume()
        yield tx


async def until_blocked(driver: AsyncDriver, count: int = 1) -> None:
    """Return once `count` transactions of the database wait for a lock."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            found = await rows(driver, _BLOCKED)
            if len(found) >= count:
                return
            await asyncio.sleep(0.02)


_NOT_SERVING = {"adoption", "base", "schema"}  # nothing in them runs while a group is served
_CLAUSES = ("MATCH", "OPTIONAL MATCH", "MERGE", "UNWIND", "CALL ()")
_BY_INTENT = {  # a handful of counters; all groups, or the busiest, for whoever asks; the first of an order
    "_ACTIVITY": {"NodeByLabelScan", "NodeIndexScan"},
    "_GROUPS": {"NodeByLabelScan"},
    "_BUSIEST": {"NodeByLabelScan"},
    "_NEXT_DUE": {"NodeByLabelScan"},  # of paused groups
}


async def scans(driver: AsyncDriver) -> list[tuple[str, str]]:
    """Statements of the store with the scans of whole labels that the planner has for them now."""
    found: list[tuple[str, str]] = []
    for name, text in _statements():
        async with driver.session(database="neo4j") as session:
            result = await session.run(Query("CYPHER replan=force EXPLAIN " + text), p={})
            plan = (await result.consume()).plan
        assert plan is not None
        by_intent = _BY_INTENT.get(name, set())
        found += [(name, op) for op in _operators(plan) if op.endswith("Scan") and op not in by_intent]
    return found


def _statements() -> Iterator[tuple[str, str]]:
    for module in iter_modules(neo4j.__path__):
        if module.name in _NOT_SERVING:
            continue
        names = vars(importlib.import_module(f"kgsvc.stores.neo4j.{module.name}"))
        for name, value in names.items():
            if not name.startswith(("_", "LOCK")):
                continue
            for text in value if name == "_PURGE" else (getattr(value, "each", value),):
                if isinstance(text, str) and whole_text(text).lstrip().startswith(_CLAUSES):
                    yield name, whole_text(text)


def _operators(plan: dict[str, Any]) -> Iterator[str]:
    yield plan["operatorType"].partition("@")[0]
    for child in plan.get("children", ()):
        yield from _operators(child)
