"""kill -9 while vectors of passages are filled in: all are in the end, and little is paid for twice."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from kgsvc.documents.passages import passages
from kgsvc.domain.model.items import ItemState, Transition
from kgsvc.stores.protocol import Store
from tests.acceptance.saying import DIMENSION, reads_bodies
from tests.acceptance.shared import scripted
from tests.support.client import DONE_S
from tests.support.samples import NOW, begun, delta, episode, guard
from tests.support.scripted_openai import Outcome, Request, ScriptedOpenAI, hanging
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, emptied, opened

LIVES = 5  # each ends one request later than the one before; every other one while the model is silent
COUNT = 80  # of notes, some pages of them
BODY = " ".join(f"Bed {n} was watered and weeded." for n in range(100))


class Model:
    """A script that gives vectors unless it is silent, and tells when it was asked so many times."""

    def __init__(self) -> None:
        self.silent = False
        self.left = 0  # requests until `asked` is set
        self.asked = asyncio.Event()

    def __call__(self, request: Request) -> Outcome | object:
        self.left -= 1
        if self.left <= 0:
            self.asked.set()
        return hanging() if self.silent else reads_bodies(request)


@pytest.mark.timeout(600)
async def test_killed_fills_go_on(store_spec: StoreSpec, group: str, tmp_path: Path) -> None:
    script = Model()
    async with ScriptedOpenAI(script) as model:  # type: ignore[arg-type]
        service = Service(scripted(model) | store_spec.settings | {"models.extractor": "offline"}, tmp_path)
        await emptied(store_spec)
        async with opened(store_spec) as store:
            bodies = await _told(store, group)
            await store.begin_fill(group, 0)
            for life in range(LIVES):
                script.silent = life % 2 == 0 and life > 0
                script.left = 1 if script.silent else 1 + life
                script.asked.clear()
                async with service, asyncio.timeout(DONE_S):
                    await script.asked.wait()
                    service.kill9()
            script.silent = False
            async with service, asyncio.timeout(DONE_S):
                while await _under_way(store, group):  # noqa: ASYNC110  another process works
                    await asyncio.sleep(0.05)
            await _all_filled(store, group, bodies)
    asked_for = Counter(text for request in model.embeddings for text in request.body["input"])
    wanted = Counter({text for body in bodies.values() for text in passages(body)})
    assert asked_for.keys() == wanted.keys()
    twice = sum(asked_for.values()) - sum(wanted.values())
    assert twice <= LIVES * max(len(request.body["input"]) for request in model.embeddings)


async def _told(store: Store, group: str) -> dict[str, str]:
    """Episodes that are in the graph and have no vectors: their bodies by uuid."""
    made = [
        episode(group, f"e{n}", body=f"Note {n}. " + BODY.replace("Bed", f"Bed {n}-")) for n in range(COUNT)
    ]
    lease = await begun(store, *made)
    uuids = tuple(each.uuid for each in made)
    done = tuple(Transition(uuid, ItemState.COMPLETED, NOW) for uuid in uuids)
    change = delta(group, found=uuids, transitions=done, requires_items=uuids)
    await store.apply(change, await guard(store, group, lease.token))
    await store.release(lease)
    return {each.uuid: each.body for each in made}


async def _under_way(store: Store, group: str) -> bool:
    return group in {work.group_id for work in await store.open_fills(2 * NOW, 1_000)}


async def _all_filled(store: Store, group: str, bodies: dict[str, str]) -> None:
    """With as many vectors as there are passages, in the order of the text."""
    place, more, found = (0, ""), True, dict[str, bytes | None]()
    while more:
        page = await store.text_changes(group, place[0], 100, after_uuid=place[1])
        found |= {each.episode.uuid: each.passages for each in page.episodes}
        place, more = (page.upto_rev, page.upto_uuid), page.more
    sizes = {uuid: len(vectors or b"") for uuid, vectors in found.items()}
    assert sizes == {uuid: 4 * DIMENSION * len(passages(body)) for uuid, body in bodies.items()}
