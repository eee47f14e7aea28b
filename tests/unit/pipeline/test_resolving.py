"""Resolution inside a commit: what is asked, what is kept, and how answers change the graph."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from kgsvc.domain.errors import ModelOutputInvalid, ModelUnavailable, RevisionChanged, StoreUnavailable
from kgsvc.domain.model.delta import GraphDelta, GroupHead, Guard
from kgsvc.domain.model.extraction import ExtractedEdge, ExtractedNode, Extraction
from kgsvc.domain.model.graph import FREE, Fact, FactKind, Polarity, Usage
from kgsvc.domain.model.items import Lease
from kgsvc.domain.resolution import full_names, questions
from kgsvc.domain.resolution.asking import Inquiry
from kgsvc.domain.resolution.decisions import (
    BatchFact,
    CandidateQuery,
    FactDecision,
    FactResolution,
    NameCandidates,
    NameDecision,
    NodeResolution,
    ResolutionRequest,
    Resolutions,
    StoredFact,
)
from kgsvc.models.protocol import Resolved
from kgsvc.pipeline import resolving
from kgsvc.pipeline.commit import Committer
from kgsvc.pipeline.preparing import PreparedItem, Stage, decode, encode
from tests.support.clock import SetClock
from tests.support.model_store import ModelStore
from tests.support.samples import HUGE, MANY, NOW, accepted, entity, episode, leased, write
from tests.support.verdicts import judged, replaced

GROUP = "g"
COST = Usage(1, 100, 10)  # of a call
CLOCK = SetClock(NOW + 1_000)  # behind all that is told
Answer = Callable[[ResolutionRequest], Resolutions]
T = TypeVar("T")


class Model:
    """A resolver that answers by a function; nothing is known to it by default."""

    name = "scripted"

    def __init__(self, answer: Answer | None = None) -> None:
        self.answer = answer or new
        self.requests: list[ResolutionRequest] = []

    async def resolve(self, request: ResolutionRequest) -> Resolved:
        self.requests.append(request)
        return Resolved(self.answer(request), COST)

    async def close(self) -> None:
        """Nothing."""


def new(request: ResolutionRequest, **facts: FactResolution) -> Resolutions:
    """Nothing is known, but for questions about facts by their relation."""
    return Resolutions(
        {q.id: NodeResolution() for q in request.nodes},
        {q.id: facts.get(q.relation, FactResolution()) for q in request.facts},
    )


def known(request: ResolutionRequest, name: str) -> int:
    return next(entity.idx for entity in request.entities if entity.name == name)


class Bench:
    """A store, a committer, and items whose extractions are given."""

    def __init__(self, model: Model | None) -> None:
        self.store = ModelStore()
        self.committer = Committer(self.store, None, CLOCK, model)
        self._said = 0

    async def works(
        self, *extractions: Extraction, at: int | None = None
    ) -> tuple[Lease, list[PreparedItem]]:
        """Items that are leased and started, a millisecond apart from `at` on."""
        begin = self._said if at is None else at
        episodes = [episode(GROUP, f"e{self._said + n}", at=begin + n) for n in range(len(extractions))]
        self._said += len(extractions)
        await accepted(self.store, *episodes)
        lease = await leased(self.store, GROUP)
        items = await self.store.start_items(lease, NOW, MANY, HUGE, ())
        return lease, [PreparedItem(item, Stage(said)) for item, said in zip(items, extractions, strict=True)]

    async def commit(self, *extractions: Extraction, at: int | None = None) -> None:
        lease, works = await self.works(*extractions, at=at)
        await self.committer.commit(lease, works)
        await self.store.release(lease)

    async def commit_at_second_try(self, said: Extraction) -> None:
        """The first fails; what it left with the item is taken up."""
        lease, works = await self.works(said)
        with pytest.raises(StoreUnavailable):
            await self.committer.commit(lease, works)
        await self.store.release(lease)
        lease = await leased(self.store, GROUP)
        (item,) = await self.store.start_items(lease, NOW, MANY, HUGE, ())
        stage = decode(item.stage)
        assert stage is not None
        await self.committer.commit(lease, [PreparedItem(item, stage)])

    async def entities(self) -> dict[str, set[str]]:
        """Name keys by the entity's name."""
        dump = await self.store.dump(GROUP)
        names = {e.uuid: e.name for e in dump.entities}
        assert len(set(names.values())) == len(names)
        return {
            name: {key for key, owner in dump.names.items() if owner == uuid} for uuid, name in names.items()
        }

    async def facts(self) -> list[tuple[str, str, int, int | None]]:
        """Relation, text and interval relative to NOW, by start."""
        found = (await self.store.dump(GROUP)).facts
        rows = [(f.name, f.fact, f.start_ms - NOW, f.invalid_ms and f.invalid_ms - NOW) for f in found]
        return sorted(rows, key=lambda row: (row[2], row[0], row[1]))

    async def fact(self, text: str) -> Fact:
        (found,) = [f for f in (await self.store.dump(GROUP)).facts if f.fact == text]
        return found


