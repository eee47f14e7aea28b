"""What was believed at a time stays readable: `known_as_of` answers what the read of that time answered."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pytest

from kgsvc.domain.facts.amendments import FactInput, correct, successor, without_episode
from kgsvc.domain.facts.beliefs import MOST, as_known_at
from kgsvc.domain.facts.slots import refolded
from kgsvc.domain.facts.statements import Ending
from kgsvc.domain.model.delta import SlotView
from kgsvc.domain.model.extraction import ExtractedEdge, ExtractedNode, Extraction
from kgsvc.domain.model.graph import Closure, Entity, Episode, Fact, FactKind, Polarity, Source
from kgsvc.domain.names.meanings import BatchItem
from kgsvc.domain.names.merging import (
    Hanging,
    folded_apart,
    merged_facts,
    moved,
    record_of,
    rekeyed,
    slots_of,
    unmerged_facts,
)
from kgsvc.domain.names.splitting import (
    Going,
    back_together,
    divided,
    record_of_split,
    reserved,
    split_facts,
)
from kgsvc.search.filters import Filters
from kgsvc.search.index.fact_columns import FactColumns
from tests.property.test_order import Graph

PEOPLE = [f"Person {n}" for n in range(9)]
PLACES = [f"Place {n}" for n in range(4)]
KINDS = {"WORKS_AT": FactKind.FUNCTIONAL, "LIKES": FactKind.STATE, "VISITED": FactKind.EVENT}

Told = frozenset[tuple[object, ...]]


@dataclass
class Read:
    """A default read, and one of another time: what they answered."""

    at_ms: int
    past_ms: int
    present: Told
    past: Told


@dataclass
class World:
    """A graph under random changes, one commit at each tick of a clock, and the index that searches read."""

    random: Random
    graph: Graph = field(default_factory=Graph)
    columns: FactColumns = field(default_factory=FactColumns)
    rows: dict[str, int] = field(default_factory=dict)
    indexed: dict[str, Fact] = field(default_factory=dict)
    episodes: list[str] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    merges: list[tuple[Entity, Entity, dict[str, Any]]] = field(default_factory=list)

    def tell(self) -> None:
        """A start, an end or a denial: of now, announced, or told late."""
        self.graph.ingest([self._item()])

    def contradict(self) -> None:
        """Another fact shows that one ended, never held, or begins at another time."""
        if not self.graph.statements:
            self.tell()
            return
        said = self.random.choice(self.graph.statements[-30:])
        at_ms = said.statement.evidence.start_ms + self.random.randint(1, 9)
        retracts, moves = ((True, False), (False, True), (False, False))[self.random.randrange(3)]
        by = Closure(at_ms, self.graph.now, "other", self._episode(), retracts, moves)
        self.graph.ingest([], [(said.slot, Ending(said.statement.wording.key, by))])

    def correct(self) -> None:
        """A caller changes the words of a fact."""
        open_ = [fact for fact in self.graph.facts.values() if fact.expired_ms is None]
        if not open_:
            self.tell()
            return
        old, now = self.random.choice(open_), self._tick()
        wanted = FactInput(old.uuid, "g", f"{old.fact}, truly")
        new = successor(old, wanted, {}, f"corrected-{now}", now)
        self._write(correct(old, new, self._view({old.slot, new.slot}), now))

    def forget(self) -> None:
        """An episode is deleted with all that it said."""
        if not self.episodes:
            self.tell()
            return
        episode, now = self.episodes.pop(self.random.randrange(len(self.episodes))), self._tick()
        without = without_episode(SlotView(tuple(self.graph.facts.values())), episode, now)
        self._write(without.facts)
        self._remove(stone.uuid for stone in without.removed)

    def merge(self) -> None:
        """Two people turn out to be one."""
        people = sorted(
            {self.graph.names[name.lower()] for name in PEOPLE if name.lower() in self.graph.names}
        )
        if len(people) < 2 or len(self.merges) > 2:
            self.unmerge()
            return
        kept, gone = (self.graph.entities[each] for each in self.random.sample(people, 2))
        now = self._tick()
        facts = [f for f in self.graph.facts.values() if gone.uuid in (f.source_uuid, f.target_uuid)]
        names = tuple(name for name, uuid in self.graph.names.items() if uuid == gone.uuid)
        hanging = Hanging(tuple(facts), names, ())
        view = self._view(slots_of(facts) | slots_of(moved(each, gone.uuid, kept) for each in facts))
        before = {fact.uuid: fact for fact in (*view.facts, *facts)}
        after = merged_facts(kept, hanging, gone.uuid, view, now)
        self.merges.append((kept, gone, record_of(kept, gone, hanging, before, after, {}, {})))
        self.graph.names |= dict.fromkeys(names, kept.uuid)
        self._write(after.values())

    def split(self) -> None:
        """Two people were taken for one: what some episodes tell, or some facts, is about another."""
        whole = self.graph.entities[self.random.choice(sorted(self.graph.entities))]
        facts = self._about(whole.uuid)
        episodes = sorted({episode for fact in facts for episode in fact.episodes})
        if len(episodes) < 2 or len(self.merges) > 2:
            self.unmerge()
            return
        now = self._tick()
        going = Going(frozenset(self.random.sample(episodes, self.random.randint(1, len(episodes) - 1))))
        if self.random.random() < 0.3:
            going = Going(facts=frozenset([self.random.choice(facts).uuid]))
        other = replace(whole, uuid=f"split-{now}", created_ms=now)
        parts = divided(Hanging(tuple(facts), (), ()), whole.uuid, other, going)
        view = self._view(slots_of(facts) | slots_of(parts.after.values()))
        before = {fact.uuid: fact for fact in view.facts}
        after = split_facts("g", parts, view, now)
        self.merges.append((whole, other, record_of_split(whole, other, parts, before, after, {}, {})))
        self.graph.reserved += reserved(parts, after, now)
        self._write(after.values())

    def unmerge(self) -> None:
        """The last merge or split is undone."""
        if not self.merges:
            self.tell()
            return
        kept, gone, record = self.merges.pop()
        now = self._tick()
        split = "split" in record
        uuids = record["ends"].keys() | record["changed"].keys() | record["made"].keys()
        facts = [self.graph.facts[uuid] for uuid in uuids if uuid in self.graph.facts]
        if split:
            facts = list({fact.uuid: fact for fact in (*facts, *self._about(gone.uuid))}.values())
            back, removed = back_together(record, gone, kept, facts, now)
        else:
            back, removed = unmerged_facts(record, kept, gone, facts, now)
            self.graph.names |= dict.fromkeys(record["names"], gone.uuid)
        view = self._view(slots_of(facts) | slots_of(back.values()))
        self._write(folded_apart("g", view, back, removed, now).values())
        self._remove(fact.uuid for fact in removed)
        assert not split or not self._about(gone.uuid)

    def _about(self, uuid: str) -> list[Fact]:
        facts = self.graph.facts.values()
        return [fact for fact in facts if uuid in (fact.source_uuid, fact.target_uuid)]

    def read(self) -> Read:
        """What is valid now, and what was at some other time."""
        now, past_ms = self.graph.now, self.graph.now - self.random.randint(0, 60)
        return Read(now, past_ms, self.found(now, Filters()), self.found(now, Filters(true_at_ms=past_ms)))

    def found(self, now: int, filters: Filters) -> Told:
        """What a search of facts finds, as it tells it."""
        self._index()
        kept = self.columns.fulfilling(len(self.rows), filters, now)
        told = (
            as_known_at(f, filters.known_at_ms) for u, f in self.graph.facts.items() if kept[self.rows[u]]
        )
        return frozenset((f.uuid, f.fact, f.start_ms, f.valid_ms, f.invalid_ms) for f in told)

    def _item(self) -> BatchItem:
        random, now = self.random, self.graph.now
        person, place, name = random.choice(PEOPLE), random.choice(PLACES), random.choice(sorted(KINDS))
        polarity = random.choice([Polarity.ASSERTS] * 3 + [Polarity.ENDS] * 2 + [Polarity.DENIES])
        reference = now - random.choice([0, 0, 1, 20, 40])
        valid = random.choice([None, reference - random.randint(0, 30), reference + random.randint(1, 30)])
        invalid = None
        if polarity is Polarity.ASSERTS and random.random() < 0.2:
            invalid = (reference - 30 if valid is None else valid) + random.randint(1, 60)
        said = f"{person} {name} {place}{random.choice(['', ' gladly'])}"
        edge = ExtractedEdge(
            name, said, "a", "b", valid_ms=valid, invalid_ms=invalid, kind=KINDS[name], polarity=polarity
        )
        nodes = (ExtractedNode("a", person, "Person"), ExtractedNode("b", place, "Organization"))
        episode = Episode(self._episode(), "g", said, Source.TEXT, reference, 0)
        return BatchItem(episode, Extraction(nodes, (edge,)), accepted_ms=now)

    def _episode(self) -> str:
        self.episodes.append(f"e{self.graph.now}")
        return self.episodes[-1]

    def _tick(self) -> int:
        self.graph.now += 1
        return self.graph.now

    def _view(self, slots: set[str]) -> SlotView:
        facts = tuple(fact for fact in self.graph.facts.values() if fact.slot in slots)
        return SlotView(facts, tuple(each for each in self.graph.reserved if each.slot in slots))

    def _write(self, facts: Iterable[Fact]) -> None:
        self.graph.facts |= {fact.uuid: fact for fact in facts}

    def _remove(self, uuids: Iterable[str]) -> None:
        for uuid in uuids:
            del self.graph.facts[uuid]
            self.gone.add(uuid)

    def _index(self) -> None:
        for uuid, fact in self.graph.facts.items():
            if self.indexed.get(uuid) is not fact:
                row = self.rows.setdefault(uuid, len(self.rows))
                self.columns.reserve(len(self.rows))
                self.columns.put([row], [fact])
                self.indexed[uuid] = fact
        for uuid in self.indexed.keys() - self.graph.facts.keys():
            self.columns.clear(self.rows[uuid])
            del self.indexed[uuid]


@pytest.mark.parametrize("commits", [120, pytest.param(1_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("seed", range(3))
def test_what_a_read_answered_is_what_is_known_as_of_its_time(seed: int, commits: int) -> None:
    world = World(Random(seed))
    changes = [world.tell] * 14 + [world.contradict, world.correct, world.forget, world.forget, world.merge]
    changes += [world.split, world.split]
    reads: list[Read] = []
    for _ in range(commits):
        world.random.choice(changes)()
        reads.append(world.read())
    assert any(fact.beliefs for fact in world.graph.facts.values())
    assert all(len(fact.beliefs) < MOST for fact in world.graph.facts.values()), "none was dropped"

    def same(told: Told, then: Told) -> None:
        """A uuid that was deleted may have been given to a later fact: the harness keeps no tombstones."""
        assert {e for e in told if e[0] not in world.gone} == {e for e in then if e[0] not in world.gone}

    for read in reads:
        later = Filters(known_at_ms=read.at_ms)
        same(world.found(0, later), read.present)
        same(world.found(0, replace(later, true_at_ms=read.at_ms)), read.present)
        same(world.found(0, replace(later, true_at_ms=read.past_ms)), read.past)


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_split_that_is_undone_at_once_leaves_no_trace(seed: int) -> None:
    world = World(Random(seed))
    splits = 0
    for _ in range(120):
        world.random.choice([world.tell] * 6 + [world.contradict, world.correct, world.forget, world.merge])()
        before, undone = _content(world), len(world.merges)
        world.split()
        if len(world.merges) > undone:
            splits += 1
            world.unmerge()
            after = _content(world)
            assert after.keys() == before.keys()
            other = {uuid for uuid, fact in after.items() if fact != before[uuid]}
            assert not other or other <= _due(before.values(), world.graph.now)
    assert splits > 20


def _content(world: World) -> dict[str, Fact]:
    """The facts, but for when they were written and for what was believed meanwhile."""
    facts = world.graph.facts.items()
    return {uuid: replace(rekeyed(fact), updated_ms=None, beliefs=()) for uuid, fact in facts}


def _due(facts: Iterable[Fact], now: int) -> set[str]:
    """Those that expire with any change of their slot, since the end that they told has passed."""
    facts = tuple(facts)
    return set(refolded("g", facts, SlotView(facts), now))
