"""What is deterministic does not depend on arrival order or on batches (docs/design/time.md)."""

from collections.abc import Callable, Sequence
from dataclasses import astuple, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgsvc.domain.facts.plan import plan, statements_of
from kgsvc.domain.facts.slots import MERGED
from kgsvc.domain.facts.statements import Ending, SlotStatement
from kgsvc.domain.model.delta import FactTombstone, GraphDelta, GroupHead, NameView, SlotView
from kgsvc.domain.model.extraction import ExtractedEdge, ExtractedNode, Extraction
from kgsvc.domain.model.graph import Closure, Entity, Episode, Fact, FactKind, Polarity, Source
from kgsvc.domain.names.entities import candidate_uuids, keys_of, resolve
from kgsvc.domain.names.meanings import BatchItem
from kgsvc.domain.resolution.decisions import Decisions
from kgsvc.domain.resolution.settling import settle, slots_of

PEOPLE = ("Alice", "Bob")
PLACES = ("Acme", "Globex", "Initech")
KINDS = {
    "DISLIKES": FactKind.STATE,
    "LIKES": FactKind.STATE,
    "MEMBER_OF": FactKind.STATE,
    "VISITED": FactKind.EVENT,
    "WORKS_AT": FactKind.FUNCTIONAL,
}


class Graph:
    """The smallest thing that applies deltas: rows by uuid."""

    def __init__(self) -> None:
        self.entities: dict[str, Entity] = {}
        self.reserved: list[FactTombstone] = []
        self.names: dict[str, str] = {}
        self.facts: dict[str, Fact] = {}
        self.statements: list[SlotStatement] = []
        self.now = 1_000

    def ingest(self, items: Sequence[BatchItem], endings: Sequence[tuple[str, Ending]] = ()) -> None:
        """`endings` are contradictions from outside, each with the slot of what it ends."""
        self.now += 1
        keys = keys_of(items)
        view = NameView(
            GroupHead("g"),
            {key: self.entities[self.names[key]] for key in keys if key in self.names},
            {u: self.entities[u] for u in candidate_uuids("g", keys) if u in self.entities},
        )
        resolved = resolve(view, "g", items, self.now)
        statements = statements_of(resolved, items)
        self.statements.extend(statements)
        ended = {slot: [one for where, one in endings if where == slot] for slot, _ in endings}
        wanted = slots_of(items, statements, Decisions(), resolved) | ended.keys()
        facts = tuple(f for f in self.facts.values() if f.slot in wanted)
        slots = SlotView(facts, tuple(each for each in self.reserved if each.slot in wanted))
        done = settle(items, statements, Decisions(), resolved, slots, self.now)
        found = done.contradictions
        self.apply(plan("g", items, resolved, done.statements, done.view, self.now, ended, found))

    def apply(self, delta: GraphDelta) -> None:
        self.entities |= {entity.uuid: entity for entity in delta.entities}
        self.names |= delta.names
        self.facts |= {fact.uuid: fact for fact in delta.facts}

    def comparable(self, *, traces: bool = True) -> list[tuple[object, ...]]:
        """What is the same in graphs that were told the same. `traces`: also rows that are no more since a
        start was found to move: only graphs that had believed in another start have those."""
        shown = [f for f in self.facts.values() if traces or f.expired_reason != MERGED]
        assert len({f.fact_key for f in shown}) == len(shown), "fact_key must be unique"
        return sorted(
            (
                f.name,
                f.fact,
                f.source_name,
                f.target_name,
                f.polarity.value,
                f.start_ms,
                f.valid_ms or -1,
                f.invalid_ms if f.invalid_ms is not None else 10**18,
                f.expired_ms is None,
                f.expired_reason or "",
                f.expired_by_episode or "",
                f.episodes,
                tuple(sorted({self._closure(each) for each in f.closures}, key=repr)),
            )
            for f in shown
        )

    def _closure(self, closure: Closure) -> tuple[object, ...]:
        """By the episode that tells it: which row tells of an end may change with what comes later."""
        return astuple(replace(closure, by_fact="" if closure.by_fact in self.facts else closure.by_fact))

    def nodes(self) -> list[tuple[object, ...]]:
        return sorted(
            (e.name, e.summary, sorted(e.attributes.items()), e.labels) for e in self.entities.values()
        )


@st.composite
def batch_items(
    draw: st.DrawFn, relations: Sequence[str] = tuple(KINDS), people: Sequence[str] = PEOPLE
) -> list[BatchItem]:
    count = draw(st.integers(2, 9))
    return [_item(draw, index, relations, people) for index in range(count)]


