"""Names over their life: one that shows two entities to be one; names that go with their episode."""

from collections.abc import Mapping
from typing import Any

from kgsvc.stores.protocol import GroupDump
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.saying import APR, FEB, JAN, MAR, fact, reads_bodies, telling
from tests.support.client import CALL_S, Client, episode, granted, message
from tests.support.graphs import assert_sound
from tests.support.scripted_openai import Outcome, Request, answer, edge, node, resolutions
from tests.support.scripted_openai.replies import as_content
from tests.support.store_spec import StoreSpec, dumped

MANY = "Jordan"
FULL = {"Alejandro Ruiz": "Alejandro Ruiz", "Bob": "Robert the Crook", "Robert Smith": "Robert Smith"}


def agreeing(request: Request) -> Outcome | Mapping[str, Any] | None:
    """All that a name may be it is, whatever else that joins; but for one of many bearers."""
    asked = request.resolution
    if asked is None:
        return reads_bodies(request)
    nodes: dict[int, dict[str, Any]] = {}
    for each in asked.get("new_entities", []):
        alone = each["name"] == MANY
        known, peers = ([], []) if alone else (each["candidates"], each["peers"])
        nodes[each["id"]] = {
            "same_as_known": known[0] if known else None,
            "same_as_new": peers[0] if peers and not known else None,
            "also_known": known[1:],
            "also_new": peers if known else peers[1:],
            "full_name": FULL.get(each["name"]),
        }
    return resolutions(nodes, {each["id"]: {} for each in asked.get("new_facts", [])})


SCRIPT = agreeing


def said(name: str, at_ms: int, uuid: str, **more: Any) -> typ.EpisodeItem:
    """An episode that says of somebody what nobody else says."""
    people = [node("a", name, **more), node("b", f"{uuid}ville")]
    told = as_content(answer(people, [edge("IS_IN", f"{name} is in {uuid}ville", "a", "b")]))
    return episode(told, at_ms, uuid=uuid)


async def cascade(client: Client, group: str, uuid: str) -> None:
    """DeleteEpisode with cascade."""
    await client.ask("DeleteEpisode", uuid=uuid, group_id=group, cascade=True)


def people(dump: GroupDump) -> dict[str, set[str]]:
    """Their names by the one they show."""
    shown = {each.uuid: each.name for each in dump.entities if not each.name.endswith("ville")}
    return {name: {k for k, owner in dump.names.items() if owner == uuid} for uuid, name in shown.items()}


def words(dump: GroupDump) -> str:
    """Every word of entities, names and facts, and what they are from."""
    return str((dump.entities, dump.names, dump.facts, dump.mentions)).casefold()


async def test_a_name_that_shows_two_to_be_one_merges_them_and_going_parts_them(
    client: Client, group: str, spec: StoreSpec
) -> None:
    await client.ingest(group, [said("Alejandro", JAN, "a")])
    await client.ingest(group, [said("Mr. Ruiz", FEB, "b")])
    before = await dumped(spec, group)
    assert people(before) == {"Alejandro": {"alejandro"}, "Mr. Ruiz": {"mr. ruiz"}}
    await client.ingest(group, [said("Alejandro Ruiz", MAR, "c")])
    merged = await dumped(spec, group)
    assert_sound(merged)
    assert people(merged) == {"Alejandro Ruiz": {"alejandro", "mr. ruiz", "alejandro ruiz"}}
    assert {f.source_name for f in merged.facts} == {"Alejandro Ruiz"}
    gone = {each.uuid for each in before.entities} - {each.uuid for each in merged.entities}
    (uuid,) = gone
    assert (await client.get_entity(group, uuid)).node.name == "Alejandro Ruiz"
    await cascade(client, group, "c")
    after = await dumped(spec, group)
    assert_sound(after)
    assert people(after) == people(before)
    assert "alejandro ruiz" not in words(after)
    assert {(f.source_name, f.fact) for f in after.facts} == {(f.source_name, f.fact) for f in before.facts}


