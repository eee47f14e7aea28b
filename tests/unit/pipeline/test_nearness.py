"""NameCandidates by embedding: names that share no word, and mean the same to an embedder."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from kgsvc.domain.model.delta import GroupHead
from kgsvc.domain.model.extraction import Extraction
from kgsvc.domain.model.graph import FREE, Usage
from kgsvc.domain.model.items import Lease
from kgsvc.domain.resolution.decisions import (
    FROM_THE_FIRST,
    CandidateQuery,
    NameCandidates,
    NodeResolution,
    ResolutionRequest,
    Resolutions,
    VectorPage,
)
from kgsvc.models.embedding import CachingEmbedder, texts_of
from kgsvc.models.protocol import Vectors
from kgsvc.pipeline import resolving
from kgsvc.pipeline.commit import Committer
from kgsvc.pipeline.preparing import PreparedItem
from kgsvc.pipeline.resolving import Nearness
from tests.support.model_store import ModelStore
from tests.support.samples import entity, write
from tests.unit.pipeline.test_resolving import CLOCK, GROUP, Bench, Model, names, says


class Atlas:
    """An embedder of unit vectors in a plane, by the angle in degrees that a name was given; others have a
    direction of their own."""

    space = "atlas"
    dimension = 512
    min_cosine = 0.0
    costs_model_calls = False

    def __init__(self, **angles: int) -> None:
        self.angles = angles
        self._others: dict[str, int] = {}

    def vector(self, text: str) -> Vectors:
        row = np.zeros(self.dimension, np.float32)
        if text in self.angles:
            angle = math.radians(self.angles[text])
            row[:2] = math.cos(angle), math.sin(angle)
        else:
            row[2 + self._others.setdefault(text, len(self._others))] = 1
        return row

    async def embed(self, texts: Sequence[str], group_id: str = "") -> tuple[Vectors, Usage]:
        return np.stack([self.vector(text) for text in texts]), FREE

    async def close(self) -> None:
        """Nothing."""


class Counting(ModelStore):
    """Remembers what was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[CandidateQuery] = []

    async def candidates(self, group_id: str, query: CandidateQuery) -> NameCandidates:
        self.asked.append(query)
        return await super().candidates(group_id, query)


class Embedding(Bench):
    """A bench whose items come embedded."""

    store: Counting

    def __init__(self, model: Model | None, atlas: Atlas) -> None:
        super().__init__(model)
        self.atlas, self.store = atlas, Counting()
        self.committer = Committer(self.store, CachingEmbedder(atlas), CLOCK, model)

    async def works(
        self, *extractions: Extraction, at: int | None = None
    ) -> tuple[Lease, list[PreparedItem]]:
        lease, works = await super().works(*extractions, at=at)
        for work in works:
            vectors = {text: self.atlas.vector(text).tobytes() for text in texts_of(work.stage.extraction)}
            work.stage = replace(work.stage, vectors=vectors, space=self.atlas.space)
        return lease, works


def same(request: ResolutionRequest) -> Resolutions:
    """Whatever is offered first is the same."""
    return Resolutions(
        {
            q.id: NodeResolution(
                q.candidates[0] if q.candidates else None, None if q.candidates else q.peers[0]
            )
            for q in request.nodes
            if q.candidates or q.peers
        }
        | {q.id: NodeResolution() for q in request.nodes if not q.candidates and not q.peers}
    )


async def test_a_name_near_a_known_one_is_asked_about_and_may_be_it() -> None:
    model = Model(same)
    bench = Embedding(model, Atlas(Lisbon=0, Lisboa=20, Porto=80))
    await bench.commit(names("Lisbon", "Porto"))
    await bench.commit(names("Lisboa"))
    (request,) = model.requests
    assert [entity.name for entity in request.entities] == ["Lisbon"]
    assert await bench.entities() == {"Lisbon": {"lisbon", "lisboa"}, "Porto": {"porto"}}


async def test_names_near_nothing_cost_no_call_and_one_round_trip() -> None:
    model = Model()
    bench = Embedding(model, Atlas(Lisbon=0, Porto=80))
    await bench.commit(names("Lisbon"))
    await bench.commit(names("Porto"), names("Oslo"))
    assert model.requests == []
    assert len(bench.store.asked) == 1, "a new group has nothing to be asked for"


async def test_without_a_model_no_vectors_are_read() -> None:
    bench = Embedding(None, Atlas(Lisbon=0, Lisboa=20))
    await bench.commit(names("Lisbon"))
    await bench.commit(names("Lisboa"))
    assert [query.vectors for query in bench.store.asked] == [None]
    assert (await bench.entities()).keys() == {"Lisbon", "Lisboa"}


async def test_two_new_names_of_a_batch_that_are_near_may_be_one() -> None:
    bench = Embedding(Model(same), Atlas(Lisbon=0, Lisboa=20))
    await bench.commit(names("Lisbon"), names("Lisboa"))
    assert await bench.entities() == {"Lisbon": {"lisbon", "lisboa"}}


async def test_those_that_share_words_come_first_and_the_nearest_are_never_crowded_out() -> None:
    model = Model()
    atlas = Atlas(**{"Lisboa Antiga": 0, "Lisbon": 10, "Olisipo": 5, "Ulyssippo": 20, "Felicitas": 30})
    bench = Embedding(model, atlas)
    await bench.commit(names(*[f"Antiga {letter}" for letter in "ABCDEFGHIJ"]))
    await bench.commit(names("Lisbon", "Olisipo", "Ulyssippo", "Felicitas"))
    await bench.commit(names("Lisboa Antiga"))
    request = model.requests[-1]
    (question,) = [q for q in request.nodes if q.name == "Lisboa Antiga"]
    offered = [entity.name for entity in request.entities if entity.idx in question.candidates]
    assert len(question.candidates) == 8
    assert sorted(n for n in offered if not n.startswith("Antiga")) == ["Lisbon", "Olisipo", "Ulyssippo"]
    tail = [next(e.name for e in request.entities if e.idx == idx) for idx in question.candidates[-3:]]
    assert tail == ["Olisipo", "Lisbon", "Ulyssippo"]


