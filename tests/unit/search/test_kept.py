"""Groups in files: what is read from them answers as what is read from the store, or is not read at all."""

import asyncio
import gc
import pickle
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio

from kgsvc.domain.model.beliefs import Belief
from kgsvc.domain.model.delta import GraphDelta
from kgsvc.domain.model.erasures import Erasure, ErasureKind
from kgsvc.search.engine import Engine, EngineStore
from kgsvc.search.index import kept as kept_module
from kgsvc.search.index.array_files import ArrayFiles, Writing
from kgsvc.search.index.arrays import unpickled
from kgsvc.search.index.group import LazyPart, SharedGroup
from kgsvc.search.index.held import ENTRY_BYTES
from kgsvc.search.plans import RECIPES, Recipe
from kgsvc.search.results import GraphQuery
from kgsvc.stores.search_protocol import Changes
from tests.support.model_store import ModelStore
from tests.unit.search.feed import NOW, Embedder, Stopped, fact
from tests.unit.search.test_following import GROUPS, NODES, QUERIES, SETTINGS, World

SEEDS = [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 20))]
RECIPES_TRIED = (Recipe.COMBINED_HYBRID_SEARCH_RRF, Recipe.DEFAULT, Recipe.EDGE_HYBRID_SEARCH_NODE_DISTANCE)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep groups of any size."""
    monkeypatch.setattr(kept_module, "_UNKEPT_ROWS", 1)


@pytest.fixture
def files(tmp_path: Path) -> ArrayFiles:
    """A directory for them."""
    made = ArrayFiles(tmp_path / "index", 2**30)
    made.open()
    return made


async def count(files: ArrayFiles) -> int:
    """How many there are."""
    return len(await asyncio.to_thread(files.files))


def searching(
    store: ModelStore,
    files: ArrayFiles | None = None,
    embedder: Embedder | None = None,
    room: int = SETTINGS.index_bytes,
) -> Engine:
    settings = replace(SETTINGS, index_bytes=room)
    made = Engine(cast(EngineStore, store), embedder or Embedder(), settings, Stopped(), None, files)
    ENGINES.append(made)
    return made


ENGINES: list[Engine] = []


@pytest_asyncio.fixture(autouse=True)
async def closed() -> AsyncIterator[None]:
    """Every engine of a test, in the end."""
    yield
    for each in ENGINES:
        await each.close()
    ENGINES.clear()


async def asked(engine: Engine, query: str, center: str | None = None) -> list[object]:
    found: list[object] = []
    for recipe in RECIPES_TRIED:
        wanted = GraphQuery(GROUPS, query, RECIPES[recipe], 100, center=center)
        found += await engine._answers(wanted, await engine._prepared(wanted, wanted.plans))
    return found


@pytest.mark.parametrize("seed", SEEDS)
async def test_what_files_hold_answers_as_what_the_store_holds(seed: int, files: ArrayFiles) -> None:
    """A service that is stopped again and again, also while it writes, beside changes of every kind."""
    world = World(seed)
    embedder = Embedder({query: world._vector() for query in QUERIES})
    engine, restored = searching(world.store, files, embedder), 0
    for _ in range(40):
        await world.step()
        query, center = world.random.choice(QUERIES), world.random.choice((None, *NODES))
        fresh = searching(world.store, None, embedder)
        assert await asked(engine, query, center) == await asked(fresh, query, center)
        if world.random.random() < 0.3:
            if world.random.random() < 0.7:
                await engine.close()
            engine = searching(world.store, files, embedder)
            restored += sum([await from_file(engine, world.store, group) for group in GROUPS])
    assert restored


async def from_file(engine: Engine, store: ModelStore, group: str = "g") -> bool:
    """Whether the facts of a group come from a file, not from the store alone."""
    pages: list[int] = []
    original = store.changes

    async def changes(group_id: str, after_rev: int, limit: int) -> Changes:
        pages.append(after_rev)
        return await original(group_id, after_rev, limit)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "changes", changes)
        await engine.indexes.begin(group, (LazyPart.FACTS,))
    return engine.indexes.holds(group) and 0 not in pages


async def kept(store: ModelStore, files: ArrayFiles) -> None:
    """Write a group of some facts to its files."""
    engine = searching(store, files)
    await engine.facts(["g"], "tea", 10)
    await engine.close()


async def filled() -> ModelStore:
    world = World(1)
    for _ in range(5):
        await world._write("g")
    return world.store


async def read_back(store: ModelStore, files: ArrayFiles) -> bool:
    """Whether the group comes from a file."""
    return await from_file(searching(store, files), store)


async def test_a_store_that_was_restored_from_before_does_not_know_the_file(files: ArrayFiles) -> None:
    store = await filled()
    await kept(store, files)
    assert await count(files) == 1
    restored = await filled()
    assert (await restored.heads(["g"])) == (await store.heads(["g"]))
    assert await read_back(store, files)
    assert not await read_back(restored, files)
    assert await count(files) == 0


async def test_an_erasure_takes_the_files_along(files: ArrayFiles) -> None:
    store = await filled()
    await kept(store, files)
    await store.begin_erasures([Erasure("x", "g", ErasureKind.EPISODE, NOW, "e")])
    await store.removed("x", "g", {"facts": 1})
    while_away = searching(store, files)
    await while_away.sweep()
    assert await count(files) == 0
    await kept(store, files)
    engine = searching(store, files)
    await engine.erase(["g"])
    assert await count(files) == 0


async def test_what_waits_for_its_turn_holds_no_group_that_has_left_memory(
    files: ArrayFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Room for one group, and a file that takes longer than groups take to come and go."""
    world, written = World(1), asyncio.Event()
    groups = [f"waiting-{number}" for number in range(10)]
    for group in groups * 3:
        world.uuids.setdefault(group, set())
        await world._write(group)
    original = kept_module.KeptGroups.frozen

    async def frozen(kept: kept_module.KeptGroups, held: kept_module.Held) -> Any:
        await written.wait()
        return await original(kept, held)

    monkeypatch.setattr(kept_module.KeptGroups, "frozen", frozen)
    engine = searching(world.store, files, room=ENTRY_BYTES)
    for group in groups * 2:
        await engine.indexes.begin(group, (LazyPart.FACTS,))
    gc.collect()
    shared = [each for each in gc.get_objects() if type(each) is SharedGroup]
    alive = [each for each in shared if each.group.group_id in groups]  # of this test
    assert 0 < len(alive) <= 2  # the one in memory, the one being written
    written.set()
    await engine.indexes.settled()
    assert await engine.facts([group], "tea", 10) == await searching(world.store).facts([group], "tea", 10)


