"""Facts that are asked about may turn out to be of a fact type of the ontology."""

from dataclasses import replace

import pytest

from kgsvc.domain.model.extraction import (
    ANY,
    Attribute,
    ExtractedEdge,
    ExtractedNode,
    Extraction,
    FactType,
    Ontology,
    Signature,
    ValueKind,
)
from kgsvc.domain.model.graph import FactKind
from kgsvc.domain.resolution.comparing import fitting
from kgsvc.domain.resolution.decisions import KnownType, ResolutionRequest, Resolutions
from kgsvc.pipeline.commit import Committer
from kgsvc.pipeline.ontologies import Ontologies
from tests.support.samples import NOW
from tests.support.verdicts import judged
from tests.unit.pipeline.test_resolving import CLOCK, Bench, Failing, Model, new

WORKS_AT = FactType(
    "WORKS_AT",
    "Employment.",
    FactKind.FUNCTIONAL,
    (Signature("Person", "Organization"),),
    (Attribute("role", ValueKind.STR),),
)
OWNS = FactType("OWNS", "Possession.", signatures=(Signature("Person", "Organization"),))
LIVES_IN = FactType("LIVES_IN", "A home.", FactKind.FUNCTIONAL, (Signature("Person", "Location"),))
ONTOLOGY = Ontology(fact_types=(WORKS_AT, OWNS, LIVES_IN))


class Typed(Bench):
    """A bench with fact types."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.use(model)

    def use(self, model: Model) -> None:
        ontologies = Ontologies(self.store, lambda text: None, ONTOLOGY)
        self.committer = Committer(self.store, None, CLOCK, model, ontologies=ontologies)


def says(relation: str, company: str, text: str, **more: object) -> Extraction:
    nodes = (ExtractedNode("Ada", "Ada", "Person"), ExtractedNode(company, company, "Organization"))
    edge = ExtractedEdge(relation, text, "Ada", company)
    return Extraction(nodes, (replace(edge, **more),))  # type: ignore[arg-type]


def employed(request: ResolutionRequest) -> Resolutions:
    return new(
        request, **{q.relation: judged(fact_type="WORKS_AT", replaced=q.compare_with) for q in request.facts}
    )


async def test_a_fact_takes_name_and_kind_of_the_type_and_its_slot_decides() -> None:
    model = Model()
    bench = Typed(model)
    await bench.commit(says("WORKS_AT", "Acme", "Ada works at Acme", kind=FactKind.FUNCTIONAL))
    await bench.commit(says("OWES", "Initech", "Ada owes Initech"))
    model.answer = employed
    await bench.commit(
        says("JOB_AT", "Initech", "Ada has a job at Initech", attributes={"role": "boss", "odd": 1}), at=5
    )
    question = model.requests[-1].facts[-1]
    assert question.fact_types == ("WORKS_AT", "OWNS")
    assert model.requests[-1].fact_types == (
        KnownType("WORKS_AT", "Employment."),
        KnownType("OWNS", "Possession."),
    )
    fact = await bench.fact("Ada has a job at Initech")
    assert (fact.name, fact.kind, dict(fact.attributes)) == (
        "WORKS_AT",
        FactKind.FUNCTIONAL,
        {"role": "boss"},
    )
    closed = await bench.fact("Ada works at Acme")
    assert (closed.invalid_ms, closed.expired_by_fact) == (NOW + 5, fact.uuid)


async def test_a_duplicate_keeps_the_words_and_the_relation_of_what_it_repeats() -> None:
    def answer(request: ResolutionRequest) -> Resolutions:
        return Resolutions(facts={q.id: judged(fact_type="WORKS_AT", repeats=[0]) for q in request.facts})

    bench = Typed(Model(answer))
    await bench.commit(says("HEADS", "Acme", "Ada heads Acme"))
    await bench.commit(says("LEADS", "Acme", "Ada leads Acme"))
    assert await bench.facts() == [("HEADS", "Ada heads Acme", 0, None)]


async def test_no_type_leaves_the_relation_and_no_question_is_asked_for_a_type_alone() -> None:
    model = Model()
    bench = Typed(model)
    await bench.commit(says("HEADS", "Acme", "Ada heads Acme"))
    assert model.requests == []
    await bench.commit(says("LEADS", "Acme", "Ada leads Acme"))
    assert [name for name, *_ in await bench.facts()] == ["HEADS", "LEADS"]


async def test_what_repeats_or_contradicts_a_fact_of_the_batch_finds_it_by_its_type() -> None:
    def answer(request: ResolutionRequest) -> Resolutions:
        found = {
            "OLD_JOB": judged(fact_type="WORKS_AT"),
            "JOB": judged(repeats=[max(n for q in request.facts for n in q.compare_with)]),
        }
        return new(request, **found)

    bench = Typed(Model(answer))
    await bench.commit(says("HEADS", "Acme", "Ada heads Acme"))
    old, again = says("OLD_JOB", "Acme", "Ada serves Acme"), says("JOB", "Acme", "Ada toils for Acme")
    await bench.commit(old, again)
    assert [(name, text) for name, text, *_ in await bench.facts()] == [
        ("HEADS", "Ada heads Acme"),
        ("WORKS_AT", "Ada serves Acme"),
    ]
    assert (await bench.fact("Ada serves Acme")).episodes == ("e1", "e2")


async def test_the_type_is_kept_with_the_item_and_not_asked_for_again() -> None:
    model = Model(employed)
    bench = Typed(model)
    await bench.commit(says("HEADS", "Acme", "Ada heads Acme"))
    store, bench.store = bench.store, Failing()
    bench.store.__dict__.update(store.__dict__)
    bench.use(model)
    await bench.commit_at_second_try(says("JOB_AT", "Acme", "Ada has a job at Acme"))
    assert len(model.requests) == 1
    assert (await bench.fact("Ada has a job at Acme")).name == "WORKS_AT"


@pytest.mark.parametrize(
    ("relation", "sources", "targets", "found"),
    [
        ("X", {"Person"}, {"Organization"}, ["WORKS_AT", "OWNS"]),
        ("X", {"Person"}, {"Location", "Organization"}, ["WORKS_AT", "OWNS", "LIVES_IN"]),
        ("X", {"Organization"}, {"Person"}, []),
        ("X", set(), {"Location"}, ["LIVES_IN"]),  # of what is not known any may be true
        ("LIVES_IN", {"Person"}, {"Location"}, []),  # it is that already, and nothing else fits
        ("OWNS", {"Person"}, {"Organization"}, ["WORKS_AT", "OWNS"]),
    ],
)
def test_types_that_may_connect_the_ends_are_offered(
    relation: str, sources: set[str], targets: set[str], found: list[str]
) -> None:
    assert [each.name for each in fitting(ONTOLOGY, relation, sources, targets)] == found


def test_without_fact_types_none_are_offered() -> None:
    assert fitting(Ontology(), "X", {"Person"}, {ANY}) == ()
