"""Messages out of chats, exports and tables; what is hostile or broken is named with its place."""

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kgsvc.cli import slack
from kgsvc.cli.chats import Chats, any_time
from kgsvc.cli.options import Failure
from kgsvc.cli.reading import BadLine, Read, Record, Silent, find, read_csv, read_json, read_json_lines
from kgsvc.v1.types_pb2 import ROLE_TYPE_ASSISTANT, ROLE_TYPE_USER, Message
from tests.support import exports

START = datetime(2025, 1, 31, 9, tzinfo=UTC)
COLUMNS = {"content": "text", "role": "author", "timestamp": "date"}


def chats(**columns: str) -> Chats:
    return Chats("file", START, columns)


def messages(read: list[Read]) -> list[Message]:
    return [each.request.message for each in read if isinstance(each, Record)]


def problems(read: list[Read]) -> list[tuple[int, str]]:
    return [(each.line, each.problem) for each in read if isinstance(each, BadLine)]


def of_json(value: Any, **columns: str) -> list[Read]:
    return list(read_json(io.BytesIO(json.dumps(value).encode()), chats(**columns)))


def of_lines(*values: Any) -> list[Read]:
    text = "".join(json.dumps(value) + "\n" for value in values)
    return list(read_json_lines(io.BytesIO(text.encode()), chats()))


def of_csv(text: str | bytes, **columns: str) -> list[Read]:
    raw = text.encode() if isinstance(text, str) else text
    return list(read_csv(io.BytesIO(raw), chats(**columns)))


def seen(message: Message) -> tuple[str, str, str]:
    return message.role, message.content, message.timestamp.ToJsonString()


def test_a_chat_of_the_openai_api_is_read_line_by_line() -> None:
    read = of_lines(*exports.openai_lines())
    assert problems(read) == []
    assert [seen(each) for each in messages(read)] == [
        ("", "Ann Berg works at Acme.", "2025-01-31T09:00:00Z"),
        ("", "Noted.", "2025-01-31T09:00:00.001Z"),
        ("Ben Lind", "I live in Oslo.", "2025-01-31T09:00:00.002Z"),
    ]
    assert [each.role_type for each in messages(read)] == [
        ROLE_TYPE_USER,
        ROLE_TYPE_ASSISTANT,
        ROLE_TYPE_USER,
    ]
    assert sum(isinstance(each, Silent) for each in read) == 3


def test_chats_of_lists_of_messages_are_the_same_messages() -> None:
    lines = messages(of_lines(*exports.openai_lines()))
    whole = {"messages": exports.openai_lines()}
    assert messages(of_json(whole)) == messages(of_lines(whole)) == messages(of_json([whole])) == lines


def test_equal_messages_are_several_and_the_same_file_again_is_the_same() -> None:
    said = {"role": "user", "content": "Yes."}
    first = [each.uuid for each in messages(of_lines(said, said))]
    assert len(set(first)) == 2
    assert [each.uuid for each in messages(of_lines(said, said, said))][:2] == first
    assert all(each.minted for each in of_lines(said) if isinstance(each, Record))


@pytest.mark.parametrize(
    "time", ["2025-03-01T00:00:00Z", 1740787200, 1740787200000, "1740787200", 1740787200.0]
)
def test_a_time_that_a_message_tells_is_taken(time: object) -> None:
    read = of_lines({"role": "user", "content": "Hi.", "timestamp": time}, {"role": "user", "content": "Ho."})
    assert [each.timestamp.ToJsonString() for each in messages(read)] == [
        "2025-03-01T00:00:00Z",
        "2025-01-31T09:00:00Z",
    ]


@pytest.mark.parametrize(
    "value", [True, None, [], {}, "soon", "", 1e300, -1e300, float("nan"), float("inf"), 10**400]
)
def test_what_is_no_time_is_told(value: object) -> None:
    with pytest.raises(ValueError, match="must be an ISO 8601 time"):
        any_time(value)


