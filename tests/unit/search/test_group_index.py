"""The index as a mirror of a group, and that its history leaves no trace in the ranking."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsvc.search.index.arrays import Frozen, Live
from kgsvc.search.index.facts import GroupIndex, unpack
from kgsvc.search.plans import Method
from kgsvc.search.ranking.facts import find_facts
from kgsvc.search.ranking.pool import ScopeCandidates
from kgsvc.stores.search_protocol import IndexedFact
from tests.support.model_store import ModelStore
from tests.unit.search.feed import NOW, SPACE, asked, fact, indexed, page, patient, vector
from tests.unit.search.test_following import NODES, QUERIES, World

NORTH = np.frombuffer(vector(1, 0, 0, 0), "<f4")


def ask(index: GroupIndex, text: str = "", now_ms: int = NOW, center: str | None = None) -> ScopeCandidates:
    return find_facts(index, asked(text, NORTH, now_ms, center))


def found(index: GroupIndex, text: str, now_ms: int = NOW) -> list[str]:
    return [uuid for _, (uuid, _) in ask(index, text, now_ms).lists[Method.BM25]]


def index_of(*facts: IndexedFact) -> GroupIndex:
    index = GroupIndex("g", SPACE, 4)
    index.apply(page(*facts))
    return index


def test_names_relation_keywords_qualifiers_and_attributes_are_found() -> None:
    one = fact(
        "f",
        "text",
        source_name="Zoë",
        target_name="Acme Corp",
        name="WORKS_AT",
        keywords=("employer",),
        qualifiers={"role": "welder", "event": "abcdef"},
        attributes={"city": "Oslo", "floor": 3},
    )
    index = index_of(indexed(one))
    for word in ("text", "ZOË", "acme", "working", "employers", "welder", "oslo"):
        assert found(index, word) == ["f"], word
    assert found(index, "abcdef") == []


def test_an_update_replaces_text_times_and_vector() -> None:
    index = index_of(indexed(fact("f", "old words"), vector(1, 0, 0, 0)), indexed(fact("x", "else")))
    index.apply(page(indexed(fact("f", "new words"), vector(0, 1, 0, 0)), rev=2))
    assert (found(index, "old"), found(index, "new"), len(index)) == ([], ["f"], 2)
    assert ask(index).lists[Method.COSINE] == []
    index.apply(page(indexed(fact("f", "new words", expired_ms=NOW)), rev=3))
    assert found(index, "new") == []


def test_a_removed_fact_leaves_nothing_and_its_row_is_used_again() -> None:
    index = index_of(indexed(fact("f", "whale"), vector(1, 0, 0, 0)), indexed(fact("x", "shark")))
    before = index.nbytes
    index.apply(page(rev=2, removed=["f", "never-seen"]))
    assert found(index, "whale") == []
    assert ask(index).lists[Method.COSINE] == []
    assert "f" not in index
    index.apply(page(indexed(fact("h", "whale"), vector(1, 0, 0, 0)), rev=3))
    assert found(index, "whale") == ["h"]
    assert abs(index.nbytes - before) < 100


def test_written_again_after_its_removal_on_the_same_page() -> None:
    index = index_of(indexed(fact("f", "whale")))
    index.apply(page(indexed(fact("f", "shark")), rev=5, removed=["f"]))
    assert (found(index, "whale"), found(index, "shark"), index.rev) == ([], ["f"], 5)


def test_vectors_of_another_space_take_part_by_keyword_only() -> None:
    index = index_of(indexed(fact("f", "whale"), vector(1, 0, 0, 0), space="other"))
    assert ask(index, "whale").lists[Method.COSINE] == []
    assert found(index, "whale") == ["f"]


def test_distances_run_over_visible_facts_only() -> None:
    index = index_of(
        indexed(fact("near", "whale", source="a", target="b")),
        indexed(fact("next", "whale", source="c", target="b")),
        indexed(fact("cut", "whale", source="c", target="d", expired_ms=NOW)),
        indexed(fact("beyond", "whale", source="d", target="e")),
    )
    assert ask(index, "whale", center="a").distances == {("near", "g"): 0, ("next", "g"): 1}
    assert ask(index, "whale", center="nobody").distances == {}
    index.apply(page(rev=2, removed=["near"]))
    assert ask(index, "whale", center="a").distances == {}


words = st.lists(st.sampled_from(["whale", "shark", "the", "tea", "猫が"]), max_size=5).map(" ".join)
moments = st.sampled_from([None, NOW - 500, NOW + 500])


@st.composite
def graphs(draw: st.DrawFn) -> list[IndexedFact]:
    """Facts with many equal texts and vectors, so that ties abound."""
    rows = []
    for number in range(draw(st.integers(1, 14))):
        one = fact(
            f"{draw(st.sampled_from('abc'))}-same-start-{number}",
            draw(words),
            source=draw(st.sampled_from("stuv")),
            target=draw(st.sampled_from("stuv")),
            valid_ms=draw(moments),
            invalid_ms=draw(moments),
            expired_ms=draw(st.sampled_from([None, None, NOW - 1])),
        )
        has_vector = draw(st.booleans())
        direction = [draw(st.integers(-2, 2)) for _ in range(4)]
        rows.append(indexed(one, vector(*direction) if has_vector and any(direction) else None))
    return rows


@patient
@given(graphs(), words, st.data())
def test_history_leaves_no_trace(rows: list[IndexedFact], query: str, data: st.DataObject) -> None:
    """Any order of loading, cut into pages, with rows rewritten and others come and gone, ranks alike."""
    straight = index_of(*rows)
    shuffled = data.draw(st.permutations(rows))
    noise = [
        indexed(fact(f"noise-{n}", "whale tea 猫", source=f"n{n}"), vector(1, 1, 0, 0)) for n in range(3)
    ]
    drafts = [replace(row, fact=replace(row.fact, fact="draft whale"), vector=None) for row in shuffled[::2]]
    cut = data.draw(st.integers(0, len(rows)))
    busy = GroupIndex("g", SPACE, 4)
    busy.apply(page(*noise, *drafts, rev=1))
    busy.apply(page(*shuffled[:cut], rev=2, removed=["noise-1"]))
    busy.apply(page(*shuffled[cut:], rev=3, removed=["noise-0", "noise-2"]))
    for small in (200, 3):
        wanted = asked(query, NORTH, NOW, "s", small)
        assert find_facts(busy, wanted) == find_facts(straight, wanted)


@patient
@given(graphs(), st.integers(-1, 1))
def test_only_facts_valid_now_and_not_expired(rows: list[IndexedFact], offset: int) -> None:
    now = NOW + offset * 500
    index = index_of(*rows)
    shown = {uuid for uuid, _ in ask(index, "whale shark the tea 猫が knows", now).packed}
    expected = {
        row.fact.uuid
        for row in rows
        if row.fact.expired_ms is None
        and row.fact.start_ms <= now
        and (row.fact.invalid_ms is None or now < row.fact.invalid_ms)
    }
    assert shown == expected


@patient
@given(graphs())
def test_display_fields_are_the_facts_own(rows: list[IndexedFact]) -> None:
    shown = ask(index_of(*rows), "knows").packed
    by_uuid = {row.fact.uuid: row.fact for row in rows}
    assert all(unpack(packed) == by_uuid[uuid] for (uuid, _), packed in shown.items())


async def followed(index: GroupIndex, store: ModelStore) -> GroupIndex:
    """The index with all that the store has."""
    index.apply(await store.changes("g", index.rev, 1_000))
    return index


def thawed(frozen: Frozen, epoch: int, rev: int) -> GroupIndex:
    """What was frozen, as if from a file that is written now."""
    index = GroupIndex("g", SPACE, 4)
    now = frozen().items()
    index.take({name: a.column.data[: a.rows].copy() if isinstance(a, Live) else a for name, a in now})
    index.epoch, index.rev = epoch, rev
    return index


@pytest.mark.parametrize("seed", range(10))
async def test_changes_between_freezing_and_writing_leave_the_file_as_it_was(seed: int) -> None:
    world = World(seed)
    for _ in range(10):
        await world._write("g")
    first = await followed(GroupIndex("g", SPACE, 4), world.store)
    index = thawed(first.freeze(), first.epoch, first.rev)
    frozen, epoch, rev = index.freeze(), index.epoch, index.rev
    for _ in range(5):
        await world._write("g")
        await world._remove("g")
    await followed(index, world.store)
    late = await followed(thawed(frozen, epoch, rev), world.store)
    fresh = await followed(GroupIndex("g", SPACE, 4), world.store)
    for query in QUERIES:
        for center in (None, *NODES):
            expected = ask(fresh, query, center=center)
            assert ask(index, query, center=center) == expected
            assert ask(late, query, center=center) == expected
