"""`kgsvc ingest` of folders and of files of every format, against a running server."""

import json
import re
from io import BytesIO
from pathlib import Path

import docx
import pytest

from tests.integration.cli import conftest
from tests.integration.cli.conftest import Talker, kgsvc
from tests.support import hostile
from tests.support.pdfs import Row, pdf_of

GROUP = ("--group", "files")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A file of each format, and what is none."""
    place = tmp_path / "notes"
    (place / "more").mkdir(parents=True)
    (place / "a.md").write_text("# Trips\n\nAnna Berg works at Acme.\n")
    (place / "b.html").write_text("<script>no()</script><p>Bruno Lind works at Borealis.")
    (place / "more" / "c.pdf").write_bytes(pdf_of([[Row("Carla Diaz works at Cobalt.")]]))
    report = docx.Document()
    report.add_paragraph("Dora Eng works at Delta Labs.")
    written = BytesIO()
    report.save(written)
    (place / "more" / "d.docx").write_bytes(written.getvalue())
    episode = {
        "source": "text",
        "body": "Emil Frey works at Ember.",
        "reference_time": "2024-03-01T00:00:00Z",
    }
    (place / "e.json").write_text(json.dumps([episode], indent=2))
    (place / "f.jsonl").write_text(json.dumps(episode | {"body": "Fritz Gall works at Falke."}) + "\n")
    (place / "picture.png").write_bytes(b"\x89PNG")
    (place / ".hidden.md").write_text("Nobody works at Nowhere.")
    return place


EMPLOYERS = ("Acme", "Borealis", "Cobalt", "Delta Labs", "Ember", "Falke")


async def test_a_folder_goes_in_with_files_of_every_format(talk: Talker, folder: Path) -> None:
    done = await talk("ingest", folder, *GROUP, "--wait")
    assert done.code == 0, done.err
    assert "Files of other formats that were passed over: 1." in done.out
    found = await talk("search", "works at", *GROUP, "--json")
    assert {fact["target_name"] for fact in found.json["facts"]} == set(EMPLOYERS)


async def test_documents_are_listed_revised_and_deleted(talk: Talker, folder: Path) -> None:
    done = await talk("ingest", folder, *GROUP, "--wait")
    assert "Documents: 4 new; 4 chunks to read." in done.out
    assert "Documents: 4 unchanged; 0 chunks" in (await talk("ingest", folder, *GROUP)).out
    (folder / "a.md").write_text("# Trips\n\nAnna Berg works at Zenith.\n")
    assert "1 revised, 3 unchanged" in (await talk("ingest", folder, *GROUP, "--wait")).out
    listed = (await talk("documents", *GROUP)).out
    assert f"{folder.as_posix()}/a.md  processed" in listed
    assert "revision 2 · 1 of 1 chunks in the graph" in listed
    gone = folder / "more" / "c.pdf"
    assert "is deleted" in (await talk("delete", "document", gone.as_posix(), *GROUP, "--yes")).out
    found = await talk("search", "works at", *GROUP, "--json")
    assert {fact["target_name"] for fact in found.json["facts"]} & {"Cobalt", "Zenith"} == {"Zenith"}


async def test_a_file_that_cannot_be_read_is_named_and_all_others_go_in(talk: Talker, folder: Path) -> None:
    (folder / "more" / "0.pdf").write_bytes(b"%PDF-1.7\nhalf")
    (folder / "z.docx").write_bytes(b"no archive")
    done = await talk("ingest", folder, *GROUP, "--wait")
    assert done.code == 1
    assert done.err.splitlines() == [
        f"{folder / 'z.docx'}: is called DOCX and holds something else",
        f"{folder / 'more' / '0.pdf'}: is cut off: its end is missing",
        "Error: 2 files were refused; all others are stored",
    ]
    found = await talk("search", "works at", *GROUP, "--json")
    assert {fact["target_name"] for fact in found.json["facts"]} == set(EMPLOYERS)


async def test_a_format_that_is_named_goes_before_the_names_of_files(talk: Talker, folder: Path) -> None:
    (folder / "a.md").write_text("Anna Berg works at Acme.\n\nBruno Lind works at Borealis.\n")
    done = await talk("ingest", folder / "a.md", *GROUP, "--format", "text", "--json")
    assert (done.json["accepted"], done.json["refused"]) == (2, [])


async def test_a_folder_without_anything_to_read_says_so(talk: Talker, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "picture.png").write_bytes(b"\x89PNG")
    done = await talk("ingest", tmp_path / "in", *GROUP)
    assert done.sentence == "Error: there is nothing to read; files of other formats: 1\n"


@pytest.mark.slow
async def test_hostile_files_are_named_and_all_others_go_in(
    talk: Talker, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conftest, "DEADLINE_S", 280.0)
    files = list(hostile.many(seed=5, count=80))
    for file in files:
        (folder / file.name).write_bytes(file.data)
    settings = {"client.server": talk.service.address} | {
        f"reading.{name}": str(value)
        for name, value in (("file_bytes", 8 << 20), ("memory_bytes", 256 << 20), ("deadline_s", 10))
    }
    done = await kgsvc("ingest", folder, *GROUP, "--wait", "--json", settings=settings)
    assert done.code == 1
    told = json.loads(done.out)
    reasons = {each["file"]: each["reason"] for each in told["unreadable"]}
    taken = [file for file in files if not file.reason.startswith("is none of")]
    assert reasons.keys() == {str(folder / file.name) for file in taken}
    for file in taken:
        assert re.match(file.reason, reasons[str(folder / file.name)]), file.name
    found = await talk("search", "works at", *GROUP, "--json")
    assert {fact["target_name"] for fact in found.json["facts"]} == set(EMPLOYERS)
