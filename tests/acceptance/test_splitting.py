"""SplitEntityNode and UndoSplit: one entity becomes two, by episodes or by facts, and one again."""

import asyncio
from dataclasses import replace
from typing import Any

from kgsvc.stores.protocol import GroupDump
from kgsvc.v1 import admin_pb2 as adm
from kgsvc.v1 import ingestion_pb2 as ing
from tests.acceptance.refusals import refused
from tests.acceptance.saying import APR, FEB, JAN, MAR, fact, telling
from tests.support.client import CALL_S, Client, granted
from tests.support.store_spec import StoreSpec, dumped

WORKS = fact("WORKS_AT", "Jordan", "Acme", kind="functional")
LIVES = fact("LIVES_IN", "Jordan", "Oslo", kind="functional")
LIKES = fact("LIKES", "Jordan", "jazz")
MOVED = fact("LIVES_IN", "Jordan", "Bonn", kind="functional")
KNOWS = fact("KNOWS", "Zoe", "Jordan")


async def told(client: Client, group: str) -> str:
    """Two people of one name, taken for one; the uuid."""
    await client.ingest(group, [telling(JAN, WORKS, LIVES, LIKES, uuid="one")])
    await client.ingest(group, [telling(FEB, MOVED, LIKES, uuid="two"), telling(MAR, KNOWS, uuid="three")])
    (works,) = (each for each in await client.search(group, "Jordan Acme") if each.name == "WORKS_AT")
    return works.source_node_uuid


async def split(client: Client, group: str, uuid: str, key: str | None = None, **given: Any) -> Any:
    """SplitEntityNode."""
    return await client.ask("SplitEntityNode", key, group_id=group, uuid=uuid, **given)


def asked(key: str | None = None, **given: Any) -> adm.SplitEntityNodeRequest:
    """A request to split."""
    return adm.SplitEntityNodeRequest(idempotency_key=key, input=adm.SplitEntityNodeInput(**given))


async def undo(client: Client, group: str, split_id: str) -> Any:
    """UndoSplit."""
    return await client.ask("UndoSplit", group_id=group, split_id=split_id)


def facts_of(dump: GroupDump, uuid: str) -> dict[str, tuple[tuple[str, ...], str | None]]:
    """The texts about an entity, with the episodes behind each and why it expired; of one text the row that
    counts."""
    about = [fact for fact in dump.facts if uuid in (fact.source_uuid, fact.target_uuid)]
    about.sort(key=lambda fact: fact.expired_reason != "merged")
    return {fact.fact: (fact.episodes, fact.expired_reason) for fact in about}


def content(dump: GroupDump) -> list[Any]:
    """What a group holds, but for when it was written and for what was believed meanwhile."""
    facts = [replace(fact, updated_ms=None, beliefs=()) for fact in dump.facts]
    entities = [replace(each, updated_ms=0) for each in dump.entities]
    return [facts, entities, dump.names, dump.mentions, dump.episode_edges]


async def test_what_some_episodes_state_goes_to_another_entity(
    client: Client, group: str, spec: StoreSpec
) -> None:
    jordan = await told(client, group)
    assert facts_of(await dumped(spec, group), jordan)["Jordan lives in Oslo"][1] == "superseded"
    done = await split(client, group, jordan, episode_uuids=["two"])
    assert done.node.uuid != jordan
    assert (done.node.name, list(done.node.aliases)) == ("Jordan", [])
    dump = await dumped(spec, group)
    assert facts_of(dump, jordan) == {
        "Jordan works at Acme": (("one",), None),
        "Jordan lives in Oslo": (("one",), None),  # the other one moved
        "Jordan likes jazz": (("one",), None),  # both say so of themselves
        "Zoe knows Jordan": (("three",), None),
    }
    assert facts_of(dump, done.node.uuid) == {
        "Jordan lives in Bonn": (("two",), None),
        "Jordan likes jazz": (("two",), None),
    }
    there = [fact for fact in dump.facts if fact.source_uuid == done.node.uuid]
    assert sorted(done.fact_uuids) == sorted(fact.uuid for fact in there)
    assert len({fact.fact_key for fact in dump.facts}) == len(dump.facts)
    assert done.node.summary.splitlines() == ["Jordan likes jazz.", "Jordan lives in Bonn."]
    kept = await client.get_entity(group, jordan)
    assert [each.uuid for each in kept.episodes] == ["one", "three"]
    sentences = ["Jordan likes jazz.", "Jordan lives in Oslo.", "Jordan works at Acme.", "Zoe knows Jordan."]
    assert kept.node.summary.splitlines() == sentences
    assert [each.uuid for each in (await client.get_entity(group, done.node.uuid)).episodes] == ["two"]
    assert {each.uuid: set(each.entity_edges) for each in kept.episodes}["one"].isdisjoint(done.fact_uuids)
    assert set(dump.episode_edges["two"]) == set(done.fact_uuids)


