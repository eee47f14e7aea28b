"""MergeEntityNodes and UndoMerge: two entities become one, future names resolve to it, and two again."""

from dataclasses import replace
from typing import Any

from kgsvc.v1 import admin_pb2 as adm
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.refusals import refused
from tests.acceptance.saying import APR, FEB, JAN, MAR, fact, telling
from tests.support.client import CALL_S, Client, granted
from tests.support.contract import request_of
from tests.support.store_spec import StoreSpec, dumped

WORKS = fact("WORKS_AT", "Robert Smith", "Acme", "Robert Smith works at Acme")
LIVES = fact("LIVES_IN", "Robert Smith", "Oslo", "Robert Smith lives in Oslo", kind="functional")
MOVED = fact("LIVES_IN", "Zed", "Bonn", "Zed lives in Bonn", kind="functional")
KNOWS = fact("KNOWS", "Zed", "Robert Smith", "Zed knows Robert Smith")


async def told(client: Client, group: str) -> tuple[str, str]:
    """Two people who are one; their uuids."""
    await client.ingest(
        group, [telling(JAN, WORKS, LIVES, uuid="one"), telling(FEB, MOVED, uuid="two"), telling(MAR, KNOWS)]
    )
    found = await client.search(group, "Robert Zed", max_facts=100)
    (knows,) = (each for each in found if each.name == "KNOWS")
    return knows.target_node_uuid, knows.source_node_uuid


async def merge(client: Client, group: str, keep: str, gone: str, key: str | None = None) -> Any:
    """MergeEntityNodes."""
    return await client.ask("MergeEntityNodes", key, group_id=group, keep_uuid=keep, merge_uuid=gone)


async def undo(client: Client, group: str, merge_id: str) -> Any:
    """UndoMerge."""
    return await client.ask("UndoMerge", group_id=group, merge_id=merge_id)


async def test_facts_names_mentions_and_summary_go_over(client: Client, group: str, spec: StoreSpec) -> None:
    robert, zed = await told(client, group)
    done = await merge(client, group, robert, zed)
    assert (done.node.uuid, done.node.name, list(done.node.aliases)) == (robert, "Robert Smith", ["zed"])
    assert done.facts_moved == 2
    found = await client.get_entity(group, robert, include_expired=True)
    assert {each.fact: each.expired_reason for each in found.facts} == {
        "Robert Smith works at Acme": "",
        "Robert Smith lives in Oslo": "superseded",  # slots that meet are folded together
        "Zed lives in Bonn": "",
        "Zed knows Robert Smith": "merged",  # about one entity now
    }
    assert {each.source_name for each in found.facts} == {"Robert Smith"}
    assert found.node.summary == "Robert Smith works at Acme.\nZed lives in Bonn."
    assert [each.uuid for each in found.episodes][:2] == ["one", "two"]
    assert len(found.episodes) == 3
    dump = await dumped(spec, group)
    assert {each.name for each in dump.entities} == {"Robert Smith", "Acme", "Oslo", "Bonn"}
    assert all(fact.source_uuid != zed != fact.target_uuid for fact in dump.facts)


async def test_the_uuid_of_a_merged_entity_leads_to_the_kept_one(client: Client, group: str) -> None:
    robert, zed = await told(client, group)
    await merge(client, group, robert, zed)
    assert (await client.get_entity(group, zed)).node.uuid == robert


async def test_future_names_resolve_to_the_kept_one(client: Client, group: str) -> None:
    robert, zed = await told(client, group)
    await merge(client, group, robert, zed)
    await client.ingest(group, [telling(APR, fact("LIKES", "Zed", "jazz"))])
    (likes,) = (each for each in await client.search(group, "jazz") if each.name == "LIKES")
    assert likes.source_node_uuid == robert


async def test_undo_puts_everything_back(client: Client, group: str, spec: StoreSpec) -> None:
    robert, zed = await told(client, group)
    before = await dumped(spec, group)
    done = await merge(client, group, robert, zed)
    back = await undo(client, group, done.merge_id)
    assert (back.node.uuid, back.node.name, back.facts_moved) == (zed, "Zed", 2)
    after = await dumped(spec, group)

    # But for what was believed meanwhile: that stays known.
    assert [replace(f, updated_ms=None, beliefs=()) for f in after.facts] == list(before.facts)
    assert (after.names, after.mentions) == (before.names, before.mentions)
    assert [(e.uuid, e.name, e.summary, e.labels, e.attributes) for e in after.entities] == [
        (e.uuid, e.name, e.summary, e.labels, e.attributes) for e in before.entities
    ]
    assert (await client.get_entity(group, zed)).node.uuid == zed


