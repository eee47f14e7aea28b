"""Which types are in force for a group: read once a change, whoever asks."""

import pytest

from kgsvc.domain.errors import StepError
from kgsvc.domain.model.extraction import DEFAULT
from kgsvc.ontology import read
from kgsvc.pipeline.ontologies import Ontologies
from tests.support.model_store import ModelStore


class Counting(ModelStore):
    """Counts how often an ontology is read."""

    reads = 0

    async def ontology(self, group_id: str) -> str | None:
        self.reads += 1
        return await super().ontology(group_id)


@pytest.fixture
def store() -> Counting:
    return Counting()


@pytest.fixture
def ontologies(store: Counting) -> Ontologies:
    return Ontologies(store, read, DEFAULT)


def yaml(name: str) -> str:
    return f"entity_types:\n  - {{name: {name}, description: x}}\n"


async def of(ontologies: Ontologies, number: int) -> str:
    """The first type in force."""
    return (await ontologies.of("g", number)).by_priority[0].name


async def test_a_group_without_an_ontology_is_never_asked_about(
    store: Counting, ontologies: Ontologies
) -> None:
    assert await ontologies.of("g", 0) is DEFAULT
    assert store.reads == 0


async def test_an_ontology_is_read_once_a_change(store: Counting, ontologies: Ontologies) -> None:
    for number, name in ((1, "First"), (2, "Second")):
        await store.put_ontology("g", yaml(name))
        for _ in range(3):
            assert await of(ontologies, number) == name
    assert store.reads == 2
    assert await of(ontologies, 1) == "Second"  # an item begun before the change
    assert store.reads == 2


async def test_one_that_was_taken_away_gives_way_to_the_servers(
    store: Counting, ontologies: Ontologies
) -> None:
    await store.put_ontology("g", None)
    assert await ontologies.of("g", 1) is DEFAULT


async def test_one_that_cannot_be_read_fails_the_step_and_is_tried_again(
    store: Counting, ontologies: Ontologies
) -> None:
    await store.put_ontology("g", "types_of_the_future: []")
    for _ in range(2):
        with pytest.raises(StepError, match="this version cannot read"):
            await ontologies.of("g", 1)
    assert store.reads == 2


async def test_only_some_groups_are_remembered(store: Counting, ontologies: Ontologies) -> None:
    for n in range(300):
        await ontologies.of(f"g{n}", 1)
    await ontologies.of("g299", 1)
    assert store.reads == 300
    await ontologies.of("g0", 1)
    assert store.reads == 301
