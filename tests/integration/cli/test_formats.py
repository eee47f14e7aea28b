"""`kgsvc ingest` of chats, exports and tables as people have them, against a running server."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli.conftest import Talker
from tests.support import exports

GROUP = ("--group", "chats")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A file of each format, and a folder of Slack."""
    place = tmp_path / "in"
    exports.slack(place / "slack")
    lines = "".join(json.dumps(each) + "\n" for each in exports.openai_lines())
    (place / "chat.jsonl").write_text(lines)
    for name, value in {"gpt": exports.chatgpt(), "claude": exports.claude()}.items():
        (place / name).mkdir()
        (place / name / "conversations.json").write_text(json.dumps(value))
    return place


async def told(talk: Talker) -> dict[str, Any]:
    """What became of everything that was sent."""
    listed = (await talk("items", *GROUP, "--json")).out.splitlines()
    return {each["uuid"]: each["state"] for each in map(json.loads, listed)}


async def test_a_folder_of_every_format_goes_in_once(talk: Talker, folder: Path) -> None:
    first = await talk("ingest", folder, *GROUP, "--wait", "--json")
    assert first.code == 0, first.err
    assert (first.json["accepted"], first.json["not_sent"], first.json["refused"]) == (10, 8, [])
    again = await talk("ingest", folder, *GROUP)
    assert again.code == 0, again.err
    assert again.out.splitlines() == [
        "0 items stored, 10 were there already.",
        "8 not sent: instructions, output of tools, notices, empty messages.",
    ]
    assert "m-user" in await told(talk)
    assert "m-left" not in await told(talk)
    asked = ("search", "Who works at Acme? Who lives in Oslo and Vienna?", *GROUP, "--max-facts", "50")
    found = (await talk(*asked, "--json")).json["facts"]
    known = {(fact["source_name"], fact["name"], fact["target_name"]) for fact in found}
    assert known >= {
        ("Ann Berg", "WORKS_AT", "Acme"),  # told last
        ("Ann Berg", "LIVES_IN", "Oslo"),
        ("Ben Lind", "LIVES_IN", "Oslo"),
        ("Dora Stein", "LIVES_IN", "Vienna"),
        ("Erik Holm", "WORKS_AT", "Borealis"),
    }


async def test_a_chat_without_times_has_that_of_the_option_and_one_line_after_the_other(
    talk: Talker, folder: Path
) -> None:
    chat = folder / "chat.jsonl"
    done = await talk("ingest", chat, *GROUP, "--wait", "--time", "2024-05-01T00:00:00Z")
    assert done.code == 0, done.err
    for query, since in {"Where does Ann work?": "00:00Z", "Where does Ben live?": "00.002Z"}.items():
        (fact,) = (await talk("search", query, *GROUP, "--json", "--max-facts", "1")).json["facts"]
        assert fact["valid_at"].startswith("2024-05-01T00:00:")
        assert fact["valid_at"].endswith(since)
    later = await talk("ingest", chat, *GROUP, "--time", "2025-05-01T00:00:00Z")
    assert later.out.splitlines()[0] == "0 items stored, 3 were there already."


@pytest.mark.parametrize("named", ["file", "pipe"])
async def test_a_table_and_an_array_go_in_by_a_map(talk: Talker, tmp_path: Path, named: str) -> None:
    rows = [{"who": "Ann Berg", "said": "I work at Acme.", "on": "2025-01-01"}] * 2
    table = io.StringIO()
    writer = csv.DictWriter(table, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    columns = ("--map", "content=said,role=who,timestamp=on")
    for name, text in {"t.csv": table.getvalue(), "a.json": json.dumps(rows)}.items():
        (tmp_path / name).write_text(text)
        if named == "file":
            done = await talk("ingest", tmp_path / name, *GROUP, *columns, "--json")
        else:
            kind = ("--format", "csv") if name == "t.csv" else ()
            done = await talk("ingest", "-", *GROUP, *columns, *kind, "--json", stdin=text)
        assert done.code == 0, done.err
        if not (named == "pipe" and name == "a.json"):  # standard input is the same to both
            assert done.json["accepted"] == 2


async def test_bad_maps_and_bad_tables_say_what_to_do(talk: Talker, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("who,said\nAnn,Hi.\nBen,Ho.,more\n")
    for wrong, said in {
        "who=said": "must be FIELD=COLUMN with a FIELD of content, role",
        "content": "must be FIELD=COLUMN",
        "role=who": "must name the column of the text: content=COLUMN",
    }.items():
        done = await talk("ingest", table, *GROUP, "--map", wrong)
        assert done.code == 2
        assert said in done.err
    bare = await talk("ingest", table, *GROUP)
    assert (bare.code, bare.err.splitlines()[0]) == (
        1,
        "line 1: the columns are who, said: name what they are, as in"
        " --map content=text,role=author,timestamp=date",
    )
    some = await talk("ingest", table, *GROUP, "--map", "content=said,role=who")
    assert some.code == 1
    assert some.out.splitlines()[0] == "1 items stored, 0 were there already."
    assert some.err.splitlines()[0] == "line 3: has more fields than the first line"


async def test_what_is_hostile_is_named_with_file_and_place_and_all_others_go_in(
    talk: Talker, folder: Path
) -> None:
    (folder / "deep.json").write_bytes(b"[" * 200_000)
    (folder / "latin.jsonl").write_bytes(b'{"role": "user", "content": "caf\xe9"}\n')
    broken = exports.chatgpt()
    broken[0]["mapping"]["m-user"]["message"]["content"]["parts"] = 3
    (folder / "gpt" / "conversations.json").write_text(json.dumps(broken))
    (folder / "slack" / "general" / "2025-01-02.json").write_text(
        '[{"type": "message", "ts": 3, "text": "x"}]'
    )
    done = await talk("ingest", folder, *GROUP)
    assert done.code == 1
    assert done.out.splitlines()[0] == "8 items stored, 0 were there already."
    assert sorted(done.err.splitlines()) == sorted(
        [
            f"{folder}/deep.json, line 1: is nested too deeply",
            f"{folder}/latin.jsonl, line 1: is not UTF-8",
            f"{folder}/gpt/conversations.json, line 1: mapping.m-user.message: content.parts must be a list",
            f"{folder}/slack/general/2025-01-02.json, line 1: text and ts must be texts",
            "Error: 4 lines were refused; all others are stored",
        ]
    )
    (folder / "slack" / "users.json").write_text("{}")
    done = await talk("ingest", folder / "slack", *GROUP)
    assert done.sentence == f"Error: {folder}/slack/users.json: is not a list of Slack's users\n"
