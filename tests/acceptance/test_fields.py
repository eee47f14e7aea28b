"""Every field of the specification can be read back: tests/README.md names the calls."""

import yaml
from google.protobuf.message import Message

from kgsvc.v1 import admin_pb2 as adm
from kgsvc.v1 import envelope_pb2 as env
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.saying import APR, FEB, JAN, MAR, body, fact, telling
from tests.support.client import CALL_S, Client, granted, timestamp

WORKS = fact("WORKS_AT", "Alice", "Acme", "Alice works at Acme")
URL = "https://chat.example/archives/C123/p456"


def given(message: Message) -> set[str]:
    """The fields that a message holds."""
    return {field.name for field, _ in message.ListFields()}


def fields(message: Message) -> set[str]:
    """The fields that it could hold."""
    return {field.name for field in message.DESCRIPTOR.fields}


def from_a_chat(uuid: str = "a") -> typ.EpisodeItem:
    """An episode with all that a caller can say of it."""
    item = telling(JAN, WORKS, uuid=uuid)
    item.name, item.source_description, item.source_url = "slack_message_123", "a chat", URL
    return item


async def test_every_field_of_an_episode(client: Client, group: str) -> None:
    await client.ingest(group, [from_a_chat()])
    (only,) = await client.search(group, "Alice")
    (found,) = await client.get_episodes(group)
    assert given(found) == fields(found)
    assert found == typ.Episode(
        uuid="a",
        group_id=group,
        name="slack_message_123",
        body=body(WORKS),
        source=typ.SOURCE_TEXT,
        reference_time=timestamp(JAN),
        created_at=found.created_at,
        source_description=f"a chat, source_url: {URL}",
        source_url=URL,
        entity_edges=[only.uuid],
    )
    assert found.created_at.ToMilliseconds() > APR, "when the service took it, not when it was said"


async def test_every_field_of_an_entity(client: Client, group: str) -> None:
    await client.ingest(group, [from_a_chat()])
    uuid = await client.entity_of(group, "Alice")
    (told,) = await client.search(group, "Alice")
    before = (await client.get_entity(group, uuid)).node
    assert (before.summary, list(before.summary_facts)) == ("Alice works at Acme.", [told.uuid])
    wanted = ing.AddEntityNodeInput(uuid=uuid, group_id=group, name="Alice Chen", summary="An engineer.")
    wanted.attributes.update({"age": 46, "role": {"title": "engineer"}})
    request = ing.AddEntityNodeRequest(input=wanted)
    granted(await client.ingestion.AddEntityNode(request, timeout=CALL_S))
    found = (await client.get_entity(group, uuid)).node
    assert given(found) == fields(found) - {"summary_facts"}, "a caller's summary is from no fact"
    assert (found.uuid, found.group_id, found.name) == (uuid, group, "Alice Chen")
    assert (found.summary, list(found.labels), list(found.aliases)) == ("An engineer.", ["Entity"], ["alice"])
    assert found.attributes == wanted.attributes, "and no embedding"
    assert found.created_at == before.created_at
    assert found.updated_at.ToMilliseconds() > found.created_at.ToMilliseconds()


async def test_every_field_of_a_fact(client: Client, group: str) -> None:
    visit = fact(
        "VISITS", "Alice", "Rome", valid_at="2024-02-01T00:00:00Z", invalid_at="2999-01-01T00:00:00Z"
    )
    first, second = telling(JAN, visit, uuid="a"), telling(MAR, visit, uuid="b")
    await client.ingest(group, [first])
    await client.ingest(group, [second])
    (old,) = await client.search(group, "Rome")
    corrected = await client.update_fact(
        group, old.uuid, "Alice lives in Rome", reason="She moved.", attributes={"street": "Via Appia"}
    )
    new = await client.get_edge(group, corrected.new_uuid)
    gone = await client.get_edge(group, old.uuid)
    expiry = {"expired_at", "expired_reason", "expired_by_fact", "expired_by_episode"}
    unset = {"score", "retract_reason", *expiry}
    assert given(new) == fields(new) - unset
    assert (new.uuid, new.name, new.fact) == (corrected.new_uuid, "VISITS", "Alice lives in Rome")
    assert new.group_id == group
    assert new.source_node_uuid == await client.entity_of(group, "Alice")
    assert new.target_node_uuid == await client.entity_of(group, "Rome")
    assert (new.source_name, new.target_name) == ("Alice", "Rome")
    assert new.valid_at.ToJsonString() == "2024-02-01T00:00:00Z"
    assert new.invalid_at.ToJsonString() == "2999-01-01T00:00:00Z"
    assert new.reference_time == timestamp(JAN)
    assert list(new.episodes) == [each.episode_uuid for each in new.citations] == ["a", "b"]
    assert (new.original_fact, new.update_reason) == (old.fact, "She moved.")
    assert new.previous_uuid == old.uuid
    assert dict(new.attributes) == {"street": "Via Appia"}
    assert new.created_at == new.updated_at == gone.expired_at == gone.updated_at
    assert gone.created_at == old.created_at
    assert (gone.expired_reason, gone.expired_by_fact) == ("updated", new.uuid)
    retracted = await client.ask("RetractFact", group_id=group, uuid=new.uuid, reason="She never did.")
    assert given(retracted.edge) >= {"expired_at", "expired_reason", "retract_reason"}
    assert retracted.edge.retract_reason == "She never did."
    await client.ingest(group, [telling(FEB, WORKS, uuid="c")])
    await client.ingest(
        group, [telling(APR, fact("WORKS_AT", "Alice", "Acme", "Alice leads Acme"), uuid="d")]
    )
    ended = [each for each in await history(client, group, "leads") if each.HasField("expired_at")]
    assert [each.expired_by_episode for each in ended] == ["d"]