async def test_what_was_said_since_stays(client: Client, group: str) -> None:
    robert, zed = await told(client, group)
    done = await merge(client, group, robert, zed)
    await client.ingest(group, [telling(APR, fact("LIKES", "Zed", "jazz"), uuid="later")])
    await undo(client, group, done.merge_id)
    kept = await client.get_entity(group, robert)
    assert {"Zed likes jazz", "Robert Smith lives in Oslo"} < {each.fact for each in kept.facts}
    returned = await client.get_entity(group, zed)
    assert {each.fact for each in returned.facts} == {"Zed lives in Bonn", "Zed knows Robert Smith"}


async def test_duplicates_become_one_and_two_again(client: Client, group: str, spec: StoreSpec) -> None:
    same = [fact("LIKES", name, "jazz", "likes jazz") for name in ("Ann", "Bea")]
    await client.ingest(group, [telling(JAN, same[0], uuid="a")])
    await client.ingest(group, [telling(FEB, same[1], uuid="b")])
    one, other = sorted(await client.search(group, "jazz"), key=lambda each: each.source_name)
    done = await merge(client, group, one.source_node_uuid, other.source_node_uuid)
    (joined,) = await client.search(group, "jazz")
    assert (joined.uuid, list(joined.episodes)) == (one.uuid, ["a", "b"])
    await client.ingest(group, [telling(MAR, same[1], uuid="c")])
    await undo(client, group, done.merge_id)
    facts = {f.uuid: (f.source_name, f.episodes, f.expired_reason) for f in (await dumped(spec, group)).facts}
    assert facts == {one.uuid: ("Ann", ("a", "c"), None), other.uuid: ("Bea", ("b",), None)}


async def test_undo_does_not_bring_back_what_a_cascade_removed(
    client: Client, group: str, spec: StoreSpec
) -> None:
    same = [fact("LIKES", name, "jazz", "likes jazz") for name in ("Ann", "Bea")]
    await client.ingest(group, [telling(JAN, same[0], uuid="a")])
    await client.ingest(group, [telling(FEB, same[1], fact("KNOWS", "Bea", "Zoe"), uuid="evil-1")])
    await client.ingest(group, [telling(MAR, same[1], uuid="c")])
    found = await client.search(group, "likes jazz", max_facts=100)
    ends = {each.source_name: each.source_node_uuid for each in found}
    done = await merge(client, group, ends["Ann"], ends["Bea"])
    given = adm.DeleteEpisodeInput(uuid="evil-1", group_id=group, cascade=True)
    granted(await client.admin.DeleteEpisode(adm.DeleteEpisodeRequest(input=given), timeout=CALL_S))
    await undo(client, group, done.merge_id)
    dump = await dumped(spec, group)
    assert {f.source_name: f.episodes for f in dump.facts} == {"Ann": ("a",), "Bea": ("c",)}
    assert "evil-1" not in str((dump.facts, dump.mentions, [e.summary_parts for e in dump.entities]))
    assert {e.name: e.summary for e in dump.entities if e.name == "Bea"} == {"Bea": "likes jazz."}


async def test_attributes_that_only_the_other_had_go_over_and_back(client: Client, group: str) -> None:
    made: dict[str, Any] = {"Ann": {"age": 3}, "Bea": {"age": 4, "city": "Oslo"}}
    for uuid, (name, values) in zip("xy", made.items(), strict=True):
        given = ing.AddEntityNodeInput(uuid=uuid, group_id=group, name=name)
        given.attributes.update(values)
        request = ing.AddEntityNodeRequest(input=given)
        granted(await client.ingestion.AddEntityNode(request, timeout=CALL_S))
    done = await merge(client, group, "x", "y")
    assert dict(done.node.attributes) == {"age": 3, "city": "Oslo"}
    assert dict((await undo(client, group, done.merge_id)).node.attributes) == {"age": 4, "city": "Oslo"}
    assert dict((await client.get_entity(group, "x")).node.attributes) == {"age": 3}


async def test_the_first_outcome_is_told_again_by_its_key(client: Client, group: str) -> None:
    robert, zed = await told(client, group)
    first = await merge(client, group, robert, zed, "key")
    again = await merge(client, group, robert, zed, "key")
    assert (again.merge_id, again.node, again.facts_moved) == (first.merge_id, first.node, first.facts_moved)


def asked(group: str, keep: str, gone: str) -> adm.MergeEntityNodesRequest:
    """A request to merge."""
    given = adm.MergeEntityNodesInput(group_id=group, keep_uuid=keep, merge_uuid=gone)
    return adm.MergeEntityNodesRequest(input=given)