def test_an_export_of_chatgpt_is_read_along_the_branch_that_was_kept() -> None:
    read = of_json(exports.chatgpt())
    assert problems(read) == []
    asked, answered = messages(read)
    assert seen(asked) == ("", "Dora Stein lives in Vienna.", "2025-01-01T00:00:02.500Z")
    assert seen(answered) == ("", "Noted.", "2025-01-01T00:00:05.250Z")
    assert (asked.uuid, asked.name, asked.source_description) == ("m-user", "Moving", "ChatGPT")
    assert answered.role_type == ROLE_TYPE_ASSISTANT


def changed(path: str, value: Any) -> list[dict[str, Any]]:
    """The export of ChatGPT with one value replaced."""
    (conversation,) = made = exports.chatgpt()
    *inside, last = path.split(".")
    place: Any = conversation
    for name in inside:
        place = place[name]
    place[last] = value
    return made


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("current_node", "nowhere", "mapping has no node 'nowhere'"),
        ("current_node", None, "current_node is missing"),
        ("current_node", ["m-user"], "mapping has no node"),
        ("mapping.m-system.parent", "m-answer", "to itself"),
        ("mapping.m-user", 3, "mapping has no node 'm-user'"),
        ("mapping.m-user.message", "text", "mapping.m-user.message: it must be an object"),
        ("mapping.m-user.message.author", None, "mapping.m-user.message: author must be an object"),
        ("mapping.m-user.message.author.role", ["user"], "author.role must be one of"),
        ("mapping.m-user.message.content.parts", "text", "content.parts must be a list"),
        ("mapping.m-user.message.content.parts", ["\ud800"], "characters that are no text"),
        ("mapping.m-user.message.create_time", "soon", "create_time must be an ISO 8601 time"),
        ("mapping.m-user.message.create_time", 1e300, "create_time must be an ISO 8601 time"),
        ("mapping.m-user.message.id", 7, "id must be text"),
        ("title", {"a": 1}, "title must be text"),
    ],
)
def test_a_broken_export_of_chatgpt_is_named_by_its_place(path: str, value: Any, problem: str) -> None:
    found = problems(of_json(changed(path, value)))
    assert found
    assert found[0][0] == 1
    assert problem in found[0][1]


@pytest.mark.parametrize("path", ["recipient", "content.content_type", "metadata"])
@pytest.mark.parametrize("value", [[], {}, 3, None])
def test_other_values_of_chatgpt_do_no_harm(path: str, value: Any) -> None:
    assert problems(of_json(changed(f"mapping.m-user.message.{path}", value))) == []


def test_a_message_of_chatgpt_without_a_time_has_that_of_its_conversation() -> None:
    (asked, _) = messages(of_json(changed("mapping.m-user.message.create_time", None)))
    assert asked.timestamp.ToJsonString() == "2025-01-01T00:00:00.123Z"