async def test_an_account_is_known_by_its_number_alone(client: Client, group: str, spec: StoreSpec) -> None:
    mark = [{"key": "account_number", "value": "4711-0815"}]
    await client.ingest(group, [said("Rainy day fund", JAN, "a", attributes=mark)])
    await client.ingest(group, [said("Account #4711 0815", FEB, "b")])
    (names,) = people(await dumped(spec, group)).values()
    assert names == {"rainy day fund", "account #4711 0815"}
    await cascade(client, group, "a")  # its number goes with it, but for the one in the name
    await client.ingest(group, [said("The fund", MAR, "c", attributes=mark)])
    assert len(people(await dumped(spec, group))) == 1
    await client.ingest(
        group, [said("Something else", MAR, "d", attributes=[{"key": "number", "value": "0815-4711"}])]
    )
    assert len(people(await dumped(spec, group))) == 2


async def test_names_and_types_go_with_the_episode_that_alone_used_them(
    client: Client, group: str, spec: StoreSpec
) -> None:
    """The first episode names it, brings a full name that nobody says, and a type."""
    await client.ingest(group, [said("Robert Smith", JAN, "good", type="Person")])
    await client.ingest(group, [said("Bob", FEB, "evil", type="Organization")])
    await client.ingest(group, [said("robert  smith", MAR, "other")])
    poisoned = await dumped(spec, group)
    assert people(poisoned) == {"Robert the Crook": {"robert smith", "bob", "robert the crook"}}
    assert {"Organization", "Person"} in [set(each.labels) for each in poisoned.entities]
    await cascade(client, group, "evil")
    after = await dumped(spec, group)
    assert_sound(after)
    assert people(after) == {"Robert Smith": {"robert smith"}}
    assert {each.labels for each in after.entities} == {("Person",), ("Entity",)}
    for word in ("crook", "bob", "evil", "organization"):
        assert word not in words(after)
    assert {f.source_name for f in after.facts} == {"Robert Smith"}
    assert [each.source_name for each in await client.search(group, "Robert")] == ["Robert Smith"] * 2
    assert await client.search(group, "crook bob") == []
    await client.ingest(group, [said("The Crook", APR, "later")])
    found = people(await dumped(spec, group))
    assert found == {"Robert Smith": {"robert smith"}, "The Crook": {"the crook"}}, "nothing leads there"


async def test_of_the_first_episode_others_take_the_name_over(
    client: Client, group: str, spec: StoreSpec
) -> None:
    await client.ingest(group, [said("ACME-Robotics", JAN, "evil")])
    await client.ingest(group, [said("Acme Robotics", FEB, "good")])
    assert people(await dumped(spec, group)) == {"ACME-Robotics": {"acme-robotics", "acme robotics"}}
    await cascade(client, group, "evil")
    after = await dumped(spec, group)
    assert people(after) == {"Acme Robotics": {"acme robotics"}}
    assert "evil" not in words(after)
    (fact_left,) = await client.search(group, "Acme")
    assert fact_left.source_name == "Acme Robotics"


async def test_a_callers_names_stay(client: Client, group: str, spec: StoreSpec) -> None:
    for name in ("Al", "Alice"):
        given = ing.AddEntityNodeInput(uuid="own", group_id=group, name=name)
        granted(await client.ingestion.AddEntityNode(ing.AddEntityNodeRequest(input=given), timeout=CALL_S))
    await client.ingest(group, [said("Al", JAN, "a"), said("ALICE", FEB, "b")])
    await client.ingest(group, [telling(MAR, fact("LIKES", "Alice", "jazz"), uuid="c")])
    for uuid in "abc":
        await cascade(client, group, uuid)
    assert people(await dumped(spec, group)) == {"Alice": {"al", "alice"}}