def names(*given: str) -> Extraction:
    return Extraction(tuple(ExtractedNode(name, name) for name in given))


def says(relation: str, text: str, source: str = "Ada", target: str = "Acme", **more: object) -> Extraction:
    edge = ExtractedEdge(relation, text, source, target)
    return Extraction(names(source, target).nodes, (replace(edge, **more),))  # type: ignore[arg-type]


async def test_names_that_share_nothing_are_not_asked_about() -> None:
    model = Model()
    bench = Bench(model)
    await bench.commit(names("Ada Lovelace", "Acme"), names("Globex"))
    await bench.commit(names("ada  LOVELACE", "Initech"))
    assert model.requests == []
    assert len(await bench.entities()) == 4


async def test_spellings_are_one_without_a_question() -> None:
    model = Model()
    bench = Bench(model)
    await bench.commit(names("TechCorp"), names("Tech Corp"))
    await bench.commit(names("Tech-Corp", "TechCorp 2"))
    asked = [question.name for request in model.requests for question in request.nodes]
    assert asked == ["TechCorp 2"]
    assert await bench.entities() == {
        "TechCorp": {"techcorp", "tech corp", "tech-corp"},
        "TechCorp 2": {"techcorp 2"},
    }


async def test_offline_only_rules_decide() -> None:
    bench = Bench(None)
    await bench.commit(names("Robert Smith", "TechCorp"))
    await bench.commit(names("Bob", "tech corp"))
    assert (await bench.entities()).keys() == {"Robert Smith", "TechCorp", "Bob"}


async def test_a_nickname_is_asked_about_and_becomes_an_alias() -> None:
    model = Model(lambda r: Resolutions({0: NodeResolution(known(r, "Robert Smith"))}))
    bench = Bench(model)
    await bench.commit(names("Robert Smith"))
    await bench.commit(names("Bob"))
    assert await bench.entities() == {"Robert Smith": {"robert smith", "bob"}}
    await bench.commit(names("Bob"))
    assert len(model.requests) == 1


def account(name: str, of_type: str = "Object", **attributes: Any) -> Extraction:
    return Extraction((ExtractedNode("a", name, of_type, attributes=attributes),))


IDENTITIES = [
    (account("Rainy day savings", account_number="4711-0815"), account("Account 4711 0815")),
    (account("Account 4711-0815"), account("Rainy day savings", number=47110815)),
    (account("Rainy day savings", iban="DE89 3704"), account("That money", iban="de893704")),
]


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize(("one", "other"), IDENTITIES)
async def test_what_shares_an_identity_is_asked_about(
    one: Extraction, other: Extraction, together: bool
) -> None:
    def same(request: ResolutionRequest) -> Resolutions:
        """What bears the last name is what else is shown."""
        asked = request.nodes[-1]
        entity, peer = next(iter(asked.candidates), None), next(iter(asked.peers), None)
        others = {each.id: NodeResolution() for each in request.nodes}
        return Resolutions(others | {asked.id: NodeResolution(entity, peer)})

    bench = Bench(Model(same))
    for said in [[one, other]] if together else [[one], [other]]:
        await bench.commit(*said)
    (entity,) = (await bench.store.dump(GROUP)).entities
    assert entity.attributes == {**one.nodes[0].attributes, **other.nodes[0].attributes}
    assert len((await bench.entities())[entity.name]) == 2


