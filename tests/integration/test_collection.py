"""What would undo old merges is collected: who went where stays, and undoing it is refused."""

import pytest

from kgsvc.commands.merges import merge_entity_nodes, undo_merge
from kgsvc.commands.retention import RetentionJob
from kgsvc.domain.errors import Conflict
from kgsvc.domain.limits import DAY_MS
from kgsvc.runtime import SystemClock
from tests.support.core import core_of
from tests.support.samples import Scratch, fact
from tests.support.store_spec import StoreSpec, opened


class Later(SystemClock):
    """Two days later."""

    def now_ms(self) -> int:
        return super().now_ms() + 2 * DAY_MS


async def test_old_merges_cannot_be_undone_and_are_still_known(store_spec: StoreSpec, group: str) -> None:
    async with opened(store_spec) as store:
        await store.migrate()
        g, core = Scratch(store, group), core_of(store)
        ada, bob = await g.pair()
        await g.write(facts=(fact("f1", ada, bob),))
        made = await merge_entity_nodes(core, group, ada.uuid, bob.uuid, key="once")
        await RetentionJob(core_of(store, clock=Later()), (), undo_days=3).collect()
        (record,) = await store.merged(bob.uuid, group)
        assert '"made"' in record.data, "too early"
        await RetentionJob(core_of(store, clock=Later()), (), undo_days=1).collect()
        (record,) = await store.merged(bob.uuid, group)
        assert (record.kept_uuid, record.data) == (ada.uuid, "{}")
        with pytest.raises(Conflict, match="was too long ago"):
            await undo_merge(core, group, made.merge_id)
        again = await merge_entity_nodes(core, group, ada.uuid, bob.uuid, key="once")
        assert again.merge_id == made.merge_id
