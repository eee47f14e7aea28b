"""What a slot costs when the same thing is said again and again."""

from kgsvc.domain.facts.plan import plan, statements_of
from kgsvc.domain.facts.statements import KEPT
from kgsvc.domain.model.delta import GroupHead, NameView, SlotView
from kgsvc.domain.model.extraction import ExtractedEdge, ExtractedNode, Extraction
from kgsvc.domain.model.graph import Entity, Episode, Fact, FactKind, Source
from kgsvc.domain.names.entities import resolve
from kgsvc.domain.names.meanings import BatchItem

NODES = (ExtractedNode("a", "Alice"), ExtractedNode("b", "Acme"), ExtractedNode("g", "Globex"))


def said(at: int, target: str, invalid: int | None = None) -> BatchItem:
    fact = f"Alice works at {target}"
    edge = ExtractedEdge("WORKS_AT", fact, "a", target, invalid_ms=invalid, kind=FactKind.FUNCTIONAL)
    episode = Episode(f"{target}{at:05}", "g", "body", Source.TEXT, at, 0)
    return BatchItem(episode, Extraction(NODES, (edge,)), 1)


class Graph:
    """Facts and entities as commits left them."""

    def __init__(self) -> None:
        self.facts: dict[str, Fact] = {}
        self._entities: dict[str, Entity] = {}

    def commit(self, *items: BatchItem) -> int:
        """How many facts were written."""
        resolved = resolve(NameView(GroupHead("g"), self._entities), "g", items, 1)
        view = SlotView(tuple(self.facts.values()))
        delta = plan("g", items, resolved, statements_of(resolved, items), view, 1)
        self.facts |= {fact.uuid: fact for fact in delta.facts}
        self._entities |= resolved.by_key
        return len(delta.facts)

    def intervals(self) -> list[tuple[str, int, int | None]]:
        return sorted((f.fact, f.start_ms, f.invalid_ms) for f in self.facts.values())


def test_a_fact_stated_very_often_keeps_a_bounded_part_of_its_evidence() -> None:
    graph = Graph()
    for batch in _chunks([said(at, "b") for at in range(1_000)], 16):
        graph.commit(*batch)
    (fact,) = graph.facts.values()
    assert len(fact.evidence) == len(fact.episodes) == 2 * KEPT
    assert fact.start_ms == 0
    assert (fact.episodes[0], fact.episodes[-1]) == ("b00000", "b00999")


def test_what_is_kept_does_not_depend_on_the_order_or_the_batches() -> None:
    items = (
        [said(at, "b") for at in range(400)] + [said(400, "g")] + [said(at, "b") for at in range(401, 800)]
    )
    whole, pieces = Graph(), Graph()
    whole.commit(*items)
    for batch in _chunks([items[400], *items[::2], *items[1::2]], 7):
        pieces.commit(*batch)
    assert (
        whole.intervals()
        == pieces.intervals()
        == [("Alice works at b", 0, 400), ("Alice works at b", 401, None), ("Alice works at g", 400, 401)]
    )
    kept = [sorted(tuple(f.evidence) for f in graph.facts.values()) for graph in (whole, pieces)]
    assert kept[0] == kept[1]


def test_a_statement_that_was_left_out_changes_nothing_when_it_comes_again() -> None:
    graph = Graph()
    graph.commit(*(said(at, "b") for at in range(1_000)))
    assert graph.commit(said(500, "b")) == 0


def test_a_statement_of_an_end_is_never_left_out() -> None:
    graph = Graph()
    graph.commit(*(said(at, "b", invalid=5_000 if at == 500 else None) for at in range(1_000)))
    (fact,) = graph.facts.values()
    assert fact.invalid_ms == 5_000
    assert len(fact.evidence) == 2 * KEPT + 1


def _chunks(items: list[BatchItem], size: int) -> list[list[BatchItem]]:
    return [items[at : at + size] for at in range(0, len(items), size)]
