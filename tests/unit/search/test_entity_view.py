"""An entity as of now: its summary tells nothing whose time is over."""

from dataclasses import replace

from kgsvc.commands.entities import as_of, get_entity_node
from kgsvc.domain.facts.summary import recomposed, summary_facts
from kgsvc.runtime import SystemClock
from tests.support.core import core_of
from tests.support.model_store import ModelStore
from tests.support.samples import NOW, fact, pair, write

GROUP = "g"


class Later(SystemClock):
    def now_ms(self) -> int:
        return NOW + 100


async def test_a_sentence_leaves_the_summary_when_its_time_is_over() -> None:
    store = ModelStore()
    ada, bob = await pair(store, GROUP)
    leave = replace(fact("f1", ada, bob), fact="Ada is on leave", invalid_ms=NOW + 100)
    works = replace(fact("f2", ada, bob), fact="Ada works")
    ada = recomposed(ada, [leave, works], (), NOW)
    await write(store, GROUP, entities=(ada,), facts=(leave, works))
    assert await as_of(store, ada, NOW + 99) == ada
    left = await as_of(store, ada, NOW + 100)
    assert (left.summary, summary_facts(left)) == ("Ada works.", ("f2",))
    assert left.updated_ms == ada.updated_ms, "nothing was written"
    core = core_of(store, clock=Later())
    for current in (True, False):
        view = await get_entity_node(core, ada.uuid, GROUP, 9, 9, current)
        assert view.entity == left
        assert len(view.facts) == 2 - current


async def test_a_callers_own_summary_is_told_as_it_is() -> None:
    store = ModelStore()
    ada, _bob = await pair(store, GROUP)
    own = replace(ada, summary="by hand", stamps={"summary": "99999999999999999/"})
    assert await as_of(store, own, NOW) == own
