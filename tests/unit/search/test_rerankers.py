import numpy as np
import pytest

from kgsvc.search.filters import NONE
from kgsvc.search.plans import Method, Reranker, Scope, ScopePlan
from kgsvc.search.ranking.pool import Asked, Found
from kgsvc.search.ranking.rerankers import RERANKERS


@pytest.mark.parametrize("reranker", RERANKERS)
def test_where_nothing_is_found_nothing_is_ranked(reranker: Reranker) -> None:
    plan = ScopePlan(Scope.FACTS, (Method.BM25, Method.COSINE), reranker)
    asked = Asked(plan, (), np.ones(4, np.float32), 0.0, NONE, 0, 10, 10)
    found = Found({Method.BM25: [], Method.COSINE: []})
    assert RERANKERS[reranker](found, asked) == {}