async def test_a_model_is_told_the_identity_and_says_that_they_are_two() -> None:
    bench = Bench(model := Model())
    await bench.commit(account("Rainy day savings", email="ann@example.org", age=3))
    await bench.commit(account("The other one", mail="Ann@example.org"))
    (request,) = model.requests
    assert [each.summary for each in request.entities] == ["(email: ann@example.org)"]
    assert [each.context for each in request.nodes] == ["(mail: Ann@example.org)"]
    assert len(await bench.entities()) == 2


async def test_an_identity_alone_decides_nothing() -> None:
    bench = Bench(None)
    await bench.commit(account("Rainy day savings", number="4711-0815"))
    await bench.commit(account("Account 4711-0815", number="4711-0815"))
    assert len(await bench.entities()) == 2


async def test_what_excludes_one_another_is_not_compared_by_identity() -> None:
    bench = Bench(model := Model())
    await bench.commit(account("Ann Lee", "Person", email="ann@example.org"))
    await bench.commit(account("Lee & Sons", "Company", email="ann@example.org"))
    assert [each.candidates for request in model.requests for each in request.nodes] in ([], [(0,)])
    await bench.commit(account("Main Square", "Place", email="ann@example.org"))
    assert "Main Square" not in [each.name for request in model.requests for each in request.nodes]


async def test_no_model_makes_one_of_what_differs_in_figures() -> None:
    bench = Bench(Model(lambda r: Resolutions({q.id: NodeResolution(0) for q in r.nodes})))
    await bench.commit(names("Phase 2"))
    await bench.commit(names("Phase 3"))
    await bench.commit(names("The second Phase"))
    assert await bench.entities() == {"Phase 2": {"phase 2", "the second phase"}, "Phase 3": {"phase 3"}}


async def test_a_name_that_a_caller_gave_stays() -> None:
    bench = Bench(Model(lambda r: Resolutions({0: NodeResolution(0, full_name="Robert Smith")})))
    named = entity(GROUP, "n1", "Bob", stamps={"name": ""})
    await write(bench.store, GROUP, entities=(named,))
    await bench.commit(names("Robert Smith"))
    assert await bench.entities() == {"Bob": {"bob", "robert smith"}}


async def test_the_fullest_name_is_taken_and_never_a_shorter_or_a_foreign_one() -> None:
    full = {"Robert Smith": "Robert James Smith", "Bob": "Bob", "Bobby": "Zaphod Beeblebrox the First"}

    def answer(request: ResolutionRequest) -> Resolutions:
        asked = request.nodes[0]
        return Resolutions({0: NodeResolution(0, full_name=full[asked.name])})

    bench = Bench(Model(answer))
    await bench.commit(names("Bob Smith"))
    for name in full:
        await bench.commit(names(name))
    keys = {"bob smith", "robert smith", "robert james smith", "bob", "bobby"}
    assert await bench.entities() == {"Robert James Smith": keys}


async def test_two_new_names_of_a_batch_may_be_one() -> None:
    model = Model(
        lambda r: Resolutions(
            {
                q.id: NodeResolution(node=q.peers[0] if q.peers else None, full_name="Robert Smith")
                for q in r.nodes
            }
        )
    )
    bench = Bench(model)
    await bench.commit(names("Bob"), names("Robert Smith"), names("Acme"))
    assert await bench.entities() == {"Robert Smith": {"bob", "robert smith"}, "Acme": {"acme"}}
    assert len(model.requests) == 1