async def history(client: Client, group: str, word: str) -> list[typ.FactResult]:
    """What the best hit for a word said over time."""
    return await client.fact_history(group, (await client.search(group, word))[0].uuid)


async def test_every_field_of_a_mention(client: Client, group: str) -> None:
    await client.ingest(group, [from_a_chat("a"), telling(FEB, fact("LIKES", "Bruno", "jazz"), uuid="b")])
    await client.ingest(group, [telling(MAR, fact("LIKES", "Alice", "jazz"), uuid="c")])
    uuid = await client.entity_of(group, "Alice")
    found = await client.get_entity(group, uuid)
    (first, last) = found.mentions
    assert given(first) == fields(first)
    assert [(each.episode_uuid, each.entity_uuid, each.group_id) for each in found.mentions] == [
        ("a", uuid, group),
        ("c", uuid, group),
    ]
    assert first.created_at == found.node.created_at, "they were written in one"
    assert last.created_at.ToMilliseconds() > first.created_at.ToMilliseconds()
    acme = await client.get_entity(group, await client.entity_of(group, "Acme"))
    assert len({first.uuid, last.uuid, *(each.uuid for each in acme.mentions)}) == 3
    few = await client.get_entity(group, uuid, max_episodes=1)
    assert list(few.mentions) == [last], "as many as episodes"
    assert (await client.get_entity(group, uuid)).mentions == found.mentions


async def test_mentions_go_with_their_episode(client: Client, group: str) -> None:
    await client.ingest(group, [from_a_chat("a"), telling(MAR, fact("LIKES", "Alice", "jazz"), uuid="c")])
    uuid = await client.entity_of(group, "Alice")
    request = adm.DeleteEpisodeRequest(input=adm.DeleteEpisodeInput(uuid="a", group_id=group))
    granted(await client.admin.DeleteEpisode(request, timeout=CALL_S))
    assert [each.episode_uuid for each in (await client.get_entity(group, uuid)).mentions] == ["c"]


async def test_every_field_of_a_citation_and_of_the_chain(client: Client, group: str) -> None:
    await client.ingest(group, [from_a_chat()])
    (only,) = await client.search(group, "Alice")
    (cited,) = (await client.get_edge(group, only.uuid)).citations
    (accepted,) = await client.get_episodes(group)
    assert given(cited) == fields(cited)
    assert cited == typ.CitationInfo(
        episode_uuid="a",
        episode_name="slack_message_123",
        source=typ.SOURCE_TEXT,
        source_description=f"a chat, source_url: {URL}",
        created_at=accepted.created_at,
        source_url=URL,
    )
    found = await client.get_entity(group, only.source_node_uuid)
    (entry,) = found.citation_chain
    assert (entry.citation, entry.operation) == (cited, typ.CITATION_OPERATION_CREATED)
    assert all(list(each.citations) == [cited] for each in found.facts)


async def test_every_field_of_an_entity_type(client: Client, group: str) -> None:
    attribute = {"name": "due", "type": "date", "required": True, "description": "the day"}
    task = {
        "name": "Task",
        "description": "Something to be done.\nLook for TODOs.",
        "priority": "high",
        "attributes": [attribute],
    }
    request = adm.PutOntologyRequest(
        input=adm.PutOntologyInput(group_id=group, yaml=yaml.safe_dump({"entity_types": [task]}))
    )
    granted(await client.admin.PutOntology(request, timeout=CALL_S))
    asked = adm.GetOntologyRequest(input=adm.GetOntologyInput(group_id=group))
    output = granted(await client.admin.GetOntology(asked, timeout=CALL_S)).output
    (found,) = yaml.safe_load(output.yaml)["entity_types"]
    assert found == task
    assert output.own


async def test_the_answer_to_new_episodes(client: Client, group: str) -> None:
    request = ing.AddEpisodesRequest(input=ing.AddEpisodesInput(group_id=group, items=[from_a_chat()]))
    response = granted(await client.ingestion.AddEpisodes(request, timeout=CALL_S))
    assert (response.status, response.output.message) == (env.STATUS_ACCEPTED, "1 episode accepted")
    receipt = await client.receipt(response.output.receipt_id)
    assert (receipt.group_id, [each.name for each in receipt.items]) == (group, ["slack_message_123"])
    await client.wait_receipt(receipt.receipt_id)


async def test_the_answer_to_a_correction(client: Client, group: str) -> None:
    await client.ingest(group, [from_a_chat()])
    (old,) = await client.search(group, "Alice")
    output = await client.update_fact(group, old.uuid, "Alice leads Acme")
    assert given(output) == fields(output)
    assert (output.status, output.old_uuid) == ("updated", old.uuid)
    assert output.new_uuid == output.new_edge.uuid != old.uuid
    assert output.new_edge == await client.get_edge(group, output.new_uuid)
