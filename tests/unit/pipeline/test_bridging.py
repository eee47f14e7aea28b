"""A new name that shows two known entities to be one merges them, in whatever order they come."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from kgsvc.commands.cascades import cascade_episode
from kgsvc.commands.core import Core
from kgsvc.commands.merges import merge_entity_nodes, undo_merge
from kgsvc.domain.errors import LeaseLost, RevisionChanged, StoreRefused, StoreUnavailable
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.delta import GraphDelta, GroupHead, Guard, MergeRecord
from kgsvc.domain.model.extraction import ExtractedNode, Extraction
from kgsvc.domain.model.graph import Fact, FactKind
from kgsvc.domain.names.merging import record_of
from kgsvc.domain.resolution.decisions import (
    CandidateQuery,
    NodeResolution,
    ResolutionRequest,
    Resolutions,
)
from kgsvc.pipeline.commit import Committer
from kgsvc.pipeline.preparing import PreparedItem, decode
from kgsvc.stores.protocol import MergesWhere
from tests.support.core import core_of
from tests.support.model_store import ModelStore
from tests.support.samples import HUGE, MANY, NOW, entity, leased, write
from tests.support.verdicts import judged
from tests.unit.pipeline.test_resolving import CLOCK, GROUP, Bench, Model, names, says

RUIZ = ("Alejandro", "Mr. Ruiz", "Alejandro Ruiz")
KEYS = {"alejandro", "mr. ruiz", "alejandro ruiz"}
OF_E2 = MergesWhere(by_episode="e2")


def knowing(request: ResolutionRequest) -> Resolutions:
    """Every name offered is the same, with the fullest of the names; a new firm takes the old one's place."""
    nodes = {}
    for q in request.nodes:
        known, peers = q.candidates, q.peers
        nodes[q.id] = NodeResolution(
            known[0] if known else None,
            peers[0] if peers and not known else None,
            "Alejandro Ruiz" if "Ruiz" in q.name or "Alejandro" in q.name else None,
            known[1:],
            peers if known else peers[1:],
        )
    return Resolutions(nodes, {q.id: judged(replaced=q.compare_with) for q in request.facts})


def core(store: ModelStore) -> Core:
    return core_of(store, clock=CLOCK)


def works(name: str, at: int) -> tuple[int, Extraction]:
    said = says("WORKS_AT", f"{name} works at Firm {at}", name, f"Firm {at}", kind=FactKind.FUNCTIONAL)
    return at, said


async def told(bench: Bench, batches: Sequence[Sequence[tuple[int, Extraction]]]) -> None:
    """Batches of what is said at some time."""
    for batch in batches:
        begin, said = batch[0][0], [extraction for _, extraction in batch]
        lease, items = await bench.works(*said, at=begin)
        items = [
            PreparedItem(replace(w.item, episode=replace(w.item.episode, reference_ms=NOW + at)), w.stage)
            for w, (at, _) in zip(items, batch, strict=True)
        ]
        await bench.committer.commit(lease, items)
        await bench.store.release(lease)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 1), (1, 2), (3,)], ids=str)
@pytest.mark.parametrize("order", [*permutations(RUIZ)], ids="/".join)
@pytest.mark.parametrize("late", [False, True])
async def test_names_that_meet_are_one_in_every_order(
    order: Sequence[str], sizes: Sequence[int], late: bool
) -> None:
    """`late`: those told first speak of what was last."""
    bench = Bench(Model(knowing))
    at = [9, 5, 1] if late else [1, 5, 9]
    said = [works(name, at[n]) for n, name in enumerate(order)]
    batches, n = [], 0
    for size in sizes:
        batches.append(said[n : n + size])
        n += size
    await told(bench, batches)
    firms = {f"Firm {each}": {f"firm {each}"} for each in at}
    assert await bench.entities() == {"Alejandro Ruiz": KEYS, **firms}
    facts = (await bench.store.dump(GROUP)).facts
    assert [(f.start_ms - NOW, f.invalid_ms and f.invalid_ms - NOW) for f in sorted(facts, key=_start)] == [
        (1, 5),
        (5, 9),
        (9, None),
    ]
    assert {f.source_name for f in facts} == {"Alejandro Ruiz"}
    mentions = (await bench.store.dump(GROUP)).mentions
    assert {episode for episode, uuid in mentions if uuid == facts[0].source_uuid} == {"e0", "e1", "e2"}


