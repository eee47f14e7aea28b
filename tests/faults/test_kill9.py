"""kill -9 at many points of an ingest: nothing lost, nothing doubled, the graph of an undisturbed run."""

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from kgsvc.v1 import types_pb2 as typ
from tests.faults.conversations import conversation
from tests.faults.feeder import Feeder, Kind, Trigger, fed, fed_to_the_end
from tests.support.client import Client
from tests.support.graphs import assert_sound, comparable, differences
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, dumped

SEED = 20240611
A_FEW, MANY = (50, 5), (500, 50)  # episodes, kills
KINDS: tuple[Kind, ...] = ("sent", "acknowledged", "completed", "completed")
SETTINGS = {"queue.lease_s": "1", "queue.poll_s": "0.05"}

Items = Sequence[typ.EpisodeItem | typ.Message]


@dataclass(frozen=True, slots=True)
class Life:
    """One life of the server: how many fresh items are sent, and what ends it."""

    fresh: int
    kind: Kind


def lives(rng: random.Random, episodes: int, kills: int) -> list[Life]:
    """A random division of the items over the lives; some are left for the last one."""
    cuts = sorted(rng.sample(range(1, episodes - 10), kills))
    sizes = [cuts[0], *(after - before for before, after in itertools.pairwise(cuts))]
    return [Life(size, rng.choice(KINDS)) for size in sizes]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("episodes", "kills"),
    [pytest.param(*A_FEW, id="a few"), pytest.param(*MANY, id="fifty", marks=pytest.mark.soak)],
)
async def test_kills_lose_and_double_nothing(
    store_spec: StoreSpec,
    group: str,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
    episodes: int,
    kills: int,
) -> None:
    items = conversation(SEED, episodes)
    service = Service(store_spec.settings | SETTINGS, tmp_path)
    calm = Feeder(f"{group}-calm", items)
    await live_to_the_end(service, calm)
    feeder = Feeder(group, items)
    rng = random.Random(SEED)
    for life in lives(rng, episodes, kills):
        await live_until_killed(service, feeder, life, rng)
    await live_to_the_end(service, feeder)
    record_property("acknowledged twice", feeder.repeated)

    wanted, found = await dumped(store_spec, calm.group), await dumped(store_spec, group)
    assert_sound(found)
    assert len(wanted.facts) > episodes / 5, "the conversation says too little to tell graphs apart"
    assert differences(comparable(found), comparable(wanted)) == ""


async def live_until_killed(service: Service, feeder: Feeder, life: Life, rng: random.Random) -> None:
    """Send and watch until the moment drawn for this life, then kill -9."""
    uuids = feeder.next_items(life.fresh)
    most = min(24, feeder.unfinished(uuids)) if life.kind == "completed" else len(uuids)
    trigger = Trigger(life.kind, rng.randint(1, most))
    async with service, Client(service.address) as client, fed(feeder, client, uuids, trigger):
        service.kill9()


async def live_to_the_end(service: Service, feeder: Feeder) -> None:
    """Send what is left, wait for everything, stop in order, check the bookkeeping."""
    async with service, Client(service.address) as client:
        await fed_to_the_end(feeder, client)
        listed = await client.list_items(feeder.group)
        episodes = await client.get_episodes(feeder.group)
        assert await service.terminate() == 0
    assert feeder.receipts.keys() == feeder.items.keys()
    assert sorted(item.uuid for item in listed) == sorted(feeder.items)
    assert {item.state for item in listed} == {typ.ITEM_STATE_COMPLETED}
    assert sorted(episode.uuid for episode in episodes) == sorted(feeder.items)
