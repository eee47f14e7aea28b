"""GetRelation: the merge rules of edges, as a view of the facts between two entities."""

import json
from typing import Any

import pytest

from kgsvc.documents.tokens import count_tokens
from kgsvc.v1 import retrieval_pb2 as ret
from tests.acceptance.refusals import refused
from tests.acceptance.saying import FEB, JAN, MAR, fact, reads_bodies, telling
from tests.acceptance.test_documents import SCRIPT as reads_documents
from tests.acceptance.test_documents import chunks, read, settled
from tests.support.client import Client, episode, timestamp
from tests.support.scripted_openai import Outcome, Request, answer, edge, node

SETTINGS = {"documents.token_size": "64", "documents.overlap": "24", "documents.boundaries": "exact"}

_MID_2020 = 1_593_561_600_000


def SCRIPT(request: Request) -> Outcome | dict[str, object]:
    """Documents as test_documents has them, episodes that say what is read of them."""
    reads = reads_documents if "<" in request.text else reads_bodies
    return reads(request)  # type: ignore[return-value]


def _until(words: str, tokens: int) -> str:
    """The beginning of some words, of about so many tokens."""
    kept = words.split()
    while count_tokens(" ".join(kept)) > tokens:
        kept.pop()
    return " ".join(kept)


async def relation(client: Client, group: str, one: str, other: str, **how: Any) -> ret.GetRelationOutput:
    """Of two entities by the names at the ends of facts."""
    found = await client.search(group, f"{one} {other}", max_facts=100)
    uuids = {each.source_name: each.source_node_uuid for each in found}
    uuids |= {each.target_name: each.target_node_uuid for each in found}
    output: ret.GetRelationOutput = await client.ask(
        "GetRelation", group_id=group, node_uuid=uuids[one], other_node_uuid=uuids[other], **how
    )
    return output


async def test_weights_are_summed_by_statement_whichever_way_facts_point(client: Client, group: str) -> None:
    knows = fact("KNOWS", "Ann", "Bob", weight=2.0, keywords=["friend", "chess"])
    employs = fact("EMPLOYS", "Bob", "Ann", weight=3.0, keywords=["chess", "job"])
    other = fact("KNOWS", "Ann", "Cleo", weight=5.0)
    told = [
        telling(JAN, knows, uuid="a"),
        telling(FEB, knows, other, uuid="b"),
        telling(MAR, employs, uuid="c"),
    ]
    await client.ingest(group, told)
    for ends in (("Ann", "Bob"), ("Bob", "Ann")):
        found = await relation(client, group, *ends)
        assert (found.node_name, found.other_node_name) == ends
        assert (found.weight, found.statements, found.truncated) == (7.0, 3, False)
        assert list(found.names) == ["KNOWS", "EMPLOYS"]
        assert list(found.keywords) == ["friend", "chess", "job"]
        assert list(found.descriptions) == [knows["fact"], employs["fact"]]
        assert list(found.episodes) == ["a", "b", "c"]
        assert len(found.fact_uuids) == 2


async def test_each_statement_counts_what_it_weighs_however_many_there_are(
    client: Client, group: str
) -> None:
    """More than are kept one by one; the latest arrive first, and one that is kept goes."""
    told = [
        telling(JAN + n * 86_400_000, fact("KNOWS", "Ann", "Bob", weight=3.0 if n % 4 else 1.0), uuid=f"e{n}")
        for n in range(150)
    ]
    await client.ingest(group, told[100:])
    await client.ingest(group, told[:100])
    found = await relation(client, group, "Ann", "Bob")
    assert (found.statements, found.weight, len(found.fact_uuids)) == (150, 374.0, 1)
    assert len(found.episodes) == 128
    await client.ask("DeleteEpisode", group_id=group, uuid=found.episodes[63], cascade=True)
    found = await relation(client, group, "Ann", "Bob")
    assert found.statements == 149
    assert found.weight == 371.0


async def test_a_weight_that_is_no_number_counts_one(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, fact("KNOWS", "Ann", "Bob", weight="strong"), uuid="a")])
    assert (await relation(client, group, "Ann", "Bob")).weight == 1.0


async def test_ended_facts_count_only_where_they_are_asked_for(client: Client, group: str) -> None:
    past = fact("EMPLOYS", "Bob", "Ann", valid_at="2020-01-01T00:00:00Z", invalid_at="2021-01-01T00:00:00Z")
    await client.ingest(group, [telling(JAN, fact("KNOWS", "Ann", "Bob"), past, uuid="a")])
    assert list((await relation(client, group, "Ann", "Bob")).names) == ["KNOWS"]
    every = await relation(client, group, "Ann", "Bob", include_ended=True)
    assert (list(every.names), every.statements) == (["EMPLOYS", "KNOWS"], 2)


async def test_valid_as_of_counts_what_was_true_then(client: Client, group: str) -> None:
    past = fact("EMPLOYS", "Bob", "Ann", valid_at="2020-01-01T00:00:00Z", invalid_at="2021-01-01T00:00:00Z")
    await client.ingest(group, [telling(JAN, fact("KNOWS", "Ann", "Bob"), past, uuid="a")])
    found = await relation(client, group, "Ann", "Bob", valid_as_of=timestamp(_MID_2020))
    assert (list(found.names), found.statements) == (["EMPLOYS"], 1)
    assert list((await relation(client, group, "Ann", "Bob", valid_as_of=timestamp(FEB))).names) == ["KNOWS"]


