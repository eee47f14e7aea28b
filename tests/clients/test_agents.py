"""The programs of docs/clients.md for agents: what one process was told, the next one knows."""

import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest
import pytest_asyncio

from tests.clients.programs import succeed
from tests.support.documents import REPOSITORY, blocks
from tests.support.scripted_openai import Outcome, Request, ScriptedOpenAI, says
from tests.support.service import Service

pytestmark = pytest.mark.asyncio(loop_scope="module")
CHAT, LANGGRAPH, LLAMA_INDEX = (
    block.text for block in blocks(REPOSITORY / "docs" / "clients.md") if block.language == "python"
)
CLIENT = REPOSITORY / "clients" / "python"
LINES = 30
DONE_S = 120.0


class Setting(NamedTuple):
    """Where a program runs."""

    folder: Path
    variables: dict[str, str]

    async def runs(self, program: str, *words: str, said: str = "") -> list[str]:
        """The lines that it prints in a process of its own."""
        path = self.folder / "program.py"
        path.write_text(program)
        given = self.folder / "said"
        given.write_text(said)
        shell: tuple[str | Path, ...] = ("sh", "-c", '"$@" <"$0"', given, sys.executable, path, *words)
        return (await succeed(self.folder, shell, DONE_S, **self.variables)).splitlines()


def knows(request: Request) -> Outcome:
    """A model that knows what it is shown and nothing else."""
    shown = "\n".join(each["content"] for each in request.body["messages"] if each["role"] == "system")
    homes = re.findall(r"(?:moved to|lives? in) (\w+)", shown)
    return says(f"I know of {', '.join(sorted(set(homes))) or 'nothing'}.")


@pytest_asyncio.fixture(loop_scope="module")
async def setting(tmp_path: Path) -> AsyncIterator[Setting]:
    async with (
        ScriptedOpenAI(knows) as model,
        Service({"store.data_dir": str(tmp_path / "data")}, tmp_path) as service,
    ):
        variables = {
            "KGSVC_SERVER": service.address,
            "OPENAI_BASE_URL": model.base_url,
            "OPENAI_API_KEY": "none",
            "PYTHONPATH": str(CLIENT),
        }
        yield Setting(tmp_path, variables)


async def test_a_chat_agent_in_thirty_lines_remembers(setting: Setting) -> None:
    assert len([line for line in CHAT.splitlines() if line.strip()]) <= LINES
    assert await setting.runs(CHAT, "Alice", said="I moved to Zurich.\n") == ["I know of nothing."]
    again = await setting.runs(CHAT, "Alice", said="Where do I live?\nReally?\n")
    assert again == ["I know of Zurich."] * 2
    assert await setting.runs(CHAT, "Bruno", said="Where do I live?\n") == ["I know of nothing."]


async def test_a_langgraph_agent_remembers_over_runs_and_processes(setting: Setting) -> None:
    first = await setting.runs(LANGGRAPH, "Alice moved to Zurich.", "Where does Alice live?")
    assert first == ["I know of nothing.", "I know of Zurich."]
    assert await setting.runs(LANGGRAPH, "Where does Alice live?") == ["I know of Zurich."]


async def test_what_left_the_history_of_llama_index_comes_back(setting: Setting) -> None:
    printed = "\n".join(await setting.runs(LLAMA_INDEX))
    assert printed.startswith("system <memory>")
    assert "I moved to Zurich." in printed