def _start(fact: Fact) -> int:
    return fact.start_ms


async def split(bench: Bench) -> None:
    """Two that are one, and nobody knows."""
    await told(bench, [[works("Alejandro", 1)], [works("Mr. Ruiz", 5)]])
    assert {"Alejandro", "Mr. Ruiz"} < (await bench.entities()).keys()


async def test_the_merge_names_its_episode_and_can_be_undone() -> None:
    bench = Bench(Model(knowing))
    await split(bench)
    before = await bench.entities()
    await told(bench, [[works("Alejandro Ruiz", 9)]])
    (record,) = await bench.store.merges(GROUP, OF_E2)
    assert await bench.store.merges(GROUP, MergesWhere(record.merge_id)) == [record]
    returned = await undo_merge(core(bench.store), GROUP, record.merge_id)
    assert returned.entity.name == "Mr. Ruiz"
    after = await bench.entities()
    assert after["Mr. Ruiz"] == before["Mr. Ruiz"]
    found = await bench.store.candidates(GROUP, CandidateQuery(tokens={"ruiz", "mr", "alejandro"}))
    assert {token: len(uuids) for token, uuids in found.by_token.items()} == {
        "ruiz": 2,
        "mr": 1,
        "alejandro": 1,
    }
    assert after["Alejandro Ruiz"] == {"alejandro", "alejandro ruiz"}


async def test_a_cascade_takes_the_merge_back_first() -> None:
    bench = Bench(Model(knowing))
    await split(bench)
    before = await bench.facts()
    await told(bench, [[works("Alejandro Ruiz", 9)]])
    assert await cascade_episode(core(bench.store), "e2", GROUP) is not None
    assert await bench.store.merges(GROUP, OF_E2) == []
    assert await bench.facts() == before
    assert (await bench.entities())["Mr. Ruiz"] == {"mr. ruiz"}


async def test_a_cascade_takes_a_merge_back_that_comes_between_its_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench(Model(knowing))
    await split(bench)
    before = await bench.facts()
    await told(bench, [[works("Alejandro Ruiz", 9)]])
    read, apply, merged = bench.store.merges, bench.store.apply, False

    async def merges(group_id: str, where: MergesWhere) -> list[MergeRecord]:
        return await read(group_id, where) if merged or where != OF_E2 else []

    async def overtaken(delta: GraphDelta, guard: Guard) -> GroupHead:
        nonlocal merged
        if not merged:
            merged = True
            raise RevisionChanged("the merge was written since")
        return await apply(delta, guard)

    monkeypatch.setattr(bench.store, "merges", merges)
    monkeypatch.setattr(bench.store, "apply", overtaken)
    assert await cascade_episode(core(bench.store), "e2", GROUP) is not None
    assert await read(GROUP, OF_E2) == []
    assert await bench.facts() == before


async def test_a_merge_is_under_the_lease() -> None:
    bench = Bench(Model(knowing))
    await split(bench)
    lease, items = await bench.works(works("Alejandro Ruiz", 9)[1])
    await bench.store.release(lease)
    await leased(bench.store, GROUP, "worker-b")
    with pytest.raises(LeaseLost):
        await bench.committer.commit(lease, items)
    assert {"Alejandro", "Mr. Ruiz"} < (await bench.entities()).keys()


async def test_what_a_cascade_took_does_not_come_back_with_an_undone_merge() -> None:
    bench = Bench(Model())
    await bench.commit(names("Ann"), Extraction((ExtractedNode("Bea", "Bea", "Person"),)))
    await bench.commit(Extraction((ExtractedNode("Bea the Crook", "Bea the Crook", "Villain"),)))
    uuids = {e.name: e.uuid for e in (await bench.store.dump(GROUP)).entities}
    await merge_entity_nodes(core(bench.store), GROUP, uuids["Bea the Crook"], uuids["Bea"])
    done = await merge_entity_nodes(core(bench.store), GROUP, uuids["Ann"], uuids["Bea the Crook"])
    assert await bench.entities() == {"Ann": {"ann", "bea", "bea the crook"}}
    await cascade_episode(core(bench.store), "e2", GROUP)
    assert await bench.entities() == {"Ann": {"ann", "bea"}}
    back = (await undo_merge(core(bench.store), GROUP, done.merge_id)).entity
    assert (back.name, back.labels) == ("Bea", ("Person",))
    assert await bench.entities() == {"Ann": {"ann"}, "Bea": {"bea"}}


