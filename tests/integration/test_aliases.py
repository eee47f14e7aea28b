"""Keyword search of facts knows the aliases of their ends, on every store and wherever it looks."""

import uuid
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import replace

import pytest
import pytest_asyncio

from kgsvc.domain.names.namesakes import marked
from kgsvc.search.engine import Engine
from kgsvc.search.index.group import WHOLE, LazyPart
from kgsvc.search.settings import SearchSettings
from kgsvc.stores.protocol import Store
from tests.support.clock import SetClock
from tests.support.samples import NOW, entity, fact, write
from tests.support.stores import REAL

NOWHERE: tuple[LazyPart, ...] = ()
pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.parametrize("any_store", REAL, indirect=True),
    pytest.mark.parametrize(
        "held", [NOWHERE, (LazyPart.FACTS,), WHOLE], ids=["in the store", "facts", "all"]
    ),
]


@pytest_asyncio.fixture(loop_scope="session")
async def group(any_store: Store) -> AsyncIterator[str]:
    """A group in which Liz is an alias."""
    group_id = f"aliases-{uuid.uuid4()}"
    liz, atlas = entity(group_id, "n-liz", "Elizabeth Hart"), entity(group_id, "n-atlas", "Atlas")
    told = replace(fact("f1", liz, atlas), fact="Elizabeth Hart joined Atlas")
    other = replace(fact("f2", atlas, atlas), fact="Atlas has a new office")
    names = {"elizabeth hart": "n-liz", "liz": "n-liz", "atlas": "n-atlas"}
    await write(any_store, group_id, entities=(liz, atlas), names=names, facts=(told, other))
    yield group_id
    await any_store.delete_group(group_id, NOW)


async def _found(
    store: Store, groups: Sequence[str], question: str, held: Collection[LazyPart]
) -> list[tuple[str, float]]:
    settings = SearchSettings() if held else SearchSettings(index_bytes=0)
    search = Engine(store, None, settings, SetClock(NOW + 40))
    if held:
        await search.indexes.use(await search.heads(groups), len, parts=held)
    hits = await search.facts(groups, question, 10)
    await search.close()
    return [(hit.fact.uuid, hit.score) for hit in hits]


async def test_an_alias_finds_what_the_name_finds(
    any_store: Store, group: str, held: tuple[LazyPart, ...]
) -> None:
    named = await _found(any_store, [group, "unknown"], "What did Elizabeth Hart do?", held)
    assert [uuid for uuid, _ in named] == ["f1"]
    assert await _found(any_store, [group, "unknown"], "What did Liz do?", held) == named
    assert await _found(any_store, [group], "What did Lizard do?", held) == []


async def test_after_a_rename_both_names_find(
    any_store: Store, group: str, held: tuple[LazyPart, ...]
) -> None:
    renamed = entity(group, "n-liz", "Elizabeth Moss")
    await write(any_store, group, entities=(renamed,), names={"elizabeth moss": "n-liz"})
    for name in ("Elizabeth Hart", "Elizabeth Moss", "Liz"):
        found = await _found(any_store, [group], f"What did {name} do?", held)
        assert [uuid for uuid, _ in found] == ["f1"], name


async def test_of_namesakes_all_are_meant(any_store: Store, group: str, held: tuple[LazyPart, ...]) -> None:
    """Liz the person, and Liz the ship, whose key has a mark."""
    ship = entity(group, "n-ship", "Clipper Anna")
    mast = replace(fact("f3", ship, ship), fact="Clipper Anna has a new mast")
    names = {"clipper anna": "n-ship", marked("liz", "made"): "n-ship"}
    await write(any_store, group, entities=(ship,), names=names, facts=(mast,))
    found = await _found(any_store, [group], "What about Liz?", held)
    assert sorted(uuid for uuid, _ in found) == ["f1", "f3"]