@pytest.mark.parametrize("together", [True, False])
async def test_a_person_known_by_one_name_is_shown_by_the_full_one(together: bool) -> None:
    """Though the model gives none beside the name that it was asked about."""

    def answer(request: ResolutionRequest) -> Resolutions:
        return Resolutions(
            {
                q.id: NodeResolution((q.candidates or (None,))[0], (q.peers or (None,))[0])
                for q in request.nodes
            }
        )

    bench = Bench(Model(answer))
    short, full = (Extraction((ExtractedNode(name, name, "Person"),)) for name in ("Ana", "Ana Tamati"))
    for batch in ((short, full),) if together else ((short,), (full,)):
        await bench.commit(*batch)
    assert await bench.entities() == {"Ana Tamati": {"ana", "ana tamati"}}


async def test_one_call_for_nodes_and_facts_of_a_batch() -> None:
    model = Model()
    bench = Bench(model)
    await bench.commit(names("Robert Smith"), says("LEADS", "Ada leads Acme"))
    await bench.commit(names("Bob"), says("HEADS", "Ada is the head of Acme"), says("RUNS", "Ada runs Acme"))
    (request,) = model.requests
    assert [q.name for q in request.nodes] == ["Bob"]
    assert [q.relation for q in request.facts] == ["HEADS", "RUNS"]
    assert [len(q.compare_with) for q in request.facts] == [1, 2]  # what the same batch told counts


async def test_a_duplicate_takes_the_words_of_what_it_repeats_and_beats_a_contradiction() -> None:
    def answer(request: ResolutionRequest) -> Resolutions:
        (question,) = request.facts
        assert question.compare_with == (0,)
        return Resolutions(facts={0: judged(repeats=[0])})

    bench = Bench(Model(answer))
    await bench.commit(says("LEADS", "Ada leads Acme"))
    await bench.commit(says("HEADS", "Ada is the head of Acme"))
    assert await bench.facts() == [("LEADS", "Ada leads Acme", 0, None)]
    assert (await bench.fact("Ada leads Acme")).episodes == ("e0", "e1")


async def test_duplicates_within_a_batch_are_led_back_to_the_first() -> None:
    model = Model(lambda r: Resolutions(facts={q.id: judged(repeats=[max(q.compare_with)]) for q in r.facts}))
    bench = Bench(model)
    await bench.commit(
        says("LEADS", "Ada leads Acme"), says("HEADS", "Ada heads Acme"), says("RUNS", "Ada runs Acme")
    )
    assert await bench.facts() == [("LEADS", "Ada leads Acme", 0, None)]


async def test_words_that_a_batch_tells_twice_are_decided_once() -> None:
    """The second telling goes where the first is led to."""
    bench = Bench(Model(lambda r: Resolutions(facts={q.id: judged(repeats=[0]) for q in r.facts})))
    await bench.commit(says("RUNS", "Acme belongs to Ada"))
    await bench.commit(says("RUNS", "Acme is run by Ada"), says("RUNS", "Acme is run by Ada"))
    assert await bench.facts() == [("RUNS", "Acme belongs to Ada", 0, None)]
    assert (await bench.fact("Acme belongs to Ada")).episodes == ("e0", "e1", "e2")


async def test_the_same_words_under_another_relation_need_no_question() -> None:
    model = Model()
    bench = Bench(model)
    await bench.commit(says("LEADS", "Ada leads Acme"))
    await bench.commit(says("HEADS", "ada leads  ACME"))
    assert model.requests == []
    assert await bench.facts() == [("LEADS", "Ada leads Acme", 0, None)]


def contradicting(request: ResolutionRequest) -> Resolutions:
    return Resolutions(
        {q.id: NodeResolution() for q in request.nodes},
        {q.id: judged(replaced=q.compare_with) for q in request.facts},
    )


@pytest.mark.parametrize("order", [(1, 5, 9), (9, 5, 1), (5, 1, 9), (5, 9, 1)])
async def test_contradictions_close_the_earlier_in_any_order(order: Sequence[int]) -> None:
    """The last one stays current; what arrives late is stored closed."""
    bench = Bench(Model(contradicting))
    for at in order:
        await bench.commit(says("LIVES_IN", f"Ada lives in town {at}", target=f"Town {at}"), at=at)
    current = [row for row in await bench.facts() if row[3] is None]
    assert current == [("LIVES_IN", "Ada lives in town 9", 9, None)]
    first = await bench.fact("Ada lives in town 1")
    assert first.expired_reason == "superseded"
    assert first.closures
    assert first.expired_by_fact == first.closures[0].by_fact


