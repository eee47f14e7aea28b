import random

import pytest

from kgsvc.search import fusion
from kgsvc.search.fusion import Key, RankList


def keys(names: str) -> list[Key]:
    return [(name, "g") for name in names]


def ranked(**scores: float) -> RankList:
    return sorted((-score, (uuid, "g")) for uuid, score in scores.items())


def test_reciprocal_ranks_with_k_60() -> None:
    scores = fusion.reciprocal_ranks([keys("ab"), keys("bc")])
    assert scores == {
        ("a", "g"): pytest.approx(1 / 61),
        ("b", "g"): pytest.approx(1 / 62 + 1 / 61),
        ("c", "g"): pytest.approx(1 / 62),
    }


def test_mirrored_ranks_tie_and_go_by_uuid() -> None:
    scores = fusion.reciprocal_ranks([keys("zay"), keys("yaz")])
    assert [key for key, _ in fusion.best(scores, 3)] == keys("yza")
    assert scores["z", "g"] == scores["y", "g"]


def test_lists_of_groups_merge_by_score_then_uuid_then_group() -> None:
    one, two = ranked(b=2.0, a=1.0), [(-2.0, ("b", "f")), (-1.0, ("0", "f"))]
    assert fusion.merged([one, two], 3) == [("b", "f"), ("b", "g"), ("0", "f")]
    assert fusion.merged([two, one], 3) == fusion.merged([one, two], 3)


def test_best_does_not_depend_on_the_order_of_entering() -> None:
    entries = [((f"u{i}", "g"), float(i % 3)) for i in range(30)]
    first = fusion.best(dict(entries), 10)
    random.Random(1).shuffle(entries)
    assert fusion.best(dict(entries), 10) == first
    assert [key[0] for key, _ in first] == sorted(f"u{i}" for i in range(30) if i % 3 == 2)


def test_distance_rerank_is_the_weighted_sum() -> None:
    scores = {("a", "g"): 0.04, ("b", "g"): 0.02, ("c", "g"): 0.02}
    reranked = fusion.near_center(scores, {("b", "g"): 0, ("c", "g"): 3}, 0.3)
    assert reranked == pytest.approx({("a", "g"): 0.7, ("b", "g"): 0.35 + 0.3, ("c", "g"): 0.35 + 0.3 / 4})


def test_where_nothing_scored_nearness_alone_counts() -> None:
    scores = {("a", "g"): 0.0, ("b", "g"): 0.0}
    assert fusion.near_center(scores, {("b", "g"): 1}, 0.3) == {("a", "g"): 0.0, ("b", "g"): 0.15}


def test_nothing_found_is_reranked_to_nothing() -> None:
    assert fusion.near_center({}, {}, 0.3) == {}
    assert fusion.best({}, 10) == []
