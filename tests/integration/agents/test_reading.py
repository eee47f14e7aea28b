"""What `remember` tells while a model reads slowly, or cannot; and `kgsvc mcp` without its extra."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kgsvc.cli.main import cli
from tests.acceptance.shared import scripted
from tests.support.agents import agent
from tests.support.scripted_openai import (
    Outcome,
    Request,
    ScriptedOpenAI,
    answer,
    edge,
    hanging,
    node,
    refused,
    says,
)
from tests.support.service import Service


async def test_a_text_that_is_not_read_yet_is_stored(tmp_path: Path) -> None:
    def script(request: Request) -> Outcome:
        return hanging() if "slow" in request.text else refused("no")

    async with ScriptedOpenAI(script, dimension=512) as model:
        settings = {**scripted(model), "limits.attempts_per_step": "1", "models.embedder": "offline"}
        async with Service(settings, tmp_path) as service:
            client = {"client.server": service.address, "client.timeout_s": "4"}
            async with agent("stdio", "fails", client, tmp_path) as hasty:
                parked = await hasty("remember", text="Ann works at Acme.")
                assert parked.failed
                assert parked.startswith("PARKED: Stored as episode ")
                assert parked.endswith("an operator can start it again with `kgsvc retry`")
            async with agent("stdio", "waits", client, tmp_path) as patient:
                slow = await patient("remember", text="The slow fox works at Acme.")
                assert not slow.failed
                assert slow.endswith("; it is still being read.")


async def test_answers_cite(tmp_path: Path) -> None:
    def script(request: Request) -> Outcome | Mapping[str, Any] | None:
        if request.question is not None:
            return says("Ann works at Acme [1][99].")
        if request.endpoint != "chat" or request.resolution is not None:
            return None
        return answer(
            [node("n1", "Ann"), node("n2", "Acme")], [edge("WORKS_AT", "Ann works at Acme.", "n1", "n2")]
        )

    async with ScriptedOpenAI(script, dimension=512) as model:
        settings = {**scripted(model), "models.embedder": "offline"}
        async with Service(settings, tmp_path) as service:
            client = {"client.server": service.address}
            async with agent("stdio", "g", client, tmp_path) as asking:
                await asking("remember", text="Ann works at Acme.", happened_at="2025-01-01")
                told = await asking("ask", question="Where does Ann work?")
    first, *cited = told.splitlines()
    assert first == "Ann works at Acme [1]."
    assert len(cited) == 1
    assert cited[0].startswith("[1] ")


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("kgsvc.cli.agents", "mcp"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    monkeypatch.setitem(sys.modules, "mcp", None)
    own = dict.fromkeys(name for name in os.environ if name.startswith("KGSVC_"))
    done = CliRunner().invoke(cli, ["mcp", "--group", "g"], env=own)
    assert (done.exit_code, done.output) == (
        1,
        "Error: this needs an extra that is not installed: pip install 'kgsvc[mcp]'\n",
    )
