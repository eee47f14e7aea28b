"""Every tool by the client of the official package, over both transports, against a real server."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from kgsvc.v1 import documents_pb2 as doc
from tests.integration.agents.tasks import TASKS, Task
from tests.support.agents import TRANSPORTS, Agent, agent, held
from tests.support.client import Client, timestamp
from tests.support.service import Service

pytestmark = pytest.mark.asyncio(loop_scope="module")
GROUP = "team/a b"
URI = "kgsvc://groups/team%2Fa%20b"
JAN = 1_704_067_200_000
TOLD = (
    {"text": "Alice Chen lives in Berlin. Alice Chen works at Lumen Labs.", "happened_at": "2024-03-01"},
    {"text": "I moved to Zurich.", "said_by": "Alice Chen", "happened_at": "2025-01-31T09:00:00Z"},
    {"text": "Bruno Keler leads Project Heron.", "happened_at": "2025-02-01T10:00:00+01:00"},
    {"text": "Rosa Lima works at Initech.", "happened_at": "2024-05-01"},
)
TOOLS = {"recall", "remember", "ask", "entity", "history", "correct", "forget"}


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=TRANSPORTS)
async def memory(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Agent]:
    """An agent with a memory that was told a few things."""
    folder = tmp_path_factory.mktemp("memory")
    async with Service({"store.data_dir": str(folder / "data")}, folder) as service:
        settings = {"client.server": service.address}
        async with held(agent(request.param, GROUP, settings, folder)) as made:
            for told in TOLD:
                assert not (await made("remember", **told)).failed
            async with Client(service.address) as client:
                item = doc.DocumentItem(
                    document_id="staff.md",
                    title="Staff",
                    text="# Holidays\n\nEverybody has thirty days off.",
                    reference_time=timestamp(JAN),
                )
                added = await client.ask("AddDocuments", group_id=GROUP, documents=[item])
                for receipt in added.documents[0].receipt_ids:
                    await client.wait_receipt(receipt)
            yield made


async def test_every_tool_says_what_it_does_and_takes(memory: Agent) -> None:
    listed = {tool.name: tool for tool in (await memory.client.list_tools()).tools}
    assert listed.keys() == TOOLS
    for name, tool in listed.items():
        assert len(tool.description or "") > 100, name
        assert tool.input_schema["additionalProperties"] is False
        for argument, schema in tool.input_schema["properties"].items():
            assert schema["description"], f"{name}.{argument}"
            bounded = {"maxLength", "maximum", "enum", "format"} & schema.keys()
            assert bounded, f"{name}.{argument} has no bound"
    hints = {name: tool.annotations for name, tool in listed.items()}
    assert {name for name, hint in hints.items() if hint and hint.read_only_hint} == TOOLS - {
        "remember", "correct", "forget"
    }  # fmt: skip
    assert {name for name, hint in hints.items() if hint and hint.destructive_hint} == {"forget"}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.wish)
async def test_a_task_by_its_tool(task: Task, memory: Agent) -> None:
    given = {name: await resolved(memory, value) for name, value in task.arguments.items()}
    told = await memory(task.tool, **given)
    assert not told.failed, told
    assert [part for part in task.there if part not in told] == [], told
    assert [part for part in task.not_there if part in told] == [], told


async def resolved(memory: Agent, value: Any) -> Any:
    """The id of a fact in angle brackets, as an agent finds it: by recall."""
    wanted = re.fullmatch(r"<(.+)>", value) if isinstance(value, str) else None
    if wanted is None:
        return value
    found = await memory("recall", query=wanted[1])
    place = found.index(wanted[1])
    return re.compile(r"fact (\S+)").search(found, place)[1]  # type: ignore[index]


async def test_an_episode_is_forgotten_with_what_only_it_told(memory: Agent) -> None:
    stored = await memory("remember", text="Dora Lind works at Globex.")
    again = await memory("remember", text="Dora Lind works at Globex.", happened_at="2025-05-05")
    ids = [re.search(r"episode (\S+)\.", each)[1] for each in (stored, again)]  # type: ignore[index]
    for uuid in ids:
        assert "the episode is deleted" in await memory("forget", kind="episode", id=uuid)
    assert "Dora" not in await memory("recall", query="Where does Dora Lind work?")


async def test_a_document_is_forgotten(memory: Agent) -> None:
    told = await memory("forget", kind="document", id="no such")
    assert (told, told.failed) == ("there was no document with this id", False)


async def test_nothing_found_is_said(memory: Agent) -> None:
    assert (
        await memory("recall", query="x", true_at="1900-01-01")
        == "Nothing found in the facts of this memory."
    )


async def test_the_memory_is_a_resource(memory: Agent) -> None:
    (listed,) = (await memory.client.list_resources()).resources
    assert listed.uri == URI
    (text,) = (await memory.client.read_resource(URI)).contents
    assert text.mime_type == "text/plain"
    told, known = text.text.split("Known about it:")  # type: ignore[union-attr]
    assert "2025-01-31T09:00:00Z · Alice Chen(user): I moved to Zurich. · episode " in told
    assert "Alice Chen moved to Zurich." in known


@pytest.mark.parametrize(
    ("tool", "arguments", "lines"),
    [
        ("recall", {}, ["- query: Field required"]),
        ("recall", {"query": "x", "limit": 51}, ["- limit: Input should be less than or equal to 50"]),
        ("recall", {"query": "x" * 4_097}, ["- query: String should have at most 4096 characters"]),
        (
            "recall",
            {"query": 7, "true_at": "soon"},
            ["- query: Input should be a valid string", "- true_at: Input should be a valid datetime"],
        ),
        (
            "remember",
            {"text": " ", "who": "me"},
            ["- text: String should match pattern", "- who: Extra inputs are not permitted"],
        ),
        (
            "forget",
            {"kind": "everything", "id": "x"},
            ["- kind: Input should be 'fact', 'episode' or 'document'"],
        ),
        ("correct", {"fact": "x"}, ["- arguments: Value error, give text, the right wording, or reason, to"]),
    ],
)
async def test_wrong_arguments_are_named(
    tool: str, arguments: dict[str, Any], lines: list[str], memory: Agent
) -> None:
    told = await memory(tool, **arguments)
    assert told.failed
    first, *rest = told.splitlines()
    assert first == f"INVALID_ARGUMENT: these arguments of {tool} are not acceptable; nothing was done"
    assert [line for line, wanted in zip(rest, lines, strict=True) if not line.startswith(wanted)] == []


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("history", {"fact": "no such"}, "NOT_FOUND: there is no fact with this uuid"),
        ("correct", {"fact": "no such", "text": "Ann."}, "NOT_FOUND: "),
        ("correct", {"fact": "no such", "reason": "never"}, "NOT_FOUND: there is no fact with this uuid"),
        ("entity", {"name": "Alice Chenn"}, "NOT_FOUND: no entity of 'team/a b' is called 'Alice Chenn'; "),
        ("history", {"fact": "x" * 1_000}, "LIMIT_EXCEEDED: input.uuid: "),
    ],
)  # fmt: skip
async def test_what_the_service_refuses_is_told(
    tool: str, arguments: dict[str, Any], said: str, memory: Agent
) -> None:
    told = await memory(tool, **arguments)
    assert told.failed
    assert told.startswith(said), told


async def test_what_there_is_not_is_an_error_of_the_protocol(memory: Agent) -> None:
    with pytest.raises(MCPError, match="there is no tool 'recal'") as unknown:
        await memory("recal", query="x")
    assert unknown.value.code == INVALID_PARAMS
    with pytest.raises(MCPError, match=f"there is {URI}") as other:
        await memory.client.read_resource("kgsvc://groups/other")
    assert other.value.code == INVALID_PARAMS


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_clients_of_the_protocol_before_are_served(transport: str, tmp_path: Path) -> None:
    async with Service({"store.data_dir": str(tmp_path / "data")}, tmp_path) as service:
        settings = {"client.server": service.address}
        async with agent(transport, "g", settings, tmp_path, mode="legacy") as old:
            assert "Ann works at Acme." in await old("remember", text="Ann works at Acme.")
            (text,) = (await old.client.read_resource("kgsvc://groups/g")).contents
            assert "Ann works at Acme." in text.text  # type: ignore[union-attr]


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_service_that_is_away_or_silent_is_told(transport: str, tmp_path: Path) -> None:
    async with Service({"store.data_dir": str(tmp_path / "data")}, tmp_path) as service:
        settings = {"client.server": service.address, "client.timeout_s": "1"}
        async with agent(transport, "g", settings, tmp_path) as patient:
            assert not (await patient("recall", query="x")).failed
            service.pause()
            silent = await patient("recall", query="x")
            service.resume()
            service.kill9()
            away = await patient("recall", query="x")
            with pytest.raises(MCPError, match="UNREACHABLE: no service answers at"):
                await patient.client.read_resource("kgsvc://groups/g")
    assert silent.failed
    assert silent.startswith("DEADLINE_EXCEEDED: ")
    assert away.failed
    assert away.startswith(f"UNREACHABLE: no service answers at {settings['client.server']}")
