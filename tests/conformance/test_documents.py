"""DocumentStore: records of documents, their chunks, and who is the faster of two revisions."""

from dataclasses import replace

import pytest

from kgsvc.domain.errors import RevisionChanged
from kgsvc.domain.model.documents import Document, Place, Revision
from kgsvc.domain.model.graph import Source
from kgsvc.stores.protocol import Anchor
from tests.support.samples import MANY, NOW, Scratch
from tests.support.stores import ON_REAL

pytestmark = ON_REAL


def _document(g: Scratch, name: str, number: int = 1, settled: bool = True) -> Document:
    revisions = tuple(Revision(n, f"hash{n}", NOW, NOW) for n in range(1, number + 1))
    return Document(
        g.id, name, revisions, number, "Übersicht", metadata={"a": [1, {"b": None}]}, settled=settled
    )


def _places(*uuids: str) -> list[Place]:
    return [Place(uuid, 5 * n, 5 * n + 7, 5 * n, 2, n + 1, ("Head", "頭")) for n, uuid in enumerate(uuids)]


async def _unsettled(g: Scratch) -> list[tuple[str, str]]:
    return await g.store.unsettled_documents(MANY, ("", ""))


async def test_a_document_is_kept_as_it_was_put(g: Scratch) -> None:
    """Its record, its places in their order, and which document a chunk is of."""
    assert await g.store.document(g.id, "d") is None
    document, places = _document(g, "d"), _places("c2", "c1", "c2")
    await g.store.put_document(document, places, 0)
    assert await g.store.document(g.id, "d") == document
    assert await g.store.places(g.id, "d") == tuple(places)
    assert await g.store.places(g.id, "e") == ()
    assert await g.store.documents_of(g.id, ["c1", "x"]) == {"c1": "d"}
    assert await g.store.document(g.sibling().id, "d") is None
    await g.store.put_document(
        replace(document, title=None, revisions=(*document.revisions, Revision(2, "", 1, 2))), None, 1
    )
    assert await g.store.places(g.id, "d") == tuple(places)


async def test_the_slower_of_two_revisions_is_told(g: Scratch) -> None:
    """A record is replaced only by who read the latest one."""
    await g.store.put_document(_document(g, "d"), _places("c1"), 0)
    for expected in (0, 2):
        put = g.store.put_document(_document(g, "d", 2), _places("c9"), expected)
        with pytest.raises(RevisionChanged):
            await put
    assert await g.store.places(g.id, "d") == tuple(_places("c1"))
    await g.store.put_document(_document(g, "d", 2), _places("c2"), 1)
    assert await g.store.document(g.id, "d") == _document(g, "d", 2)


async def test_where_former_texts_stood_is_kept(g: Scratch) -> None:
    """By the number of their revision, while the record names it; one that did not count leaves none."""
    document = _document(g, "d")
    await g.store.put_document(document, _places("c1", "c2"), 0)
    assert (await g.store.former_texts(g.id, "d"), await g.store.places(g.id, "d", 1)) == ([], ())
    noted = replace(document, revisions=_document(g, "d", 2).revisions)
    await g.store.put_document(noted, None, 1)
    assert await g.store.former_texts(g.id, "d") == []
    await g.store.put_document(_document(g, "d", 3), _places("c3"), 2)
    await g.store.put_document(_document(g, "d", 4), _places("c1"), 3)
    assert await g.store.former_texts(g.id, "d") == [1, 3]
    assert await g.store.places(g.id, "d", 1) == tuple(_places("c1", "c2"))
    assert await g.store.places(g.id, "d", 3) == tuple(_places("c3"))
    assert (await g.store.places(g.id, "d", 2), await g.store.places(g.id, "d", 4)) == ((), ())
    fifth = replace(_document(g, "d", 5), revisions=_document(g, "d", 5).revisions[2:])
    await g.store.put_document(fifth, _places("c5"), 4)
    assert await g.store.former_texts(g.id, "d") == [3, 4]
    assert await g.store.remove_document(g.id, "d", 5) is True
    assert (await g.store.former_texts(g.id, "d"), await g.store.places(g.id, "d", 3)) == ([], ())


