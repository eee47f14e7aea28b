"""GetFactHistory: what a fact replaced, was replaced by and superseded, in its slot and elsewhere."""

from dataclasses import replace
from typing import Any

from kgsvc.commands.facts import get_fact_history
from kgsvc.domain.model.graph import Closure
from tests.support.model_store import ModelStore
from tests.support.samples import NOW, accepted, episode, fact, pair, write

GROUP = "g"


async def test_rows_of_other_slots_that_superseded_or_were_superseded_belong_to_it() -> None:
    store = ModelStore()
    ada, bob = await pair(store, GROUP)
    await accepted(store, episode(GROUP, "e1"), episode(GROUP, "e2"))
    ended: dict[str, Any] = {"expired_ms": NOW, "expired_reason": "superseded"}
    left = fact(
        "left", ada, bob, name="LEFT", created_ms=NOW + 1, episodes=("e1",), **ended, expired_by_fact="back"
    )
    worked = fact(
        "worked",
        ada,
        bob,
        name="WORKED",
        **ended,
        expired_by_fact="left",
        closures=(Closure(NOW, NOW, "left", "e1"),),
    )
    back = fact("back", ada, bob, name="BACK", created_ms=NOW + 2, episodes=("e2",))
    other = fact("other", ada, bob, name="OTHER", episodes=("e1",))
    told = {"e1": ("left", "other"), "e2": ("back",)}
    await write(store, GROUP, facts=(left, worked, back, other), episode_edges=told)
    found = await get_fact_history(store, left.uuid, GROUP, 9)
    assert [each.fact.uuid for each in found] == ["worked", "left", "back"]
    assert [[c.episode_uuid for c in each.citations] for each in found] == [[], ["e1"], ["e2"]]


async def test_of_more_rows_than_fit_corrections_and_the_latest_stay() -> None:
    store = ModelStore()
    ada, bob = await pair(store, GROUP)
    rows = [fact(f"f{n}", ada, bob, created_ms=NOW + n) for n in range(9)]
    rows[0] = replace(rows[0], expired_ms=NOW, expired_reason="updated", expired_by_fact="f3")
    rows[3] = replace(rows[3], previous_uuid="f0")
    await write(store, GROUP, facts=tuple(rows))
    for uuid in ("f0", "f3"):
        found = await get_fact_history(store, uuid, GROUP, 4)
        assert [each.fact.uuid for each in found] == ["f0", "f3", "f7", "f8"]
