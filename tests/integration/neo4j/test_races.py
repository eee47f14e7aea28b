"""Two clients at once: each thing happens once."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import pairwise
from typing import LiteralString

import pytest
from neo4j import AsyncDriver
from neo4j.exceptions import ConstraintError, Neo4jError, ServiceUnavailable

from kgsvc.domain.errors import Conflict, StoreUnavailable
from kgsvc.domain.model.items import AcceptBatch, Accepted, ItemState
from kgsvc.stores.neo4j import Neo4jStore
from kgsvc.stores.neo4j.base import Base, Row
from kgsvc.stores.neo4j.intake import Writes
from tests.integration.neo4j.support import locked, rows, until_blocked
from tests.support.samples import NOW, accepted, batch, episode, leased, move, pair, started, work


async def _raced(stores: tuple[Neo4jStore, ...], call: AcceptBatch) -> list[Accepted | Exception]:
    """The same call through every store at once, each time under a receipt of its own."""
    calls = [replace(call, receipt_id=f"{call.receipt_id}-{n}") for n in range(len(stores))]
    results = await asyncio.gather(*(s.accept([c]) for s, c in zip(stores, calls, strict=True)))
    return [result for (result,) in results]


async def test_clients_racing_for_one_uuid_make_one_item(
    store: Neo4jStore, other: Neo4jStore, raw: AsyncDriver, group: str
) -> None:
    """Overlapping batches in opposite order, also of a group that is not there yet."""
    for round_ in range(8):
        made = [episode(group, f"{round_}-{n}") for n in range(5)]
        results = await asyncio.gather(
            *(_raced((store, other), batch(*order)) for order in (made, made[::-1]))
        )
        new = [
            i.uuid
            for both in results
            for r in both
            if isinstance(r, Accepted)
            for i in r.items
            if not i.duplicate
        ]
        assert sorted(new) == [e.uuid for e in made]
    counts = await rows(
        raw,
        """
        MATCH (i:KgItem {group_id: $g}) WITH count(i) AS items
        MATCH (e:Episodic {group_id: $g}) RETURN items, count(e)
        """,
        g=group,
    )
    assert counts == [[40, 40]]


async def test_a_key_raced_with_other_input_has_one_winner(
    store: Neo4jStore, other: Neo4jStore, group: str
) -> None:
    """Also where it replaces an answer that lapsed."""
    for round_ in range(8):
        calls = [
            batch(episode(group, f"{round_}-{n}"), idempotency_key="k", now_ms=NOW + round_ * 10**9)
            for n in range(4)
        ]
        stores = (store, other, store, other)
        results = [
            r for (r,) in await asyncio.gather(*(s.accept([c]) for s, c in zip(stores, calls, strict=True)))
        ]
        assert sorted(type(r).__name__ for r in results) == ["Accepted", *["Conflict"] * 3], results
        winner = next(n for n, r in enumerate(results) if isinstance(r, Accepted))
        (again,) = await other.accept([calls[winner]])
        assert isinstance(again, Accepted)
        assert again.receipt_id == calls[winner].receipt_id
        (refused,) = await store.accept([calls[winner - 1]])
        assert isinstance(refused, Conflict)
    assert len(await store.recent_episodes(group, 99)) == 8


async def test_a_completed_item_is_told_once_no_commit_is_under_way(
    store: Neo4jStore, other: Neo4jStore, raw: AsyncDriver, group: str
) -> None:
    """What a commit wrote can be read before the indexes have it; whoever waited for a receipt searches."""
    call = await accepted(store, episode(group, "e1"), episode(group, "e2"))
    lease = await leased(store, group)
    await started(store, lease)
    async with locked(raw, group):
        nothing_yet = await other.receipt(call.receipt_id)
    assert nothing_yet is not None, "only of completed items"
    assert not any(item.terminal for item in nothing_yet.items), "only of completed items"
    await move(store, lease, ItemState.COMPLETED, "e1")
    async with locked(raw, group):
        told = asyncio.create_task(other.receipt(call.receipt_id))
        await until_blocked(raw)
        assert not told.done()
    receipt = await told
    assert receipt is not None
    assert [item.state for item in receipt.items] == [ItemState.COMPLETED, ItemState.ACCEPTED]


_ON: LiteralString = """
    MATCH (i:KgItem {group_id: $g}) WHERE i.state = $before AND i.seq IS NOT NULL AND i.uuid IS NOT NULL
    WITH i LIMIT 25
    SET i.state = $after
    RETURN count(i)
    """


async def test_items_that_go_on_meanwhile_are_listed_once(
    store: Neo4jStore, raw: AsyncDriver, group: str
) -> None:
    """Each state has its place in the index, and others write while a listing goes from one to the next."""
    sent = [f"e{n:03}" for n in range(200)]
    await accepted(store, *(episode(group, uuid) for uuid in sent))

    async def go_on() -> None:
        for before, after in pairwise(["accepted", "extracted", "embedded", "upserted", "completed"]):
            while await rows(raw, _ON, g=group, before=before, after=after) != [[0]]:
                pass

    going_on = asyncio.create_task(go_on())
    while not going_on.done():
        page = await store.list_items(group, (), 1_000, None)
        assert sorted(item.uuid for item in page.rows) == sent
    await going_on


class Interrupted(Neo4jStore):
    """Lets something happen between the look and the write of accept, or dies in the middle of a deletion."""

    between: Neo4jStore | None = None
    dies = False

    async def _write_accepted(self, writes: Writes, run: Callable[..., Awaitable[list[Row]]]) -> None:
        if self.between is not None:
            for group_id in writes.groups:
                await self.between.delete_group(group_id, NOW + 5)
        await super()._write_accepted(writes, run)

    async def _purge(self, group_id: str, epoch: int, now_ms: int) -> None:
        if self.dies:
            raise ConnectionAbortedError
        await super()._purge(group_id, epoch, now_ms)


def _as_interrupted(store: Neo4jStore) -> Interrupted:
    return Interrupted(store._driver, "neo4j", 30.0, 5.0)


async def test_items_accepted_into_a_deleted_epoch_end_deleted(
    store: Neo4jStore, other: Neo4jStore, raw: AsyncDriver, group: str
) -> None:
    """Accepting takes no lock, so a deletion may come between: the item is no content of the new epoch."""
    await accepted(store, episode(group, "e0"))
    late = _as_interrupted(store)
    late.between = other
    result = await accepted(late, episode(group, "e0"), episode(group, "e1"))
    receipt = await store.receipt(result.receipt_id)
    assert receipt is not None
    ended = [(i.uuid, i.state, i.reason) for i in receipt.items]
    assert ended == [(each, ItemState.DELETED, "group_deleted") for each in ("e0", "e1")]
    assert (await store.list_items(group, (), 9, None)).rows == ()
    assert await store.episode("e1", group) == []
    assert await store.recent_episodes(group, 9) == []
    lease = await leased(store, group)  # it is still in the queue, until the next owner comes by
    assert await started(store, lease) == []
    assert await work(store, group, NOW + 10**9) is None
    assert await store.receipt(result.receipt_id) is not None
    assert await rows(raw, "MATCH (e:Episodic {group_id: $g}) RETURN e.uuid", g=group) == []
    assert [item.duplicate for item in (await accepted(store, episode(group, "e1"))).items] == [False]


async def test_a_deletion_that_died_is_invisible_and_finished_later(
    store: Neo4jStore, other: Neo4jStore, raw: AsyncDriver, group: str
) -> None:
    """Reads are empty from the first commit on; migrate removes what is left; new content stays."""
    await accepted(store, episode(group, "e1"))
    await pair(store, group)
    dying = _as_interrupted(store)
    dying.dies = True
    with pytest.raises(ConnectionAbortedError):
        await dying.delete_group(group, NOW + 5)
    count = "MATCH (x) WHERE x.group_id = $g AND (x:Episodic OR x:Entity OR x:KgName) RETURN count(x)"
    assert await rows(raw, count, g=group) == [[5]]
    dump = await store.dump(group)
    assert (dump.episodes, dump.entities, dict(dump.names)) == ((), (), {})
    assert group not in await store.group_ids()
    await accepted(store, episode(group, "e1", body="of the new epoch"))
    await other.migrate()
    assert await rows(raw, count, g=group) == [[1]]
    assert [e.body for e in await store.recent_episodes(group, 9)] == ["of the new epoch"]


DEADLOCK = Neo4jError._hydrate_neo4j(code="Neo.TransientError.Transaction.DeadlockDetected")


@pytest.mark.parametrize(
    ("error", "failures", "outcome"),
    [
        (ConstraintError("a uuid"), 4, "done"),
        (DEADLOCK, 4, "done"),
        (ConstraintError("a uuid"), 5, "too busy"),
        (ServiceUnavailable("gone"), 1, "cannot be reached"),
    ],
)
async def test_a_lost_race_is_run_again_even_when_patience_is_over(
    error: Exception, failures: int, outcome: str
) -> None:
    """A cold server may take longer to say that a race was lost than a store waits for one that is away."""
    left = [error] * failures

    async def once() -> str:
        if left:
            raise left.pop()
        return "done"

    impatient = Base(None, "neo4j", 30.0, 0.0)  # type: ignore[arg-type]
    if outcome == "done":
        assert await impatient._again(once) == outcome
    else:
        with pytest.raises(StoreUnavailable, match=outcome):
            await impatient._again(once)