async def test_known_as_of_counts_what_had_been_told_then(client: Client, group: str) -> None:
    knows = fact("KNOWS", "Ann", "Bob", weight=2.0)
    await client.ingest(group, [telling(JAN, knows, uuid="a")])
    (first,) = await client.search(group, "Ann Bob")
    await client.ingest(group, [telling(FEB, knows, fact("EMPLOYS", "Bob", "Ann"), uuid="b")])
    assert (await relation(client, group, "Ann", "Bob")).weight == 5.0
    then = await relation(client, group, "Ann", "Bob", known_as_of=first.created_at)
    assert (then.weight, list(then.episodes), list(then.names)) == (2.0, ["a"], ["KNOWS"])
    before = timestamp(first.created_at.ToMilliseconds() - 1)
    none = await relation(client, group, "Ann", "Bob", known_as_of=before, include_ended=True)
    assert (none.weight, list(none.fact_uuids)) == (0.0, [])


async def test_what_is_withdrawn_or_deleted_counts_no_more(client: Client, group: str) -> None:
    knows = fact("KNOWS", "Ann", "Bob")
    await client.ingest(group, [telling(JAN, knows, uuid="a"), telling(FEB, knows, uuid="b")])
    assert (await relation(client, group, "Ann", "Bob")).weight == 2.0
    await client.ask("DeleteEpisode", group_id=group, uuid="b", cascade=True)
    found = await relation(client, group, "Ann", "Bob")
    assert (found.weight, list(found.episodes)) == (1.0, ["a"])


async def test_strangers_and_what_is_said_of_one_thing(client: Client, group: str) -> None:
    price = fact("COSTS", "Tea", "Tea", "Tea costs 3 euros")
    await client.ingest(group, [telling(JAN, price, fact("KNOWS", "Ann", "Bob"), uuid="a")])
    assert list((await relation(client, group, "Tea", "Tea")).descriptions) == ["Tea costs 3 euros"]
    strangers = await relation(client, group, "Tea", "Ann")
    assert (strangers.weight, strangers.statements, list(strangers.descriptions)) == (0.0, 0, [])


async def test_what_two_chunks_share_is_one_statement(client: Client, group: str) -> None:
    words = " ".join(f"word{n}" for n in range(60))
    content = f"{_until(words, 45)} <Ann KNOWS Bob> it is {words}"
    await read(client, group, content)
    await settled(client, group)
    holding = [each.chunk_id for each in await chunks(client, group) if "<Ann KNOWS Bob>" in each.content]
    found = await relation(client, group, "Ann", "Bob")
    assert len(holding) == 2
    assert sorted(found.episodes) == sorted(holding)
    assert (found.weight, found.statements, list(found.document_ids)) == (1.0, 1, ["book"])


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (("Topic", "Product", "Product"), "Product"),
        (("Product", "Product", "Topic"), "Product"),
        (("Product", "Topic", "Topic", "Entity"), "Topic"),
        (("Topic", "Project"), "Project"),  # of higher priority
        (("Project", "Topic"), "Project"),
    ],
)
async def test_the_type_of_an_entity_is_the_one_said_most_often(
    client: Client, group: str, said: tuple[str, ...], wanted: str
) -> None:
    for at, kind in enumerate(said):
        nodes = [node("n1", "Mercury", type=kind), node("n2", f"Thing{at}")]
        told = json.dumps(answer(nodes, [edge("NEAR", f"Mercury is near Thing{at}", "n1", "n2")]))
        await client.ingest(group, [episode(told, JAN + at, uuid=f"e{at}")])
    (found, *_) = await client.search(group, "Mercury Thing0")
    assert (await client.get_entity(group, found.source_node_uuid)).type == wanted


async def test_an_end_that_was_not_listed_is_an_entity_of_type_unknown_until_one_is_told(
    client: Client, group: str
) -> None:
    knows = edge("KNOWS", "Ann knows Bob Lee", "n1", "Bob Lee")
    told = json.dumps(answer([node("n1", "Ann", type="Topic")], [knows]))
    await client.ingest(group, [episode(told, JAN, uuid="a")])
    (found,) = await client.search(group, "Ann Bob")
    bob = await client.get_entity(group, found.target_node_uuid)
    assert (bob.node.name, list(bob.node.labels), bob.type) == ("Bob Lee", ["Entity"], "UNKNOWN")
    listed = [node("n1", "Ann", type="Topic"), node("n2", "Bob Lee", type="Topic")]
    told = json.dumps(answer(listed, [{**knows, "target_ref": "n2"}]))
    await client.ingest(group, [episode(told, FEB, uuid="b")])
    bob = await client.get_entity(group, found.target_node_uuid)
    assert (list(bob.node.labels), bob.type) == (["Topic"], "Topic")


async def test_an_unknown_entity_is_not_found(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, fact("KNOWS", "Ann", "Bob"), uuid="a")])
    asked = ret.GetRelationInput(group_id=group, node_uuid="nobody", other_node_uuid="else")
    assert (await refused(client, "GetRelation", ret.GetRelationRequest(input=asked))).code == "NOT_FOUND"
