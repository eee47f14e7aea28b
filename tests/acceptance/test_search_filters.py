"""SearchGraph's filters: relations, spans of time, and the past on both axes (docs/concepts.md)."""

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from kgsvc.v1 import admin_pb2
from kgsvc.v1 import retrieval_pb2 as ret
from tests.acceptance.graph_searches import BFS, BM25, COSINE, facts_by, graph, texts
from tests.acceptance.saying import APR, FEB, JAN, MAR, MAY, fact, telling
from tests.support.client import CALL_S, Client, granted, timestamp

ENGINEER, DIRECTOR, OWNER = (
    fact("WORKS_AT", "Alice", "Acme", f"Alice is {what} at Acme")
    for what in ("an engineer", "a director", "the owner")
)
LIKES = fact("LIKES", "Alice", "Tea", "Alice likes tea")
QUERY = "Alice at Acme likes tea"


def shifted(time: Timestamp, by_ms: int) -> Timestamp:
    """A time a little later or earlier."""
    return timestamp(time.ToMilliseconds() + by_ms)


def since(since_ms: int | None = None, until_ms: int | None = None) -> ret.TimeSpan:
    """A span of time."""
    return ret.TimeSpan(
        since=None if since_ms is None else timestamp(since_ms),
        until=None if until_ms is None else timestamp(until_ms),
    )


async def found(client: Client, group: str, **filters: object) -> list[str]:
    """The texts of what fulfils the filters, by every method alike."""
    answers = []
    for method in (BM25, COSINE):
        given = ret.SearchFilters(**filters)  # type: ignore[arg-type]
        answers.append(
            sorted(texts(await graph(client, group, QUERY, scopes=facts_by(method), filters=given)))
        )
    assert answers[0] == answers[1]
    return answers[0]


async def career(client: Client, group: str) -> None:
    """Alice is an engineer from January, a director from March, the owner from May; she likes tea."""
    for at_ms, each in ((JAN, ENGINEER), (MAR, DIRECTOR), (MAY, OWNER), (FEB, LIKES)):
        await client.ingest(group, [telling(at_ms, each)])


async def test_without_filters_it_is_now(client: Client, group: str) -> None:
    await career(client, group)
    assert await found(client, group) == ["Alice is the owner at Acme", "Alice likes tea"]


async def test_a_question_about_the_past_finds_what_has_ended(client: Client, group: str) -> None:
    """Beside what holds, with its interval; a month picks what held then. SearchFacts knows the present."""
    await career(client, group)
    was = await graph(client, group, "What was Alice at Acme?")
    assert sorted(texts(was)) == sorted(each["fact"] for each in (ENGINEER, DIRECTOR, OWNER, LIKES))
    assert sorted(hit.fact.HasField("invalid_at") for hit in was.facts) == [False, False, True, True]
    now = ["Alice is the owner at Acme", "Alice likes tea"]
    for question, alone in (("What is Alice at Acme?", False), ("What was Alice at Acme?", True)):
        given = await graph(client, group, question, filters=ret.SearchFilters(holding_now=alone))
        assert sorted(texts(given)) == now
    then = await graph(client, group, "What was Alice at Acme in February 2024?")
    assert sorted(texts(then)) == ["Alice is an engineer at Acme", "Alice likes tea"]
    hits = await client.search(group, "What was Alice at Acme?")
    assert sorted(hit.fact for hit in hits) == now


async def test_by_relation(client: Client, group: str) -> None:
    await career(client, group)
    assert await found(client, group, relation_names=["LIKES"]) == ["Alice likes tea"]
    assert await found(client, group, relation_names=["LIKES", "WORKS_AT"]) == await found(client, group)
    assert await found(client, group, relation_names=["OWNS"]) == []


async def test_relations_bar_no_way_to_what_is_found(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, ENGINEER, fact("OWNS", "Acme", "Boat", "Acme owns a boat"))])
    (start,) = await client.search(group, "engineer", max_facts=1)
    walked = await graph(
        client,
        group,
        "anything",
        scopes=facts_by(BFS),
        bfs_origin_node_uuids=[start.source_node_uuid],
        filters=ret.SearchFilters(relation_names=["OWNS"]),
    )
    assert texts(walked) == ["Acme owns a boat"]


@pytest.mark.parametrize(
    ("at_ms", "held"),
    [
        (JAN - 1, []),
        (JAN, ["Alice is an engineer at Acme"]),
        (MAR - 1, ["Alice is an engineer at Acme", "Alice likes tea"]),
        (MAR, ["Alice is a director at Acme", "Alice likes tea"]),
        (APR, ["Alice is a director at Acme", "Alice likes tea"]),
        (MAY, ["Alice is the owner at Acme", "Alice likes tea"]),
    ],
)
async def test_what_was_true_then(at_ms: int, held: list[str], client: Client, group: str) -> None:
    await career(client, group)
    assert await found(client, group, valid_as_of=timestamp(at_ms)) == held


async def test_what_was_withdrawn_was_never_true(client: Client, group: str) -> None:
    await career(client, group)
    (tea,) = [each for each in await client.search(group, "tea") if each.name == "LIKES"]
    await client.update_fact(group, tea.uuid, "Alice likes coffee")
    assert "Alice likes coffee" in await found(client, group, valid_as_of=timestamp(APR))
    assert "Alice likes tea" not in await found(client, group, valid_as_of=timestamp(APR))