def test_an_export_of_claude_is_read() -> None:
    read = of_json(exports.claude())
    assert problems(read) == []
    assert [seen(each) for each in messages(read)] == [
        ("", "Erik Holm works at Borealis.", "2025-02-01T10:00:01.123456Z"),
        ("", "Noted.", "2025-02-01T10:00:02.123456Z"),
    ]
    assert messages(read)[0].name == "Work"
    assert messages(read)[1].role_type == ROLE_TYPE_ASSISTANT
    assert sum(isinstance(each, Silent) for each in read) == 1


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (3, "chat_messages must be a list"),
        (["x"], "chat_messages[0]: it must be an object"),
        ([{"text": 3}], "chat_messages[0]: content must be text or a list of parts"),
        ([{"content": [3]}], "chat_messages[0]: content[0] must be an object"),
        ([{"text": "a", "sender": {}}], "chat_messages[0]: sender must be one of"),
        ([{"text": "a", "sender": "human"}], "chat_messages[0]: created_at must be an ISO 8601 time"),
        ([{"text": "a", "sender": "human", "created_at": 1}], "chat_messages[0]: uuid must be text"),
    ],
)
def test_a_broken_export_of_claude_is_named_by_its_place(given: Any, problem: str) -> None:
    ((line, told),) = problems(of_json([{"chat_messages": given}]))
    assert (line, problem in told) == (1, True), told


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"messages": "x"}, "messages must be a list"),
        ({"messages": [3]}, "messages[0]: must be an object"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, "messages[0]: role must be one of user"),
        ({"messages": [{"role": ["user"], "content": "x"}]}, "messages[0]: role must be one of user"),
        ({"role": "user", "content": 3}, "content must be text or a list of parts"),
        ({"role": "user", "content": [{"type": "text", "text": 3}]}, "content[0].text must be text"),
        ({"role": "user", "content": "x", "name": 3}, "name must be text"),
        ({"role": "user", "content": "\ud800"}, "holds characters that are no text"),
        ({"role": "Ann", "content": "x"}, "role_type is missing"),
        ({"foo": 1}, "is nothing that ingest knows: a message"),
    ],
)
def test_a_line_that_fits_nothing_says_what_would(value: Any, problem: str) -> None:
    ((line, told),) = problems(of_lines({"role": "user", "content": "x"}, value))
    assert (line, problem in told) == (2, True), told


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"[" * 100_000, "is nested too deeply"),
        (b'{"role": "user", "content": ' + b"9" * 5_000 + b"}", "holds a number that is too long"),
        ('{"role": "user", "content": "é"}'.encode("utf-16"), "is not UTF-8"),
        (b'{"role": "user", "content": "caf\xe9"}', "is not UTF-8"),
    ],
)
def test_hostile_json_is_told_by_its_line(raw: bytes, problem: str) -> None:
    for read in (read_json_lines(io.BytesIO(raw), chats()), read_json(io.BytesIO(raw), chats())):
        found = problems(list(read))
        assert found[0] == (1, problem)


def test_columns_of_a_table_are_what_the_map_says() -> None:
    text = 'author,text,date,mood\nAnn,Ann lives in Oslo.,2025-01-01 10:00,ok\n"Ben","two\nlines",,\nCid,,,\n'
    read = of_csv(text, **COLUMNS)
    assert problems(read) == []
    assert [seen(each) for each in messages(read)] == [
        ("Ann", "Ann lives in Oslo.", "2025-01-01T10:00:00Z"),
        ("Ben", "two\nlines", "2025-01-31T09:00:00Z"),
    ]
    assert sum(isinstance(each, Silent) for each in read) == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_tables_are_read_as_office_programs_write_them(between: str, encoding: str) -> None:
    rows = [["author", "text", "date, or none"], ["Ann", "Käse; Brot", ""], ["Ben", "a,b", ""]]
    table = io.StringIO()
    csv.writer(table, delimiter=between).writerows(rows)
    read = of_csv(table.getvalue().encode(encoding), content="text", role="author")
    assert problems(read) == []
    assert [(each.role, each.content) for each in messages(read)] == [("Ann", "Käse; Brot"), ("Ben", "a,b")]


def test_fields_of_json_objects_are_what_the_map_says() -> None:
    rows = [{"author": "Ann", "text": "Hi.", "date": 1735689600}, {"author": 7, "text": "Ho."}]
    read = of_json(rows, **COLUMNS)
    assert [(each.role, each.content) for each in messages(read)] == [("Ann", "Hi."), ("7", "Ho.")]
    assert problems(of_json([{"author": "Ann"}], **COLUMNS)) == [(1, "there is no text (--map content)")]
    assert "text must be text" in problems(of_json([{"text": {"a": 1}}], **COLUMNS))[0][1]
    sides = of_json([{"text": "a", "side": "BOT"}], content="text", role_type="side")
    assert "side must be one of user" in problems(sides)[0][1]


def test_a_table_with_our_own_names_needs_no_map() -> None:
    read = of_csv("role_type,content,timestamp,role\nuser,Hi.,2025-01-01T00:00:00Z,\nuser,Ho.,soon,Ann\n")
    assert [each.content for each in messages(read)] == ["Hi."]
    assert problems(read)[0][0] == 3


