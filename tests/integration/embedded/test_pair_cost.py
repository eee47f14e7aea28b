"""What finding the facts of a pair reads does not grow with one end of it: counted in the engine's steps."""

from collections.abc import Sequence

import apsw
import pytest

from kgsvc.domain.model.delta import GraphDelta
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.resolution.decisions import CandidateQuery
from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.stores.embedded.indexes import _FEW, candidates
from tests.integration.embedded.test_queue_cost import steps
from tests.support.samples import NOW, entity, fact, guard

HUB, RARE = entity("g", "hub", "Hub"), entity("g", "rare", "Rare")
Ends = tuple[Entity, Entity]


async def told(store: EmbeddedStore, entities: Sequence[Entity], facts: Sequence[tuple[str, Ends]]) -> None:
    """Facts come one after the other in time."""
    made = [fact(uuid, *ends, valid_ms=NOW + n) for n, (uuid, ends) in enumerate(facts)]
    delta = GraphDelta("g", NOW, entities=tuple(entities), facts=tuple(made))
    await store.apply(delta, await guard(store, "g"))


def others(begin: int, end: int) -> list[Entity]:
    """So many entities."""
    return [entity("g", f"o{n:05}", f"Other {n}") for n in range(begin, end)]


@pytest.mark.parametrize("of_source", [True, False])
async def test_a_hub_of_a_pair_costs_nothing(
    store: EmbeddedStore, beside: apsw.Connection, of_source: bool
) -> None:
    def ends(other: Entity) -> Ends:
        return (HUB, other) if of_source else (other, HUB)

    async def grow(begin: int, end: int) -> int:
        some = others(begin, end)
        await told(store, some, [(f"f{each.uuid}", ends(each)) for each in some])
        return steps(beside, lambda db: candidates(db, "g", query))

    await told(store, (HUB, RARE), [("p1", ends(RARE)), ("p2", ends(RARE))])
    source, target = ends(RARE)
    query = CandidateQuery(pairs=[(source.uuid, target.uuid)])
    before, after = await grow(0, 2 * _FEW), await grow(2 * _FEW, 6 * _FEW)
    assert [each.uuid for each in (await store.candidates("g", query)).facts] == ["p2", "p1"]
    assert after == before


async def test_the_latest_facts_of_two_hubs_are_found(store: EmbeddedStore) -> None:
    some, some_more = others(0, _FEW), others(_FEW, 5 * _FEW)
    facts = [(f"s{each.uuid}", (HUB, each)) for each in (*some, *some_more)]
    facts += [(f"t{each.uuid}", (each, RARE)) for each in some]
    await told(store, (HUB, RARE, *some, *some_more), [("p1", (HUB, RARE)), *facts, ("p2", (HUB, RARE))])
    query = CandidateQuery(pairs=[("hub", "rare")], facts_per_pair=1)
    assert [each.uuid for each in (await store.candidates("g", query)).facts] == ["p2"]
