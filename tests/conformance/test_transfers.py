"""TransferStore: a group read page by page, and written out of sight until it is whole."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from kgsvc.domain.errors import Conflict
from kgsvc.domain.limits import Counter
from kgsvc.domain.model.delta import MergeRecord
from kgsvc.domain.model.documents import Document, Place, Revision
from kgsvc.domain.model.graph import Closure
from kgsvc.domain.model.items import ItemState
from kgsvc.domain.model.moving import (
    ImportEnd,
    ImportPage,
    ImportStart,
    Moved,
    MovedEpisode,
    MovedReceipt,
    RowKind,
)
from kgsvc.stores.protocol import WholeStore
from tests.support.samples import MANY, NOW, Scratch, fact, tombstone
from tests.support.stores import ON_REAL

pytestmark = ON_REAL
ONTOLOGY = "graphiti:\n  entity_types: []\n"
PAGE = 2  # rows


def store_of(g: Scratch) -> WholeStore:
    """The store, with all that it can."""
    store: WholeStore = g.store  # type: ignore[assignment]  # a Store in every other suite
    return store


async def told(g: Scratch) -> None:
    """Rows of every kind: found and not, done, parked and unfinished."""
    await g.parked(g.episode("late", body="never read"), reason="cannot be read")
    await g.accepted(*g.episodes(4, step=1), receipt_id=f"{g.id}-receipt")
    ada, bob = await g.pair()
    kept, gone = fact("f1", ada, bob), fact("f2", ada, bob)
    closed = replace(fact("f3", bob, ada), closures=(Closure(NOW + 3, NOW, "f1", "e1"),), expired_ms=NOW + 9)
    await g.write(
        facts=(kept, gone, closed), vectors={"f1": b"\0\0\0?" * 3, ada.uuid: b"\0\0\0?" * 3}, space="s"
    )
    await g.write(vectors={"f3": b"\0\0\0?" * 5}, space="another")
    named = replace(g.mention("e1", ada.uuid), names=("Ada",), types=("Person",))
    await g.write(
        mentions=(named, g.mention("e2", bob.uuid)),
        episode_edges={"e1": ("f1", "f3")},
        passages={"e1": b"\0\0\0?" * 6},
        space="s",
        found=("e1", "e3"),
        hide_episodes=("e2",),
    )
    await g.write(remove_facts=(tombstone(gone),), reserve_facts=(replace(tombstone(closed), uuid="f9"),))
    await g.write(merges=(MergeRecord("m1", g.id, "n-old", ada.uuid, NOW, '{"made": {}}', "e1"),))
    lease = await g.leased()
    await g.started(lease)
    await g.move(lease, ItemState.COMPLETED, "e1", "e2", "e3")
    await g.store.release(lease)
    document = Document(g.id, "d1", (Revision(1, "ab", NOW, NOW),), 1, title="A title", settled=False)
    await g.store.put_document(document, (Place("e3", 0, 5, 0, 2), Place("e2", 5, 9, 5, 2)), 0)
    await g.store.retire_chunk(g.id, "d1", "e2")
    first = Document(g.id, "d2", (Revision(1, "ab", NOW, NOW),), 1)
    await g.store.put_document(first, (Place("e0", 0, 5, 0, 2),), 0)
    second = replace(first, revisions=(*first.revisions, Revision(2, "cd", NOW, NOW)), current=2)
    await g.store.put_document(second, (Place("e1", 0, 7, 0, 2),), 1)
    await g.store.put_ontology(g.id, ONTOLOGY)


async def rows_of(g: Scratch, limit: int = 100) -> list[Moved]:
    """All rows, but for the numbers by which a store orders items."""
    found: list[Moved] = []
    for part in RowKind:
        after = ""
        while page := await store_of(g).moving(g.id, part, after, limit):
            assert len(page) <= limit
            assert [row.key for row in page] == sorted({row.key for row in page})
            assert page[0].key > after
            after = page[-1].key
            found += page
    return found


def plain(rows: Sequence[Moved]) -> list[Moved]:
    """Without the numbers of items; those that were not done begin anew."""
    return [_plain(row) for row in rows]


def _plain(row: Moved) -> Moved:
    if not isinstance(row, MovedEpisode):
        return row
    return replace(row, item=replace(row.item, sequence=0))


def pages(g: Scratch, rows: Sequence[Moved], import_id: str = "i") -> list[ImportPage]:
    """The pages of an import, each of rows of a kind."""
    order = sorted((row.item.sequence, row.key) for row in rows if isinstance(row, MovedEpisode))
    ranks = {key: rank for rank, (_, key) in enumerate(order)}
    made: list[ImportPage] = []
    for start in range(0, len(rows), PAGE):
        for some in _of_a_kind(rows[start : start + PAGE]):
            after = made[-1].upto if made else 0
            made.append(ImportPage(g.id, import_id, after, after + len(some), tuple(some), ranks))
    return made


def _of_a_kind(rows: Sequence[Moved]) -> list[list[Moved]]:
    kinds = {type(row): None for row in rows}
    return [[row for row in rows if type(row) is kind] for kind in kinds]


def start(g: Scratch, rows: Sequence[Moved], import_id: str = "i") -> ImportStart:
    """What begins it."""
    return ImportStart(g.id, import_id, sum(isinstance(row, MovedEpisode) for row in rows), NOW + 50)


def end(g: Scratch, import_id: str = "i") -> ImportEnd:
    """What ends it."""
    return ImportEnd(g.id, import_id, NOW + 1_000, ONTOLOGY, NOW + 60)


async def taken(g: Scratch) -> list[Moved]:
    """The rows of a group of every kind, which is deleted then."""
    await told(g)
    rows = await rows_of(g)
    await g.store.delete_group(g.id, NOW + 40)
    return rows


async def unseen(g: Scratch) -> None:
    """Nothing of the group can be seen."""
    dump = await g.store.dump(g.id)
    assert (dump.episodes, dump.entities, dump.facts, dump.names) == ((), (), (), {})
    assert g.id not in await g.store.group_ids()
    assert (await g.store.list_items(g.id, (), 100, None)).rows == ()
    assert await g.store.documents(g.id, 10, "") == []
    assert await g.work(NOW + 10**6) is None
    assert await rows_of(g) == []


async def test_rows_come_in_pages_by_their_keys(g: Scratch) -> None:
    """However large a page is, the rows are the same."""
    await told(g)
    await g.sibling().pair()
    rows = await rows_of(g)
    assert await rows_of(g, 1) == rows
    kinds = [type(row).__name__.removeprefix("Moved").lower() for row in rows]
    assert list(dict.fromkeys(kinds)) == [part.value for part in RowKind]
    assert await rows_of(g.sibling(3)) == []


async def test_a_group_is_there_again_when_all_of_it_is_written(g: Scratch) -> None:
    """Until the end nothing of it is seen, then all; what was not done is due, what waited waits."""
    await told(g)
    before, items = await g.store.dump(g.id), await g.items()
    rows = await rows_of(g)
    places = await g.store.places(g.id, "d1")
    former = await g.store.places(g.id, "d2", 1)
    assert former
    await g.store.delete_group(g.id, NOW + 40)
    assert await store_of(g).begin_import(start(g, rows)) == 0
    for page in pages(g, rows):
        await store_of(g).write_import(page)
        await unseen(g)
    head = await store_of(g).end_import(end(g))
    fills = await g.store.open_fills(NOW + 2_000, MANY)
    assert g.id in {each.group_id for each in fills}, "no vectors came with the passages"
    assert head == await g.head()
    assert (head.epoch > before.head.epoch, head.last_ms) == (True, NOW + 1_000)
    after = await g.store.dump(g.id)
    assert replace(after, head=before.head) == before
    assert plain(await rows_of(g)) == plain(rows)
    assert await g.items() == items
    assert await g.store.ontology(g.id) == ONTOLOGY
    assert await g.store.places(g.id, "d1") == places
    assert await g.store.places(g.id, "d2", 1) == former
    assert await g.store.chunks(g.id, "d1", True) == ["e3"]
    assert (g.id, "d1") in await g.store.unsettled_documents(1_000, ("", ""))
    lease = await g.leased(now_ms=NOW + 100)
    assert await g.started(lease, NOW + 100) == ["e0"]
    await g.store.release(lease)
    assert await g.store.retry_items(g.id, None, NOW + 100) == ["late"]
    receipt = await g.store.receipt(f"{g.id}-receipt")
    assert receipt is not None
    assert [each.uuid for each in receipt.items] == ["e0", "e1", "e2", "e3"]


async def test_what_is_imported_can_be_found_and_changed(g: Scratch) -> None:
    """Names lead to entities, changes tell everything, and the graph goes on from there."""
    rows = await taken(g)
    await store_of(g).begin_import(start(g, rows))
    for page in pages(g, rows):
        await store_of(g).write_import(page)
    head = await store_of(g).end_import(end(g))
    assert {fact.fact.uuid for fact in (await g.store.changes(g.id, 0, 100)).facts} == {"f1", "f3"}
    texts = await g.store.text_changes(g.id, 0, 100)
    assert {each.episode.uuid for each in texts.episodes} == {"e1", "e3"}
    assert {each.entity.name for each in texts.entities} == {"Ada", "Bob"}
    view = await g.store.names(g.id, ["ada"])
    assert view.by_key["ada"].uuid == "n-ada"
    assert view.head == head
    again = await g.write(facts=(fact("f5", view.by_key["ada"], view.by_key["ada"]),))
    assert again.rev == head.rev + 1
    (known,) = (await g.accepted(g.episode("e1", at=1), receipt_id=f"{g.id}-other")).items
    assert known.duplicate


async def test_an_interrupted_import_goes_on(g: Scratch) -> None:
    """Whoever begins again is told how far it came; a page that is written twice is there once."""
    rows = await taken(g)
    all_pages = pages(g, rows)
    for number, page in enumerate(all_pages):
        assert await store_of(g).begin_import(start(g, rows)) == page.after
        await store_of(g).write_import(page)
        await store_of(g).write_import(all_pages[number // 2])
    with pytest.raises(Conflict):
        await store_of(g).write_import(replace(all_pages[-1], after=10**6, upto=10**6 + 1))
    await store_of(g).end_import(end(g))
    assert plain(await rows_of(g)) == plain(rows)
    for late in (store_of(g).end_import(end(g)), store_of(g).write_import(all_pages[0])):
        with pytest.raises(Conflict):
            await late
    with pytest.raises(Conflict):
        await store_of(g).begin_import(start(g, rows))
    assert plain(await rows_of(g)) == plain(rows)


async def test_another_import_takes_the_place_of_one(g: Scratch) -> None:
    """What the first had written goes."""
    rows = await taken(g)
    await store_of(g).begin_import(start(g, rows, "first"))
    for page in pages(g, rows, "first")[:-1]:
        await store_of(g).write_import(page)
    less = [row for row in rows if row.key not in ("f1", "m1")]
    assert await store_of(g).begin_import(start(g, less, "second")) == 0
    with pytest.raises(Conflict):
        await store_of(g).write_import(pages(g, rows, "first")[-1])
    for page in pages(g, less, "second"):
        await store_of(g).write_import(page)
    await unseen(g)
    await store_of(g).end_import(end(g, "second"))
    assert plain(await rows_of(g)) == plain(less)


async def test_bodies_count_for_quotas_until_they_go(g: Scratch) -> None:
    """Also those of an import that is never over."""
    rows = await taken(g)
    counter = Counter(f"group {g.id}", "bytes", 0)

    async def counted() -> int:
        return (await g.store.used([counter])).get(counter, 0)

    def kept(import_id: str) -> list[ImportPage]:
        return [replace(page, keepers=(counter[0],)) for page in pages(g, rows, import_id)]

    size = sum(len(row.episode.body.encode()) for row in rows if isinstance(row, MovedEpisode))
    await store_of(g).begin_import(start(g, rows, "first"))
    for page in kept("first"):
        await store_of(g).write_import(page)
        await store_of(g).write_import(page)
    assert await counted() == size > 0
    await store_of(g).begin_import(start(g, rows, "second"))
    for page in kept("second"):
        await store_of(g).write_import(page)
    await store_of(g).end_import(end(g, "second"))
    assert await counted() == size
    await g.store.delete_group(g.id, NOW + 70)
    assert await counted() == 0


async def test_content_is_never_overwritten(g: Scratch) -> None:
    """Neither what was there before, nor what came meanwhile."""
    rows = await taken(g)
    await store_of(g).begin_import(start(g, rows))
    for page in pages(g, rows):
        await store_of(g).write_import(page)
    await g.accepted(g.episode("own"))
    with pytest.raises(Conflict):
        await store_of(g).end_import(end(g))
    assert [each.uuid for each in (await g.store.dump(g.id)).episodes] in (["own"], [])
    with pytest.raises(Conflict):
        await store_of(g).write_import(pages(g, rows)[0])
    sibling = g.sibling()
    await sibling.pair()
    with pytest.raises(Conflict):
        await store_of(g).begin_import(ImportStart(sibling.id, "i", 0, NOW))


async def test_a_deletion_takes_what_was_imported_so_far(g: Scratch) -> None:
    """Nothing of it comes to light, and the import begins anew."""
    rows = await taken(g)
    await store_of(g).begin_import(start(g, rows))
    for page in pages(g, rows):
        await store_of(g).write_import(page)
    await g.store.delete_group(g.id, NOW + 55)
    await unseen(g)
    with pytest.raises(Conflict):
        await store_of(g).end_import(end(g))
    await unseen(g)
    assert await store_of(g).begin_import(start(g, rows)) == 0
    for page in pages(g, rows):
        await store_of(g).write_import(page)
    await store_of(g).end_import(end(g))
    assert plain(await rows_of(g)) == plain(rows)


async def test_a_receipt_of_another_group_stays_its_own(g: Scratch) -> None:
    """An id that is taken names what it named."""
    rows = await taken(g)
    other = g.sibling()
    await g.store.delete_group(g.id, NOW + 41)
    taken_id = f"{other.id}-receipt"
    await other.accepted(other.episode("x"), receipt_id=taken_id)
    hostile = [_with_receipt(row, f"{g.id}-receipt", taken_id) for row in rows]
    await store_of(g).begin_import(start(g, hostile))
    for page in pages(g, hostile):
        await store_of(g).write_import(page)
    await store_of(g).end_import(end(g))
    receipt = await g.store.receipt(taken_id)
    assert receipt is not None
    assert (receipt.group_id, [each.uuid for each in receipt.items]) == (other.id, ["x"])
    assert taken_id not in {each.receipt_id for each in await g.items()}


def _with_receipt(row: Moved, receipt_id: str, other: str) -> Moved:
    """The row as if its receipt had another id."""
    if isinstance(row, MovedReceipt):
        return replace(row, receipt_id=other if row.receipt_id == receipt_id else row.receipt_id)
    if isinstance(row, MovedEpisode) and row.item.receipt_id == receipt_id:
        return replace(row, item=replace(row.item, receipt_id=other))
    return row