async def test_facts_of_a_near_entity_are_compared_too() -> None:
    model = Model()
    bench = Embedding(model, Atlas(Lisbon=0, Lisboa=20))
    await bench.commit(says("LIES_ON", "Lisbon lies on the Tagus", source="Lisbon", target="Tagus"))
    await bench.commit(says("LIES_ON", "Lisboa lies on the Tejo", source="Lisboa", target="Tejo"))
    (request,) = model.requests
    assert [fact.fact for fact in request.known_facts] == ["Lisbon lies on the Tagus"]


async def test_what_others_wrote_meanwhile_is_found() -> None:
    """Another process named an entity by hand; the next question follows by revision."""
    model = Model(same)
    atlas = Atlas(Lisbon=0, Lisboa=20, Olisipo=30)
    bench = Embedding(model, atlas)
    await bench.commit(names("Porto"))
    written = entity(GROUP, "n1", "Lisbon")
    vectors = {"n1": atlas.vector("Lisbon").tobytes()}
    await write(bench.store, GROUP, entities=(written,), vectors=vectors, space=atlas.space)
    await bench.commit(names("Lisboa"))
    assert await bench.entities() == {"Lisbon": {"lisbon", "lisboa"}, "Porto": {"porto"}}
    await write(bench.store, GROUP, remove_entities=("n1",))
    await bench.commit(names("Olisipo"))
    assert await bench.entities() == {"Olisipo": {"olisipo"}, "Porto": {"porto"}}
    assert [q.name for request in model.requests for q in request.nodes] == ["Lisboa"]


async def test_a_deleted_group_is_forgotten() -> None:
    model = Model(same)
    bench = Embedding(model, Atlas(Lisbon=0, Lisboa=20))
    await bench.commit(names("Lisbon"))
    await bench.store.delete_group(GROUP, 9)
    await bench.commit(names("Lisboa"))
    assert model.requests == []
    assert (await bench.entities()).keys() == {"Lisboa"}


async def test_vectors_that_come_in_pages_are_all_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolving, "PAGE", 2)
    model = Model(same)
    atlas = Atlas(Lisbon=0, Lisboa=20)
    bench = Embedding(model, atlas)
    await bench.commit(names("Porto", "Faro", "Lisbon", "Braga", "Evora"))
    bench.committer = Committer(bench.store, CachingEmbedder(atlas), CLOCK, model)  # a process begins anew
    await bench.commit(names("Lisboa"))
    assert (await bench.entities())["Lisbon"] == {"lisbon", "lisboa"}


async def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolving, "GROUP_BYTES", 4 * 4 * 100)
    monkeypatch.setattr(resolving, "ALL_BYTES", 4 * 4 * 150)
    kept = Nearness("s", 0.0)
    row = np.eye(4, dtype="<f4")[0].tobytes()
    for group in ("one", "two"):
        page = VectorPage(0, (1, "n"), tuple((f"n{n:03}", row) for n in range(200)))
        assert not kept.take(group, page, GroupHead(group, rev=9))
    assert kept.following("one").place == FROM_THE_FIRST
    assert kept.following("two").place == (1, "n")
    assert await kept.nearest("two", {"a": row}) == {"a": ("n000", "n001", "n002")}
    kept.forget("two", ["n000", "n001", "no"])
    assert await kept.nearest("two", {"a": row}) == {"a": ("n002", "n003", "n004")}
    assert await kept.nearest("two", {"a": np.eye(4, dtype="<f4")[1].tobytes()}) == {}


def test_a_group_that_is_full_is_followed_from_its_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolving, "GROUP_BYTES", 4 * 4 * 3)
    kept = Nearness("s", 0.0)
    row = np.eye(4, dtype="<f4")[0].tobytes()
    head = GroupHead("g", rev=9, epoch=1)
    assert kept.take("g", VectorPage(1, (1, "b"), (("a", row), ("b", row)), more=True), head), "there is room"
    assert not kept.take("g", VectorPage(1, (2, "d"), (("c", row), ("d", row)), more=True), head)
    assert kept.following("g").place == (9, "")
    kept.forget("g", ["a"])
    assert not kept.take("g", VectorPage(1, (10, "e"), (("e", row),)), head)
    assert kept.following("g").place == (10, "e")
    assert kept.take("g", VectorPage(2, (1, "b"), tuple((f"{n}", row) for n in range(4)), more=True), head)
    assert kept.following("g").place == (1, "b"), "the group was deleted since the head was read"


async def test_what_is_left_out_costs_no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolving, "PAGE", 2)
    monkeypatch.setattr(resolving, "GROUP_BYTES", 2 * 4 * Atlas.dimension)
    model = Model()
    atlas = Atlas()
    bench = Embedding(model, atlas)
    await bench.commit(*(names(f"Town{n:02}") for n in range(20)))
    bench.committer = Committer(bench.store, CachingEmbedder(atlas), CLOCK, model)  # a process begins anew
    bench.store.asked.clear()
    await bench.commit(names("Lisboa"))
    await bench.commit(names("Porto"))
    assert len(bench.store.asked) == 2