async def test_chunks_retire_until_a_document_is_settled(g: Scratch) -> None:
    """Unsettled documents are found; chunks that retired are still those of the document."""
    await g.store.put_document(_document(g, "d"), _places("c1", "c2"), 0)
    await g.store.put_document(_document(g, "d", 2, settled=False), _places("c2", "c3"), 1)
    assert (g.id, "d") in await _unsettled(g)
    assert await g.store.chunks(g.id, "d", active=True) == ["c1", "c2", "c3"]
    await g.store.retire_chunk(g.id, "d", "c1")
    assert await g.store.chunks(g.id, "d", active=True) == ["c2", "c3"]
    assert await g.store.chunks(g.id, "d", active=False) == ["c1", "c2", "c3"]
    await g.store.settle_document(g.id, "d", 1)
    assert (g.id, "d") in await _unsettled(g)
    await g.store.settle_document(g.id, "d", 2)
    assert (g.id, "d") not in await _unsettled(g)
    assert await g.store.document(g.id, "d") == _document(g, "d", 2)


async def test_unsettled_documents_come_in_pages(g: Scratch) -> None:
    """In order, behind a document, so that those that cannot be settled yet do not hide others."""
    for name in ("b", "a", "c"):
        await g.store.put_document(_document(g, name, settled=False), _places(), 0)
    assert await g.store.unsettled_documents(2, (g.id, "a")) == [(g.id, "b"), (g.id, "c")]
    for name in "abc":
        await g.store.settle_document(g.id, name, 1)


async def test_documents_are_listed_by_id(g: Scratch) -> None:
    """In the order of code points, behind an id."""
    for name in ("b", "a", "B", "あ"):
        await g.store.put_document(_document(g, name), _places(), 0)
    assert [each.document_id for each in await g.store.documents(g.id, 9, "")] == ["B", "a", "b", "あ"]
    assert [each.document_id for each in await g.store.documents(g.id, 1, "a")] == ["b"]


async def test_a_removed_document_leaves_nothing(g: Scratch) -> None:
    """Of the revision that was read; with its group too."""
    await g.store.put_document(_document(g, "d"), _places("c1"), 0)
    assert await g.store.remove_document(g.id, "d", 2) is False
    assert await g.store.remove_document(g.id, "d", 1) is True
    assert await g.store.remove_document(g.id, "d", 1) is False
    assert await g.store.chunks(g.id, "d", active=False) == []
    await g.store.put_document(_document(g, "d", settled=False), _places("c1"), 0)
    await g.store.delete_group(g.id, NOW + 1)
    assert await g.store.documents(g.id, 9, "") == []
    assert (g.id, "d") not in await _unsettled(g)
    await g.store.put_document(_document(g, "d"), _places("c1"), 0)


async def test_chunks_are_listed_with_their_document_alone(g: Scratch) -> None:
    """They are no context of other episodes, unless these name them; items tell their states."""
    chunk = g.episode("c1", at=1, source=Source.DOCUMENT)
    await g.accepted(chunk, g.episode("e", at=2))
    assert [each.uuid for each in await g.store.recent_episodes(g.id, 9)] == ["e"]
    anchors = [Anchor("x", NOW * 2), Anchor("y", NOW * 2, ("c1",))]
    found = await g.store.previous_episodes(g.id, anchors, 9, 99)
    shown = {uuid: [each.uuid for each in episodes] for uuid, episodes in found.items()}
    assert shown == {"x": ["e"], "y": ["c1"]}
    assert [each.uuid for each in await g.store.item_statuses(g.id, ["c1", "x"])] == ["c1"]


async def test_a_hidden_episode_is_found_no_longer(g: Scratch) -> None:
    """It leaves the index of texts and stays; found again it comes back."""
    await g.accepted(g.episode("c1", source=Source.DOCUMENT))
    for change in ("found", "hide_episodes", "found"):
        before = await g.head()
        await g.write(**{change: ("c1",)})
        changes = await g.store.text_changes(g.id, before.rev, 99)
        told = ([each.episode.uuid for each in changes.episodes], changes.removed_episodes)
        assert told == ((["c1"], ()) if change == "found" else ([], ("c1",)))
    assert [each.uuid for each in await g.store.episode("c1", g.id)] == ["c1"]
