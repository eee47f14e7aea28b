"""Things of one name whose types exclude one another stay two, in whatever order they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest

from kgsvc.commands.cascades import cascade_episode
from kgsvc.commands.entities import get_entity_node
from kgsvc.domain.model.extraction import Extraction
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.resolution.decisions import FactResolution, NodeResolution, ResolutionRequest, Resolutions
from tests.support.samples import entity, write
from tests.unit.pipeline.test_bridging import core
from tests.unit.pipeline.test_resolving import GROUP, Bench, Model, says


def told(kind: str, target: str, name: str = "Jordan") -> Extraction:
    """Something is said of what is called so."""
    said = says("KNOWN_FOR", f"{name} is known for {target}", name, target)
    first, *others = said.nodes
    return replace(said, nodes=(replace(first, type=kind), *others))


PERSON, PLACE = told("Person", "chess"), told("Location", "deserts")


async def of_name(bench: Bench) -> dict[str, set[str]]:
    """What is known of each that is called so, by its type."""
    dump = await bench.store.dump(GROUP)
    found: dict[str, set[str]] = {}
    for each in dump.entities:
        if each.name == "Jordan":
            found["/".join(each.labels)] = {f.target_name for f in dump.facts if f.source_uuid == each.uuid}
    return found


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 1), (3,)], ids=str)
@pytest.mark.parametrize("order", [*permutations(range(3))], ids=str)
async def test_two_of_one_name_stay_two_and_are_told_apart(
    order: Sequence[int], sizes: Sequence[int]
) -> None:
    said = [PERSON, PLACE, told("Country", "Petra")]
    left, bench = [said[n] for n in order], Bench(None)
    for size in sizes:
        await bench.commit(*left[:size])
        del left[:size]
    known = await of_name(bench)
    assert known == {"Person": {"chess"}, "Country/Location": {"deserts", "Petra"}}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("together", [False, True])
async def test_what_says_no_type_means_the_person(order: tuple[int, int], together: bool) -> None:
    bench = Bench(None)
    said = [(PERSON, PLACE)[n] for n in order]
    for each in [said] if together else [[one] for one in said]:
        await bench.commit(*each)
    await bench.commit(told("Entity", "jokes"), told("Topic", "talks"))
    known = await of_name(bench)
    assert known == {"Person/Topic": {"chess", "jokes", "talks"}, "Location": {"deserts"}}


async def test_an_untyped_one_takes_the_type_that_is_told_next() -> None:
    bench = Bench(None)
    await bench.commit(told("Entity", "jokes"))
    await bench.commit(PLACE)
    await bench.commit(PERSON)
    assert await of_name(bench) == {"Location": {"jokes", "deserts"}, "Person": {"chess"}}


async def test_types_between_which_readings_waver_are_one() -> None:
    bench = Bench(None)
    await bench.commit(told("Organization", "cakes"))
    await bench.commit(told("Location", "tables"))
    assert await of_name(bench) == {"Location/Organization": {"cakes", "tables"}}


async def test_a_callers_name_stays_its_own() -> None:
    bench = Bench(None)
    owned = entity(GROUP, "n", "Jordan", labels=("Location",), stamps={"name": ""})
    await write(bench.store, GROUP, entities=(owned,))
    await bench.commit(PERSON, told("Entity", "jokes"))
    dump = await bench.store.dump(GROUP)
    assert dump.names["jordan"] == "n"
    assert await of_name(bench) == {"Location": {"jokes"}, "Person": {"chess"}}


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("together", [False, True])
async def test_a_model_is_asked(same: bool, together: bool) -> None:
    def answer(request: ResolutionRequest) -> Resolutions:
        nodes = {q.id: NodeResolution() for q in request.nodes}
        for q in request.nodes if same else ():
            known, peer = next(iter(q.candidates), None), next(iter(q.peers), None)
            nodes[q.id] = NodeResolution(known, peer if known is None else None)
        return Resolutions(nodes, {q.id: FactResolution() for q in request.facts})

    model = Model(answer)
    bench = Bench(model)
    for each in [[PERSON, PLACE]] if together else [[PERSON], [PLACE]]:
        await bench.commit(*each)
    asked = [q for request in model.requests for q in request.nodes]
    assert {q.name for q in asked} == {"Jordan"}
    once = {"Location/Person": {"chess", "deserts"}}
    assert await of_name(bench) == (once if same else {"Person": {"chess"}, "Location": {"deserts"}})
    count = len(model.requests)
    await bench.commit(told("Location", "Petra"))
    assert [q for request in model.requests[count:] for q in request.nodes] == []


async def test_no_mark_is_shown_and_going_leaves_none() -> None:
    bench = Bench(None)
    await bench.commit(PERSON)
    await bench.commit(PLACE)
    places = [each for each in (await bench.store.dump(GROUP)).entities if "Location" in each.labels]
    place: Entity = places[0]
    view = await get_entity_node(core(bench.store), place.uuid, GROUP, 9, 9, False)
    assert (view.entity.name, view.aliases) == ("Jordan", ())
    assert [each.fact.source_name for each in view.facts] == ["Jordan"]
    await cascade_episode(core(bench.store), "e1", GROUP)
    assert await bench.entities() == {"Jordan": {"jordan"}, "chess": {"chess"}}


async def test_who_is_left_has_the_plain_name() -> None:
    bench = Bench(None)
    for each in (PERSON, PLACE):
        await bench.commit(each)
    await cascade_episode(core(bench.store), "e0", GROUP)
    await bench.commit(told("Entity", "jokes"))
    assert await of_name(bench) == {"Location": {"deserts", "jokes"}}
