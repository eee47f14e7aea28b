"""Summaries rewritten beside the pipeline: when, by one call, and never against what holds."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from kgsvc.commands.cascades import cascade_episode
from kgsvc.commands.entities import EntityInput, add_entity_node
from kgsvc.commands.facts import delete_fact
from kgsvc.domain.errors import ModelOutputInvalid, ModelUnavailable, RevisionChanged, StoreUnavailable
from kgsvc.domain.model.delta import GraphDelta, GroupHead, Guard
from kgsvc.domain.model.extraction import ExtractedEdge, ExtractedNode, Extraction
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.resolution.decisions import CandidateQuery, NameCandidates
from kgsvc.models.protocol import Retold, Subject
from kgsvc.pipeline.commit import Committer
from kgsvc.pipeline.summaries import AT_ONCE, ENTITIES, Rewriter, WriteTurn
from tests.support.core import core_of
from tests.support.samples import NOW
from tests.unit.pipeline.test_resolving import CLOCK, COST, GROUP, Bench

WIDE = "x" * 50


class Writer:
    """A model that tells how many facts it was shown, after `meanwhile`."""

    def __init__(self) -> None:
        self.asked: list[Sequence[Subject]] = []
        self.meanwhile: Callable[[], Awaitable[None]] | None = None
        self.error: Exception | None = None

    async def retell(self, group_id: str, subjects: Sequence[Subject], today_ms: int) -> Retold:
        self.asked.append(subjects)
        if self.meanwhile is not None:
            await self.meanwhile()
        if self.error is not None:
            raise self.error
        return Retold(tuple(tells(each.name, len(each.sentences)) for each in subjects), COST)

    async def close(self) -> None:
        """Nothing."""


def tells(name: str, count: int) -> str:
    """What the model makes of so many facts; figures of its own would not be taken."""
    return f"{name} likes {'very ' * count}much."


class Rewriting(Bench):
    """A bench with a rewriter, whose work is done when `settle` returns."""

    def __init__(self) -> None:
        super().__init__(None)
        self.writer = Writer()
        self.rewriter = Rewriter(self.store, self.writer, CLOCK, random.Random(7))
        self.committer = Committer(self.store, None, CLOCK, rewriter=self.rewriter)
        self.core = core_of(self.store, clock=CLOCK)

    async def settle(self) -> None:
        """Do all that was offered."""
        for group_id, waiting in list(self.rewriter._waiting.items()):
            del self.rewriter._waiting[group_id]
            await self.rewriter.rewrite(group_id, waiting.epoch, list(waiting.entities), list(waiting.items))

    def written(self) -> asyncio.Event:
        """Set once the model's words are in the store."""
        apply, done = self.store.apply, asyncio.Event()

        async def watched(delta: GraphDelta, guard: Guard) -> GroupHead:
            head = await apply(delta, guard)
            if delta.spent:
                done.set()
            return head

        self.store.apply = watched  # type: ignore[method-assign]
        return done

    async def entity(self, name: str = "Ann") -> Entity:
        return (await self.store.names(GROUP, [name.casefold()])).by_key[name.casefold()]

    async def fact_of(self, text: str) -> str:
        (found,) = [f.uuid for f in (await self.store.dump(GROUP)).facts if f.fact.startswith(text)]
        return found


@pytest.fixture
def bench() -> Rewriting:
    return Rewriting()


def says(*numbers: int, who: str = "Ann") -> Extraction:
    """Facts of somebody, of about 70 characters each."""
    things = [f"thing {number:02}" for number in numbers]
    edges = [ExtractedEdge("LIKES", f"{who} likes {each} {WIDE}", who, each) for each in things]
    return Extraction(tuple(ExtractedNode(each, each) for each in (who, *things)), tuple(edges))


async def test_a_long_summary_is_rewritten_once_until_a_quarter_changed(bench: Rewriting) -> None:
    await bench.commit(says(*range(5)))
    await bench.settle()
    assert bench.writer.asked == []
    await bench.commit(says(*range(5, 12)))
    await bench.settle()
    (asked,) = bench.writer.asked
    (ann,) = asked
    assert (ann.name, ann.types, len(ann.sentences)) == ("Ann", ("Entity",), 12)
    assert (await bench.entity()).summary == tells("Ann", 12)
    await bench.commit(says(12))
    await bench.settle()
    assert (await bench.entity()).summary == f"{tells('Ann', 12)}\nAnn likes thing 12 {WIDE}."
    await bench.commit(says(*range(13, 20)))
    await bench.settle()
    assert len(bench.writer.asked) == 2
    assert (await bench.entity()).summary == tells("Ann", 20)


