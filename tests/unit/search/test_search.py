"""SearchFacts from outside: modalities, order, filters, groups, languages."""

from collections.abc import Collection
from dataclasses import replace

import pytest

from kgsvc.domain.errors import ModelUnavailable, NotFound, StoreUnavailable
from kgsvc.domain.model.delta import GroupHead, NameView
from kgsvc.domain.model.graph import Entity, Polarity
from kgsvc.search.engine import Engine
from kgsvc.search.results import Hit
from kgsvc.search.settings import SearchSettings
from tests.unit.search.feed import NOW, Embedder, Feed, Stopped, engine, fact, indexed, vector

SETTINGS = SearchSettings()


def searching(feed: Feed, embedder: Embedder | None = None, settings: SearchSettings = SETTINGS) -> Engine:
    return engine(feed, embedder, settings, Stopped())


def uuids(hits: list[Hit]) -> list[str]:
    return [hit.fact.uuid for hit in hits]


async def find(feed: Feed, query: str, embedder: Embedder | None = None, groups: str = "g") -> list[str]:
    return uuids(await searching(feed, embedder).facts([*groups], query, 10))


@pytest.fixture
def feed() -> Feed:
    """Three facts about tea; `b` and `c` have vectors."""
    made = Feed()
    made.write(
        fact("a", "tea tea tea"),
        indexed(fact("b", "tea with a friend"), vector(1, 0, 0, 0)),
        indexed(fact("c", "a walk outside"), vector(4, 1, 0, 0)),
    )
    return made


async def test_keyword_alone(feed: Feed) -> None:
    assert await find(feed, "tea") == ["a", "b"]


async def test_embedding_alone(feed: Feed) -> None:
    embedder = Embedder({"??": vector(1, 0, 0, 0)})
    assert await find(feed, "??", embedder) == ["b", "c"]


async def test_hybrid_fuses_reciprocal_ranks(feed: Feed) -> None:
    embedder = Embedder({"tea": vector(1, 1, 0, 0)})
    hits = await searching(feed, embedder).facts(["g"], "tea", 10)
    found: list[object] = [(hit.fact.uuid, hit.score) for hit in hits]
    assert found == [
        ("b", pytest.approx(1 / 62 + 1 / 62)),
        ("a", pytest.approx(1 / 61)),
        ("c", pytest.approx(1 / 61)),
    ]


async def test_nothing_fits_nothing_comes(feed: Feed) -> None:
    assert await find(feed, "zebra", Embedder()) == []
    assert await find(feed, "") == []


async def test_opposite_vectors_are_no_candidates(feed: Feed) -> None:
    assert await find(feed, "??", Embedder({"??": vector(-1, 0, 0, 0)})) == []
    assert await find(feed, "??", Embedder({"??": vector(0, 0, 0, 1)})) == []


@pytest.mark.parametrize("way", ["error", "hang"])
async def test_an_embedder_that_fails_leaves_keywords(feed: Feed, way: str) -> None:
    embedder = Embedder({"tea": vector(1, 0, 0, 0)})
    search = searching(feed, embedder, replace(SETTINGS, embed_timeout_s=0.01))
    embedder.hang, embedder.error = way == "hang", ModelUnavailable("no") if way == "error" else None
    assert uuids(await search.facts(["g"], "tea", 10)) == ["a", "b"]
    embedder.hang, embedder.error = False, None
    assert uuids(await search.facts(["g"], "tea", 10)) == ["b", "a", "c"]


