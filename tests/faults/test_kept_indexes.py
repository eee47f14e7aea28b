"""Search indexes in files: who starts again answers from memory at once, kill -9 while they are written costs
nothing but time, and what is erased is in no file."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from kgsvc.v1 import retrieval_pb2 as ret
from tests.acceptance.graph_searches import graph
from tests.faults.test_two_servers import person
from tests.support.client import Client, episode
from tests.support.service import Service
from tests.support.store_spec import StoreSpec

AT_MS = 1_717_000_000_000
ROUNDS, EACH = 6, 130  # facts enough for a group that is not loaded while its caller waits
LONGEST_S = 0.12  # behind a search; files are written within that time
NOBODY_ELSE = {"retrieval.warm_groups": "0"}
RECIPES = (
    ret.SEARCH_RECIPE_DEFAULT,
    ret.SEARCH_RECIPE_COMBINED_HYBRID_SEARCH_RRF,
    ret.SEARCH_RECIPE_EDGE_HYBRID_SEARCH_MMR,
)


async def answers(client: Client, group: str, people: list[str]) -> list[object]:
    """What is found about some people, by several recipes."""
    found: list[object] = []
    for who in people:
        for recipe in RECIPES:
            output = await graph(client, group, f"Where does {who} work?", recipe=recipe, max_results=10)
            for run in output.ran:
                run.from_store = False
            found.append(output)
    return found


async def tell(client: Client, group: str, names: list[str], first: int) -> None:
    """That each of them works somewhere."""
    told = [
        episode(f"{who} works at Globex {n % 7}.", AT_MS + n, uuid=f"told{n}")
        for n, who in enumerate(names, first)
    ]
    await client.ingest(group, told)


@pytest.mark.timeout(300)
async def test_killed_while_it_writes_files(store_spec: StoreSpec, group: str, tmp_path: Path) -> None:
    """The next server answers as one that has no files, whatever the killed one left of them."""
    names, chance = random.Random(7), random.Random(8)
    people: list[str] = []
    settings = store_spec.settings | NOBODY_ELSE | {"retrieval.index_dir": str(tmp_path / "index")}
    for turn in range(ROUNDS):
        async with Service(settings, tmp_path, f"turn{turn}") as service, Client(service.address) as client:
            some = [person(names) for _ in range(EACH)]
            await tell(client, group, some, len(people))
            people += some
            await answers(client, group, people[-1:])
            if turn == ROUNDS - 1:
                await service.terminate()
            else:
                await asyncio.sleep(chance.random() * LONGEST_S)
                service.kill9()
    asked = [people[0], *chance.sample(people, 5), people[-1]]
    bare = settings | {"retrieval.index_dir": str(tmp_path / "empty")}
    async with Service(bare, tmp_path, "bare") as other, Client(other.address) as client:
        async with asyncio.timeout(60):
            while (await graph(client, group, people[0])).ran[0].from_store:
                pass
        expected = await answers(client, group, asked)
    async with Service(settings, tmp_path, "again") as again, Client(again.address) as client:
        assert not any(run.from_store for run in (await graph(client, group, people[0])).ran)
        assert await answers(client, group, asked) == expected


@pytest.mark.timeout(120)
async def test_files_of_what_is_erased_are_gone_with_it(
    store_spec: StoreSpec, group: str, tmp_path: Path
) -> None:
    """Of two servers with directories of their own: one runs, the other is away meanwhile."""
    names = random.Random(9)
    folders = {name: tmp_path / f"index-{name}" for name in ("here", "away")}
    settings = {
        name: store_spec.settings | NOBODY_ELSE | {"retrieval.index_dir": str(folder)}
        for name, folder in folders.items()
    }
    people = [person(names) for _ in range(EACH)]
    async with Service(settings["away"], tmp_path, "away") as away:
        async with Client(away.address) as client:
            await tell(client, group, people, 0)
            await answers(client, group, people[:1])
        await away.terminate()
    word = people[0].split()[0].encode()
    async with Service(settings["here"], tmp_path, "here") as here, Client(here.address) as client:
        await answers(client, group, people[:1])
        await until(lambda: holding(folders["here"], word))
        assert holding(folders["away"], word)
        await client.ask("DeleteEpisode", group_id=group, uuid="told0", cascade=True)
        await until(lambda: not holding(folders["here"], word))
    async with Service(settings["away"], tmp_path, "back") as back:
        await until(lambda: not holding(folders["away"], word))
        await back.terminate()
    assert not holding(folders["away"], word)


async def until(holds: Callable[[], object]) -> None:
    """Raises TimeoutError."""
    async with asyncio.timeout(30):
        while not await asyncio.to_thread(holds):  # noqa: ASYNC110  another process's event
            await asyncio.sleep(0.05)


def holding(folder: Path, word: bytes) -> list[str]:
    """Files that have a word in them as it is."""
    found = []
    for path in folder.rglob("*"):
        try:
            data = path.read_bytes() if path.is_file() else b""
        except FileNotFoundError:  # replaced meanwhile
            continue
        if word in data:
            found.append(path.name)
    return found