async def test_what_was_believed_then(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, ENGINEER)])
    (engineer,) = await client.search(group, "Alice")
    await client.ingest(group, [telling(MAR, DIRECTOR)])
    (director,) = await client.search(group, "Alice")
    learned, changed = engineer.created_at, director.created_at
    assert await found(client, group, known_as_of=shifted(learned, -1)) == []
    assert await found(client, group, known_as_of=learned) == [engineer.fact]
    assert await found(client, group, known_as_of=shifted(changed, -1)) == [engineer.fact], "no end known yet"
    assert await found(client, group, known_as_of=changed) == [director.fact]


async def test_a_fact_is_shown_as_it_was_believed_then(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, ENGINEER)])
    (engineer,) = await client.search(group, "Alice")
    await client.ingest(group, [telling(MAR, DIRECTOR)])
    (director,) = await client.search(group, "Alice")
    then = ret.SearchFilters(known_as_of=shifted(director.created_at, -1))
    answer = await graph(client, group, QUERY, scopes=facts_by(BM25), filters=then)
    (shown,) = [each.fact for each in answer.facts]
    assert (shown.uuid, shown.fact) == (engineer.uuid, engineer.fact)
    assert not shown.HasField("invalid_at")
    assert not shown.HasField("expired_at")
    assert (shown.expired_reason, shown.expired_by_fact, shown.expired_by_episode) == ("", "", "")
    assert (await client.get_edge(group, engineer.uuid)).HasField("invalid_at")


async def test_what_was_believed_then_of_another_time(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, ENGINEER)])
    await client.ingest(group, [telling(MAR, DIRECTOR)])
    (director,) = await client.search(group, "Alice")
    changed = director.created_at
    before = shifted(changed, -1)
    for at_ms, then, now in ((FEB, ENGINEER, ENGINEER), (APR, ENGINEER, DIRECTOR), (JAN - 1, None, None)):
        for known, held in ((before, then), (changed, now)):
            texts_held = [] if held is None else [held["fact"]]
            wanted = {"known_as_of": known, "valid_as_of": timestamp(at_ms)}
            assert await found(client, group, **wanted) == texts_held


async def test_what_was_withdrawn_later_was_believed_before(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, LIKES)])
    (tea,) = await client.search(group, "tea")
    changed = await client.update_fact(group, tea.uuid, "Alice likes coffee")
    new = await client.get_edge(group, changed.new_uuid)
    assert await found(client, group, known_as_of=shifted(new.created_at, -1)) == ["Alice likes tea"]
    assert await found(client, group, known_as_of=new.created_at) == ["Alice likes coffee"]


async def test_what_was_deleted_was_never_known(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, LIKES)])
    (tea,) = await client.search(group, "tea")
    given = admin_pb2.DeleteEntityEdgeInput(uuid=tea.uuid, group_id=group)
    request = admin_pb2.DeleteEntityEdgeRequest(input=given)
    granted(await client.admin.DeleteEntityEdge(request, timeout=CALL_S))
    assert await found(client, group, known_as_of=tea.created_at) == []


async def test_by_when_it_began(client: Client, group: str) -> None:
    await career(client, group)
    assert await found(client, group, valid_at=since(MAR)) == [
        "Alice is a director at Acme",
        "Alice is the owner at Acme",
    ]
    assert await found(client, group, valid_at=since(JAN, MAR)) == [
        "Alice is an engineer at Acme",
        "Alice likes tea",
    ]


async def test_by_when_it_ended(client: Client, group: str) -> None:
    await career(client, group)
    assert await found(client, group, invalid_at=since(MAR)) == [
        "Alice is a director at Acme",
        "Alice is an engineer at Acme",
    ]
    assert await found(client, group, invalid_at=since(None, MAY)) == ["Alice is an engineer at Acme"]
    assert await found(client, group, invalid_at=since(MAY + 1)) == []


async def test_by_when_it_was_learned(client: Client, group: str) -> None:
    await career(client, group)
    (tea,) = [each for each in await client.search(group, "tea") if each.name == "LIKES"]
    learned = tea.created_at.ToMilliseconds()
    assert await found(client, group, created_at=since(learned)) == ["Alice likes tea"]
    assert await found(client, group, created_at=since(None, learned)) == ["Alice is the owner at Acme"]


async def test_by_when_it_was_superseded_or_withdrawn(client: Client, group: str) -> None:
    await career(client, group)
    (tea,) = [each for each in await client.search(group, "tea") if each.name == "LIKES"]
    changed = await client.update_fact(group, tea.uuid, "Alice likes coffee")
    withdrawn = (await client.get_edge(group, changed.old_uuid)).expired_at.ToMilliseconds()
    assert await found(client, group, expired_at=since(0)) == [
        "Alice is a director at Acme",
        "Alice is an engineer at Acme",
        "Alice likes tea",
    ]
    assert await found(client, group, expired_at=since(withdrawn)) == ["Alice likes tea"]
    assert await found(client, group, expired_at=since(0), relation_names=["LIKES"]) == ["Alice likes tea"]


async def test_filters_are_decided_before_ranking(client: Client, group: str) -> None:
    crowd = [fact("KNOWS", f"P{n}", "Alice", "Alice Alice at Acme likes tea") for n in range(250)]
    await client.ingest(group, [telling(JAN, *crowd[:125]), telling(JAN, *crowd[125:])])
    await client.ingest(group, [telling(JAN, LIKES)])
    assert await found(client, group, relation_names=["LIKES"]) == ["Alice likes tea"]
