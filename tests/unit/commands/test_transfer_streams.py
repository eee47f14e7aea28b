"""Exports as streams, and the folder of files that arrive in pieces."""

import asyncio
import os
from pathlib import Path

import pytest

from kgsvc.commands.transfer.content import GroupChanged
from kgsvc.commands.transfer.streaming import ExportAsked, begun_of, stream_export
from kgsvc.commands.transfer.uploads import ReceivedFile, Uploads
from kgsvc.domain.errors import InvalidArgument, LimitExceeded, Overloaded
from kgsvc.domain.limits import DAY_MS
from kgsvc.stores.embedded import EmbeddedStore
from tests.support.samples import Scratch
from tests.unit.commands.test_transfer_files import GROUP, many, store, told, written

__all__ = ["store"]
ASKED = ExportAsked(GROUP, True, "0", 1)
NOW = 10 * DAY_MS


async def test_a_stream_is_the_file(store: EmbeddedStore, tmp_path: Path) -> None:
    await many(store)
    await written(store, tmp_path / "file")
    found = [each async for each in stream_export(store, ASKED, 50_000)]
    assert max(len(each.data) for each in found) == 50_000
    file = await asyncio.to_thread((tmp_path / "file").read_bytes)
    assert b"".join(each.data for each in found) == file
    assert found[-1].rows == {"entity": 1_200, "episode": 160, "receipt": 1, "fact": 2_200}
    for number in range(0, len(found), 9):
        begun = begun_of(found[number].cursor)
        asked = ExportAsked(GROUP, True, "0", 99, begun)
        rest = [each async for each in stream_export(store, asked, 20_000)]
        assert file[: begun.offset] + b"".join(each.data for each in rest) == file
        assert rest[-1].rows == found[-1].rows


async def test_a_stream_of_a_group_that_changes_ends_with_an_error(store: EmbeddedStore) -> None:
    await many(store)
    sent = stream_export(store, ASKED, 50_000)
    first = await anext(sent)
    await Scratch(store, GROUP).pair()
    with pytest.raises(GroupChanged, match="changed while it was exported"):
        assert not [each.rows async for each in sent if each.rows is not None]
    again = stream_export(store, ExportAsked(GROUP, True, "0", 1, begun_of(first.cursor)), 50_000)
    with pytest.raises(GroupChanged):
        await anext(again)


async def test_a_cursor_behind_the_end_is_none(store: EmbeddedStore) -> None:
    await told(store)
    *_, last = [each async for each in stream_export(store, ASKED, 50_000)]
    begun = begun_of(last.cursor)
    for offset, vectors in ((begun.offset + 1, True), (begun.offset, False)):
        beyond = type(begun)(begun.exported_ms, begun.digest, offset)
        with pytest.raises(InvalidArgument if vectors else GroupChanged):
            await anext(stream_export(store, ExportAsked(GROUP, vectors, "0", 1, beyond), 50_000))


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    """A folder that takes 100 bytes."""
    return Uploads(tmp_path / "uploads", 100)


def put(upload: ReceivedFile, data: bytes) -> None:
    """Add to it and let it go."""
    upload.add(upload.size, data)
    upload.sync()
    upload.close()


def test_what_arrived_is_there_for_the_next_call(uploads: Uploads, tmp_path: Path) -> None:
    put(uploads.open("g", "mine", NOW), b"12345")
    upload = uploads.open("g", "mine", NOW)
    assert (upload.size, upload.durable) == (5, 5)
    upload.add(3, b"4567")
    upload.add(0, b"123")
    assert (upload.size, upload.durable) == (7, 5)
    with pytest.raises(InvalidArgument, match="7 bytes of the file are here"):
        upload.add(8, b"9")
    put(upload, b"8")
    assert upload.path.read_bytes() == b"12345678"
    assert upload.path.stat().st_mode & 0o077 == 0
    assert (tmp_path / "uploads").stat().st_mode & 0o077 == 0


def test_one_call_at_a_time_adds_to_a_file(uploads: Uploads) -> None:
    upload = uploads.open("g", "mine", NOW)
    with pytest.raises(Overloaded, match="another call sends this file"):
        uploads.open("g", "mine", NOW)
    other = uploads.open("g", "other", NOW)
    upload.forget()
    fresh = uploads.open("g", "mine", NOW)  # another file of that name
    assert fresh.size == 0
    for each in (upload, other, fresh):
        each.close()


def test_files_are_bounded_each_and_together(uploads: Uploads) -> None:
    upload = uploads.open("g", "mine", NOW)
    upload.add(0, b"x" * 100)
    with pytest.raises(LimitExceeded, match="more than 100 bytes"):
        upload.add(100, b"x")
    put(upload, b"")
    other = uploads.open("g", "other", NOW)
    other.add(0, b"x")
    with pytest.raises(Overloaded, match="leave no room"):
        other.sync()
    other.close()


def test_what_nobody_goes_on_with_goes_after_a_day(uploads: Uploads) -> None:
    for name in ("old", "new", "busy"):
        put(uploads.open("g", name, 0), b"1")
    busy, old = uploads.open("g", "busy", 0), uploads.open("g", "old", 0)
    old.close()
    for upload in (busy, old):
        os.utime(upload.path, (1, 1))
    nameless = uploads.open("g", None, 0)
    kept = uploads.open("g", "another", DAY_MS + 2_000)
    assert not old.path.exists()
    assert busy.path.exists()
    fresh = uploads.open("g", "new", 0)
    assert fresh.size == 1
    nameless.close()
    assert not nameless.path.exists()
    for upload in (busy, kept, fresh):
        upload.close()


def test_what_is_left_of_an_erased_group_goes(uploads: Uploads) -> None:
    for group in ("g", "h"):
        put(uploads.open(group, "mine", NOW), b"1")
    busy = uploads.open("g", "busy", NOW)
    busy.add(0, b"22")
    asyncio.run(uploads.drop(["g", "nobody"]))
    own, other = uploads.open("g", "mine", NOW), uploads.open("h", "mine", NOW)
    assert (own.size, other.size) == (0, 1)
    assert busy.path.exists(), "a call that is under way is not erased under its hands"
    for upload in (busy, own, other):
        upload.close()
    asyncio.run(Uploads(busy.path / "nowhere").drop(["g"]))