async def test_of_a_batch_too() -> None:
    bench = Bench(Model(contradicting))
    told = [says("LIVES_IN", f"Ada lives in {town}", target=town) for town in ("Oslo", "Rome")]
    await bench.commit(*told)
    rows = [("LIVES_IN", "Ada lives in Oslo", 0, 1), ("LIVES_IN", "Ada lives in Rome", 1, None)]
    assert await bench.facts() == rows
    assert (await bench.fact("Ada lives in Oslo")).expired_by_episode == "e1"


async def test_of_a_property_in_a_batch_too() -> None:
    """A value of one thing, stated from its node to itself."""
    bench = Bench(Model(contradicting))
    days = [
        Extraction(
            (ExtractedNode("n", "Atlas", "Project"),),
            (ExtractedEdge("HAS_DEADLINE", f"Atlas is due in {month}", "n", "n", kind=FactKind.FUNCTIONAL),),
        )
        for month in ("May", "June")
    ]
    await bench.commit(*days)
    rows = [("HAS_DEADLINE", "Atlas is due in May", 0, 1), ("HAS_DEADLINE", "Atlas is due in June", 1, None)]
    assert await bench.facts() == rows


async def test_two_that_exclude_each_other_take_turns() -> None:
    """A fact said before and after another ends at it and begins anew."""
    bench = Bench(Model(contradicting))
    oslo = says("LIVES_IN", "Ada lives in Oslo", target="Oslo")
    await bench.commit(oslo, at=1)
    await bench.commit(oslo, at=9)
    await bench.commit(says("LIVES_IN", "Ada lives in Rome", target="Rome"), at=5)
    facts = await bench.facts()
    assert [(text, start, end) for _, text, start, end in facts] == [
        ("Ada lives in Oslo", 1, 5),
        ("Ada lives in Rome", 5, 9),
        ("Ada lives in Oslo", 9, None),
    ]
    dump = await bench.store.dump(GROUP)
    (last,) = [f.uuid for f in dump.facts if f.start_ms == NOW + 9]
    assert (await bench.fact("Ada lives in Rome")).expired_by_fact == last


def works_at(relation: str, company: str, kind: FactKind = FactKind.FUNCTIONAL) -> Extraction:
    """A fact about a company, in words that no other relation uses."""
    nodes = (ExtractedNode("Ada", "Ada", "Person"), ExtractedNode(company, company, "Organization"))
    edge = ExtractedEdge(relation, f"Ada {relation.lower()} {company}", "Ada", company, kind=kind)
    return Extraction(nodes, (edge,))


async def test_a_functional_fact_is_compared_with_those_about_things_of_its_kind() -> None:
    """Neither the relation nor a word is shared; a home is no employer."""
    model = Model()
    bench = Bench(model)
    await bench.commit(works_at("WORKS_AT", "Acme"))
    await bench.commit(works_at("KNOWS", "Globex", FactKind.STATE))
    await bench.commit(says("LIVES_IN", "Ada lives in Oslo", target="Oslo", kind=FactKind.FUNCTIONAL))
    model.requests.clear()
    model.answer = contradicting
    await bench.commit(works_at("EMPLOYED_BY", "Initech"), at=9)
    (request,) = model.requests
    assert [fact.relation for fact in request.known_facts] == ["KNOWS", "WORKS_AT"]
    closed = {name: end for name, _, _, end in await bench.facts()}
    assert closed == {"WORKS_AT": 9, "KNOWS": 9, "LIVES_IN": None, "EMPLOYED_BY": None}


