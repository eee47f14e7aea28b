import pytest

from kgsvc.search.index.topk import Key, RankList
from kgsvc.search.plans import Method, Reranker
from kgsvc.search.ranking import rerankers
from kgsvc.search.ranking.pool import ScopeCandidates, united
from tests.unit.search.feed import asked


def keys(names: str) -> list[Key]:
    return [(name, "g") for name in names]


def ranked(**scores: float) -> RankList:
    return sorted((-score, (uuid, "g")) for uuid, score in scores.items())


def test_reciprocal_ranks_with_k_60() -> None:
    scores = found(rank_list("ab"), rank_list("bc")).reciprocal_ranks()
    assert scores == {
        ("a", "g"): pytest.approx(1 / 61),
        ("b", "g"): pytest.approx(1 / 62 + 1 / 61),
        ("c", "g"): pytest.approx(1 / 62),
    }


def found(*lists: RankList) -> ScopeCandidates:
    return ScopeCandidates(dict(zip(Method, lists, strict=False)))


def rank_list(names: str) -> RankList:
    return [(-1 / rank, key) for rank, key in enumerate(keys(names), 1)]


def order(lists: ScopeCandidates) -> list[tuple[Key, float]]:
    return rerankers.ranked(lists, asked("tea"), Reranker.RRF, 0.3)


def test_mirrored_ranks_tie_and_go_by_uuid() -> None:
    (one, best), (other, second), _ = order(found(rank_list("zay"), rank_list("yaz")))
    assert [one, other] == keys("yz")
    assert best == second


def test_lists_of_groups_merge_by_score_then_uuid_then_group() -> None:
    one, two = ranked(b=2.0, a=1.0), [(-2.0, ("b", "f")), (-1.0, ("0", "f"))]
    merged = united([found(one), found(two)], 3)
    assert [key for _, key in merged.lists[Method.BM25]] == [("b", "f"), ("b", "g"), ("0", "f")]
    assert united([found(two), found(one)], 3) == merged


def test_distance_rerank_is_the_weighted_sum() -> None:
    scores = {("a", "g"): 0.04, ("b", "g"): 0.02, ("c", "g"): 0.02}
    reranked = rerankers.near_center(scores, {("b", "g"): 0, ("c", "g"): 3}, 0.3)
    assert reranked == pytest.approx({("a", "g"): 0.7, ("b", "g"): 0.35 + 0.3, ("c", "g"): 0.35 + 0.3 / 4})


def test_where_nothing_scored_nearness_alone_counts() -> None:
    scores = {("a", "g"): 0.0, ("b", "g"): 0.0}
    assert rerankers.near_center(scores, {("b", "g"): 1}, 0.3) == {("a", "g"): 0.0, ("b", "g"): 0.15}


def test_nothing_found_is_reranked_to_nothing() -> None:
    assert rerankers.near_center({}, {}, 0.3) == {}
    assert order(ScopeCandidates()) == []