async def test_facts_that_will_end_do_not_make_it_due_again(bench: Rewriting) -> None:
    ending = says(*range(12, 20))
    ending = replace(ending, edges=tuple(replace(e, invalid_ms=NOW + 10**6) for e in ending.edges))
    await bench.commit(says(*range(12)), ending)
    await bench.settle()
    await bench.commit(says(20))
    await bench.settle()
    assert len(bench.writer.asked) == 1


async def test_entities_of_a_micro_batch_take_one_call(bench: Rewriting) -> None:
    many = [says(*range(9 * n, 9 * n + 9), who=f"Ann {n}") for n in range(ENTITIES + 1)]
    await bench.commit(*many)
    await bench.settle()
    assert [len(asked) for asked in bench.writer.asked] == [ENTITIES, 1], "and what is more, another"


async def test_the_cost_is_counted_for_the_items(bench: Rewriting) -> None:
    await bench.commit(says(*range(6)), says(*range(6, 12)))
    await bench.settle()
    spent = [item.usage for item in (await bench.store.list_items(GROUP, (), 9, None)).rows]
    assert spent == COST.split(2)


async def test_a_text_is_not_written_once_one_of_its_facts_is_gone(bench: Rewriting) -> None:
    async def delete() -> None:
        await delete_fact(bench.core, await bench.fact_of("Ann likes thing 03"), GROUP)

    bench.writer.meanwhile = delete
    await bench.commit(says(*range(12)))
    await bench.settle()
    ann = await bench.entity()
    assert (ann.rewriting, ann.summary.count("Ann likes thing")) == (None, 7)


async def test_a_text_is_written_over_what_was_told_meanwhile(bench: Rewriting) -> None:
    async def tell() -> None:
        bench.writer.meanwhile = None
        await bench.commit(says(12))

    bench.writer.meanwhile = tell
    await bench.commit(says(*range(12)))
    await bench.settle()
    assert (await bench.entity()).summary == f"{tells('Ann', 12)}\nAnn likes thing 12 {WIDE}."


async def test_what_is_deleted_takes_the_text_with_it(bench: Rewriting) -> None:
    await bench.commit(says(*range(11)), says(11))
    await bench.settle()
    assert (await bench.entity()).summary == tells("Ann", 12)
    await cascade_episode(bench.core, "e1", GROUP)
    ann = await bench.entity()
    assert ann.summary.startswith("Ann likes thing")
    assert "thing 11" not in str(ann)


async def test_a_callers_own_summary_meanwhile_stays(bench: Rewriting) -> None:
    async def assert_own() -> None:
        await add_entity_node(bench.core, EntityInput((await bench.entity()).uuid, GROUP, "Ann", "by hand"))

    bench.writer.meanwhile = assert_own
    await bench.commit(says(*range(12)))
    await bench.settle()
    ann = await bench.entity()
    assert (ann.summary, ann.rewriting) == ("by hand", None)
    await bench.commit(says(*range(12, 24)))
    await bench.settle()
    assert len(bench.writer.asked) == 1


async def test_a_rejected_answer_costs_and_is_not_asked_for_again_at_once(bench: Rewriting) -> None:
    bench.writer.error = ModelOutputInvalid("no JSON")
    bench.writer.error.usage = COST
    await bench.commit(says(*range(12)))
    await bench.settle()
    assert (await bench.entity()).summary.count("Ann likes thing") == 7
    assert (await bench.store.list_items(GROUP, (), 9, None)).rows[0].usage == COST
    await bench.commit(says(12))
    await bench.settle()
    assert len(bench.writer.asked) == 1
    bench.writer.error = None
    await bench.commit(says(13, 14))
    await bench.settle()
    assert (await bench.entity()).summary == tells("Ann", 15)


async def test_after_an_outage_the_next_fact_asks_again(bench: Rewriting) -> None:
    bench.writer.error = ModelUnavailable("down")
    await bench.commit(says(*range(12)))
    with pytest.raises(ModelUnavailable):
        await bench.settle()
    assert (await bench.entity()).rewriting is None
    bench.writer.error = None
    await bench.commit(says(12))
    await bench.settle()
    assert (await bench.entity()).summary == tells("Ann", 13)