async def test_facts_go_with_all_their_episodes(client: Client, group: str, spec: StoreSpec) -> None:
    jordan = await told(client, group)
    before = await dumped(spec, group)
    (likes,) = (fact.uuid for fact in before.facts if fact.name == "LIKES")
    done = await split(client, group, jordan, fact_uuids=[likes], name="Jordan Lee")
    assert (done.node.name, list(done.fact_uuids)) == ("Jordan Lee", [likes])
    dump = await dumped(spec, group)
    assert facts_of(dump, done.node.uuid) == {"Jordan likes jazz": (("one", "two"), None)}
    assert len(facts_of(dump, jordan)) == 4
    assert {jordan, done.node.uuid} <= {uuid for _, uuid in dump.mentions}
    both = {episode for episode, uuid in dump.mentions if uuid == done.node.uuid}
    assert both == {"one", "two"}  # they tell of both
    await client.ingest(group, [telling(APR, fact("PLAYS", "Jordan Lee", "chess"))])
    (plays,) = (each for each in await client.search(group, "chess") if each.name == "PLAYS")
    assert plays.source_node_uuid == done.node.uuid
    await undo(client, group, done.split_id)
    assert (await dumped(spec, group)).names["jordan lee"] == jordan  # it was said meanwhile


async def test_undo_puts_everything_back(client: Client, group: str, spec: StoreSpec) -> None:
    jordan = await told(client, group)
    before = await dumped(spec, group)
    (likes,) = (fact.uuid for fact in before.facts if fact.name == "LIKES")
    parts: list[dict[str, Any]] = [{"episode_uuids": ["two"]}, {"episode_uuids": ["one", "three"]}]
    for given in (*parts, {"fact_uuids": [likes]}):
        for name in (None, "Jordan Lee"):
            done = await split(client, group, jordan, **given, name=name)
            whole = await undo(client, group, done.split_id)
            assert (whole.node.uuid, whole.facts_moved) == (jordan, len(done.fact_uuids))
            assert content(await dumped(spec, group)) == content(before)


async def test_what_came_meanwhile_is_kept(client: Client, group: str, spec: StoreSpec) -> None:
    jordan = await told(client, group)
    done = await split(client, group, jordan, episode_uuids=["two"], name="Jordan Lee")
    meanwhile = [
        fact("PLAYS", "Jordan Lee", "chess"),
        fact("LIKES", "Jordan Lee", "jazz", "Jordan likes jazz"),
    ]
    await client.ingest(group, [telling(APR, *meanwhile, fact("KNOWS", "Jordan", "Jordan Lee"), uuid="four")])
    given = ing.AddEntityNodeInput(uuid=done.node.uuid, group_id=group, name="Jordan Lee")
    given.attributes.update({"age": 3})
    granted(await client.ingestion.AddEntityNode(ing.AddEntityNodeRequest(input=given), timeout=CALL_S))
    assert dict((await undo(client, group, done.split_id)).node.attributes) == {"age": 3}
    dump = await dumped(spec, group)
    assert facts_of(dump, jordan) == {
        "Jordan works at Acme": (("one",), None),
        "Jordan lives in Oslo": (("one",), "superseded"),
        "Jordan lives in Bonn": (("two",), None),
        "Jordan likes jazz": (("one", "two", "four"), None),
        "Zoe knows Jordan": (("three",), None),
        "Jordan Lee plays chess": (("four",), None),
        "Jordan knows Jordan Lee": (("four",), "merged"),
    }
    assert done.node.uuid not in {each.uuid for each in dump.entities}
    assert [each.uuid for each in (await client.get_entity(group, jordan)).episodes][-1] == "four"


