"""Files of items."""

import io
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kgsvc.cli import reading
from kgsvc.cli.ingest import IngestOptions, read_source
from kgsvc.cli.reading import STDIN, BadLine, Read, Record, find, read_json, read_json_lines, read_text
from kgsvc.v1.types_pb2 import RoleType, Source


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


TIME = datetime(2025, 1, 31, tzinfo=UTC)
MESSAGE = {"role_type": "user", "content": "Hello.", "timestamp": "2025-01-31T09:30:00Z"}
EPISODE = {"source": "text", "body": "Hello.", "reference_time": "2025-01-31T09:30:00Z"}


def lines(*values: object) -> io.BytesIO:
    return io.BytesIO("".join(json.dumps(value) + "\n" for value in values).encode())


def problems(read: Iterable[Read]) -> dict[int, str]:
    return {each.line: each.problem for each in read if isinstance(each, BadLine)}


def records(read: Iterable[Read]) -> list[Record]:
    return [each for each in read if isinstance(each, Record)]


def test_a_message_has_the_fields_of_the_contract() -> None:
    full = MESSAGE | {"uuid": "u", "name": "n", "role": "Alice", "source_description": "chat"}
    (record,) = records(read_json_lines(lines(full)))
    message = record.request.message
    assert (message.uuid, message.name, message.role, message.content) == ("u", "n", "Alice", "Hello.")
    assert message.role_type == RoleType.ROLE_TYPE_USER
    assert message.timestamp.ToJsonString() == "2025-01-31T09:30:00Z"
    assert message.source_description == "chat"


def test_an_episode_has_the_fields_of_the_contract() -> None:
    full = EPISODE | {"uuid": "u", "name": "n", "source": "json", "source_description": "file"}
    (record,) = records(read_json_lines(lines(full)))
    episode = record.request.episode
    assert (episode.uuid, episode.name, episode.body, episode.source_description) == (
        "u",
        "n",
        "Hello.",
        "file",
    )
    assert episode.source == Source.SOURCE_JSON


def test_absent_and_null_fields_stay_unset() -> None:
    (record,) = records(read_json_lines(lines(EPISODE | {"uuid": None})))
    assert not record.request.episode.HasField("uuid")
    assert not record.request.episode.HasField("name")


def test_times_with_another_zone_are_converted() -> None:
    (record,) = records(read_json_lines(lines(EPISODE | {"reference_time": "2025-01-31T11:30:00.25+02:00"})))
    assert record.request.episode.reference_time.ToJsonString() == "2025-01-31T09:30:00.250Z"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([1], "is not a JSON object"),
        ({"uuid": "u"}, "is nothing that ingest knows: a message (role_type, content, timestamp), a chat"),
        (MESSAGE | {"body": "x"}, "body is not a field of a message"),
        (EPISODE | {"group_id": "g"}, "group_id is not a field of a episode"),
        (EPISODE | {"source": "pdf"}, "source must be one of text, json, message"),
        (EPISODE | {"source": 1}, "source must be one of text, json, message"),
        (EPISODE | {"source": []}, "source must be one of text, json, message"),
        (MESSAGE | {"role_type": "unspecified"}, "role_type must be one of user, assistant, system"),
        (EPISODE | {"body": {"a": 1}}, "body must be text"),
        (EPISODE | {"reference_time": "2025-01-31"}, "reference_time must be an ISO 8601 time with its zone"),
        (EPISODE | {"reference_time": 1738315800}, "reference_time must be an ISO 8601 time with its zone"),
        (EPISODE | {"reference_time": "yesterday"}, "reference_time must be an ISO 8601 time with its zone"),
        ({"body": "x"}, "reference_time is missing, source is missing"),
    ],
)
def test_what_is_wrong_with_a_line_is_named(value: object, problem: str) -> None:
    read = problems(read_json_lines(lines(EPISODE, value)))
    assert list(read) == [2]
    assert problem in read[2]


def test_lines_that_are_no_json_are_named_and_the_others_read() -> None:
    source = io.BytesIO(b'{"a": \n\n\xff\n' + json.dumps(EPISODE).encode())
    read = list(read_json_lines(source))
    assert problems(read) == {1: "is not JSON: Expecting value at character 8", 3: "is not UTF-8"}
    assert [record.line for record in records(read)] == [4]