async def test_a_rename_makes_one_of_two_names_and_going_parts_them(
    client: Client, group: str, spec: StoreSpec
) -> None:
    await client.ingest(group, [telling(JAN, fact("USES", "Sparrow", "Rust"), uuid="a")])
    await client.ingest(group, [telling(MAR, fact("USES", "Lantern", "Kafka"), uuid="b")])
    before = await dumped(spec, group)
    await client.ingest(group, [telling(FEB, fact("RENAMED_TO", "Sparrow", "Lantern"), uuid="c")])
    await client.ingest(group, [telling(APR, fact("USES", "Sparrow", "Redis"), uuid="d")])
    after = await dumped(spec, group)
    assert_sound(after)
    (one,) = [each for each in after.entities if each.name == "Lantern"]
    assert people(after)["Lantern"] == {"sparrow", "lantern"}
    told = {(each.name, each.source_name, each.target_name) for each in after.facts}
    assert told == {
        ("RENAMED_TO", "Lantern", "Lantern"),
        *(("USES", "Lantern", each) for each in ("Rust", "Kafka", "Redis")),
    }
    shown = (await client.get_entity(group, one.uuid, max_facts=10)).facts
    assert sorted(each.name for each in shown) == ["RENAMED_TO", "USES", "USES", "USES"]
    assert {each.name for each in await client.search(group, "Sparrow renamed")} >= {"RENAMED_TO"}
    await cascade(client, group, "d")
    await cascade(client, group, "c")
    parted = await dumped(spec, group)
    assert_sound(parted)
    assert people(parted) == people(before)
    assert {(f.source_name, f.fact) for f in parted.facts} == {(f.source_name, f.fact) for f in before.facts}


async def test_namesakes_stay_two_and_keep_their_facts(client: Client, group: str, spec: StoreSpec) -> None:
    """The place comes first; then the person, to whom the plain name goes over."""
    await client.ingest(group, [said("Jordan", JAN, "a", type="Location")])
    await client.ingest(group, [said("Jordan", FEB, "b", type="Person")])
    await client.ingest(group, [said("Jordan", MAR, "c"), said("Jordan", APR, "d", type="Location")])
    dump = await dumped(spec, group)
    assert_sound(dump)
    two = {each.labels: each.uuid for each in dump.entities if each.name == "Jordan"}
    told = {kind: {f.target_name for f in dump.facts if f.source_uuid == uuid} for kind, uuid in two.items()}
    assert told == {("Location",): {"aville", "dville"}, ("Person",): {"bville", "cville"}}
    for uuid in two.values():
        view = await client.get_entity(group, uuid)
        assert (view.node.name, list(view.node.aliases)) == ("Jordan", [])
    await cascade(client, group, "b")
    await cascade(client, group, "c")
    left = await dumped(spec, group)
    assert_sound(left)
    assert [each.labels for each in left.entities if each.name == "Jordan"] == [("Location",)]


async def test_who_speaks_without_a_name_is_one_in_each_conversation_of_a_group_with_several(
    client: Client, group: str, spec: StoreSpec
) -> None:
    async def tell(at_ms: int, likes: str, chat: str, role: str | None = None) -> None:
        """A message: what who speaks likes."""
        who = node("a", role or "user", type="Person")
        told = answer([who, node("b", likes)], [edge("LIKES", f"likes {likes}", "a", "b")])
        one = message(as_content(told), at_ms, role)
        one.source_description = chat
        await client.say(group, [one])

    await tell(JAN, "jazz", "chat 1")
    await tell(FEB, "chess", "chat 2")
    for name in ("Ann", "Bob"):
        await tell(MAR, f"{name}ville", "chat 1", name)
    for chat, likes in (("chat 2", "rum"), ("chat 1", "tea"), ("chat 2", "golf")):
        await tell(APR, likes, chat)
    dump = await dumped(spec, group)
    users = {each.uuid for each in dump.entities if each.name == "user"}
    assert {frozenset(f.target_name for f in dump.facts if f.source_uuid == uuid) for uuid in users} == {
        frozenset({"jazz", "chess", "tea"}),  # while one person
        frozenset({"rum", "golf"}),
    }


async def test_what_a_caller_took_apart_is_not_merged_again(
    client: Client, group: str, spec: StoreSpec
) -> None:
    await client.ingest(group, [said("Lee", JAN, "a"), said("Lee", FEB, "b")])
    (lee,) = {uuid for key, uuid in (await dumped(spec, group)).names.items() if key == "lee"}
    await client.ask("SplitEntityNode", group_id=group, uuid=lee, episode_uuids=["b"])
    await client.ingest(group, [said("Lee Minh", MAR, "c")])  # the model says that it is both
    found = await dumped(spec, group)
    assert len([each for each in found.entities if not each.name.endswith("ville")]) == 2
    await cascade(client, group, "a")
    await cascade(client, group, "c")
    await client.ingest(group, [said("Lee", APR, "d")])  # the bare name is free for the one that is left
    left = await dumped(spec, group)
    assert [each.name for each in left.entities if not each.name.endswith("ville")] == ["Lee"]
