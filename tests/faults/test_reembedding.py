"""kill -9 while a group is embedded anew by another model: searches by meaning find all that they found
before, at every moment, and what is ingested meanwhile; then the group changes over once."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from kgsvc.domain.model.graph import Entity
from kgsvc.models.embedding import HashingEmbedder
from kgsvc.stores.protocol import Store
from kgsvc.v1.admin_pb2 import GroupSummary
from tests.acceptance.graph_searches import COSINE, facts_by, graph, texts
from tests.acceptance.saying import DIMENSION, fact, reads_bodies, telling
from tests.acceptance.shared import scripted
from tests.support.client import Client
from tests.support.samples import NOW, entity, write
from tests.support.samples import fact as stored
from tests.support.scripted_openai import Outcome, Request, ScriptedOpenAI
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, emptied, opened

COUNT = 4_000  # facts
LIVES = 10  # of the server that end by kill -9
CALLS = 9  # of the model that embeds, until it is killed
EVERY = COUNT // 20  # which facts are looked for
BATCH = 500
FORMER, NEXT = "hashing-v1-256", f"openai-text-embedding-3-small-{DIMENSION}"
COLOURS = ("amber", "cobalt", "crimson", "indigo", "ivory", "magenta", "olive", "teal", "umber", "violet")
LONG_S = 300.0

hashed = HashingEmbedder(DIMENSION)


class Model:
    """Embeds as words hash, and tells when it was asked so many times."""

    def __init__(self) -> None:
        self.left = 0  # requests until `asked` is set
        self.asked = asyncio.Event()

    def __call__(self, request: Request) -> Outcome | object:
        if request.endpoint == "embeddings":
            self.left -= 1
            if self.left <= 0:
                self.asked.set()
        return reads_bodies(request)

    @staticmethod
    def embed(text: str, _dimension: int) -> list[float]:
        """A vector of another length than that of the former model."""
        found: list[float] = hashed._embed([text])[0].tolist()
        return found if any(found) else [1.0] + [0.0] * (DIMENSION - 1)


def _said(number: int) -> str:
    return f"Vase number{number} of the {COLOURS[number % 10]} row is painted {COLOURS[number // 10 % 10]}"


def _asked(number: int) -> str:
    return " ".join(reversed(_said(number).split()))


@pytest.mark.timeout(1_200)
async def test_searches_find_all_until_the_group_has_changed_over(
    store_spec: StoreSpec, group: str, tmp_path: Path
) -> None:
    script = Model()
    async with ScriptedOpenAI(script, embed=script.embed, dimension=DIMENSION) as model:  # type: ignore[arg-type]
        service = Service(store_spec.settings | {"models.embedder": "offline"}, tmp_path)
        await emptied(store_spec)
        async with opened(store_spec) as store:
            await _fill(store, group)
        service.settings |= scripted(model)
        told: list[str] = []
        spaces: list[str] = []
        for life in range(LIVES + 1):
            script.left = CALLS if life < LIVES else 1 << 40
            script.asked.clear()
            async with service, Client(service.address) as client:
                await _found(client, group, told)
                text = f"Cellar number{life} holds {COLOURS[life % 10]} barrels"
                await client.ingest(
                    group, [telling(NOW + life, fact("HOLDS", f"Cellar{life}", "Barrels", text))]
                )
                told.append(text)
                spaces.append((await _listed(client, group)).space)
                if life < LIVES:
                    await _until_killed(service, client, script, group, told)
                else:
                    await _until_over(client, group, told, spaces)
        errors = service.errors
    changes = sum(one != other for one, other in pairwise(spaces))
    assert (spaces[0], spaces[-1], changes) == (FORMER, NEXT, 1)
    # Groups of other tests that were emptied bit by bit go over, too.
    over = [line for line in errors.splitlines() if "has gone over to another embedder" in line]
    assert sum(f'"{group}"' in line for line in over) <= 1
    async with opened(store_spec) as store:
        await _all_anew(store, group)


async def _fill(store: Store, group: str) -> None:
    """Facts of a group, embedded by the offline model."""
    embedder = HashingEmbedder()
    ends = [entity(group, f"n{n}", f"Keeper{n}") for n in range(40)]
    names = await _vectors(embedder, {each.uuid: each.name for each in ends})
    await write(store, group, entities=tuple(ends), vectors=names, space=embedder.space)
    for first in range(0, COUNT, BATCH):
        facts = tuple(
            stored(f"f{n}", *_ends(ends, n), _said(n), name=f"KEEPS_{n}") for n in range(first, first + BATCH)
        )
        vectors = await _vectors(embedder, {each.uuid: each.fact for each in facts})
        await write(store, group, facts=facts, vectors=vectors, space=embedder.space)


def _ends(ends: list[Entity], number: int) -> tuple[Entity, Entity]:
    return ends[number % 40], ends[(number + 1) % 40]


async def _vectors(embedder: HashingEmbedder, texts: dict[str, str]) -> dict[str, bytes]:
    rows, _ = await embedder.embed(list(texts.values()))
    return {uuid: row.astype("<f4").tobytes() for uuid, row in zip(texts, rows, strict=True)}


async def _found(client: Client, group: str, told: list[str]) -> None:
    """Each by its meaning alone."""
    for number in range(0, COUNT, EVERY):
        assert _said(number) in await _near(client, group, _asked(number)), number
    for text in told:
        assert text in await _near(client, group, " ".join(reversed(text.split()))), text


async def _near(client: Client, group: str, query: str) -> list[str]:
    return texts(await graph(client, group, query, scopes=facts_by(COSINE), max_results=5))


async def _listed(client: Client, group: str) -> GroupSummary:
    listed: list[GroupSummary] = [row async for page in client.pages("ListGroups") for row in page.groups]
    (found,) = [each for each in listed if each.group_id == group]
    return found


async def _until_killed(service: Service, client: Client, script: Model, group: str, told: list[str]) -> None:
    """Searches go on until the model was asked often enough; none fails before the kill."""
    async with asyncio.timeout(LONG_S):
        while not script.asked.is_set():
            await _found(client, group, told)
    service.kill9()


async def _until_over(client: Client, group: str, told: list[str], spaces: list[str]) -> None:
    async with asyncio.timeout(LONG_S):
        while (listed := await _listed(client, group)).HasField("reembedding"):
            spaces.append(listed.space)
            await _found(client, group, told)
    spaces.append(listed.space)
    await _found(client, group, told)


async def _all_anew(store: Store, group: str) -> None:
    """Whether or not all stands in its place already."""
    place, more, seen = 0, True, 0
    while more:
        page = await store.changes(group, place, 1_000)
        assert {(each.space, len(each.vector or b"")) for each in page.facts} <= {(NEXT, 4 * DIMENSION)}
        place, more, seen = page.upto_rev, page.more, seen + len(page.facts)
    assert seen >= COUNT
