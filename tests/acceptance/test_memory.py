"""Spec 004 §15: GetMemory answers as SearchFacts does to the query composed of its messages (Appendix A)."""

import pytest

from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.saying import JAN, fact, telling
from tests.support.client import CALL_S, Client, granted, timestamp

FACTS = [
    fact("WORKS_AT", "Alice", "Acme"),
    fact("LIVES_IN", "Alice", "Oslo"),
    fact("LIKES", "Bruno", "chess", "Bruno likes a game of chess with the doctor"),
    fact("KNOWS", "Bruno", "Alice", "Bruno has known Alice since school"),
    fact("HELPS", "Assistant", "Alice", "The assistant helps Alice"),
]


def said(
    content: str, role: str | None = None, role_type: str = "USER", at_ms: int = JAN
) -> typ.MemoryMessage:
    """A message of a conversation."""
    return typ.MemoryMessage(
        role_type=typ.RoleType.Value(f"ROLE_TYPE_{role_type}"),
        role=role,
        content=content,
        timestamp=timestamp(at_ms),
    )


CONVERSATIONS = {
    "one message": ([said("Where does Alice work?", "Bruno")], "user(Bruno): Where does Alice work?\n"),
    "no role": ([said("chess")], "user(): chess\n"),
    "an empty role": ([said("chess", "")], "user(): chess\n"),
    "several sides": (
        [said("Hi, I am Alice", "Alice"), said("How can I help?", role_type="ASSISTANT"), said("physician")],
        "user(Alice): Hi, I am Alice\nassistant(): How can I help?\nuser(): physician\n",
    ),
    "the system": ([said("Be brief about Oslo.", "ops", "SYSTEM")], "system(ops): Be brief about Oslo.\n"),
    "lines in a message": ([said("Oslo\nor Acme?")], "user(): Oslo\nor Acme?\n"),
}


@pytest.mark.parametrize("kind", CONVERSATIONS)
async def test_memory_equals_the_search_for_the_composed_query(kind: str, client: Client, group: str) -> None:
    messages, query = CONVERSATIONS[kind]
    await client.ingest(group, [telling(JAN, *FACTS)])
    for max_facts in (None, 1, 2, 100):
        assert await client.memory(group, messages, max_facts) == await client.search(group, query, max_facts)
    assert await client.memory(group, messages)


async def test_memory_around_a_center_equals_the_search_around_it(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, *FACTS)])
    messages, query = CONVERSATIONS["several sides"]
    (likes,) = (each for each in await client.search(group, "chess", 100) if each.name == "LIKES")
    center = likes.target_node_uuid
    given = ret.GetMemoryInput(group_id=group, messages=messages, center_node_uuid=center)
    response = await client.retrieval.GetMemory(ret.GetMemoryRequest(input=given), timeout=CALL_S)
    remembered = list(granted(response).output.facts)
    assert remembered == await client.search(group, query, center=center)
    assert [e.uuid for e in remembered] != [e.uuid for e in await client.memory(group, messages)]


async def test_the_time_of_a_message_does_not_matter(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, *FACTS)])
    early, late = said("Alice", at_ms=0), said("Alice", at_ms=4_102_444_800_000)
    assert await client.memory(group, [early]) == await client.memory(group, [late])


async def test_memory_of_an_empty_group_is_empty(client: Client, group: str) -> None:
    assert await client.memory(group, [said("Alice")]) == []