async def test_what_only_states_or_happened_is_not_compared_for_its_kind_alone() -> None:
    model = Model()
    bench = Bench(model)
    await bench.commit(works_at("KNOWS", "Acme", FactKind.STATE))
    await bench.commit(works_at("TRUSTS", "Globex", FactKind.STATE))
    await bench.commit(works_at("VISITED", "Initech", FactKind.EVENT))
    await bench.commit(works_at("WORKS_AT", "Hooli"))
    await bench.commit(works_at("TOURED", "Umbrella", FactKind.EVENT))
    compared = [{known.relation for known in request.known_facts} for request in model.requests]
    assert compared == [{"KNOWS", "TRUSTS"}]


async def test_better_matches_are_offered_before_those_of_the_kind() -> None:
    model = Model()
    bench = Bench(model)
    for n in range(14):
        await bench.commit(works_at(f"WORKS{n}_AT", f"Company {n}"))
    await bench.commit(works_at("EMPLOYED_BY", "Acme", FactKind.STATE), at=-5)
    model.requests.clear()
    await bench.commit(works_at("EMPLOYED_BY", "Initech", FactKind.STATE))
    (request,) = model.requests
    (question,) = request.facts
    first = next(k for k in request.known_facts if k.idx == question.compare_with[0])
    assert (first.relation, len(question.compare_with)) == ("EMPLOYED_BY", 6)


async def test_what_ended_before_is_left_alone() -> None:
    bench = Bench(Model(contradicting))
    await bench.commit(says("LIVES_IN", "Ada lives in Oslo", target="Oslo", invalid_ms=NOW + 3), at=1)
    await bench.commit(says("LIVES_IN", "Ada lives in Rome", target="Rome"), at=5)
    assert (await bench.fact("Ada lives in Oslo")).expired_ms is None


async def test_what_a_caller_asserted_is_offered_and_not_ended() -> None:
    model = Model(contradicting)
    bench = Bench(model)
    await bench.commit(says("LIVES_IN", "Ada lives in Oslo", target="Oslo"))
    owned = replace(await bench.fact("Ada lives in Oslo"), asserted=True)
    head = (await bench.store.heads([GROUP]))[GROUP]
    await bench.store.apply(GraphDelta(GROUP, NOW, facts=(owned,)), Guard(head.rev, head.epoch))
    await bench.commit(says("LIVES_IN", "Ada lives in Rome", target="Rome"), at=5)
    assert [q.compare_with for request in model.requests for q in request.facts] == [(0,)]
    assert await bench.facts() == [
        ("LIVES_IN", "Ada lives in Oslo", 0, None),
        ("LIVES_IN", "Ada lives in Rome", 5, None),
    ]


async def test_a_denial_repeats_denials_only() -> None:
    """Whatever the model says: a denial never joins what it denies."""
    bench = Bench(Model(lambda r: Resolutions(facts={q.id: judged(repeats=[0]) for q in r.facts})))
    await bench.commit(says("LIKES", "Ada likes Acme"))
    await bench.commit(says("LIKES", "Ada dislikes Acme", polarity=Polarity.DENIES), at=5)
    assert await bench.facts() == [
        ("LIKES", "Ada likes Acme", 0, 5),
        ("NOT_LIKES", "Ada dislikes Acme", 5, None),
    ]


async def test_an_end_may_go_by_another_relation_than_what_it_ends() -> None:
    bench = Bench(Model(contradicting))
    await bench.commit(says("HEADS", "Ada heads Acme"))
    await bench.commit(says("LEADS", "Ada leads Acme no longer", polarity=Polarity.ENDS), at=5)
    assert await bench.facts() == [("HEADS", "Ada heads Acme", 0, 5)]
    assert (await bench.fact("Ada heads Acme")).episodes == ("e0", "e1")


async def test_an_episode_ends_a_bounded_number_of_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgsvc.domain.facts.plan.MOST_ENDED", 2)
    bench = Bench(Model())
    for n in range(4):
        await bench.commit(says("LIVES_IN", f"Ada lives in town {n}", target=f"Town {n}"))
    bench.committer = Committer(bench.store, None, CLOCK, Model(contradicting))
    await bench.commit(says("LIVES_IN", "Ada lives in Rome", target="Rome"))
    expired = [f for f in (await bench.store.dump(GROUP)).facts if f.expired_ms is not None]
    assert len(expired) == 2