class Dying(ModelStore):
    """Refuses the write number `at` of a batch, before or after it is done."""

    at = 0
    done = False

    async def apply(self, delta: GraphDelta, guard: Guard) -> GroupHead:
        self.at -= 1
        if self.at == 0 and not self.done:
            raise StoreUnavailable("the process died")
        head = await super().apply(delta, guard)
        if self.at == 0:
            raise StoreUnavailable("the process died")
        return head


@pytest.mark.parametrize(("at", "done"), [(1, False), (1, True), (2, False)])
async def test_dying_in_between_changes_nothing(at: int, done: bool) -> None:
    """What was decided about facts holds too, though the merge has moved them."""

    def answer(request: ResolutionRequest) -> Resolutions:
        nodes = knowing(request).nodes
        return Resolutions(nodes, {q.id: judged(replaced=q.compare_with) for q in request.facts})

    lives = [(n, says("LIVES_IN", f"{who} is in {n}", who, f"Town {n}")) for n, who in enumerate(RUIZ, 1)]
    outcomes = []
    for dies in (False, True):
        bench = Bench(Model(answer))
        bench.store = store = Dying()
        bench.committer = Committer(store, None, CLOCK, Model(answer))
        await told(bench, [[each] for each in lives[:2]])
        if dies:
            lease, items = await bench.works(lives[2][1], at=3)
            store.at, store.done = at, done
            with pytest.raises(StoreUnavailable):
                await bench.committer.commit(lease, items)
            store.at = 0
            (item,) = await bench.store.start_items(lease, NOW, MANY, HUGE, ())
            stage = decode(item.stage)
            assert stage is not None
            bench.committer = Committer(store, None, CLOCK, Model(answer))
            await bench.committer.commit(lease, [PreparedItem(item, stage)])
        else:
            await told(bench, [[lives[2]]])
        outcomes.append((await bench.entities(), await bench.facts()))
        assert len(await store.merges(GROUP, OF_E2)) == 1
    assert outcomes[0] == outcomes[1]
    assert [end for *_, end in outcomes[0][1]] == [3, 3, None]


async def kept_apart(bench: Bench, name: str) -> None:
    """The name comes to one of two, which stay two."""
    before = {e.uuid for e in (await bench.store.dump(GROUP)).entities}
    await bench.commit(names(name))
    dump = await bench.store.dump(GROUP)
    assert {e.uuid for e in dump.entities} == before
    assert dump.names[name.casefold()] in before
    assert await bench.store.merges(GROUP, MergesWhere()) == []


async def test_what_differs_in_figures_stays_apart() -> None:
    bench = Bench(Model(knowing))
    await bench.commit(names("Phase 2", "Phase 3"))
    await kept_apart(bench, "The Phase")


async def test_two_that_callers_named_stay_apart() -> None:
    bench = Bench(Model(knowing))
    owned = [entity(GROUP, f"n{n}", name, stamps={"name": ""}) for n, name in enumerate(RUIZ[:2])]
    await write(bench.store, GROUP, entities=tuple(owned))
    await kept_apart(bench, RUIZ[2])


@pytest.mark.parametrize("callers", [0, 1])
async def test_of_two_the_callers_stays(callers: int) -> None:
    bench = Bench(Model(knowing))
    pair = [
        entity(GROUP, f"n{n}", name, created_ms=NOW - n, stamps={"name": "" if n == callers else "1/e"})
        for n, name in enumerate(RUIZ[:2])
    ]
    await write(bench.store, GROUP, entities=tuple(pair))
    await bench.commit(names(RUIZ[2]))
    (left,) = (await bench.store.dump(GROUP)).entities
    assert (left.uuid, left.name) == (f"n{callers}", RUIZ[callers])