def test_a_byte_order_mark_and_windows_line_ends_are_no_problem() -> None:
    source = io.BytesIO(b"\xef\xbb\xbf" + json.dumps(EPISODE).encode() + b"\r\n")
    assert len(records(read_json_lines(source))) == 1


def test_a_line_too_long_to_be_read_is_named_and_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LINE_BYTES", 120)
    long = EPISODE | {"body": "x" * 400}
    read = list(read_json_lines(lines(EPISODE, long, EPISODE)))
    assert problems(read) == {2: "is longer than 120 bytes"}
    assert [record.line for record in records(read)] == [1, 3]
    text = io.BytesIO(b"One.\n" + b"x" * 400 + b"\nTwo.")
    read = list(read_text(text, "a.txt", TIME))
    assert [record.request.episode.body for record in records(read)] == ["One.", "Two."]
    assert list(problems(read)) == [2]


def test_every_paragraph_of_text_is_an_episode() -> None:
    source = io.BytesIO(b"\n One\ntwo.  \n\n \t\nThree.\n")
    read = records(read_text(source, "a.txt", TIME))
    assert [(r.line, r.request.episode.body) for r in read] == [(2, "One\ntwo."), (6, "Three.")]
    assert {r.request.episode.source_description for r in read} == {"a.txt"}
    assert {r.request.episode.reference_time.seconds for r in read} == {int(TIME.timestamp())}


def uuids(text: bytes, origin: str = "a.txt", time: datetime = TIME) -> list[str]:
    read = records(read_text(io.BytesIO(text), origin, time))
    return [record.request.episode.uuid for record in read]


def test_the_same_text_has_the_same_uuids_again() -> None:
    text = b"One.\n\nTwo.\n\nOne.\n"
    assert uuids(text) == uuids(text, time=datetime.now(UTC))
    assert len(set(uuids(text))) == 3
    assert uuids(text)[:2] == uuids(b"One.\n\nTwo.\n\nThree.")[:2]


def test_another_file_makes_other_uuids_and_another_time_does_not() -> None:
    text, later = b"One.", datetime(2025, 2, 1, tzinfo=UTC)
    assert uuids(text) == uuids(text, time=later)
    assert uuids(text) != uuids(text, origin="b.txt")


@pytest.mark.parametrize("text", [b"One.\n\n\n\nTwo.\n\n\n\nThree.", b"{}\n\n\n\n{}\n\n[]"])
def test_the_sizes_of_what_is_read_are_the_size_of_the_input(text: bytes) -> None:
    read = read_text(io.BytesIO(text), "a.txt", TIME) if b"One" in text else read_json_lines(io.BytesIO(text))
    assert sum(each.bytes for each in read) == len(text)


def test_a_json_file_is_an_array_one_object_or_lines() -> None:
    array = json.dumps([MESSAGE, EPISODE, 7], indent=2).encode()
    read = list(read_json(io.BytesIO(array)))
    assert [each.line for each in read] == [1, 2, 3]
    assert sum(each.bytes for each in read) == len(array)
    assert problems(read) == {3: "is not a JSON object"}
    (one,) = records(read_json(io.BytesIO(json.dumps(MESSAGE, indent=2).encode())))
    assert one.request.message.content == "Hello."
    assert [each.line for each in records(read_json(lines(MESSAGE, EPISODE)))] == [1, 2]
    assert list(read_json(io.BytesIO(b"[]"))) == []


@pytest.mark.parametrize(
    ("raw", "problem"), [(b"[1,", "is not JSON: Expecting value at character 4"), (b"\xff", "is not UTF-8")]
)
def test_a_json_file_that_cannot_be_read_says_why(raw: bytes, problem: str) -> None:
    assert problems(read_json(io.BytesIO(raw))) == {1: problem}


def test_a_json_file_too_long_to_be_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "FILE_BYTES", 10)
    assert "put one object on each line" in problems(read_json(io.BytesIO(b"[" + b"1" * 20)))[1]


def test_a_source_is_touched_only_when_its_first_item_is_asked_for() -> None:
    class Waiting(io.RawIOBase):
        """Standard input of somebody who has typed nothing yet."""

        def readable(self) -> bool:
            return True

        def readinto(self, _buffer: object) -> int:
            raise InterruptedError

    found = read_source(io.BufferedReader(Waiting()), STDIN, IngestOptions("g", "auto", None, None, 1024))
    with pytest.raises(InterruptedError):
        next(found)
