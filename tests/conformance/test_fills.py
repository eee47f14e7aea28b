"""FillStore: the vectors of passages are filled in under a lease, page by page, once each."""

from dataclasses import replace

import pytest

from kgsvc.domain.errors import LeaseLost
from kgsvc.domain.model.fills import Filled, FillLease, FillWork
from kgsvc.domain.model.graph import Usage
from tests.support.samples import MANY, NOW, Scratch, present
from tests.support.stores import ON_REAL

pytestmark = ON_REAL

LATER = NOW + 1_000


async def _open(g: Scratch, now_ms: int = LATER) -> FillWork | None:
    """The group's fill as `open_fills` shows it."""
    works = await g.store.open_fills(now_ms, MANY)
    return next((work for work in works if work.group_id == g.id), None)


async def _leased(g: Scratch, owner_id: str = "worker-a") -> FillLease:
    return present(await g.store.claim_fill(present(await _open(g)), owner_id))


async def _begun(g: Scratch, *found: str) -> FillLease:
    """The lease of a fill of a group in whose graph these episodes are; "e9" is not yet."""
    await g.accepted(*(g.episode(uuid) for uuid in (*found, "e9")))
    await g.write(found=found)
    await g.store.begin_fill(g.id, NOW)
    return await _leased(g)


async def _passages(g: Scratch) -> dict[str, bytes | None]:
    page = await g.store.text_changes(g.id, 0, MANY)
    return {each.episode.uuid: each.passages for each in page.episodes}


async def test_vectors_are_filled_in_where_there_are_none(g: Scratch) -> None:
    """Of episodes that searches find; indexes are told, and what it cost is counted with the item."""
    lease = await _begun(g, "e1", "e2", "e3")
    await g.write(found=("e2",), passages={"e2": b"own1"}, space="s")
    before = await g.head()
    vectors = dict.fromkeys(("e1", "e2", "e9", "gone"), b"late")
    costs = {uuid: Usage(1, 10, 0) for uuid in vectors}
    await g.store.fill(lease, Filled((before.rev, ""), vectors, "s", costs), LATER)
    assert await _passages(g) == {"e1": b"late", "e2": b"own1", "e3": None}
    changed = await g.store.text_changes(g.id, before.rev, MANY)
    assert [(each.episode.uuid, each.space) for each in changed.episodes] == [("e1", "s")]
    assert changed.head.last_ms >= LATER
    spent = {item.uuid: item.usage.prompt_tokens for item in await g.items()}
    assert spent == {"e1": 10, "e2": 0, "e3": 0, "e9": 0}
    await g.store.fill(lease, Filled((before.rev, "x"), vectors, "s", costs), LATER)
    assert await g.head() == changed.head, "nothing is left to fill in"
    assert {item.usage.prompt_tokens for item in await g.items()} == {0, 10}


async def test_a_fill_goes_on_from_its_place(g: Scratch) -> None:
    """The place and the end are kept; attempts count from the last page."""
    lease = await _begun(g, "e1")
    assert (lease.place, lease.attempt) == ((0, ""), 1)
    seen = present(await _open(g))
    second = present(await g.store.claim_fill(seen, "worker-b"))
    assert second.attempt == 2
    await g.store.fill(second, Filled((7, "e5")), LATER)
    await g.store.release_fill(second, LATER)
    third = await _leased(g)
    assert (third.place, third.attempt) == ((7, "e5"), 1)
    assert not await g.store.tidy(third, MANY)
    assert await _open(g) is None


async def test_only_the_holder_of_the_lease_may_write(g: Scratch) -> None:
    """Taken over, given up, begun anew or deleted: whoever had it has lost it."""
    first = await _begun(g, "e1")
    seen = present(await _open(g))
    assert await g.store.renew_fill(first)
    assert await g.store.claim_fill(seen, "worker-b") is None, "its counters moved"
    second = await _leased(g, "worker-b")
    await _lost(g, first)
    await g.store.begin_fill(g.id, NOW)
    await _lost(g, second)
    third = await _leased(g)
    await g.store.release_fill(third, LATER + 1)
    await _lost(g, third)
    assert await _open(g) is None, "it is put off"
    fourth = present(await g.store.claim_fill(present(await _open(g, LATER + 1)), "worker-a"))
    await g.store.delete_group(g.id, LATER)
    await _lost(g, fourth)
    assert await _open(g, LATER + 1) is None


async def _lost(g: Scratch, lease: FillLease) -> None:
    before = await g.head()
    with pytest.raises(LeaseLost):
        await g.store.fill(lease, Filled((9, ""), {"e1": b"late"}, "s"), LATER)
    with pytest.raises(LeaseLost):
        await g.store.tidy(lease, MANY)
    assert not await g.store.renew_fill(lease)
    await g.store.release_fill(lease, NOW)  # nothing: it is not held
    assert await g.head() == before


async def test_the_longest_waiting_come_first(g: Scratch) -> None:
    """A fill of an unknown group is none; a claim of one's own lease is no attempt."""
    other = g.sibling()
    for each, now_ms in ((g, NOW + 2), (other, NOW + 1)):
        await each.pair()
        await each.store.begin_fill(each.id, now_ms)
    await g.store.begin_fill(f"{g.id}-unknown", NOW)
    works = [w.group_id for w in await g.store.open_fills(LATER, MANY) if w.group_id.startswith(g.id)]
    assert works == [other.id, g.id]
    lease = await _leased(g)
    again = present(await g.store.claim_fill(present(await _open(g)), lease.owner_id))
    assert again == replace(lease, token=lease.token + 1)
