"""With communities.follow, entities new to a group join the community of their neighbours."""

import asyncio
from itertools import combinations

from tests.acceptance.saying import JAN, fact, telling
from tests.support.client import Client
from tests.support.communities import BUILT_S, built, listed, member_names

SETTINGS = {"communities.follow": "true", "communities.model_calls": "0"}
TEAMS = (["Ann", "Ben", "Cid", "Dot"], ["Xia", "Yun", "Zoe"])


async def test_newcomers_join_after_a_commit(client: Client, group: str) -> None:
    facts = [fact("KNOWS", *two) for team in TEAMS for two in combinations(team, 2)]
    await client.ingest(group, [telling(JAN, *facts)])
    await built(client, group)
    before = await listed(client, group)
    told = [fact("KNOWS", "Wes", "Xia"), fact("MET", "Wes", "Yun"), fact("MET", "Wes", "Ann")]
    await client.ingest(group, [telling(JAN + 1, *told)])
    wanted = sorted([TEAMS[0], sorted([*TEAMS[1], "Wes"])])
    async with asyncio.timeout(BUILT_S):
        after = before
        while [c.member_count for c in after] == [c.member_count for c in before]:
            await asyncio.sleep(0.05)
            after = await listed(client, group)
    assert await member_names(client, group, after) == wanted
    assert [(c.uuid, c.name, c.summary) for c in after] == [(c.uuid, c.name, c.summary) for c in before]
