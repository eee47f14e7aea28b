"""kill -9 in the middle of a build of communities: the next server goes on where this one stopped."""

import asyncio
import json
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from kgsvc.models.prompts.summaries import COMMUNITY_MARK
from kgsvc.v1 import admin_pb2 as adm
from tests.acceptance.saying import JAN, fact, gist, reads_bodies, telling
from tests.acceptance.shared import scripted
from tests.support.client import DONE_S, Client
from tests.support.communities import ask, build_of, listed, progress
from tests.support.scripted_openai import Outcome, Request, ScriptedOpenAI, hanging, says
from tests.support.scripted_openai.script import fenced_data
from tests.support.service import Service
from tests.support.store_spec import StoreSpec

TEAMS = 3
CALLS_A_TEAM = 3  # four people, six facts, four parts: reduced by three calls
ANSWERED = CALLS_A_TEAM + 1  # before the model falls silent: in the middle of the second team


class Forgetful:
    """A script that answers some summaries and then no more, until it is woken."""

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []
        self.silent = asyncio.Event()
        self.awake = False

    def __call__(self, request: Request) -> Outcome | Mapping[str, Any] | None:
        pair = fenced_data(request.body, COMMUNITY_MARK) if request.endpoint == "chat" else None
        if pair is None:
            return reads_bodies(request)
        self.pairs.append((pair["first"], pair["second"]))
        if len(self.pairs) > ANSWERED and not self.awake:
            self.silent.set()
            return hanging()
        return says(json.dumps(gist(*self.pairs[-1])))


async def test_a_killed_build_is_resumed(store_spec: StoreSpec, group: str, tmp_path: Path) -> None:
    script = Forgetful()
    async with ScriptedOpenAI(script) as model:
        service = Service(scripted(model) | store_spec.settings, tmp_path)
        async with service, Client(service.address) as client:
            await client.ingest(group, [telling(JAN, *_teams())])
            (asked,) = await ask(client, group)
            async with asyncio.timeout(DONE_S):
                await script.silent.wait()
            before = await build_of(client, asked)
            assert (before.state, before.communities, before.summarised) == (
                adm.BUILD_STATE_RUNNING,
                TEAMS,
                1,
            )
            assert await listed(client, group) == []
            service.kill9()
        script.awake = True
        async with service, Client(service.address) as client:
            last = [build async for build in progress(client, asked)][-1]
            assert (last.state, last.summarised) == (adm.BUILD_STATE_COMPLETED, TEAMS)
            assert [c.member_count for c in await listed(client, group)] == [4] * TEAMS
    whole = TEAMS * CALLS_A_TEAM
    assert len(script.pairs) == whole + len(script.pairs[CALLS_A_TEAM : ANSWERED + 1])
    assert len(set(script.pairs)) == whole, "what was stored is not summarised again"


def _teams() -> list[dict[str, Any]]:
    teams = [[f"{letter}{n}" for n in "1234"] for letter in "ABC"[:TEAMS]]
    return [fact("KNOWS", *pair) for team in teams for pair in combinations(team, 2)]
