"""Files of arrays: whole or not there, private, bounded."""

import os
from pathlib import Path

import numpy as np
import pytest

from kgsvc.search.index.array_files import ArrayFiles, file_shape, row_bytes
from kgsvc.search.index.arrays import Column, Live

NOTES = {"group_id": "g", "proof": "p"}
ROOMY = 2**30


def opened(directory: Path, most_bytes: int = ROOMY) -> ArrayFiles:
    files = ArrayFiles(directory, most_bytes)
    files.open()
    return files


def write(files: ArrayFiles, path: Path, *rows: int) -> None:
    array = np.array(rows, np.int64)
    writing = files.writing(path, NOTES, {"rows": array})
    assert writing is not None
    writing.write(array)
    writing.end()
    writing.commit()


def test_arrays_come_back_and_may_be_changed_in_memory(tmp_path: Path) -> None:
    files = opened(tmp_path / "index")
    path = files.folder("g") / "facts"
    column = Column(np.float32, 3)
    column.reserve(2)
    column.data[:2] = [[1, 2, 3], [4, 5, 6]]
    empty, live, flags = np.empty(0, np.uint8), Live(column, 2), np.array([True, False])
    writing = files.writing(path, NOTES, {"empty": empty, "live": live, "flags": flags})
    assert writing is not None
    assert files.read(path) is None
    for array, room in ((empty, 0), (column.data[:2], file_shape(live)[0] - 2), (flags, 0)):
        writing.write(array)
        writing.end(room * row_bytes(live))
    writing.commit()

    stored = files.read(path)
    assert stored is not None
    assert stored.notes == NOTES
    assert stored.arrays["empty"].tolist() == []
    assert stored.arrays["flags"].tolist() == [True, False]
    grown = Column(np.float32, 3)
    grown.take(stored.arrays["live"])
    assert len(grown.data) > 2
    assert grown.data[:3].tolist() == [[1, 2, 3], [4, 5, 6], [0, 0, 0]]
    grown.data[0] = 9
    rows = len(grown.data)
    grown.reserve(10 * rows)
    assert grown.data[:2].tolist() == [[9, 9, 9], [4, 5, 6]]
    assert not grown.data[2:].any()
    again = files.read(path)
    assert again is not None
    assert again.arrays["live"][0].tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="another kind"):
        Column(np.float32, 4).take(again.arrays["live"])


def test_what_is_no_whole_file_is_not_read(tmp_path: Path) -> None:
    files = opened(tmp_path / "index")
    path = files.folder("g") / "facts"
    assert files.read(path) is None
    write(files, path, *range(1_000))
    whole = path.read_bytes()
    for damaged in (b"", whole[:5], whole[:40], whole[:-8], b"x" * len(whole), b"kgsvcidx" + b"\xff" * 99):
        path.write_bytes(damaged)
        assert files.read(path) is None, damaged[:20]
        assert files.notes(path) is None
    path.write_bytes(whole)
    assert files.read(path) is not None


@pytest.mark.parametrize(("mode", "stay"), [(0o755, True), (0o777, False), (0o720, False)])
def test_a_directory_is_private_and_what_others_could_write_is_not_read(
    tmp_path: Path, mode: int, stay: bool
) -> None:
    files = opened(tmp_path / "index")
    write(files, files.folder("g") / "facts", 1)
    (tmp_path / "index").chmod(mode)
    again = opened(tmp_path / "index")
    assert (tmp_path / "index").stat().st_mode & 0o777 == 0o700
    assert bool(again.files()) is stay


def test_a_directory_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(PermissionError, match="belong to the user"):
        opened(tmp_path / "index")


def test_what_a_process_left_behind_goes_and_what_another_writes_stays(tmp_path: Path) -> None:
    files = opened(tmp_path / "index")
    path = files.folder("g") / "facts"
    array = np.arange(3)
    writing = files.writing(path, NOTES, {"rows": array})
    assert writing is not None
    left = path.with_name(".writing-1-1")
    left.write_bytes(b"text of a process that is gone")
    opened(tmp_path / "index")
    assert not left.exists()
    writing.write(array)
    writing.end()
    writing.commit()
    assert files.files() == [path]


def test_a_group_is_dropped_with_what_is_being_written(tmp_path: Path) -> None:
    files = opened(tmp_path / "index")
    path = files.folder("g") / "facts"
    write(files, path, 1)
    writing = files.writing(path, NOTES, {"rows": np.arange(3)})
    assert writing is not None
    files.drop("g")
    with pytest.raises(FileNotFoundError):
        writing.commit()
    writing.abandon()
    assert files.files() == []
    files.drop("g")


def test_the_files_used_longest_ago_go_first(tmp_path: Path) -> None:
    files = opened(tmp_path / "index", 3 * 8_192)
    paths = [files.folder(group) / "facts" for group in "abc"]
    for at, path in enumerate(paths):
        write(files, path, *range(900))
        os.utime(path, (at, at))
    files.read(paths[0])
    write(files, files.folder("d") / "facts", *range(900))
    assert {path.parent for path in files.files()} == {files.folder(group) for group in "acd"}
    assert files.writing(paths[0], NOTES, {"rows": np.arange(10_000)}) is None