async def test_of_two_types_stay_two() -> None:
    bench = Bench(Model(knowing))
    pair = [
        entity(GROUP, f"n{n}", name, labels=(kind,), stamps={"name": "1/e"})
        for n, (name, kind) in enumerate(zip(RUIZ, ("Person", "Organization"), strict=False))
    ]
    await write(bench.store, GROUP, entities=tuple(pair))
    await kept_apart(bench, RUIZ[2])


class Refusing(ModelStore):
    """Refuses merges."""

    async def apply(self, delta: GraphDelta, guard: Guard) -> GroupHead:
        if delta.merges:
            raise StoreRefused("the store refuses this write")
        return await super().apply(delta, guard)


@pytest.mark.parametrize("why", ["the caller's bound", "the batch's bound", "the store"])
async def test_what_cannot_be_merged_stays_two(
    why: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(Model(knowing))
    if why == "the store":
        bench.store = Refusing()
        bench.committer = Committer(bench.store, None, CLOCK, Model(knowing))
    await split(bench)
    if why != "the store":
        bound = Limits(merge_bound=1) if why == "the caller's bound" else Limits()
        monkeypatch.setattr("kgsvc.pipeline.commit.MOVED", 10_000 if bound.merge_bound == 1 else 1)
        bench.committer = Committer(bench.store, None, CLOCK, Model(knowing), bound)
    with caplog.at_level("WARNING"):
        await told(bench, [[works("Alejandro Ruiz", 9)]])
    assert len(await bench.entities()) == 5
    assert [record.message for record in caplog.records] == ["two entities were not merged"]
    assert "Ruiz" not in str([vars(record) for record in caplog.records])


@pytest.mark.parametrize(("inline", "beside"), [(100, False), (2, True)])
async def test_a_large_merge_is_planned_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch, inline: int, beside: bool
) -> None:
    threads: list[int] = []

    def watched(*given: Any) -> dict[str, Any]:
        threads.append(threading.get_ident())
        return record_of(*given)

    monkeypatch.setattr("kgsvc.pipeline.joining.STATEMENTS", inline)
    monkeypatch.setattr("kgsvc.pipeline.joining.record_of", watched)
    bench = Bench(Model(knowing))
    await split(bench)
    await told(bench, [[works("Alejandro Ruiz", 9)]])
    (thread,) = threads
    assert (thread != threading.get_ident()) is beside


async def test_a_batch_merges_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgsvc.pipeline.commit.MERGES", 2)
    bench = Bench(Model())
    await bench.commit(*(names(f"Ada {family}") for family in ("Ash", "Birch", "Cedar", "Elm", "Fir")))
    bench.committer = Committer(bench.store, None, CLOCK, Model(knowing))
    await bench.commit(names("Ada"))
    assert len(await bench.entities()) == 3


@pytest.mark.parametrize("together", [False, True])
async def test_a_full_name_that_fits_others_waits_until_it_is_said(together: bool) -> None:
    """Else "Alejandro Ruiz", once said, would be one of two without a question."""
    bench = Bench(Model(knowing))
    await bench.commit(names("Alejandro R."))
    if together:
        await bench.commit(names("Mr. Ruiz"), names("Alejandro"))
    else:
        await bench.commit(names("Mr. Ruiz"))
        await bench.commit(names("Alejandro"))
    assert await bench.entities() == {"Alejandro R.": {"alejandro", "alejandro r."}, "Mr. Ruiz": {"mr. ruiz"}}
    await bench.commit(names("Alejandro Ruiz"))
    assert await bench.entities() == {"Alejandro Ruiz": {*KEYS, "alejandro r."}}


async def test_a_full_name_that_fits_nobody_else_is_given_at_once() -> None:
    bench = Bench(Model(knowing))
    await bench.commit(names("Alejandro R."))
    await bench.commit(names("Alejandro"))
    assert await bench.entities() == {"Alejandro Ruiz": {"alejandro", "alejandro r.", "alejandro ruiz"}}
