"""Three turns of a conversation, over gRPC: the final counts asked for, with a third of its model calls."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kgsvc.stores.protocol import GroupDump
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.saying import reads_bodies
from tests.acceptance.shared import OFFLINE
from tests.support.client import Client, message
from tests.support.graphs import assert_sound
from tests.support.scripted_openai import (
    Outcome,
    Request,
    ScriptedOpenAI,
    answer,
    edge,
    node,
    resolutions,
    verdicts,
)
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, dumped

AT_MS = 1_770_122_467_285  # 2026-02-03T12:41:07.285Z
MOST_CALLS = 6
ALICE = node("a", "Alice Chen", type="Person")
PHOENIX = node("p", "Project Phoenix", type="Project")
TURNS = {
    "I work at TechCorp as a senior software engineer.": answer(
        [ALICE, node("t", "TechCorp", type="Organization")],
        [edge("WORKS_AT", "Alice Chen works at TechCorp as a senior software engineer.", "a", "t")],
    ),
    "I'm currently leading Project Phoenix, a major cloud migration initiative.": answer(
        [ALICE, PHOENIX],
        [edge("LEADING_PROJECT", "Alice Chen is currently leading Project Phoenix.", "a", "p")],
    ),
    "The project deadline is February 15th, and we have 3 team members.": answer(
        [ALICE, PHOENIX],
        [
            edge("LEADS", "Alice Chen leads Project Phoenix, a cloud migration initiative.", "a", "p"),
            edge("PROJECT_DEADLINE", "The deadline for Project Phoenix is February 15th.", "p", "a"),
        ],
    ),
}


def turns() -> list[typ.Message]:
    """What Alice says, a minute apart."""
    said = [f"Hi, I'm Alice Chen. {text}" if n == 0 else text for n, text in enumerate(TURNS)]
    return [message(text, AT_MS + 60_000 * n, "Alice Chen", f"ep{n + 1}") for n, text in enumerate(said)]


def plays(request: Request) -> Outcome | Mapping[str, Any]:
    """The script: extractions by turn; leading twice is one fact, which it calls contradicted too."""
    if request.endpoint == "embeddings":
        return reads_bodies(request)
    asked = request.resolution
    if asked is None:
        return next(found for text, found in TURNS.items() if text in request.text)
    leading = {f["idx"] for f in asked["known_facts"] if "leading" in f["fact"]}
    facts: dict[int, dict[str, Any]] = {}
    for question in asked["new_facts"]:
        same = leading.intersection(question["compare_with"]) if "leads" in question["fact"] else set()
        facts[question["id"]] = verdicts(repeats=sorted(same))
    return resolutions({question["id"]: {} for question in asked.get("new_entities", [])}, facts)


SCRIPT = plays


def assert_final(dump: GroupDump) -> None:
    """The final counts and facts."""
    assert_sound(dump)
    assert [e.uuid for e in dump.episodes] == ["ep1", "ep2", "ep3"]
    assert {e.name for e in dump.entities} == {"Alice Chen", "TechCorp", "Project Phoenix"}
    assert len(dump.entities) == 3
    assert len(dump.mentions) == 6
    facts = {f.name: f for f in dump.facts}
    assert len(dump.facts) == 3
    assert facts.keys() == {"WORKS_AT", "LEADING_PROJECT", "PROJECT_DEADLINE"}
    assert facts["LEADING_PROJECT"].episodes == ("ep2", "ep3")
    assert facts["LEADING_PROJECT"].fact == "Alice Chen is currently leading Project Phoenix."
    assert all(f.expired_ms is None and f.invalid_ms is None for f in dump.facts)


@pytest.mark.parametrize("batches", [[1, 1, 1], [3], [2, 1]], ids=["one by one", "at once", "two and one"])
async def test_the_final_counts_with_a_third_of_the_calls(
    spec: StoreSpec, client: Client, model: ScriptedOpenAI, group: str, batches: Sequence[int]
) -> None:
    before, left = len(model.chats), turns()
    for size in batches:
        await client.say(group, left[:size])
        left = left[size:]
    assert_final(await dumped(spec, group))
    assert 3 < len(model.chats) - before <= MOST_CALLS


async def test_the_offline_extractor_finds_the_entities_and_the_relations(tmp_path: Path, group: str) -> None:
    spec = StoreSpec("embedded", data_dir=tmp_path / "data")
    async with Service(spec.settings | OFFLINE, tmp_path) as service, Client(service.address) as client:
        await client.say(group, turns())
    dump = await dumped(spec, group)
    assert {"Alice Chen", "TechCorp", "Project Phoenix"} <= {e.name for e in dump.entities}
    ends = {(f.source_name, f.name, f.target_name) for f in dump.facts}
    assert ("Alice Chen", "WORKS_AT", "TechCorp") in ends
    assert any({source, target} == {"Alice Chen", "Project Phoenix"} for source, _, target in ends)