async def test_a_query_is_embedded_once(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgsvc.search.query._CACHED_BYTES", 40)  # two entries
    embedder = Embedder()
    search = searching(feed, embedder)
    for query in ("x", "y", "x", "z", "x", "y"):
        await search.facts(["g"], query, 10)
    assert embedder.asked == ["x", "y", "z", "y"]


async def test_ties_go_by_uuid() -> None:
    feed = Feed()
    feed.write(*(indexed(fact(uuid, "same words"), vector(1, 0, 0, 0)) for uuid in ("m", "z", "b", "k")))
    assert await find(feed, "words", Embedder({"words": vector(1, 0, 0, 0)})) == ["b", "k", "m", "z"]
    assert await find(feed, "words") == ["b", "k", "m", "z"]


async def test_ties_beyond_the_rank_list_go_by_uuid_too() -> None:
    feed = Feed()
    names = [f"{i * 7919 % 1000:04}" for i in range(1000)]
    feed.write(*(indexed(fact(name, "same words"), vector(1, 0, 0, 0)) for name in names))
    embedder = Embedder({"words": vector(1, 0, 0, 0)})
    assert await find(feed, "words", embedder) == sorted(names)[:10]


async def test_max_facts(feed: Feed) -> None:
    feed.write(*(fact(f"more{i:03}", "tea") for i in range(300)))
    search = searching(feed)
    assert len(await search.facts(["g"], "tea", 100)) == 100
    assert uuids(await search.facts(["g"], "tea", 1)) == ["a"]


async def test_what_is_shown_is_valid_now_and_not_expired() -> None:
    feed = Feed()
    feed.write(
        fact("now", "tea"),
        fact("begins now", "tea", valid_ms=NOW),
        fact("future", "tea", valid_ms=NOW + 1),
        fact("ends now", "tea", invalid_ms=NOW),
        fact("ends later", "tea", invalid_ms=NOW + 1),
        fact("expired", "tea", expired_ms=NOW - 1),
        fact("denied", "no tea", polarity=Polarity.DENIES),
    )
    search = searching(feed)
    shown = {"now", "begins now", "ends later", "denied"}
    assert set(uuids(await search.facts(["g"], "tea", 10))) == shown
    later = await search.facts(["g"], "tea", 10, now_ms=NOW + 1)
    assert set(uuids(later)) == {"now", "begins now", "future", "denied"}


async def test_filtered_facts_take_no_places() -> None:
    feed = Feed()
    feed.write(
        *(fact(f"old{i:03}", "tea tea", expired_ms=NOW - 1) for i in range(300)), fact("new", "my tea")
    )
    assert await find(feed, "tea") == ["new"]


async def test_a_center_lifts_what_is_near() -> None:
    feed = Feed()
    feed.write(
        fact("best", "tea tea", source="x", target="y"),
        fact("near", "tea", source="ann", target="bob"),
        fact("next", "tea", source="bob", target="cleo"),
    )
    search = searching(feed)
    assert uuids(await search.facts(["g"], "tea", 10)) == ["best", "near", "next"]
    hits = await search.facts(["g"], "tea", 10, "ann")
    found: list[object] = [(hit.fact.uuid, hit.score) for hit in hits]
    assert found == [
        ("near", pytest.approx(0.7 * 61 / 62 + 0.3)),
        ("next", pytest.approx(0.7 * 61 / 63 + 0.3 / 2)),
        ("best", pytest.approx(0.7)),
    ]
    assert uuids(await search.facts(["g"], "tea", 10, "unconnected")) == ["best", "near", "next"]


async def test_the_center_counts_as_much_as_the_weight_says() -> None:
    feed = Feed()
    feed.write(fact("best", "tea tea", source="x"), fact("near", "tea", source="ann"))
    search = searching(feed, settings=replace(SETTINGS, distance_weight=0.0))
    assert uuids(await search.facts(["g"], "tea", 10, "ann")) == ["best", "near"]


async def test_a_caller_reads_its_own_writes(feed: Feed) -> None:
    search = searching(feed)
    for number in range(5):
        feed.write(fact(f"new{number}", f"unheard{number}"))
        assert uuids(await search.facts(["g"], f"unheard{number}", 10)) == [f"new{number}"]
    feed.remove("g", "new3")
    assert uuids(await search.facts(["g"], "unheard3", 10)) == []


async def test_a_deleted_group_is_empty_and_a_vanished_one_too(feed: Feed) -> None:
    search = searching(feed)
    assert uuids(await search.facts(["g"], "tea", 10)) == ["a", "b"]
    feed.empty("g")
    assert await search.facts(["g"], "tea", 10) == []
    feed.vanish("g")
    assert await search.facts(["g", "unknown"], "tea", 10) == []
    assert search.indexes.nbytes == 0


async def test_groups_do_not_influence_each_other(feed: Feed) -> None:
    search = searching(feed)
    before = await search.facts(["g"], "tea friend", 10)
    feed.write(*(fact(f"o{i}", "tea friend", group="o", source="ann") for i in range(50)))
    assert await search.facts(["g"], "tea friend", 10) == before
    together = [hit.fact for hit in await search.facts(["g", "o"], "tea friend", 100)]
    assert [one for one in together if one.group_id == "g"] == [hit.fact for hit in before]
    assert len(together) == 52


async def test_several_groups_rank_together_in_any_order(feed: Feed) -> None:
    feed.write(fact("a", "tea tea tea", group="o"), fact("0", "tea and much else to drink", group="o"))
    search = searching(feed)
    hits = await search.facts(["o", "g", "o"], "tea", 10)
    assert hits == await search.facts(["g", "o"], "tea", 10)
    assert {(hit.fact.uuid, hit.fact.group_id) for hit in hits} == {
        ("a", "g"),
        ("a", "o"),
        ("b", "g"),
        ("0", "o"),
    }


async def test_a_search_is_the_same_twice_and_in_a_new_process(feed: Feed) -> None:
    embedder = Embedder({"tea": vector(1, 1, 0, 0)})
    search = searching(feed, embedder)
    first = await search.facts(["g"], "tea", 10)
    assert await search.facts(["g"], "tea", 10) == first
    assert await searching(feed, embedder).facts(["g"], "tea", 10) == first


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("東京", ["jp"]),
        ("猫", ["cat"]),
        ("が好き", ["cat"]),
        ("カフェ", ["jp"]),
        ("ｶﾌｪ", ["jp"]),
        ('"quoted" AND (OR) NOT* ~:^', ["quotes"]),
        ("O'Brien’s", ["quotes"]),
        ("state-of-the-art", ["hyphen"]),
        ("CAFÉ 🎉", ["emoji"]),
        ("filler " * 1500 + "hyphens-art", ["hyphen"]),
        (" ".join(f"filler{i}" for i in range(100)) + " 猫", ["cat"]),
    ],
)
async def test_any_query_searches(query: str, expected: list[str]) -> None:
    feed = Feed()
    feed.write(
        fact("jp", "カフェは東京にある"),
        fact("cat", "彼女は黒猫が好き"),
        fact("quotes", 'the "quoted" words of O\'Brien'),
        fact("hyphen", "a state-of-the-art ship"),
        fact("emoji", "café 🎉"),
    )
    assert (await find(feed, query))[:1] == expected