async def test_a_name_alone_means_the_one_that_kept_it(client: Client, group: str, spec: StoreSpec) -> None:
    jordan = await told(client, group)
    done = await split(client, group, jordan, episode_uuids=["two"])
    again = await split(client, group, jordan, episode_uuids=["three"])
    assert len({jordan, done.node.uuid, again.node.uuid}) == 3
    await client.ingest(group, [telling(APR, fact("PLAYS", "Jordan", "chess"))])
    (plays,) = (each for each in await client.search(group, "chess") if each.name == "PLAYS")
    assert plays.source_node_uuid == jordan
    for split_id in (done.split_id, again.split_id):  # in any order
        await undo(client, group, split_id)
    assert len(facts_of(await dumped(spec, group), jordan)) == 6


async def test_what_is_told_again_of_the_one_leaves_the_other_alone(
    client: Client, group: str, spec: StoreSpec
) -> None:
    since = {"valid_at": "2023-01-01T00:00:00Z"}
    again = fact("LIKES", "Jordan", "jazz", **since)
    await client.ingest(group, [telling(JAN, again, uuid="one"), telling(FEB, LIVES, uuid="two")])
    (likes,) = (each for each in (await dumped(spec, group)).facts if each.name == "LIKES")
    done = await split(client, group, likes.source_uuid, episode_uuids=["one"])
    await client.ingest(group, [telling(MAR, again, uuid="three")])  # the same from the same time
    dump = await dumped(spec, group)
    found = {each.source_uuid: each.episodes for each in dump.facts if each.name == "LIKES"}
    assert found == {done.node.uuid: ("one",), likes.source_uuid: ("three",)}
    await undo(client, group, done.split_id)
    assert facts_of(await dumped(spec, group), likes.source_uuid)["Jordan likes jazz"] == (
        ("one", "three"),
        None,
    )


async def test_deleting_episodes_reaches_both(client: Client, group: str, spec: StoreSpec) -> None:
    jordan = await told(client, group)
    done = await split(client, group, jordan, episode_uuids=["two"])
    given = adm.DeleteEpisodeInput(uuid="two", group_id=group, cascade=True)
    granted(await client.admin.DeleteEpisode(adm.DeleteEpisodeRequest(input=given), timeout=CALL_S))
    dump = await dumped(spec, group)
    assert facts_of(dump, jordan)["Jordan likes jazz"] == (("one",), None)
    assert not facts_of(dump, done.node.uuid)
    assert "two" not in str((dump.facts, dump.mentions))
    back = adm.UndoSplitRequest(input=adm.UndoSplitInput(group_id=group, split_id=done.split_id))
    refusal = await refused(client, "UndoSplit", back)
    assert (refusal.code, refusal.fields) == ("CONFLICT", ("input.split_id",))


async def test_undo_does_not_bring_back_what_a_cascade_removed(
    client: Client, group: str, spec: StoreSpec
) -> None:
    jordan = await told(client, group)
    await client.ingest(group, [telling(APR, LIKES, uuid="four")])
    done = await split(client, group, jordan, episode_uuids=["two", "four"])
    given = adm.DeleteEpisodeInput(uuid="two", group_id=group, cascade=True)
    granted(await client.admin.DeleteEpisode(adm.DeleteEpisodeRequest(input=given), timeout=CALL_S))
    await undo(client, group, done.split_id)
    dump = await dumped(spec, group)
    assert facts_of(dump, jordan)["Jordan likes jazz"] == (("one", "four"), None)
    assert facts_of(dump, jordan)["Jordan lives in Oslo"] == (("one",), None)
    assert "two" not in str((dump.facts, dump.mentions))