class Failing(ModelStore):
    """Refuses the first commit after the model was asked."""

    error: Exception | None = StoreUnavailable("the connection was lost")

    async def apply(self, delta: GraphDelta, guard: Guard) -> GroupHead:
        if self.error and delta.requires_items and guard.rev > 0:
            error, self.error = self.error, None
            raise error
        return await super().apply(delta, guard)


async def test_a_group_that_moved_on_is_no_reason_to_ask_again() -> None:
    model = Model(lambda r: new(r, HEADS=judged(repeats=[0])))
    bench = Bench(model)
    bench.store = store = Failing()
    store.error = RevisionChanged("somebody wrote")
    bench.committer = Committer(store, None, CLOCK, model)
    await bench.commit(says("LEADS", "Ada leads Acme"))
    await bench.commit(says("HEADS", "Ada is the head of Acme"))
    assert store.error is None
    assert len(model.requests) == 1
    assert await bench.facts() == [("LEADS", "Ada leads Acme", 0, None)]


async def test_what_a_model_decided_is_kept_and_not_asked_again() -> None:
    model = Model(lambda r: new(r, HEADS=judged(repeats=[0])))
    bench = Bench(model)
    await bench.commit(says("LEADS", "Ada leads Acme"))
    store, bench.store = bench.store, Failing()
    bench.store.__dict__.update(store.__dict__)
    bench.committer = Committer(bench.store, None, CLOCK, model)
    await bench.commit_at_second_try(says("HEADS", "Ada is the head of Acme"))
    assert len(model.requests) == 1
    assert await bench.facts() == [("LEADS", "Ada leads Acme", 0, None)]


async def test_decisions_about_what_is_gone_count_for_nothing() -> None:
    bench = Bench(Model())
    lease, (work,) = await bench.works(says("HEADS", "Ada heads Acme"))
    gone = StoredFact("no-such-fact", "no-such-slot")
    work.stage = replace(
        work.stage,
        names={"ada": NameDecision("Ada Lovelace", "no-such-entity"), "acme": NameDecision("Acme")},
        facts={0: FactDecision(gone, replaced(gone))},
    )
    await bench.committer.commit(lease, [work])
    assert await bench.entities() == {"Ada Lovelace": {"ada", "ada lovelace"}, "Acme": {"acme"}}
    assert await bench.facts() == [("HEADS", "Ada heads Acme", 0, None)]


async def spent(store: ModelStore) -> list[Usage]:
    page = await store.list_items(GROUP, (), 99, None)
    return [row.usage for row in page.rows]


async def test_what_a_call_cost_is_told_by_the_items_together() -> None:
    bench = Bench(Model())
    await bench.commit(names("Robert Smith"))
    await bench.commit(names("Bob"), names("Globex"), names("Bobby"))
    assert await spent(bench.store) == [FREE, Usage(1, 34, 4), Usage(0, 33, 3), Usage(0, 33, 3)]


async def test_a_call_of_which_nothing_came_was_paid_for_too() -> None:
    def answer(request: ResolutionRequest) -> Resolutions:
        error = ModelOutputInvalid("no sense")
        error.usage = Usage(2, 201, 10)
        raise error

    bench = Bench(Model(answer))
    await bench.commit(names("Robert Smith"))
    lease, works = await bench.works(names("Bob"), names("Globex"))
    with pytest.raises(ModelOutputInvalid) as caught:
        await bench.committer.commit(lease, works)
    assert caught.value.usage == FREE
    assert await spent(bench.store) == [FREE, Usage(1, 101, 5), Usage(1, 100, 5)]
    with pytest.raises(ModelOutputInvalid) as caught:
        await bench.committer.commit(lease, works[:1])
    assert caught.value.usage == Usage(2, 201, 10)  # told with the failure of the one