async def test_what_cannot_be_merged_is_refused(client: Client, group: str) -> None:
    robert, zed = await told(client, group)
    refusal = await refused(client, "MergeEntityNodes", asked(group, robert, "nobody"))
    assert (refusal.code, refusal.fields) == ("NOT_FOUND", ("input.merge_uuid",))
    refusal = await refused(client, "MergeEntityNodes", asked(group, robert, robert))
    assert (refusal.code, refusal.fields) == ("INVALID_ARGUMENT", ("input.merge_uuid",))
    await merge(client, group, robert, zed)
    refusal = await refused(client, "MergeEntityNodes", asked(group, robert, zed))
    assert (refusal.code, refusal.fields) == ("NOT_FOUND", ("input.merge_uuid",))


async def test_what_cannot_be_taken_back_is_refused(client: Client, group: str) -> None:
    robert, zed = await told(client, group)
    done = await merge(client, group, robert, zed)
    unknown = adm.UndoMergeRequest(input=adm.UndoMergeInput(group_id=group, merge_id="never"))
    assert (await refused(client, "UndoMerge", unknown)).code == "NOT_FOUND"
    node: typ.EntityNode = (await client.get_entity(group, robert)).node
    given = ing.AddEntityNodeInput(uuid=node.uuid, group_id=group, name="Zed")  # the alias becomes its name
    request = ing.AddEntityNodeRequest(input=given)
    granted(await client.ingestion.AddEntityNode(request, timeout=CALL_S))
    back = adm.UndoMergeRequest(input=adm.UndoMergeInput(group_id=group, merge_id=done.merge_id))
    refusal = await refused(client, "UndoMerge", back)
    assert (refusal.code, refusal.fields) == ("CONFLICT", ("input.merge_id",))


async def test_merges_and_splits_are_listed(client: Client, group: str) -> None:
    """The latest first, with the names of both, in pages; what was undone is not."""
    robert, zed = await told(client, group)
    merged = await merge(client, group, robert, zed)
    split = await client.ask("SplitEntityNode", group_id=group, uuid=robert, episode_uuids=["two"])
    for asked in ({}, {"uuid": robert}):
        pages = [page async for page in client.pages("ListMerges", group_id=group, page_size=1, **asked)]
        found = [each for page in pages for each in page.merges]
        assert [each.merge_id for each in found] == [split.split_id, merged.merge_id]
        assert [each.kind for each in found] == [adm.MERGE_KIND_SPLIT, adm.MERGE_KIND_MERGE]
        assert {(each.kept_uuid, each.kept_name) for each in found} == {(robert, "Robert Smith")}
        assert [each.merged_uuid for each in found] == [split.node.uuid, zed]
        assert [each.merged_name for each in found] == [split.node.name, "Zed"]
        assert all(each.created_at.ToMilliseconds() > FEB for each in found)
        assert not any(each.HasField("obstacle") or each.HasField("episode_uuid") for each in found)
    await client.ask("UndoSplit", group_id=group, split_id=split.split_id)
    (left,) = (await client.ask("ListMerges", group_id=group, uuid=zed)).merges
    assert left.merge_id == merged.merge_id
    await undo(client, group, merged.merge_id)
    assert not (await client.ask("ListMerges", group_id=group)).merges


async def test_a_listed_merge_says_why_it_cannot_be_undone(client: Client, group: str) -> None:
    """As UndoMerge and UndoSplit would."""
    robert, zed = await told(client, group)
    done = await merge(client, group, robert, zed)
    split = await client.ask("SplitEntityNode", group_id=group, uuid=robert, episode_uuids=["one"])
    await client.ask("AddEntityNode", uuid=robert, group_id=group, name="Zed")  # the alias becomes its name
    await merge(client, group, robert, split.node.uuid)
    listed = {each.merge_id: each for each in (await client.ask("ListMerges", group_id=group)).merges}
    assert listed[done.merge_id].obstacle == "a name of the merged entity belongs to another entity now"
    assert "one of the two" in listed[split.split_id].obstacle
    for name, field, merge_id in (
        ("UndoMerge", "merge_id", done.merge_id),
        ("UndoSplit", "split_id", split.split_id),
    ):
        refusal = await refused(client, name, request_of(name, group_id=group, **{field: merge_id}))
        assert (refusal.code, listed[merge_id].obstacle in refusal.message) == ("CONFLICT", True)


async def test_a_token_of_another_listing_is_refused(client: Client, group: str) -> None:
    robert, zed = await told(client, group)
    await merge(client, group, robert, zed)
    await client.ask("SplitEntityNode", group_id=group, uuid=robert, episode_uuids=["two"])
    token = (await client.ask("ListMerges", group_id=group, page_size=1)).next_page_token
    for given in ({"uuid": robert, "page_token": token}, {"page_token": "WzEsMl0="}):
        refusal = await refused(client, "ListMerges", request_of("ListMerges", group_id=group, **given))
        assert (refusal.code, refusal.fields) == ("INVALID_ARGUMENT", ("input.page_token",))
