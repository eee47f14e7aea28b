"""delete_group: hidden at once, finished by whoever comes next."""

import asyncio
import contextlib

import apsw
import pytest

from kgsvc.domain.model.items import ItemState
from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.stores.embedded.admin import bury, purge_some
from kgsvc.stores.embedded.rows import all_rows
from tests.support.samples import (
    NOW,
    accepted,
    entity,
    episode,
    fact,
    leased,
    mention,
    move,
    started,
    tombstone,
    write,
)

LEFT = {
    "episodes": "SELECT count(*) FROM episodes",
    "edges": "SELECT count(*) FROM episode_edges",
    "stages": "SELECT count(*) FROM stages",
    "answers": "SELECT count(*) FROM answers",
    "entities": "SELECT count(*) FROM entities",
    "names": "SELECT count(*) FROM names",
    "mentions": "SELECT count(*) FROM mentions",
    "facts": "SELECT count(*) FROM facts",
    "tombstones": "SELECT count(*) FROM fact_tombstones",
    "fact words": "SELECT count(*) FROM fact_words",
    "fact vectors": "SELECT count(*) FROM fact_vectors",
    "entity vectors": "SELECT count(*) FROM entity_vectors",
    "dead groups": "SELECT count(*) FROM dead_groups",
    "unfinished items": "SELECT count(*) FROM items WHERE next_ms IS NOT NULL",
    "items": "SELECT count(*) FROM items",
}


def left(db: apsw.Connection) -> dict[str, int]:
    """How many rows of each kind there are, kinds without rows left out."""
    counts = {name: int(all_rows(db, text)[0][0]) for name, text in LEFT.items()}
    return {name: count for name, count in counts.items() if count}


async def fill(store: EmbeddedStore, group_id: str, size: int) -> str:
    """A group with something in every table: `size` items of which five are unfinished; the receipt."""
    made = [episode(group_id, f"e{n}", at=n) for n in range(size)]
    answer = await accepted(store, *made, idempotency_key="k")
    lease = await leased(store, group_id)
    await started(store, lease)
    await move(store, lease, ItemState.COMPLETED, *[e.uuid for e in made[5:]])
    await move(store, lease, ItemState.EXTRACTED, "e0", stage=b"stage")
    ada, bob = entity(group_id, "n1", "Ada"), entity(group_id, "n2", "Bob")
    facts = tuple(fact(f"f{n}", ada, bob) for n in range(size))
    vectors = {"f1": b"\0\0\0\0", "n1": b"\0\0\0\0"}
    mentions = tuple(mention(group_id, e.uuid, "n1") for e in made)
    edges = {"e0": ("f1",)}
    await write(
        store,
        group_id,
        entities=(ada, bob),
        facts=facts,
        vectors=vectors,
        mentions=mentions,
        episode_edges=edges,
    )
    await write(store, group_id, remove_facts=(tombstone(facts[0]),))
    return answer.receipt_id


async def assert_gone(store: EmbeddedStore, receipt_id: str, size: int) -> None:
    """The group reads as empty, its receipt as ended."""
    dump = await store.dump("g")
    assert (dump.episodes, dump.entities, dump.facts, dump.mentions) == ((), (), (), ())
    assert (await store.changes("g", 0, 99)).facts == ()
    assert await store.ready_groups(NOW + 10**9, 9) == []
    assert await store.next_due_ms(0) is None
    assert await store.entity("n1", None) == []
    receipt = await store.receipt(receipt_id)
    assert receipt is not None
    shown = [(i.uuid, i.state, i.reason, i.name) for i in receipt.items]
    parked = [(f"e{n}", ItemState.DELETED, "group_deleted", None) for n in range(5)]
    assert shown == parked + [(f"e{n}", ItemState.DELETED, None, None) for n in range(5, size)]


@pytest.mark.parametrize("batches", [0, 1, 4, 9, 14])
async def test_an_interrupted_deletion_is_invisible_and_finished_by_migrate(
    store: EmbeddedStore, beside: apsw.Connection, batches: int
) -> None:
    receipt_id = await fill(store, "g", 400)
    with beside:
        bury(beside, "g", NOW + 7)
    for _ in range(batches):
        with beside:
            purge_some(beside)
    await assert_gone(store, receipt_id, 400)
    assert left(beside).get("dead groups") == 1, "nothing is left to finish"
    await store.migrate()
    assert left(beside) == {"items": 5}
    await assert_gone(store, receipt_id, 400)
    assert (await store.activity()).depth.unfinished == 0


async def test_a_cancelled_deletion_is_finished_by_the_next(
    store: EmbeddedStore, beside: apsw.Connection
) -> None:
    receipt_id = await fill(store, "g", 400)
    task = asyncio.create_task(store.delete_group("g", NOW))
    for _ in range(1_000):
        if not (await store.dump("g")).episodes:
            break
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await assert_gone(store, receipt_id, 400)
    await store.delete_group("unknown", NOW)
    assert left(beside) == {"items": 5}


async def test_a_group_filled_during_its_deletion_keeps_what_is_new(
    store: EmbeddedStore, beside: apsw.Connection
) -> None:
    await fill(store, "g", 50)
    with beside:
        bury(beside, "g", NOW + 7)
    new = await fill(store, "g", 20)
    await store.migrate()
    assert len((await store.dump("g")).facts) == 19
    receipt = await store.receipt(new)
    assert receipt is not None
    assert {i.state for i in receipt.items} == {ItemState.COMPLETED, ItemState.EXTRACTED, ItemState.ACCEPTED}
    assert left(beside)["items"] == 25


async def test_two_deletions_at_once_leave_nothing(store: EmbeddedStore, beside: apsw.Connection) -> None:
    for name in "gh":
        await fill(store, name, 100)
    await asyncio.gather(*(store.delete_group(name, NOW) for name in "ghg"))
    assert left(beside) == {"items": 10}
    assert await store.group_ids() == []