async def test_a_model_that_does_not_answer_leaves_the_graph_alone() -> None:
    def answer(request: ResolutionRequest) -> Resolutions:
        raise ModelUnavailable("no answer")

    bench = Bench(Model(answer))
    await bench.commit(names("Robert Smith"))
    with pytest.raises(ModelUnavailable):
        await bench.commit(names("Bob"))
    assert (await bench.entities()).keys() == {"Robert Smith"}


def test_a_stage_keeps_its_decisions() -> None:
    edge = ExtractedEdge("LEADS", "Ada leads Acme", "a", "b", kind=FactKind.EVENT, keywords=("k",))
    told = BatchFact(edge, "Ada", "Acme")
    stage = Stage(
        Extraction(),
        names={"bob": NameDecision("Robert", "n1", "Robert Smith")},
        facts={3: FactDecision(told, replaced(StoredFact("f", "s"), told))},
    )
    assert decode(encode(stage)) == stage


class NotTwice(ModelStore):
    """Answers questions for candidates but every second time."""

    asked = 0

    async def candidates(self, group_id: str, query: CandidateQuery) -> NameCandidates:
        self.asked += 1
        if self.asked % 2 == 0:
            raise StoreUnavailable("the connection was lost")
        return await super().candidates(group_id, query)


async def test_what_was_paid_for_is_kept_though_nobody_tells_whom_a_full_name_fits() -> None:
    model = Model(lambda r: Resolutions({0: NodeResolution(0, full_name="Robert James Smith")}))
    bench = Bench(model)
    await bench.commit(names("Robert Smith"))
    store, bench.store = bench.store, NotTwice()
    bench.store.__dict__.update(store.__dict__)
    bench.committer = Committer(bench.store, None, CLOCK, model)
    await bench.commit(names("Bob"))
    assert (len(model.requests), bench.store.asked) == (1, 2)
    assert await bench.entities() == {"Robert Smith": {"robert smith", "bob"}}


@pytest.mark.parametrize(("inline", "beside"), [(100, False), (2, True)])
async def test_large_batches_are_compared_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch, inline: int, beside: bool
) -> None:
    monkeypatch.setattr(resolving, "STATEMENTS", inline)
    threads: dict[str, int] = {}

    def watched(work: Callable[..., T]) -> Callable[..., T]:
        def run(*given: Any) -> T:
            threads[work.__name__] = threading.get_ident()
            return work(*given)

        return run

    monkeypatch.setattr(questions, "by_rule", watched(questions.by_rule))
    monkeypatch.setattr(Inquiry, "request", watched(Inquiry.request))
    monkeypatch.setattr(full_names, "keeping", watched(full_names.keeping))
    full = {q: NodeResolution(full_name=f"Bob Smith {q}") for q in range(4)}
    bench = Bench(Model(lambda r: Resolutions({q.id: full[q.id] for q in r.nodes})))
    await bench.commit(names("Bob", "Robert", "Bobby", "Rob"))
    assert threads.keys() == {"by_rule", "request", "keeping"}
    assert (threading.get_ident() not in threads.values()) is beside


RECORDS = [
    (account("Corvid GmbH", "Organization", id="K-881"), account("K-881", "Organization")),
    (account("K-881", "Organization"), account("Corvid GmbH", "Organization", id="K-881")),
]


@pytest.mark.parametrize("model", [True, False])
@pytest.mark.parametrize(("one", "other"), RECORDS)
async def test_a_record_that_carries_an_id_alone_is_what_has_the_id(
    one: Extraction, other: Extraction, model: bool
) -> None:
    bench = Bench(Model() if model else None)
    await bench.commit(one)
    await bench.commit(other)
    assert await bench.entities() == {"Corvid GmbH": {"corvid gmbh", "k-881"}}


async def test_the_number_of_another_thing_is_nobodys_id() -> None:
    bench = Bench(None)
    await bench.commit(account("Order 17", customer_id="K-881"))
    await bench.commit(account("K-881"))
    assert len(await bench.entities()) == 2
