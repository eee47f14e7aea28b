"""GetMemory is Engine on the composed query."""

import pytest

from kgsvc.api.rpc.search import memory_line, memory_query
from kgsvc.domain.errors import LimitExceeded
from kgsvc.domain.model.graph import RoleType
from kgsvc.search.engine import Engine
from kgsvc.search.settings import SearchSettings
from tests.unit.search.feed import NOW, Embedder, Feed, Stopped, engine, fact, indexed, vector

LINES = (
    memory_line(RoleType.USER, "Ann", "Who drinks tea?"),
    memory_line(RoleType.ASSISTANT, None, "Let me\nthink."),
)
COMPOSED = "user(Ann): Who drinks tea?\nassistant(): Let me\nthink.\n"


def test_composition_is_that_of_the_appendix() -> None:
    assert memory_query(LINES, 200) == COMPOSED
    assert memory_query([], 200) == ""
    assert memory_line(RoleType.SYSTEM, "", "") == "system(): \n"


@pytest.fixture
def search() -> Engine:
    feed = Feed()
    feed.write(
        fact("a", "Bob drinks tea", source="bob", target="tea"),
        indexed(fact("b", "Cleo likes coffee", source="cleo", target="coffee"), vector(1, 0, 0, 0)),
    )
    return engine(feed, Embedder({COMPOSED: vector(1, 0, 0, 0)}), SearchSettings(), Stopped())


async def test_the_composed_query_is_embedded_as_a_whole(search: Engine) -> None:
    hits = await search.facts(["g"], memory_query(LINES, 200), 10)
    assert [hit.fact.uuid for hit in hits] == ["a", "b"]
    near = await search.facts(["g"], memory_query(LINES, 200), 1, "cleo", NOW)
    assert [hit.fact.uuid for hit in near] == ["b"]


def test_the_composed_query_has_the_limit_of_a_query() -> None:
    assert memory_query(LINES, len(COMPOSED)) == COMPOSED
    with pytest.raises(LimitExceeded) as caught:
        memory_query(LINES, len(COMPOSED) - 1)
    assert [violation.field for violation in caught.value.violations] == ["messages"]
