"""What is collected after a time: what would undo old merges (who went where stays), receipts of items."""

from pathlib import Path

import pytest

from kgsvc.commands.merges import merge_entity_nodes, undo_merge
from kgsvc.commands.retention import RetentionJob
from kgsvc.domain.errors import Conflict
from kgsvc.domain.limits import DAY_MS
from kgsvc.domain.model.items import ItemState
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


async def test_old_receipts_are_removed(tmp_path: Path) -> None:
    """In an embedded store: other tests have receipts in a database that is shared."""
    async with opened(StoreSpec("embedded", data_dir=tmp_path)) as store:
        await store.migrate()
        g = Scratch(store, "g")
        sent = {days: await g.accepted(g.episode(f"e{days}"), now_ms=ago(days)) for days in (29, 27)}
        await g.move(await g.working(), ItemState.COMPLETED, "e29", "e27")
        await RetentionJob(core_of(store, clock=Later()), ()).collect_receipts()  # of 30 days
        found = {days: await store.receipt(answer.receipt_id) for days, answer in sent.items()}
        assert found[29] is None
        assert found[27] is not None


def ago(days: int) -> int:
    return SystemClock().now_ms() - days * DAY_MS
