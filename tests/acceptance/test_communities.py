"""BuildCommunities, GetCommunityBuild, ListCommunities over real gRPC."""

from itertools import combinations

from kgsvc.v1 import admin_pb2 as adm
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.operations import OPERATIONS
from tests.acceptance.refusals import refused
from tests.acceptance.saying import JAN, body, fact, telling
from tests.support.client import Client, episode
from tests.support.communities import ask, built, listed, member_names, progress
from tests.support.scripted_openai import ScriptedOpenAI, hanging

TEAMS = (("Ann", "Ben", "Cid", "Dot"), ("Xia", "Yun", "Zoe"))


async def two_teams(client: Client, group: str) -> None:
    """Two cliques of people with one fact between them, and somebody without a fact."""
    facts = [fact("KNOWS", *two) for team in TEAMS for two in combinations(team, 2)]
    said = body(*facts, fact("MET", "Ann", "Xia"), names=["Lone"])
    await client.ingest(group, [episode(said, JAN)])


async def test_a_build_is_watched_to_its_end_and_listed(client: Client, group: str) -> None:
    await two_teams(client, group)
    (asked,) = await ask(client, group)
    assert asked.state in {adm.BUILD_STATE_PENDING, adm.BUILD_STATE_RUNNING}
    assert asked.group_id == group
    seen = [build async for build in progress(client, asked)]
    counts = [(build.communities, build.summarised) for build in seen]
    assert counts == sorted(counts)
    assert all(summarised <= found for found, summarised in counts)
    assert (seen[-1].state, counts[-1]) == (adm.BUILD_STATE_COMPLETED, (2, 2))

    communities = await listed(client, group)
    assert [c.uuid for c in communities] == sorted(c.uuid for c in communities)
    assert await member_names(client, group, communities) == sorted(map(list, TEAMS))
    for community in communities:
        assert community.group_id == group
        assert community.member_count == len(community.member_uuids)
        assert list(community.member_uuids) == sorted(community.member_uuids)
        assert 0 < len(community.name) <= 80
        assert 0 < len(community.summary) <= 500
        assert community.HasField("created_at")


async def test_a_second_build_of_the_same_graph_finds_the_same(client: Client, group: str) -> None:
    await two_teams(client, group)
    first = await built(client, group)
    before = await listed(client, group)
    second = await built(client, group)
    after = await listed(client, group)
    assert first.build_id != second.build_id

    def told(communities: list[typ.Community]) -> list[tuple[list[str], str, str]]:
        return sorted((list(c.member_uuids), c.name, c.summary) for c in communities)

    assert told(after) == told(before)


async def test_a_build_follows_what_has_changed(client: Client, group: str) -> None:
    await two_teams(client, group)
    await built(client, group)
    new = [fact("KNOWS", a, b) for a in TEAMS[0] for b in TEAMS[1]]
    await client.ingest(group, [telling(JAN + 1, *new)])
    assert len(await listed(client, group)) == 2, "as built, until it is built again"
    await built(client, group)
    together = sorted(name for team in TEAMS for name in team)
    assert await member_names(client, group, await listed(client, group)) == [together]


async def test_a_group_without_facts_has_none(client: Client, group: str) -> None:
    assert await listed(client, group) == []
    build = await built(client, group)
    assert (build.communities, build.summarised) == (0, 0)
    assert await listed(client, group) == []


async def test_a_group_that_is_being_built_keeps_its_build(
    client: Client, group: str, patient_model: ScriptedOpenAI
) -> None:
    await two_teams(client, group)
    patient_model.fail(hanging(), times=None)
    first = await ask(client, group, f"{group}-2", group)
    assert first[0] == first[2]
    again = await ask(client, group)
    assert again[0].build_id == first[0].build_id != first[1].build_id
    patient_model.heal()
    assert [build async for build in progress(client, again[0])][-1].state == adm.BUILD_STATE_COMPLETED


async def test_a_key_names_its_build_for_good(client: Client, group: str) -> None:
    (first,) = await ask(client, group, key="k")
    assert [build async for build in progress(client, first)][-1].state == adm.BUILD_STATE_COMPLETED
    (again,) = await ask(client, group, key="k")
    assert (again.build_id, again.state) == (first.build_id, adm.BUILD_STATE_COMPLETED)
    (other,) = await ask(client, group, key="k2")
    assert other.build_id != first.build_id
    request = OPERATIONS["BuildCommunities"].request(group)
    request.idempotency_key = "k"
    request.input.group_ids.append(f"{group}-2")
    refusal = await refused(client, "BuildCommunities", request)
    assert (refusal.code, refusal.fields) == ("CONFLICT", ("idempotency_key",))


async def test_pages_are_of_one_build(client: Client, group: str) -> None:
    await two_teams(client, group)
    await built(client, group)
    whole = await listed(client, group)
    assert await listed(client, group, page_size=1) == whole
    request = OPERATIONS["ListCommunities"].request(group)
    request.input.page_size = 1
    page = await client.admin.ListCommunities(request, timeout=30)
    request.input.page_token = page.output.next_page_token
    await built(client, group)
    refusal = await refused(client, "ListCommunities", request)
    assert (refusal.code, refusal.fields) == ("INVALID_ARGUMENT", ("input.page_token",))
    request.input.group_id = f"{group}-2"
    refusal = await refused(client, "ListCommunities", request)
    assert (refusal.code, refusal.fields) == ("INVALID_ARGUMENT", ("input.page_token",))


async def test_a_deleted_group_has_neither_builds_nor_communities(client: Client, group: str) -> None:
    await two_teams(client, group)
    build = await built(client, group)
    await client.delete_group(group)
    assert await listed(client, group) == []
    request = OPERATIONS["GetCommunityBuild"].request(group)
    request.input.build_id = build.build_id
    assert (await refused(client, "GetCommunityBuild", request)).code == "NOT_FOUND"


async def test_a_fact_that_is_deleted_is_in_no_summary(client: Client, group: str) -> None:
    secret = fact("KNOWS", "Ann", "Ben", "Ann told Ben the word xyzzy")
    await client.ingest(group, [telling(JAN, secret)])
    await built(client, group)
    assert "xyzzy" in (await listed(client, group))[0].summary
    (found,) = await client.search(group, "xyzzy")
    request = OPERATIONS["DeleteEntityEdge"].request(group)
    request.input.uuid = found.uuid
    assert (await client.admin.DeleteEntityEdge(request, timeout=30)).output.success
    assert (await listed(client, group))[0].summary == ""
