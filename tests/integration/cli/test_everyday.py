"""groups, entity, history, communities, ontology, delete, config and completion, against a running server."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Talker, kgsvc
from tests.support.service import environment
from tests.support.spawning import REPOSITORY

GROUP = ("--group", "team")
STORY = [
    ("works", "Alice Chen", "I work at Lumen Labs and I live in Berlin.", "2024-03-01T09:00:00Z"),
    ("uses", "Bruno Keller", "I work at Lumen Labs too. Project Heron uses SQLite.", "2024-03-01T09:01:00Z"),
    ("moved", "Alice Chen", "I moved to Zurich.", "2025-01-31T09:00:00Z"),
]


@pytest.fixture
async def told(talk: Talker) -> Talker:
    """A server that was told a story in the group `team`."""
    lines = [
        {"uuid": uuid, "role_type": "user", "role": role, "content": content, "timestamp": at}
        for uuid, role, content, at in STORY
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = await talk("ingest", "-", *GROUP, "--wait", stdin=text)
    assert done.code == 0, done.err
    return talk


async def fact_of(talk: Talker, query: str) -> str:
    (fact,) = (await talk("search", query, *GROUP, "--max-facts", "1", "--json")).json["facts"]
    return str(fact["uuid"])


async def test_groups_are_listed_with_their_sizes(told: Talker) -> None:
    await told(
        "ontology", "put", "-", "--group", "types alone", stdin="entity_types: [{name: Task, description: x}]"
    )
    listed = await told("groups")
    assert (listed.code, listed.err) == (0, "2 groups\n")
    head, team, types = listed.out.splitlines()
    assert head.split() == ["episodes", "entities", "facts", "last", "change", "group"]
    assert (team.split()[0], team.split()[-1]) == ("3", "team")
    assert types.split() == ["0", "0", "0", "never", "types", "alone"]
    (first, _) = map(json.loads, (await told("groups", "--json")).out.splitlines())
    assert (first["group_id"], first["episodes"]) == ("team", 3)
    assert first["facts"] >= 4


async def test_an_entity_is_shown_with_its_facts_now_and_before(told: Talker) -> None:
    shown = await told("entity", "alice chen", *GROUP)
    assert shown.code == 0, shown.err
    lines = shown.out.splitlines()
    assert lines[0].startswith("Alice Chen (Person) · entity ")
    now, before = lines.index("Now:"), lines.index("Before, or expired:")
    sources = lines.index("The latest sources, oldest first:")
    assert any("moved to Zurich" in line for line in lines[now:before])
    assert any("lives in Berlin" in line for line in lines[before:sources])
    assert [line.rsplit(" ", 1)[1] for line in lines[sources + 1 :]] == ["works", "moved"]
    found = (await told("entity", "Alice Chen", *GROUP, "--json")).json
    assert len(found["current_facts"]) == 2
    assert len(found["facts"]) == 3
    by_uuid = await told("entity", found["node"]["uuid"], *GROUP)
    assert by_uuid.out == shown.out


async def test_an_entity_that_is_not_there_names_what_is_alike(told: Talker) -> None:
    wrong = await told("entity", "Alice Chan", *GROUP)
    assert wrong.sentence == "Error: no entity of 'team' is called 'Alice Chan'; alike are 'Alice Chen'\n"
    assert "no entity of 'team' is called 'zzz'" in (await told("entity", "zzz", *GROUP)).sentence
    typo = await told("entity", "Alice Chen", "--group", "taem")
    assert "the group 'taem' has no episodes: is its name right? (did you mean 'team'?)" in typo.sentence


async def test_a_mistyped_group_names_the_nearest(told: Talker) -> None:
    for words in (
        ["search", "Alice"],
        ["items"],
        ["retry", "x"],
        ["documents"],
        ["communities"],
        ["ask", "Who?", "--context"],
    ):
        done = await told(*words, "--group", "teem")
        assert done.code == 1
        assert done.err.splitlines()[-1].endswith("is its name right? (did you mean 'team'?)")
    far = await told("items", "--group", "other")
    assert far.sentence == "Error: the group 'other' has no episodes: is its name right?\n"


async def test_the_history_of_a_fact_says_until_when_it_was_believed(told: Talker) -> None:
    fact = await fact_of(told, "Where does Alice live?")
    shown = await told("history", fact)
    assert shown.code == 0, shown.err
    assert "believed since " in shown.out
    assert (await told("history", fact, *GROUP, "--json")).json["facts"][-1]["uuid"] == fact
    assert "there is no fact with this uuid" in (await told("history", "nobody", *GROUP)).sentence


async def test_a_retracted_fact_is_kept_with_the_reason(told: Talker) -> None:
    fact = await fact_of(told, "What does Project Heron use?")
    unreasoned = await told("retract", fact)
    assert (unreasoned.code, "Missing option '--reason'" in unreasoned.err) == (2, True)
    done = await told("retract", fact, *GROUP, "--reason", "it was only planned")
    assert done.code == 0, done.err
    assert done.out.startswith("the fact is retracted\n")
    assert "(retracted: it was only planned)" in done.out
    assert "SQLite" not in (await told("search", "What does Project Heron use?", *GROUP)).out
    assert "(retracted: it was only planned)" in (await told("history", fact)).out
    again = await told("retract", fact, "--reason", "as I said")
    assert "the fact is already expired" in again.sentence
    other = await fact_of(told, "Where does Alice live?")
    as_json = await told("retract", other, "--reason", "another Alice", "--json")
    assert as_json.json["edge"]["retract_reason"] == "another Alice"


async def test_communities_are_built_and_listed(told: Talker) -> None:
    none = await told("communities", *GROUP)
    assert (none.code, none.out, none.err) == (0, "", "0 communities; `--build` finds them\n")
    built = await told("communities", *GROUP, "--build")
    assert built.code == 0, built.err
    assert " members" in built.out.splitlines()[0]
    listed = await told("communities", *GROUP, "--json")
    first = json.loads(listed.out.splitlines()[0])
    assert first["name"] in built.out
    assert (await told("communities", *GROUP, "--build", "--wait-timeout", "0")).code == 1


async def test_types_are_read_set_and_taken_back(told: Talker, tmp_path: Path) -> None:
    servers = await told("ontology", "get", *GROUP)
    assert servers.err == "# the server's types; the group has none of its own\n"
    own = tmp_path / "types.yaml"
    own.write_text("entity_types: [{name: Task, description: work}]\n")
    put = await told("ontology", "put", own, *GROUP)
    assert (put.code, put.out.splitlines()[0]) == (0, "Entity types in force: Task")
    got = await told("ontology", "get", *GROUP)
    assert (got.err, got.out) == ("# the group's own types\n", own.read_text())
    again = await told("ontology", "put", "-", *GROUP, stdin=got.out)
    assert again.out == put.out
    wrong = await told("ontology", "put", "-", *GROUP, stdin="entity_types: 3\n")
    assert wrong.sentence == "Error: yaml: line 1: entity_types must be a list\n"
    own.write_bytes(b"caf\xe9")
    assert "is not UTF-8" in (await told("ontology", "put", own, *GROUP)).sentence
    assert (await told("ontology", "put", "-", *GROUP, stdin="{}")).code == 0
    assert (await told("ontology", "get", *GROUP)).out == servers.out


async def test_deleting_asks_and_names_what_would_go(told: Talker) -> None:
    refused = await told("delete", "group", "team", stdin="n\n")
    assert refused.code == 1
    assert "Delete the group 'team': 3 episodes, " in refused.err
    assert refused.err.endswith("Aborted!\n")
    assert (await told("groups", "--json")).out
    unasked = await told("delete", "group", "team")
    assert (unasked.code, unasked.out) == (1, "")

    fact = await fact_of(told, "What does Project Heron use?")
    gone = await told("delete", "fact", fact, *GROUP, stdin="y\n")
    assert gone.code == 0, gone.err
    assert "Delete the fact 'Project Heron uses SQLite.' (since 2024-03-01T09:01:00Z)?" in gone.err
    assert "there is no fact with this uuid" in (await told("delete", "fact", fact, *GROUP, "--yes")).sentence

    cascade = await told("delete", "episode", "moved", *GROUP, "--cascade", "--yes")
    assert cascade.code == 0, cascade.err
    assert "1 facts hold again" in cascade.out
    assert "Berlin" in (await told("search", "Where does Alice live?", *GROUP, "--max-facts", "1")).out
    kept = await told("delete", "episode", "uses", *GROUP, stdin="y\n")
    assert "and keep what was read from it?" in kept.err
    absent = await told("delete", "document", "nobody", *GROUP, "--yes")
    assert absent.code == 1

    all_of_it = await told("delete", "group", "team", "--yes")
    assert all_of_it.code == 0, all_of_it.err
    assert all_of_it.out.startswith("the group is deleted (receipt ")
    assert (await told("groups")).err == "0 groups\n"
    assert "there is no group 'team'" in (await told("delete", "group", "team", "--yes")).sentence


async def test_deleting_names_the_nearest_group(told: Talker) -> None:
    done = await told("delete", "group", "taem", "--yes")
    assert done.sentence == "Error: there is no group 'taem' (did you mean 'team'?)\n"


async def test_every_setting_is_shown_with_its_origin_and_no_secret(tmp_path: Path) -> None:
    file = tmp_path / "kgsvc.toml"
    file.write_text('[openai]\napi_key = "geheim"\n[server]\nrole = "api"\n')
    done = await kgsvc(
        "config", "--config", file, settings={"limits.body_bytes": "1000", "client.token": "pst"}
    )
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert f"server.role = api  ({file})" in lines
    assert "limits.body_bytes = 1000  (environment)" in lines
    assert "server.processes = 0" in lines
    assert f"openai.api_key = (set)  ({file})" in lines
    read = await kgsvc("config", "--json", "--config", file)
    assert read.json["server.role"] == {"value": "api", "from": str(file)}
    assert read.json["store.kind"] == {"value": "embedded", "from": "default"}
    assert not any(secret in done.out + read.out for secret in ("geheim", "pst"))
    file.write_text("[server]\nrole = 3\n")
    assert "server.role: must be one of" in (await kgsvc("config", "--config", file)).sentence


async def completed(line: str) -> list[str]:
    """What bash is offered for a line, by the script that `completion` prints."""
    words = line.split(" ")
    given = environment({}) | {
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "_KGSVC_COMPLETE": "bash_complete",
    }
    ran = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "kgsvc"],
        env=given,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return [each.partition(",")[2] for each in ran.stdout.splitlines()]


async def test_shells_complete_commands_and_options() -> None:
    for shell, part in {"bash": "complete -o nosort", "zsh": "#compdef kgsvc", "fish": "complete --"}.items():
        done = await kgsvc("completion", shell)
        assert done.code == 0, done.err
        assert part in done.out
        assert "_KGSVC_COMPLETE" in done.out
    assert await completed("kgsvc de") == ["demo", "delete"]
    assert await completed("kgsvc delete ") == ["document", "episode", "fact", "group"]
    assert "--group" in await completed("kgsvc search --g")
    assert (await kgsvc("completion", "csh")).code == 2


@pytest.mark.parametrize(
    "words",
    [
        ["groups"],
        ["entity", "Ann", *GROUP],
        ["history", "f"],
        ["communities", *GROUP],
        ["ontology", "get", *GROUP],
        ["delete", "group", "g", "--yes"],
        ["delete", "episode", "e", *GROUP, "--yes"],
    ],
)
async def test_no_service_is_said(words: list[str]) -> None:
    done = await kgsvc(*words, settings={"client.server": "127.0.0.1:1", "client.timeout_s": "2"})
    assert "no service answers at 127.0.0.1:1" in done.sentence
    assert os.linesep not in done.sentence.rstrip("\n")
