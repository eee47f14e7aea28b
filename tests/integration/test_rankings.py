"""Every ranking stays as it was, on every store: rankings.json has what each search returned before.

`KGSVC_WRITE_PINS=1` writes it anew: for a ranking that is meant to change.
"""

import asyncio
import hashlib
import json
import os
import uuid
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest
import pytest_asyncio

from kgsvc.domain.model.graph import Fact
from kgsvc.search.engine import Engine
from kgsvc.search.index.array_files import ArrayFiles
from kgsvc.search.index.group import WHOLE
from kgsvc.search.plans import RECIPES, Recipe
from kgsvc.search.results import GraphQuery, Item, ScopeAnswer
from kgsvc.search.settings import SearchSettings
from kgsvc.stores.protocol import Store
from tests.integration.ranking_corpus import QUERIES, ByLength, WordVectors, asked, fill
from tests.support.clock import SetClock
from tests.support.samples import NOW
from tests.support.stores import REAL

PINS = Path(__file__).parent / "rankings.json"
RESULTS = 8
CENTERS = (None, "0-n3", "1-n9")
pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.parametrize("any_store", REAL, indirect=True),
]


def _engine(store: Store, files: ArrayFiles | None = None) -> Engine:
    """Its clock stands a little after what was written."""
    return Engine(store, WordVectors(), SearchSettings(), SetClock(NOW + 40), ByLength(), files)


async def _from_files(store: Store, groups: tuple[str, str], directory: Path) -> Engine:
    """Searches that begin with the files of searches before, of which each group has two."""
    files = ArrayFiles(directory / "index", 2**30)
    await asyncio.to_thread(files.open)
    before = _engine(store, files)
    await before.search(GraphQuery(groups, QUERIES[0], RECIPES[Recipe.COMBINED_HYBRID_SEARCH_RRF], RESULTS))
    await before.close()
    assert len(await asyncio.to_thread(files.files)) == 4
    made = _engine(store, files)
    for group_id in groups:
        assert await made.indexes.begin(group_id, WHOLE)
    assert all(made.indexes.holds(group_id, WHOLE) for group_id in groups)
    return made


@pytest_asyncio.fixture(loop_scope="session", params=["read from the store", "read from files"])
async def engines(
    any_store: Store, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[tuple[Engine, tuple[str, str]]]:
    """Searches of a store, and two groups that are filled until the test is over."""
    groups = await fill(any_store, f"pinned-{uuid.uuid4()}")
    filed = request.param == "read from files"
    made = await _from_files(any_store, groups, tmp_path) if filed else _engine(any_store)
    yield made, groups
    await made.close()
    for group_id in groups:  # else a worker of another test takes its items
        await any_store.delete_group(group_id, NOW)


async def test_rankings_are_as_they_were(engines: tuple[Engine, tuple[str, str]], any_store: Store) -> None:
    engine, groups = engines
    found: dict[str, str] = {}
    for center in CENTERS:
        for number, query in enumerate(QUERIES):
            for some in (groups[:1], groups):
                hits = await engine.facts(some, query, RESULTS, center)
                place = f"SearchFacts {len(some)} {center} {number}"
                found[place] = _told(((hit.fact.uuid, hit.score) for hit in hits), 12)
    for recipe, query, case in asked():
        wanted = GraphQuery(groups, query, RECIPES[recipe], RESULTS, case.filters, case.center, case.origins)
        answers = await engine.search(wanted)
        found[f"{recipe} {case.name} {QUERIES.index(query)}"] = " | ".join(map(_answer, answers))
    if os.environ.get("KGSVC_WRITE_PINS"):
        PINS.write_text(json.dumps(found, indent=0) + "\n")
    pinned = json.loads(PINS.read_text())
    assert found.keys() == pinned.keys()
    differ = {place: (pinned[place], each) for place, each in found.items() if pinned[place] != each}
    assert not differ, dict(list(differ.items())[:5])


def _answer(answer: ScopeAnswer) -> str:
    return _told(((_uuid(hit.item), hit.score) for hit in answer.hits), 9)


def _uuid(item: Item) -> str:
    for kind in ("entity", "episode"):
        if hasattr(item, kind):
            return str(getattr(item, kind).uuid)
    return item.uuid if isinstance(item, Fact) else str(item.uuid)  # type: ignore[union-attr]


def _told(hits: Iterable[tuple[str, float]], digits: int) -> str:
    """Which, and what stands for their scores: as far as these digits."""
    ranked = list(hits)
    scores = " ".join(f"{score:.{digits}f}" for _, score in ranked)
    return f"{' '.join(uuid for uuid, _ in ranked)} {hashlib.sha256(scores.encode()).hexdigest()[:8]}"