def _item(draw: st.DrawFn, index: int, relations: Sequence[str], people: Sequence[str]) -> BatchItem:
    person = draw(st.sampled_from(people))
    place = draw(st.sampled_from(PLACES))
    relation = draw(st.sampled_from(relations))
    polarity = draw(st.sampled_from([Polarity.ASSERTS, Polarity.ASSERTS, Polarity.ENDS, Polarity.DENIES]))
    variant = draw(st.sampled_from(["", " gladly"]))
    valid = draw(st.none() | st.integers(-3, 12))
    invalid = draw(st.none() | st.integers(valid or 0, 15)) if polarity is Polarity.ASSERTS else None
    reference = draw(st.integers(0, 10))
    edge = ExtractedEdge(
        relation,
        f"{person} {polarity.value} {relation} {place}{variant}",
        "a",
        "b",
        valid_ms=valid,
        invalid_ms=invalid,
        kind=KINDS[relation],
        polarity=polarity,
    )
    summary = draw(st.sampled_from(["", "one", "two"]))
    nodes = (
        ExtractedNode("a", person, "Person", summary, {"k": draw(st.integers(0, 3))}),
        ExtractedNode("b", place, draw(st.sampled_from(["Entity", "Organization"]))),
    )
    episode = Episode(f"e{index}", "g", f"body {index}", Source.TEXT, reference, 0)
    return BatchItem(episode, Extraction(nodes, (edge,)), accepted_ms=index)


Law = Callable[[list[BatchItem], st.DataObject], None]


def any_order_and_any_batches_give_the_same_graph(items: list[BatchItem], data: st.DataObject) -> None:
    whole = Graph()
    whole.ingest(items)
    shuffled = data.draw(st.permutations(items))
    cut = data.draw(st.integers(0, len(items)))
    parts = Graph()
    for batch in (shuffled[:cut], *([item] for item in shuffled[cut:])):
        if batch:
            parts.ingest(batch)
    assert parts.comparable() == whole.comparable()
    assert parts.nodes() == whole.nodes()


def contradictions_from_outside_outlast_whatever_arrives_later(
    items: list[BatchItem], data: st.DataObject
) -> None:
    """The same statements and judgements give the same graph, whenever the judgements were made."""
    cut = data.draw(st.integers(1, len(items)))
    first, rest = items[:cut], data.draw(st.permutations(items[cut:]))
    early = Graph()
    early.ingest(first)
    endings = [_ending(data, said) for said in data.draw(st.lists(st.sampled_from(early.statements)))]
    early.ingest([], endings)
    for item in rest:
        early.ingest([item])
    late = Graph()
    late.ingest(items)
    late.ingest([], endings)
    assert early.comparable(traces=False) == late.comparable(traces=False)


def _ending(data: st.DataObject, said: SlotStatement) -> tuple[str, Ending]:
    """Of a statement that is known, no earlier than its start."""
    evidence = said.statement.evidence
    at = data.draw(st.integers(evidence.start_ms + 1, evidence.start_ms + 9))
    reference = data.draw(st.integers(evidence.reference_ms, evidence.reference_ms + 3))
    by = data.draw(st.sampled_from(["f1", "f2"]))
    closure = Closure(at, reference, by, f"by-{by}", moves=data.draw(st.booleans()))
    return said.slot, Ending(said.statement.wording.key, closure)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(items=batch_items())
def test_replaying_a_batch_changes_nothing(items: list[BatchItem]) -> None:
    graph = Graph()
    graph.ingest(items)
    before = dict(graph.facts)
    graph.ingest(items)
    assert graph.facts == before


@pytest.mark.parametrize("examples", [100, pytest.param(1_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize(
    "law",
    [
        any_order_and_any_batches_give_the_same_graph,
        contradictions_from_outside_outlast_whatever_arrives_later,
    ],
)
def test_the_graph_depends_on_what_was_said_alone(law: Law, examples: int) -> None:
    excluding = (("MEMBER_OF", "WORKS_AT"), ("LIKES", "DISLIKES"))
    for items in (batch_items(), *(batch_items(pair, PEOPLE[:1]) for pair in excluding)):
        drawn = given(items=items, data=st.data())(law)
        settings(max_examples=examples, deadline=None, derandomize=True)(drawn)()


def _likes(index: int, valid: int | None, invalid: int | None, reference: int) -> BatchItem:
    edge = ExtractedEdge("LIKES", "Alice likes Acme", "a", "b", valid_ms=valid, invalid_ms=invalid)
    nodes = (ExtractedNode("a", "Alice", "Person"), ExtractedNode("b", "Acme"))
    episode = Episode(f"e{index}", "g", f"body {index}", Source.TEXT, reference, 0)
    return BatchItem(episode, Extraction(nodes, (edge,)), accepted_ms=index)


@pytest.mark.parametrize(
    ("items", "closures"),
    [
        pytest.param(
            [_likes(0, None, None, 1), _likes(1, None, None, 0), _likes(2, 10, 10, 1)],
            [Closure(10, 1, "f1", "by-f1")],
            id="an end that was stated is no bound that was announced",
        ),
        pytest.param(
            [_likes(0, 2, None, 1), _likes(1, None, None, 0)],
            [Closure(3, 1, "f1", "by-f1"), Closure(3, 1, "f1", "by-f1", moves=True)],
            id="a contradiction before all that it could end waits for what does",
        ),
    ],
)
def test_a_contradiction_counts_whenever_it_is_found(items: list[BatchItem], closures: list[Closure]) -> None:
    early = Graph()
    early.ingest(items[:1])
    (said,) = early.statements
    endings = [(said.slot, Ending(said.statement.wording.key, closure)) for closure in closures]
    early.ingest([], endings)
    for item in items[1:]:
        early.ingest([item])
    late = Graph()
    late.ingest(items)
    late.ingest([], endings)
    assert early.comparable() == late.comparable()
