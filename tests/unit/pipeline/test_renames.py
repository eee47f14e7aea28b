"""A rename makes one entity of two names, without a question and without a model, in every order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest

from kgsvc.commands.cascades import cascade_episode
from kgsvc.commands.merges import undo_merge
from kgsvc.domain.model.extraction import ExtractedEdge, ExtractedNode, Extraction
from kgsvc.domain.model.graph import Polarity
from kgsvc.pipeline.commit import Committer
from tests.support.clock import SetClock
from tests.support.samples import NOW, entity, write
from tests.unit.pipeline.test_bridging import OF_E2, core, told
from tests.unit.pipeline.test_resolving import GROUP, Bench, Model, names, says

KEYS = {"sparrow", "lantern"}
SPARROW = (1, says("USES", "Sparrow uses Rust", "Sparrow", "Rust"))
LANTERN = (9, says("USES", "Lantern uses Kafka", "Lantern", "Kafka"))


def renames(old: str, new: str, **more: object) -> Extraction:
    return says("RENAMED_TO", f"{old} is called {new} from today", old, new, **more)


RENAME = (5, renames("Sparrow", "Lantern"))


@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 1), (3,)], ids=str)
@pytest.mark.parametrize(
    "order", [*permutations((SPARROW, RENAME, LANTERN))], ids=lambda o: str([n for n, _ in o])
)
async def test_both_names_mean_one_in_every_order(
    order: Sequence[tuple[int, Extraction]], sizes: Sequence[int], asks: bool
) -> None:
    model = Model()
    bench = Bench(model if asks else None)
    left, batches = list(order), []
    for size in sizes:
        batches.append(left[:size])
        del left[:size]
    await told(bench, batches)
    assert await bench.entities() == {"Lantern": KEYS, "Rust": {"rust"}, "Kafka": {"kafka"}}
    assert not [q for request in model.requests for q in request.nodes]
    facts = (await bench.store.dump(GROUP)).facts
    assert {(f.source_name, f.target_name) for f in facts} == {
        ("Lantern", "Lantern"),
        ("Lantern", "Rust"),
        ("Lantern", "Kafka"),
    }
    assert [f.expired_ms for f in facts] == [None] * 3
    (own,) = [f for f in facts if f.name == "RENAMED_TO"]
    assert own.source_uuid == own.target_uuid


@pytest.mark.parametrize("order", [*permutations(range(3))], ids=str)
async def test_of_several_renames_the_latest_is_shown(order: Sequence[int]) -> None:
    said = [
        (3, renames("Sparrow", "Lantern")),
        (5, renames("Lantern", "Torch")),
        (9, renames("Torch", "Lamp")),
    ]
    bench = Bench(None)
    await told(bench, [[said[n]] for n in order])
    assert await bench.entities() == {"Lamp": {"sparrow", "lantern", "torch", "lamp"}}


@pytest.mark.parametrize("together", [False, True])
async def test_a_name_announced_is_found_at_once_and_shown_from_its_date_on(together: bool) -> None:
    said = (5, renames("Sparrow", "Lantern", valid_ms=NOW + 5_000))
    bench = Bench(None)
    await told(bench, [[said]] if together else [[SPARROW], [said]])
    shown = await bench.entities()
    assert shown["Sparrow"] == KEYS

    bench.committer = Committer(bench.store, None, SetClock(NOW + 9_000), None)
    await told(bench, [[LANTERN]])
    assert (await bench.entities())["Lantern"] == KEYS


async def test_figures_do_not_keep_apart_what_a_text_calls_one() -> None:
    bench = Bench(Model())
    await bench.commit(names("Phase 2", "Phase 3"))
    await bench.commit(renames("Phase 2", "Phase 3"))
    assert await bench.entities() == {"Phase 3": {"phase 2", "phase 3"}}


async def test_the_merge_of_a_rename_is_undone_by_callers_and_by_cascades() -> None:
    for cascades in (False, True):
        bench = Bench(None)
        await told(bench, [[SPARROW], [LANTERN]])
        before = await bench.entities(), await bench.facts()
        await told(bench, [[RENAME]])
        assert (await bench.entities())["Lantern"] == KEYS
        (record,) = await bench.store.merges(GROUP, OF_E2)
        if cascades:
            await cascade_episode(core(bench.store), "e2", GROUP)
            assert (await bench.entities(), await bench.facts()) == before
        else:
            await undo_merge(core(bench.store), GROUP, record.merge_id)
            assert await bench.entities() == before[0]


async def test_a_rename_that_never_was_gives_the_name_back() -> None:
    bench = Bench(None)
    await told(bench, [[SPARROW], [RENAME], [(7, renames("Lantern", "Torch"))]])
    assert "Torch" in await bench.entities()
    await cascade_episode(core(bench.store), "e2", GROUP)
    assert (await bench.entities())["Lantern"] == KEYS
    await cascade_episode(core(bench.store), "e1", GROUP)
    assert (await bench.entities())["Sparrow"] == {"sparrow"}


async def test_a_rename_denied_is_none() -> None:
    bench = Bench(None)
    await bench.commit(renames("Sparrow", "Lantern", polarity=Polarity.DENIES))
    assert (await bench.entities()).keys() == {"Sparrow", "Lantern"}


async def test_callers_names_and_types_that_exclude_one_another_stay_two() -> None:
    for given in ({"stamps": {"name": ""}}, {"stamps": {"name": "1/e"}}):
        bench = Bench(None)
        pair = [
            entity(GROUP, name, name, **{**given, "labels": (kind,)})
            for name, kind in (("Sparrow", "Person"), ("Lantern", "Location"))
        ]
        if not given["stamps"]["name"]:
            pair = [replace(each, labels=("Project",)) for each in pair]
        await write(bench.store, GROUP, entities=tuple(pair))
        await bench.commit(renames("Sparrow", "Lantern"))
        assert await bench.entities() == {"Sparrow": {"sparrow"}, "Lantern": {"lantern"}}


async def test_the_fuller_form_of_a_name_stays() -> None:
    bench = Bench(None)
    await write(bench.store, GROUP, entities=(entity(GROUP, "n", "Project Sparrow", stamps={"name": "1/e"}),))
    await told(
        bench, [[(5, renames("Project Sparrow", "Lantern"))], [(6, renames("Lantern", "Old Lantern"))]]
    )
    assert await bench.entities() == {"Old Lantern": {"project sparrow", "lantern", "old lantern"}}


async def test_facts_about_the_new_name_are_compared_with_those_of_the_old() -> None:
    model = Model()
    bench = Bench(model)
    await bench.commit(says("OWNED_BY", "Sparrow is owned by Ada", "Sparrow", "Ada"))
    edges = (
        ExtractedEdge("RENAMED_TO", "Sparrow is called Lantern", "Sparrow", "Lantern"),
        ExtractedEdge("OWNED_BY", "Lantern is owned by Bob", "Lantern", "Bob"),
    )
    nodes = tuple(ExtractedNode(name, name) for name in ("Sparrow", "Lantern", "Bob"))
    await bench.commit(Extraction(nodes, edges))
    asked = [q for request in model.requests for q in request.facts]
    assert [q.fact for q in asked if q.compare_with] == ["Lantern is owned by Bob"]