async def test_the_first_outcome_is_told_again_by_its_key(client: Client, group: str) -> None:
    jordan = await told(client, group)
    first = await split(client, group, jordan, "key", episode_uuids=["two", "three"])
    assert await split(client, group, jordan, "key", episode_uuids=["three", "two"]) == first
    other = asked("key", group_id=group, uuid=jordan, episode_uuids=["one"])
    assert (await refused(client, "SplitEntityNode", other)).code in ("CONFLICT", "INVALID_ARGUMENT")
    await undo(client, group, first.split_id)
    other.input.episode_uuids[:] = ["two", "three"]
    assert (await refused(client, "SplitEntityNode", other)).code == "CONFLICT"
    other.input.episode_uuids[:] = ["one"]
    assert (await refused(client, "SplitEntityNode", other)).code == "CONFLICT"


async def test_splits_at_once_all_happen(client: Client, group: str, spec: StoreSpec) -> None:
    jordan = await told(client, group)
    done = await asyncio.gather(
        split(client, group, jordan, episode_uuids=["two"]),
        split(client, group, jordan, episode_uuids=["three"]),
        client.ingest(group, [telling(APR, LIKES, uuid="four")]),
    )
    dump = await dumped(spec, group)
    assert set(facts_of(dump, done[0].node.uuid)) == {"Jordan lives in Bonn", "Jordan likes jazz"}
    assert set(facts_of(dump, done[1].node.uuid)) == {"Zoe knows Jordan"}
    assert facts_of(dump, jordan)["Jordan likes jazz"] == (("one", "four"), None)


async def test_what_cannot_be_taken_apart_is_refused(client: Client, group: str) -> None:
    jordan = await told(client, group)
    (zoe,) = (e.source_node_uuid for e in await client.search(group, "Zoe knows") if e.name == "KNOWS")
    uuids = [each.uuid for each in (await client.get_entity(group, jordan, include_expired=True)).facts]

    async def refusal(**given: Any) -> tuple[str, tuple[str, ...]]:
        request = asked(**{"group_id": group, "uuid": jordan, **given})
        found = await refused(client, "SplitEntityNode", request)
        return found.code, tuple(found.fields)

    wrong = "INVALID_ARGUMENT"
    assert await refusal() == (wrong, ("input.episode_uuids",))
    assert await refusal(episode_uuids=["two"], fact_uuids=uuids[:1]) == (wrong, ("input.episode_uuids",))
    assert await refusal(episode_uuids=["two", "never"]) == (wrong, ("input.episode_uuids[1]",))
    assert await refusal(fact_uuids=["never"]) == (wrong, ("input.fact_uuids[0]",))
    assert await refusal(episode_uuids=["one", "two", "three"]) == (wrong, ("input.episode_uuids",))
    assert await refusal(fact_uuids=uuids) == (wrong, ("input.fact_uuids",))
    assert await refusal(uuid="nobody", fact_uuids=uuids) == ("NOT_FOUND", ("input.uuid",))
    assert await refusal(uuid=zoe, episode_uuids=["two"]) == (wrong, ("input.episode_uuids[0]",))
    assert await refusal(episode_uuids=["two"], name="Acme") == ("CONFLICT", ("input.name",))
    assert await refusal(episode_uuids=["two"], name=" ") == (wrong, ("input.name",))
    merge = await client.ask("MergeEntityNodes", group_id=group, keep_uuid=jordan, merge_uuid=zoe)
    back = adm.UndoSplitRequest(input=adm.UndoSplitInput(group_id=group, split_id=merge.merge_id))
    assert (await refused(client, "UndoSplit", back)).code == "NOT_FOUND"
    done = await split(client, group, jordan, episode_uuids=["two"])
    undone = adm.UndoMergeRequest(input=adm.UndoMergeInput(group_id=group, merge_id=done.split_id))
    assert (await refused(client, "UndoMerge", undone)).code == "NOT_FOUND"
