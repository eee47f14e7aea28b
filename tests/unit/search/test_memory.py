"""GetMemory is Engine on the composed query (spec 004 §4.3.4, Appendix A)."""

import pytest

from kgsvc.commands.memory import MemoryMessage, compose, get_memory
from kgsvc.domain.errors import LimitExceeded
from kgsvc.domain.model.graph import RoleType
from kgsvc.search.engine import Engine
from kgsvc.search.settings import SearchSettings
from tests.unit.search.feed import NOW, Embedder, Feed, Stopped, engine, fact, indexed, vector

MESSAGES = (
    MemoryMessage(RoleType.USER, "Who drinks tea?", "Ann"),
    MemoryMessage(RoleType.ASSISTANT, "Let me\nthink."),
)
COMPOSED = "user(Ann): Who drinks tea?\nassistant(): Let me\nthink.\n"


def test_composition_is_that_of_the_appendix() -> None:
    assert compose(MESSAGES) == COMPOSED
    assert compose([]) == ""
    assert compose([MemoryMessage(RoleType.SYSTEM, "", "")]) == "system(): \n"


@pytest.fixture
def search() -> Engine:
    feed = Feed()
    feed.write(
        fact("a", "Bob drinks tea", source="bob", target="tea"),
        indexed(fact("b", "Cleo likes coffee", source="cleo", target="coffee"), vector(1, 0, 0, 0)),
    )
    return engine(feed, Embedder({COMPOSED: vector(1, 0, 0, 0)}), SearchSettings(), Stopped())


async def test_same_results_as_searching_the_composed_query(search: Engine) -> None:
    hits = await get_memory(search, 200, "g", MESSAGES, 10)
    assert hits == await search.facts(["g"], COMPOSED, 10)
    assert [hit.fact.uuid for hit in hits] == ["a", "b"]
    near = await get_memory(search, 200, "g", MESSAGES, 1, "cleo", NOW)
    assert near == await search.facts(["g"], COMPOSED, 1, "cleo", NOW)
    assert [hit.fact.uuid for hit in near] == ["b"]


async def test_the_composed_query_has_the_limit_of_a_query(search: Engine) -> None:
    assert len(await get_memory(search, len(COMPOSED), "g", MESSAGES, 10)) == 2
    with pytest.raises(LimitExceeded) as caught:
        await get_memory(search, len(COMPOSED) - 1, "g", MESSAGES, 10)
    assert [violation.field for violation in caught.value.violations] == ["messages"]