@pytest.mark.parametrize(
    ("raw", "line", "problem"),
    [
        (b"text\na,b\n", 2, "has more fields than the first line"),
        (b"text,date\na\n", 2, "has fewer fields than the first line"),
        (b'text\n"a\n', 3, "is not CSV"),
        (b"text\na\x00b\nc\n", None, ""),
        (b"text\ncaf\xe9\n", 2, "is not UTF-8"),
        (b"text\n" + b"x" * 200_000 + b"\n", 2, "is not CSV: field larger than field limit"),
    ],
)
def test_a_broken_table_is_told_by_its_line(raw: bytes, line: int | None, problem: str) -> None:
    found = problems(of_csv(raw, content="text"))
    if line is not None:
        assert found[0][0] in {line, line - 1}
        assert problem in found[0][1]


def test_a_table_whose_columns_are_not_known_says_what_it_has() -> None:
    raw = "author,text\nAnn,Hi.\n"
    ((line, told),) = problems(of_csv(raw))
    assert (line, told) == (
        1,
        "the columns are author, text: name what they are, as in"
        " --map content=text,role=author,timestamp=date",
    )
    assert problems(of_csv(raw, content="txt")) == [
        (1, "there is no column 'txt' (--map); there are author, text")
    ]
    assert of_csv("", content="text") == []


@pytest.fixture
def export(tmp_path: Path) -> Path:
    slack.names.cache_clear()
    return exports.slack(tmp_path / "export")


def of_day(day: Path) -> list[Read]:
    with day.open("rb") as source:
        return list(read_json(source, chats(), day))


def test_the_days_of_a_slack_export_are_read_with_the_names_of_people(export: Path) -> None:
    days = find([export]).items
    assert [day.relative_to(export).as_posix() for day in days] == [
        "general/2025-01-01.json",
        "general/2025-01-02.json",
    ]
    assert all(map(slack.is_day, days))
    first, second = map(of_day, days)
    assert [seen(each) for each in messages(first)] == [
        (
            "Ann Berg",
            "I work at Acme & Sons with Ben Lind, see the site (https://acme.example).",
            "2025-01-01T00:00:00.000200Z",
        ),
        ("Ben Lind", "Ann Berg lives in Oslo. @here, more in #general.", "2025-01-01T00:01:00.000300Z"),
    ]
    assert [each.source_description for each in messages(first)] == [
        "Slack #general",
        "Slack #general, in a thread",
    ]
    assert isinstance(first[0], Silent)
    (bot,) = messages(second)
    assert (bot.role, bot.role_type) == ("deploybot", ROLE_TYPE_ASSISTANT)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("x", "is not an object with type, user, text and ts"),
        ({"type": "message", "user": "U1", "text": 3, "ts": "1"}, "text and ts must be texts"),
        ({"type": "message", "user": "U1", "text": "a", "ts": 1}, "text and ts must be texts"),
        ({"type": "message", "user": "U1", "text": "a", "ts": "soon"}, "ts must be seconds since 1970"),
        ({"type": "message", "user": "U1", "text": "\ud800", "ts": "1"}, "characters that are no text"),
    ],
)
def test_a_broken_day_of_slack_is_told_by_its_place(export: Path, value: Any, problem: str) -> None:
    day = export / "general" / "2025-01-03.json"
    day.write_text(json.dumps([{"type": "message", "user": "U9", "text": "ok", "ts": "1"}, value]))
    read = of_day(day)
    assert messages(read)[0].role == "U9", "nobody that the list of users knows"
    ((line, told),) = problems(read)
    assert (line, problem in told) == (2, True)


@pytest.mark.parametrize("text", ["{", "{}", "[" * 100_000])
def test_a_broken_list_of_users_is_told_with_its_path(export: Path, text: str) -> None:
    (export / "users.json").write_text(text)
    with pytest.raises(Failure, match=r"users\.json: is not a list of Slack's users"):
        of_day(export / "general" / "2025-01-01.json")


def test_links_out_of_a_slack_export_are_not_followed(export: Path, tmp_path: Path) -> None:
    (tmp_path / "2025-05-05.json").write_text("[]")
    (export / "general" / "2025-05-05.json").symlink_to(tmp_path / "2025-05-05.json")
    (export / "other").symlink_to(tmp_path)
    assert len(find([export]).items) == 2
