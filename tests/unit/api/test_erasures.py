"""Erasures as one process carries them on, whoever asked for them."""

import asyncio
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from kgsvc.commands.cascades import cascade_episode
from kgsvc.commands.erasures import Erasures, clear_all, delete_group, get_erasure
from kgsvc.commands.ledger import Ledger
from kgsvc.commands.transfer.receiving import Receiver
from kgsvc.commands.transfer.uploads import Uploads
from kgsvc.domain.errors import NotFound, StoreUnavailable
from kgsvc.domain.model.erasures import Erasure, ErasureKind
from kgsvc.domain.model.keys import name_key
from tests.support.core import core_of
from tests.support.model_store import ModelStore


class Dropped:
    """What a process was told to drop."""

    def __init__(self) -> None:
        self.groups: list[set[str]] = []

    async def __call__(self, group_ids: Collection[str]) -> None:
        self.groups.append(set(group_ids))


async def test_what_another_process_erased_is_dropped_once() -> None:
    store = ModelStore()
    mine, others = core_of(store), core_of(store)
    erasures, dropped = Erasures(mine), Dropped()
    erasures.drops(dropped)
    await erasures.step()
    assert dropped.groups == []
    name_key("remembered")
    assert name_key.cache_info().currsize > 0  # type: ignore[attr-defined]
    await delete_group(others, "g")
    await erasures.step()
    await erasures.step()
    assert dropped.groups == [{"g"}]
    assert name_key.cache_info().currsize == 0  # type: ignore[attr-defined]


async def test_a_file_that_comes_after_an_erasure_is_no_part_of_it(tmp_path: Path) -> None:
    """Also where the process looks for erasures between two calls that send it."""
    store = ModelStore()
    core = core_of(store)
    erasures = Erasures(core)
    uploads = Uploads(tmp_path / "imports", settled=erasures.notice)
    erasures.drops(uploads.drop)
    receiver = Receiver(core, store, uploads)
    sent = [(b"before", 0), (b"a line", 0), (b"another", 6)]
    for data, size in sent:
        async with receiver.opened("g", "mine") as upload:
            assert upload.size == size
            await asyncio.to_thread(upload.add, size, data)
        if data == b"before":
            await delete_group(core, "g")
        else:
            await erasures.step()


async def test_what_nobody_works_on_is_carried_on() -> None:
    store = ModelStore()
    core = core_of(store)
    long_ago = core.clock.now_ms() - 3_600_000
    await store.begin_erasures([Erasure("id", "g", ErasureKind.GROUP, long_ago)])
    await store.begin_erasures([Erasure("fresh", "g", ErasureKind.GROUP, core.clock.now_ms())])
    await Erasures(core).step()
    assert (await get_erasure(core, "id")).completed_ms is None, "it is freed with the next look"
    await Erasures(core).step()
    assert (await get_erasure(core, "id")).completed_ms is not None
    assert (await store.erasure("fresh"))[0].removed is None, "the call that asked for it is at work"


async def test_a_receipt_is_complete_when_all_of_its_groups_are() -> None:
    store = ModelStore()
    core = core_of(store)
    count, erasure_id = await clear_all(core)
    assert (count, erasure_id) == (0, "")
    parts = [Erasure("id", group, ErasureKind.GROUP, 5) for group in ("g", "h")]
    await store.begin_erasures(parts)
    await store.removed("id", "g", {"episodes": 2})
    await store.free_erased(9)
    receipt = await get_erasure(core, "id")
    assert (receipt.groups, dict(receipt.removed), receipt.completed_ms) == (2, {"episodes": 2}, None)
    await store.removed("id", "h", {"episodes": 3})
    await store.free_erased(11)
    receipt = await get_erasure(core, "id")
    assert (dict(receipt.removed), receipt.completed_ms) == ({"episodes": 5}, 11)
    with pytest.raises(NotFound):
        await get_erasure(core, "unknown")


async def test_nothing_is_erased_that_the_ledger_does_not_take(tmp_path: Path) -> None:
    store = ModelStore()
    core = replace(core_of(store), ledger=Ledger(tmp_path / "missing" / "ledger"))
    with pytest.raises(StoreUnavailable):
        await delete_group(core, "g")
    assert await store.erasures(9) == []
    assert await cascade_episode(core, "unknown", "g") is None


async def test_the_ledger_repeats_what_a_store_does_not_know(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    await delete_group(replace(core_of(ModelStore()), ledger=ledger), "g")
    with (tmp_path / "ledger").open("a") as file:
        file.write('{"erasure_id": "cut sh')
    await delete_group(replace(core_of(ModelStore()), ledger=ledger), "h")
    restored = ModelStore()
    core = replace(core_of(restored), ledger=ledger)
    await Erasures(core).repeat()
    await Erasures(core).repeat()
    repeated = {(part.group_id, part.kind) for part in await restored.erasures(9)}
    assert repeated == {("g", ErasureKind.GROUP), ("h", ErasureKind.GROUP)}
