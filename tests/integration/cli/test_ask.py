"""`kgsvc ask`: an answer as it is written, and its sources."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kgsvc.v1 import documents_pb2 as doc
from tests.acceptance.asking import handles
from tests.acceptance.shared import scripted
from tests.integration.cli.conftest import Done, Talker, kgsvc
from tests.support.client import Client, message, timestamp
from tests.support.scripted_openai import Outcome, Request, ScriptedOpenAI, answer, edge, node, says
from tests.support.service import Service

JAN = 1_704_067_200_000
CHUNKS = {"documents.token_size": "64", "documents.overlap": "8"}
GROUP = ("--group", "g")
FILLER = "This paragraph of the handbook says nothing at all, and it says so in very many words. " * 4
HANDBOOK = f"# Plans\n\n## People\n\n{FILLER}\n\n{FILLER}\n\nAnn leads Heron.\n"


def script(request: Request) -> Outcome | Mapping[str, Any] | None:
    """Reads that Ann leads Heron; cites every line of a context, in a text with what terminals obey."""
    if request.question is not None:
        marks = "".join(f"[{each}]" for each in handles(request.question["context"]).values())
        return says(f"Ann \x1b[31mleads\nHeron {marks}[99].")
    if request.endpoint == "chat" and "Ann leads Heron" in request.text and request.resolution is None:
        nodes = [node("n1", "Ann"), node("n2", "Heron")]
        return answer(nodes, [edge("LEADS", "Ann leads Heron", "n1", "n2", valid_at="2024-01-15")])
    return None


@pytest.fixture
async def model_talk(tmp_path: Path) -> AsyncIterator[Talker]:
    """Commands against a server that asks the scripted model."""
    async with ScriptedOpenAI(script, dimension=512) as model:
        settings = {**scripted(model), "store.data_dir": str(tmp_path / "data"), **CHUNKS}
        async with Service(settings, tmp_path) as service, Client(service.address) as client:
            item = doc.DocumentItem(
                text=HANDBOOK, title="Handbook", document_id="book", reference_time=timestamp(JAN)
            )
            added = await client.ask("AddDocuments", group_id="g", documents=[item])
            said = await client.add_messages("g", [message("I like tea.", JAN, role="Bo", uuid="tea")])
            for receipt in (*added.documents[0].receipt_ids, said.receipt_id):
                await client.wait_receipt(receipt)
            yield Talker(service)


async def test_the_answer_is_followed_by_its_sources(model_talk: Talker) -> None:
    done = await model_talk("ask", "Who leads Heron? Who likes tea?", *GROUP)
    assert done.code == 0, done.err
    first, second, _, *sources = done.out.splitlines()
    assert first == "Ann \ufffd[31mleads", "nothing that a terminal obeys"
    assert second.startswith("Heron [1][2]")
    assert sources[0] == "Sources:"
    told = "\n".join(sources)
    assert "Handbook, Plans > People · chunk " in told
    assert "Handbook, Plans > People · fact " in told
    assert "Bo: I like tea." in told
    assert "2024-01-01 · episode tea" in told
    assert "Ann leads Heron (since 2024-01-15)" in told


async def test_programs_get_the_whole_result(model_talk: Talker) -> None:
    found = (await model_talk("ask", "Who leads Heron?", *GROUP, "--json")).json
    assert found["known"]
    assert found["dropped_citations"] == 1
    assert {each["kind"] for each in found["citations"]} >= {"CITATION_KIND_CHUNK"}
    assert found["provenance"]["chunks"][0]["full_doc_id"] == "book"


async def test_without_a_model_the_context_alone_is_printed(talk: Talker) -> None:
    await talk("ingest", "-", *GROUP, "--wait", stdin="Alice works at Acme.")
    alone = await talk("ask", "Where does Alice work?", *GROUP, "--context")
    assert alone.code == 0, alone.err
    assert "[1] Alice works at Acme." in alone.out
    answer = await talk("ask", "Where does Alice work?", *GROUP)
    assert "no model" in answer.sentence
    nobody: Done = await talk("ask", "Where does Alice work?", "--group", "typo", "--context")
    assert (nobody.code, nobody.out) == (1, "Nothing found.\n")
    assert "the group 'typo' has no episodes" in nobody.err


async def test_no_service_is_said(tmp_path: Path) -> None:
    done = await kgsvc("ask", "Who?", *GROUP, settings={"client.server": "127.0.0.1:1"})
    assert "no service answers at 127.0.0.1:1" in done.sentence
