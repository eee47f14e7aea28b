"""Fixtures of the fault tests."""

from collections.abc import AsyncIterator

import pytest

from tests.support.store_spec import StoreSpec, opened


@pytest.fixture(autouse=True)
async def nothing_left_behind(request: pytest.FixtureRequest) -> AsyncIterator[None]:
    """A server works on every group of its database: what a test leaves unfinished would reach the next."""
    yield
    spec: StoreSpec | None = request.node.funcargs.get("store_spec")
    if spec is None or spec.neo4j is None:
        return
    group: str = request.node.funcargs["group"]
    async with opened(spec) as store:
        for group_id in await store.group_ids():
            if group_id.startswith(group):
                await store.delete_group(group_id, now_ms=0)
