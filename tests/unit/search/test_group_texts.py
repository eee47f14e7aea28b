"""The index of entities, episodes and communities: however it came about, it answers as a fresh one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsvc.domain.model.delta import GroupHead
from kgsvc.domain.model.graph import Entity, Episode, Source
from kgsvc.search.filters import Filters
from kgsvc.search.index import text_index
from kgsvc.search.index.episodes import unpack_episode
from kgsvc.search.index.group import GroupTexts
from kgsvc.search.index.nodes import unpack_entity
from kgsvc.search.plans import Method, Reranker, Scope, ScopePlan
from kgsvc.search.query import parse
from kgsvc.search.ranking.facts import Walk
from kgsvc.search.ranking.pool import ScopeCandidates, ScopeQuery
from kgsvc.search.ranking.texts import find_texts
from kgsvc.stores.search_protocol import IndexedCommunity, IndexedEntity, IndexedEpisode, TextChanges
from tests.unit.search.feed import NOW, SPACE, patient, vector

WORDS = ("tea", "car", "red", "doctor", "Oslo", "茶")
texts = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
uuids = st.sampled_from([f"u{n}" for n in range(5)])
WALK = Walk({"u0": 0, "u1": 1, "u2": 2}, {"u1": 0, "u3": 2})
METHODS = {
    Scope.NODES: (Method.BM25, Method.COSINE, Method.BFS),
    Scope.EPISODES: (Method.BM25, Method.BFS),
    Scope.COMMUNITIES: (Method.BM25, Method.COSINE),
    Scope.CHUNKS: (Method.BM25, Method.COSINE, Method.BFS),
}


def entity(
    uuid: str, text: str, labels: tuple[str, ...] = ("Person",), names: tuple[str, ...] = ()
) -> IndexedEntity:
    """An entity with a summary, and a vector that follows its words."""
    made = Entity(uuid, "g", f"name {uuid}", NOW, text, {"a": 1}, labels, "e", NOW)
    return IndexedEntity(made, (f"name {uuid}", *names), SPACE, vector(len(text), 1, 0, 0))


def episode(uuid: str, text: str, named: tuple[str, ...] = ()) -> IndexedEpisode:
    """An episode that names entities."""
    return IndexedEpisode(Episode(uuid, "g", text, Source.TEXT, NOW, NOW, "name", "about"), named)


def chunk(uuid: str, text: str, named: tuple[str, ...] = ()) -> IndexedEpisode:
    """A chunk with a passage for each word, whose vector follows the words so far."""
    vectors = b"".join(vector(n, len(word), 1, 0) for n, word in enumerate(text.split()))
    made = Episode(uuid, "g", text, Source.DOCUMENT, NOW, NOW, "name", "about")
    return IndexedEpisode(made, named, SPACE, vectors)


def page(rev: int, *rows: IndexedEntity | IndexedEpisode, **more: object) -> TextChanges:
    """All changes up to `rev`."""
    values: dict[str, object] = {
        "entities": tuple(row for row in rows if isinstance(row, IndexedEntity)),
        "episodes": tuple(row for row in rows if isinstance(row, IndexedEpisode)),
        "removed_entities": (),
        "removed_episodes": (),
        **more,
    }
    return TextChanges(GroupHead("g", rev), upto_rev=rev, **values)  # type: ignore[arg-type]


def found(index: GroupTexts, scope: Scope, filters: Filters | None = None) -> ScopeCandidates:
    """Everything that every method finds."""
    plan = ScopePlan(scope, METHODS[scope], Reranker.EPISODE_MENTIONS)
    terms, by = parse("red tea in Oslo 茶"), filters or Filters()
    query = vector(2, 1, 0, 0)
    asked = ScopeQuery(plan, terms, np.frombuffer(query, "<f4"), 0.0, by, NOW, 100, 10, "u1")
    return find_texts(index, asked, WALK)


rows = st.one_of(
    st.builds(entity, uuids, texts, st.sampled_from([("Person",), ("Place", "City"), ()])),
    st.builds(episode, uuids, texts, st.lists(uuids, unique=True, max_size=3).map(tuple)),
    st.builds(chunk, uuids, texts, st.lists(uuids, unique=True, max_size=3).map(tuple)),
)


def which(row: IndexedEntity | IndexedEpisode) -> tuple[type, str]:
    """A page has each once."""
    return type(row), row.entity.uuid if isinstance(row, IndexedEntity) else row.episode.uuid


steps = st.lists(
    st.tuples(
        st.lists(rows, max_size=3, unique_by=which),
        st.sets(uuids, max_size=2),
        st.sets(uuids, max_size=2),
    )
)


@pytest.mark.parametrize("many", [text_index.MANY, 1], ids=["row by row", "sorted together"])
@patient
@given(steps)
def test_however_it_came_about(
    many: int,
    pages: list[tuple[list[IndexedEntity | IndexedEpisode], set[str], set[str]]],
) -> None:
    index = GroupTexts("g", SPACE, 4)
    entities: dict[str, IndexedEntity] = {}
    episodes: dict[str, IndexedEpisode] = {}
    for rev, (written, without, unsaid) in enumerate(pages, 1):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(text_index, "MANY", many)
            index.apply(page(rev, *written, removed_entities=tuple(without), removed_episodes=tuple(unsaid)))
        for uuid in without:
            entities.pop(uuid, None)
        for uuid in unsaid:
            episodes.pop(uuid, None)
        entities |= {row.entity.uuid: row for row in written if isinstance(row, IndexedEntity)}
        episodes |= {row.episode.uuid: row for row in written if isinstance(row, IndexedEpisode)}
    fresh = GroupTexts("g", SPACE, 4)
    fresh.apply(page(9, *sorted(entities.values(), key=lambda row: row.entity.uuid), *episodes.values()))
    assert len(index) == len(fresh) == len(entities) + len(episodes)
    for by in (Filters(), Filters(entity_types=frozenset({"Person", "City"}))):
        for scope in (Scope.NODES, Scope.EPISODES, Scope.CHUNKS):
            assert found(index, scope, by) == found(fresh, scope, by)
    assert index.nodes.of_types(["Place"]) == fresh.nodes.of_types(["Place"])


def test_what_is_shown_is_what_was_written() -> None:
    index = GroupTexts("g", SPACE, 4)
    wrote, said = entity("u1", "tea", names=("alias",)), episode("u2", "red tea", ("u1",))
    index.apply(page(1, wrote, said))
    node = unpack_entity(index.nodes.packed([0])[0])
    assert (node.entity, node.aliases) == (wrote.entity, ("alias",))
    shown = unpack_episode(index.episodes.packed([0])[0])
    assert (shown.episode, shown.entities) == (said.episode, ("u1",))


def test_communities_are_replaced_as_a_whole() -> None:
    index = GroupTexts("g", SPACE, 4)
    old = [IndexedCommunity(f"c{n}", "red", "tea", NOW) for n in range(2)]
    index.apply(page(1, communities=tuple(old)))
    assert [key for _, key in found(index, Scope.COMMUNITIES).lists[Method.BM25]] == [
        ("c0", "g"),
        ("c1", "g"),
    ]
    index.apply(page(2, entity("u1", "tea")))
    assert len(index.communities) == 2, "as before"
    index.apply(
        page(3, communities=(IndexedCommunity("c1", "red", "", NOW), IndexedCommunity("c9", "", "", NOW)))
    )
    assert [key for _, key in found(index, Scope.COMMUNITIES).lists[Method.BM25]] == [("c1", "g")]


def test_memory_grows_with_what_is_held_and_an_empty_row_holds_no_text() -> None:
    index = GroupTexts("g", SPACE, 4)
    empty = index.nbytes
    index.apply(page(1, *(episode(f"e{n}", f"word{n} " * 400) for n in range(50))))
    full = index.nbytes
    assert full > empty + 50 * 250
    index.apply(page(2, removed_episodes=tuple(f"e{n}" for n in range(50))))
    assert len(index) == 0
    assert index.nbytes < full


def test_a_page_leaves_no_vectors_to_be_coded_by_the_first_search() -> None:
    index = GroupTexts("g", SPACE, 4)
    index.apply(page(1, *(entity(f"n{n}", "tea") for n in range(4_100))))
    before = index.nodes.nbytes
    assert found(index, Scope.NODES).packed
    assert index.nodes.nbytes == before
