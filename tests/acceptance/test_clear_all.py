"""Spec 004 §16 "clear-all behavior", on a store that nobody else uses."""

from pathlib import Path
from typing import Any

from tests.acceptance.shared import OFFLINE
from tests.support.client import Client, episode
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, opened

TOLD = episode("Alice works at Acme Robotics.", 1_704_067_200_000, uuid="a")
GROUPS = ("one", "two", "three")


async def clear_all(client: Client) -> Any:
    """ClearAll."""
    return await client.ask("ClearAll")


async def test_clear_all_removes_every_group_and_leaves_a_working_service(
    own_store_spec: StoreSpec, tmp_path: Path
) -> None:
    settings = own_store_spec.settings | OFFLINE
    async with Service(settings, tmp_path) as service, Client(service.address) as client:
        for group in GROUPS:
            await client.ingest(group, [TOLD])
        assert len(await client.search(GROUPS, "Alice")) == len(GROUPS)
        for _ in range(2):  # idempotent
            cleared = await clear_all(client)
            assert cleared.success
            assert cleared.message
            for group in GROUPS:
                assert await client.get_episodes(group) == []
                assert await client.list_items(group) == []
            assert await client.search(GROUPS, "Alice") == []
        async with opened(own_store_spec) as store:
            assert await store.group_ids() == []
        accepted = await client.add_episodes("one", [TOLD])
        assert not accepted.items[0].duplicate
        await client.wait_receipt(accepted.receipt_id)
        (fact,) = await client.search(GROUPS, "Alice")
        assert (fact.group_id, list(fact.episodes)) == ("one", ["a"])