@pytest.mark.parametrize("moment", ["before the file begins", "while it grows"])
async def test_what_is_erased_while_it_is_written_does_not_come_into_its_place(
    files: ArrayFiles, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    store = await filled()
    engine = searching(store, files)
    loop = asyncio.get_running_loop()
    where, name = (Writing, "end") if moment == "while it grows" else (ArrayFiles, "writing")
    original = getattr(where, name)
    erased: list[str] = []

    def erase(*given: Any, **named: Any) -> Any:
        if not erased:
            erased.append("g")
            asyncio.run_coroutine_threadsafe(engine.erase(["g"]), loop).result(10)
        return original(*given, **named)

    monkeypatch.setattr(where, name, erase)
    assert await engine.indexes.begin("g", (LazyPart.FACTS,))
    await engine.indexes.settled()
    assert erased
    assert await count(files) == 0


async def test_a_file_of_another_form_is_not_read(files: ArrayFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await filled()
    await kept(store, files)
    monkeypatch.setattr("kgsvc.search.index.kept._FORMAT", 0)
    assert not await read_back(store, files)
    monkeypatch.undo()
    other = Embedder()
    other.space = "other:4"
    assert not await from_file(searching(store, files, other), store)


async def test_a_group_far_behind_is_not_waited_for(files: ArrayFiles) -> None:
    """One page of changes is read; the rest is loaded behind."""
    store = await filled()
    await kept(store, files)
    world = World(2)
    world.store = store
    for n in range(4 * SETTINGS.load_page):
        world.uuids["g"].add(f"more{n}")
        rows = (fact(f"more{n}", "tea"),)
        await world._apply(GraphDelta("g", NOW, facts=rows))
    engine = searching(store, files)
    assert not await engine.indexes.begin("g", (LazyPart.FACTS,))
    assert not engine.indexes.holds("g")
    engine.indexes.load_behind((await store.heads(["g"]))["g"], 1)
    await engine.indexes.loaded_behind("g")
    assert engine.indexes.holds("g")
    fresh = searching(store)
    assert await engine.facts(["g"], "tea", 100) == await fresh.facts(["g"], "tea", 100)


def test_what_could_run_is_not_read() -> None:
    belief = Belief(1, None, 2)
    assert unpickled(pickle.dumps((1, "a", belief))) == (1, "a", belief)
    for hostile in (pickle.dumps(print), b"cos\nsystem\n(S'true'\ntR."):
        with pytest.raises(pickle.UnpicklingError):
            unpickled(hostile)
