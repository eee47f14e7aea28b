"""200 episodes with planted aliases, shuffled, eight at a time, from three processes on one store."""

import asyncio
import random
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

from kgsvc.domain.model.graph import Polarity
from kgsvc.stores.protocol import GroupDump
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.saying import DIMENSION
from tests.faults.planted import ALIASES, CITIES, EMPLOYERS, PERSON, THINGS, Knowing, Meaning, current, story
from tests.support.client import Client, completed
from tests.support.graphs import assert_sound
from tests.support.scripted_openai import ScriptedOpenAI
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, dumped

DAYS = 200
TOGETHER = 8
PROCESSES = 3
DEADLINE_S = 120.0
# No lease lapses, however slow the machine: work that another process takes over is extracted twice.
SOON = {"queue.lease_s": "600", "queue.poll_s": "0.05"}


async def ingested(
    settings: dict[str, str], folder: Path, group: str, episodes: list[typ.EpisodeItem]
) -> None:
    """Send them eight at a time to three servers in turn; all are done, all servers drained afterwards."""
    async with AsyncExitStack() as stack:
        services = [Service(settings, folder, name) for name in "abc"[:PROCESSES]]
        await asyncio.gather(*(stack.enter_async_context(service) for service in services))
        clients = [await stack.enter_async_context(Client(service.address)) for service in services]
        for n in range(0, len(episodes), TOGETHER):
            wave = episodes[n : n + TOGETHER]
            accepted = await asyncio.gather(
                *(clients[m % PROCESSES].add_episodes(group, [item]) for m, item in enumerate(wave))
            )
            for one in accepted:
                completed(await clients[n % PROCESSES].wait_receipt(one.receipt_id, DEADLINE_S))
        assert [await service.terminate() for service in services] == [0] * PROCESSES


def holding(dump: GroupDump) -> Counter[Meaning]:
    """What the graph says holds now."""
    return Counter(
        (f.source_name, f.name, f.target_name)
        for f in dump.facts
        if f.expired_ms is None and f.invalid_ms is None and f.polarity is Polarity.ASSERTS
    )


async def test_nobody_is_there_twice_and_what_holds_is_what_was_said_last(
    store_spec: StoreSpec, group: str, tmp_path: Path
) -> None:
    told = story(DAYS, random.Random(11))
    assert {said.alias for said in told} == PERSON.keys(), "names that share no word meet in a third"
    episodes = [said.extracted() for said in told]
    random.Random(5).shuffle(episodes)
    async with ScriptedOpenAI(Knowing(told), dimension=DIMENSION) as model:
        settings = store_spec.settings | SOON | {
            "models.extractor": "openai",
            "models.embedder": "offline",
            "openai.base_url": model.base_url,
        }  # fmt: skip
        await ingested(settings, tmp_path, group, episodes)
        asked = sum(request.resolution is not None for request in model.chats)
    dump = await dumped(store_spec, group)
    assert_sound(dump)
    targets = {said.target for said in told}
    assert targets <= {*EMPLOYERS, *CITIES, *THINGS}
    assert Counter(entity.name for entity in dump.entities) == Counter([*ALIASES, *targets])
    assert holding(dump) == Counter(current(told))
    heard = {(person, episode) for f in dump.facts for episode in f.episodes for person in [f.source_name]}
    assert heard == {(said.meaning[0], f"day-{said.day:03}") for said in told}
    assert all(f.invalid_ms is not None for f in dump.facts if f.expired_ms is not None)
    assert 0 < asked <= DAYS
    assert len(model.chats) - asked == DAYS  # one extraction an episode


async def test_the_offline_extractor_keeps_what_is_said_in_its_patterns(
    store_spec: StoreSpec, group: str, tmp_path: Path
) -> None:
    told = story(DAYS, random.Random(12), full_names=True)
    episodes = [said.prose() for said in told]
    random.Random(6).shuffle(episodes)
    await ingested(store_spec.settings | SOON, tmp_path, group, episodes)
    dump = await dumped(store_spec, group)
    assert_sound(dump)
    stated = {(said.meaning, f"day-{said.day:03}") for said in told}
    kept = {((f.source_name, f.name, f.target_name), episode) for f in dump.facts for episode in f.episodes}
    assert len(stated & kept) >= 0.95 * len(stated), sorted(stated - kept)[:10]
    wanted = current(told)
    assert len(wanted & holding(dump).keys()) >= 0.95 * len(wanted), wanted - holding(dump).keys()