@pytest.mark.parametrize("error", [StoreUnavailable("the answer was lost"), asyncio.CancelledError()])
async def test_a_change_whose_answer_was_lost_is_rewritten_too(
    bench: Rewriting, error: BaseException
) -> None:
    apply = bench.store.apply

    async def lost(delta: GraphDelta, guard: Guard) -> GroupHead:
        await apply(delta, guard)
        raise error

    bench.store.apply = lost  # type: ignore[method-assign]
    with pytest.raises(type(error)):
        await bench.commit(says(*range(12)))
    bench.store.apply = apply  # type: ignore[method-assign]
    await bench.settle()
    assert (await bench.entity()).summary == tells("Ann", 12)


async def test_nothing_is_written_to_a_group_that_was_deleted(bench: Rewriting) -> None:
    async def delete() -> None:
        bench.writer.meanwhile = None
        await bench.store.delete_group(GROUP, NOW)
        await bench.commit(says(*range(12)))

    bench.writer.meanwhile = delete
    await bench.commit(says(*range(12)))
    await bench.settle()
    assert (await bench.entity()).rewriting is None


async def test_a_write_that_is_overtaken_is_tried_again(bench: Rewriting) -> None:
    apply, raced = bench.store.apply, asyncio.Event()

    async def overtaken(delta: GraphDelta, guard: Guard) -> GroupHead:
        if delta.spent and not raced.is_set():
            raced.set()
            await add_entity_node(bench.core, EntityInput("other", GROUP, "Zoe"))
        return await apply(delta, guard)

    bench.store.apply = overtaken  # type: ignore[method-assign]
    await bench.commit(says(*range(12)))
    await bench.settle()
    assert raced.is_set()
    assert (await bench.entity()).summary == tells("Ann", 12)


@pytest.fixture
async def running(bench: Rewriting) -> AsyncIterator[Bench]:
    """A bench whose rewriter runs beside it."""
    task = asyncio.create_task(bench.rewriter.run())
    yield bench
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_no_commit_waits_for_the_model(running: Rewriting) -> None:
    asked, released = asyncio.Event(), asyncio.Event()

    async def hang() -> None:
        asked.set()
        await released.wait()

    written = running.written()
    running.writer.meanwhile = hang
    async with asyncio.timeout(20):
        await running.commit(says(*range(12)))
        await asked.wait()
        await running.commit(says(12))
        assert len((await running.entity()).summary_parts) == 13
        released.set()
        await written.wait()
    assert (await running.entity()).summary.startswith(tells("Ann", 12))


async def test_after_an_outage_a_worker_rests(running: Rewriting) -> None:
    running.writer.error = ModelUnavailable("down")
    for numbers in (range(12), (12,), (13,), (14,)):
        await running.commit(says(*numbers))
        for _ in range(20):
            await asyncio.sleep(0)
    assert len(running.writer.asked) == AT_ONCE


@pytest.mark.parametrize(
    ("outages", "words"), [(1, "Ann likes very"), (5, "Ann likes very"), (6, "Ann likes thing")]
)
async def test_an_outage_takes_no_summary_from_a_group_without_news(
    bench: Rewriting, outages: int, words: str
) -> None:
    rewriter = Rewriter(bench.store, bench.writer, CLOCK, random.Random(7), rest_s=0)
    bench.committer = Committer(bench.store, None, CLOCK, rewriter=rewriter)
    bench.writer.error = ModelUnavailable("down")

    async def until_up() -> None:
        if len(bench.writer.asked) > outages:
            bench.writer.error = None

    bench.writer.meanwhile = until_up
    await bench.commit(says(*range(12)))
    task = asyncio.create_task(rewriter.run())
    for _ in range(500):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (await bench.entity()).summary.startswith(words)
    assert len(bench.writer.asked) == min(outages + 1, 6)


