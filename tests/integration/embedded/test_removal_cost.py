"""What forgetting an episode reads grows with the mentions of what it names, and no faster."""

import apsw

from kgsvc.domain.model.delta import GraphDelta
from kgsvc.domain.model.graph import Mention
from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.stores.embedded.history import _sayings
from tests.integration.embedded.test_queue_cost import steps
from tests.support.samples import NOW, accepted, entity, episode, guard

EPISODES = [f"e{n:03}" for n in range(401)]


async def test_sayings_grow_as_mentions_do(store: EmbeddedStore, beside: apsw.Connection) -> None:
    ada = entity("g", "ada", "Ada")
    await accepted(store, *[episode("g", uuid, at=-n) for n, uuid in enumerate(EPISODES)])

    async def said(begin: int, end: int) -> int:
        made = [Mention(f"m{uuid}", "g", uuid, "ada", NOW) for uuid in EPISODES[begin:end]]
        delta = GraphDelta("g", NOW + end, entities=(ada,), mentions=tuple(made))
        await store.apply(delta, await guard(store, "g"))
        assert _sayings(beside, "g", "e000")["ada"].first == (NOW - end + 1, EPISODES[end - 1])
        return steps(beside, lambda db: _sayings(db, "g", "e000"))

    one, two, four = await said(0, 101), await said(101, 201), await said(201, 401)
    assert four - two < 3 * (two - one)