async def test_big_groups_search_in_a_thread_alike(feed: Feed) -> None:
    feed.write(*(fact(f"f{i:05}", f"filler number {i}") for i in range(2_000)))
    search = searching(feed)
    assert uuids(await search.facts(["g"], "tea", 10)) == ["a", "b"]
    assert uuids(await search.facts(["g"], "number 77", 1)) == ["f00077"]
    await search.close()


async def test_a_store_without_an_answer_is_unavailable(feed: Feed) -> None:
    feed.error = StoreUnavailable("down")
    with pytest.raises(StoreUnavailable):
        await searching(feed).facts(["g"], "tea", 10)


class _Entities:
    async def names(self, group_id: str, _keys: object, uuids: Collection[str]) -> NameView:
        known = {"ann": Entity("ann", "g", "Ann", NOW)} if group_id == "g" else {}
        return NameView(GroupHead(group_id), {}, {uuid: known[uuid] for uuid in uuids if uuid in known})


async def test_a_center_must_be_known_in_one_of_the_groups() -> None:
    search = engine(_Entities(), None, SETTINGS, Stopped())
    await search.require(["f", "g"], "ann")
    for groups, uuid in ((["f"], "ann"), (["g"], "bob")):
        with pytest.raises(NotFound):
            await search.require(groups, uuid)
