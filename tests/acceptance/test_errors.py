"""Spec 004 §15 "Errors": CONFLICT and NOT_FOUND, in the envelope and as a status; AddEntityNode's rules."""

from typing import Any

from kgsvc.v1 import admin_pb2, envelope_pb2
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.refusals import call, refused
from tests.acceptance.saying import FEB, JAN, body, fact, telling
from tests.support.client import CALL_S, Client, episode, granted, timestamp
from tests.support.store_spec import StoreSpec, dumped

WORKS = fact("WORKS_AT", "Alice", "Acme")


def node(group: str, uuid: str, name: str, **more: Any) -> ing.AddEntityNodeRequest:
    """A request to write an entity."""
    attributes = more.pop("attributes", None)
    given = ing.AddEntityNodeInput(uuid=uuid, group_id=group, name=name, **more)
    if attributes is not None:
        given.attributes.update(attributes)
        given.attributes.SetInParent()
    return ing.AddEntityNodeRequest(input=given)


async def written(client: Client, request: ing.AddEntityNodeRequest) -> typ.EntityNode:
    """The entity as AddEntityNode answers it."""
    response, _ = await call(client, "AddEntityNode", request)
    assert response.status == envelope_pb2.STATUS_OK
    output: typ.EntityNode = response.output
    return output


async def test_an_unknown_fact_is_not_found(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, WORKS)])
    (known,) = await client.search(group, "Alice")
    for given in (
        ret.GetEntityEdgeInput(uuid="nobody"),
        ret.GetEntityEdgeInput(uuid="nobody", group_id=group),
        ret.GetEntityEdgeInput(uuid=known.uuid, group_id=f"{group}-2"),
    ):
        refusal = await refused(client, "GetEntityEdge", ret.GetEntityEdgeRequest(input=given))
        assert refusal.code == "NOT_FOUND"


async def test_a_known_fact_is_read_whole(client: Client, group: str) -> None:
    told = fact("WORKS_AT", "Alice", "Acme", valid_at="2024-01-01")
    await client.ingest(group, [telling(FEB, told, uuid="a")])
    (found,) = await client.search(group, "Alice")
    for group_id in (None, group):
        given = ret.GetEntityEdgeInput(uuid=found.uuid, group_id=group_id)
        response, _ = await call(client, "GetEntityEdge", ret.GetEntityEdgeRequest(input=given))
        read: typ.FactResult = response.output
        assert not read.HasField("score"), "a score belongs to a search"
        assert (read.name, read.fact, read.group_id) == ("WORKS_AT", "Alice works at Acme", group)
        assert (read.source_name, read.target_name) == ("Alice", "Acme")
        assert (read.valid_at, read.reference_time) == (timestamp(1_704_067_200_000), timestamp(FEB))
        assert list(read.episodes) == ["a"]
        assert [each.episode_uuid for each in read.citations] == ["a"], "sources belong to a look at one fact"
        read.ClearField("citations")
        read.score = found.score
        assert read == found


async def test_an_unknown_center_node_is_not_found(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, WORKS)])
    search = ret.SearchFactsInput(group_ids=[group], query="Alice", center_node_uuid="nobody")
    assert (await refused(client, "SearchFacts", ret.SearchFactsRequest(input=search))).code == "NOT_FOUND"
    said = typ.MemoryMessage(role_type=typ.ROLE_TYPE_USER, content="Alice", timestamp=timestamp(JAN))
    memory = ret.GetMemoryInput(group_id=group, messages=[said], center_node_uuid="nobody")
    assert (await refused(client, "GetMemory", ret.GetMemoryRequest(input=memory))).code == "NOT_FOUND"


async def test_another_groups_node_is_no_center(client: Client, group: str) -> None:
    await written(client, node(f"{group}-2", "elsewhere", "Alice"))
    await client.ingest(group, [telling(JAN, WORKS)])
    search = ret.SearchFactsInput(group_ids=[group], query="Alice", center_node_uuid="elsewhere")
    assert (await refused(client, "SearchFacts", ret.SearchFactsRequest(input=search))).code == "NOT_FOUND"


async def test_a_name_that_another_entity_owns_is_a_conflict(client: Client, group: str) -> None:
    await written(client, node(group, "one", "Alice Moreau"))
    for name in ("Alice Moreau", " alice\tMOREAU "):
        refusal = await refused(client, "AddEntityNode", node(group, "two", name))
        assert (refusal.code, refusal.fields) == ("CONFLICT", ("input.name",))
    await written(client, node(f"{group}-2", "two", "Alice Moreau"))


async def test_a_name_that_an_extracted_entity_owns_is_a_conflict(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, WORKS)])
    assert (await refused(client, "AddEntityNode", node(group, "mine", "ALICE"))).code == "CONFLICT"


async def test_an_entity_is_created_then_updated_by_what_is_given(client: Client, group: str) -> None:
    first = await written(
        client, node(group, "one", "Alice", summary="a nurse", attributes={"age": 30, "tags": ["x", None]})
    )
    assert (first.uuid, first.group_id, first.name, first.summary) == ("one", group, "Alice", "a nurse")
    assert dict(first.attributes.items())["age"] == 30
    same = await written(client, node(group, "one", "Alice"))
    assert same == first, "absent fields keep"
    other = await written(client, node(group, "one", "Alice", summary="", attributes={"city": "Oslo"}))
    assert not other.HasField("summary")
    assert list(other.attributes.keys()) == ["city"], "given attributes replace all"
    assert other.created_at == first.created_at
    assert list((await written(client, node(group, "one", "Alice", attributes={}))).attributes.keys()) == []


async def test_a_renamed_entity_keeps_its_old_name_as_an_alias(
    client: Client, group: str, spec: StoreSpec
) -> None:
    await written(client, node(group, "one", "Alice"))
    await client.ingest(group, [telling(JAN, WORKS)])
    renamed = await written(client, node(group, "one", "Alice Moreau"))
    assert (renamed.uuid, renamed.name) == ("one", "Alice Moreau")
    (found,) = await client.search(group, "Moreau")
    assert (found.source_node_uuid, found.source_name) == ("one", "Alice Moreau")
    await client.ingest(group, [telling(FEB, fact("LIVES_IN", "alice", "Oslo"))])
    assert {each.source_node_uuid for each in await client.search(group, "Moreau")} == {"one"}
    assert (await refused(client, "AddEntityNode", node(group, "two", "Alice"))).code == "CONFLICT"
    assert len((await dumped(spec, group)).entities) == 3


async def test_what_a_caller_says_of_an_entity_no_episode_overwrites(client: Client, group: str) -> None:
    await written(client, node(group, "one", "Alice", summary="a nurse"))
    said = episode(body(WORKS), JAN)
    await client.ingest(group, [said])
    assert (await written(client, node(group, "one", "Alice"))).summary == "a nurse"


async def test_healthcheck_says_what_the_service_runs_on(client: Client, spec: StoreSpec) -> None:
    response, _ = await call(client, "Healthcheck", admin_pb2.HealthcheckRequest())
    health = response.output
    assert health.status == "healthy"
    assert health.contract_revision >= 1
    assert health.store == ("embedded" if spec.neo4j is None else "neo4j")
    assert health.extractor.startswith("openai:")
    assert health.embedder
    assert health.version
    assert (
        granted(await client.admin.Healthcheck(admin_pb2.HealthcheckRequest(), timeout=CALL_S)).output
        == health
    )
