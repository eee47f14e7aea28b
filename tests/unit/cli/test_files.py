"""Which files `kgsvc ingest` takes."""

from pathlib import Path

from kgsvc.cli.files import STDIN, find


def tree(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    return folder


def test_folders_are_walked_and_files_told_apart(tmp_path: Path) -> None:
    tree(tmp_path, "b/two.PDF", "b/a/one.md", "a.jsonl", "c.json", "image.png", "no-suffix")
    found = find([tmp_path])
    assert [path.relative_to(tmp_path).as_posix() for path in found.documents] == ["b/two.PDF", "b/a/one.md"]
    assert [path.name for path in found.items] == ["a.jsonl", "c.json"]
    assert (found.others, found.passed_over, found.count) == ((), 2, 4)


def test_hidden_files_and_links_in_folders_are_not_taken(tmp_path: Path) -> None:
    folder = tree(tmp_path / "in", "a.md", ".git/b.md", ".c.md")
    (folder / "link.md").symlink_to(tree(tmp_path, "outside.md") / "outside.md")
    (folder / "loop").symlink_to(folder)
    assert [path.name for path in find([folder]).documents] == ["a.md"]
    assert [path.name for path in find([folder / "link.md"]).documents] == ["link.md"]


def test_a_file_that_is_named_is_taken_whatever_its_name(tmp_path: Path) -> None:
    tree(tmp_path, "notes", ".hidden.md", "a.md")
    found = find([tmp_path / "notes", STDIN, tmp_path / ".hidden.md", tmp_path / "a.md", tmp_path])
    assert found.others == (tmp_path / "notes", STDIN)
    assert found.documents == (tmp_path / ".hidden.md", tmp_path / "a.md")