async def test_the_pipeline_and_the_rewriter_take_turns(running: Rewriting) -> None:
    released, wanted, written = asyncio.Event(), asyncio.Event(), running.written()

    async def hang() -> None:
        await released.wait()

    running.writer.meanwhile = hang
    slots, turn = running.store.slots, running.rewriter.turn
    turns: list[str] = []
    planned: list[bool] = []

    def taken(group_id: str) -> WriteTurn:
        turns.append(group_id)
        if len(turns) == 3:
            wanted.set()
        return turn(group_id)

    async def read(group_id: str, wanted_slots: set[str]) -> object:
        if len(turns) == 2:  # the second commit: now the model answers, and what it said wants to be written
            planned.append(True)
            released.set()
            await wanted.wait()
            for _ in range(50):
                await asyncio.sleep(0)
        return await slots(group_id, wanted_slots)

    running.rewriter.turn = taken  # type: ignore[method-assign]
    running.store.slots = read  # type: ignore[assignment, method-assign]
    async with asyncio.timeout(20):
        await running.commit(says(*range(12)))
        await running.commit(says(12))
        await written.wait()
    assert planned == [True]
    assert len(turns) == 3


async def test_the_turn_is_free_while_a_commit_decides(bench: Rewriting) -> None:
    candidates, taken = bench.store.candidates, list[bool]()

    async def looked(group_id: str, query: CandidateQuery) -> NameCandidates:
        taken.append(bench.rewriter.turn(group_id).lock.locked())
        return await candidates(group_id, query)

    await bench.commit(says(1))
    bench.store.candidates = looked  # type: ignore[method-assign]
    await bench.commit(says(2))
    assert taken == [False], "deciding may ask a model"


READS = ("names", "candidates", "slots", "facts", "entity_facts", "mentions")


def counting(bench: Rewriting, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the store is called from here on, and how often it refuses a change as stale."""
    calls: Counter[str] = Counter()

    def counted(name: str) -> None:
        method = getattr(bench.store, name)

        async def call(*given: Any) -> Any:
            calls[name] += 1
            try:
                return await method(*given)
            except RevisionChanged:
                calls["stale"] += 1
                raise

        monkeypatch.setattr(bench.store, name, call)

    for name in (*READS, "apply", "save_transitions"):
        counted(name)
    return calls


async def test_a_micro_batch_reads_its_names_once(bench: Rewriting, monkeypatch: pytest.MonkeyPatch) -> None:
    await bench.commit(says(1))
    calls = counting(bench, monkeypatch)
    await bench.commit(says(1, 2), says(3))
    assert calls == {"names": 1, "candidates": 1, "slots": 1, "apply": 1}


async def test_of_a_new_group_names_alone_are_read(bench: Rewriting, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counting(bench, monkeypatch)
    await bench.commit(says(1, 2), says(3))
    assert calls == {"names": 1, "apply": 1}


async def test_a_summary_written_while_a_batch_decides_costs_a_read_and_no_plan(
    bench: Rewriting, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.commit(says(*range(12)))
    calls = counting(bench, monkeypatch)
    candidates = bench.store.candidates

    async def rewriting(group_id: str, query: CandidateQuery) -> NameCandidates:
        await bench.settle()
        calls.clear()
        return await candidates(group_id, query)

    monkeypatch.setattr(bench.store, "candidates", rewriting)
    await bench.commit(says(12))
    assert calls == {"candidates": 1, "names": 1, "slots": 1, "apply": 1}
    assert (await bench.entity()).summary == f"{tells('Ann', 12)}\nAnn likes thing 12 {WIDE}."


async def test_what_waits_is_bounded_and_kept_once(bench: Rewriting) -> None:
    await bench.commit(says(*range(12)))
    ann = await bench.entity()
    for n in range(200):
        entities = (replace(ann, uuid=f"n{n % 100}"),)
        items = (f"e{n}",)
        bench.rewriter.offer(GraphDelta(GROUP, NOW, entities=entities, requires_items=items), 0)
    (waiting,) = bench.rewriter._waiting.values()
    assert (len(waiting.entities), len(waiting.items)) == (64, 64)
    for n in range(2_000):
        bench.rewriter.offer(GraphDelta(f"group {n}", NOW, entities=(ann,)), 0)
    assert len(bench.rewriter._waiting) == 1_000


async def test_what_a_process_that_died_had_taken_up_is_asked_for_with_the_next_fact(
    bench: Rewriting,
) -> None:
    await bench.commit(says(*range(12)))
    assert bench.rewriter._waiting
    bench.rewriter = Rewriter(bench.store, bench.writer, CLOCK, random.Random(7))
    bench.committer = Committer(bench.store, None, CLOCK, rewriter=bench.rewriter)
    await bench.settle()
    assert bench.writer.asked == []
    await bench.commit(says(12))
    await bench.settle()
    assert (await bench.entity()).summary == tells("Ann", 13)
