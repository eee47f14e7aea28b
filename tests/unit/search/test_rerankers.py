import numpy as np
import pytest

from kgsvc.search.filters import NONE
from kgsvc.search.plans import Method, Reranker, Scope, ScopePlan
from kgsvc.search.ranking.pool import ScopeCandidates, ScopeQuery
from kgsvc.search.ranking.rerankers import RERANKERS


@pytest.mark.parametrize("reranker", RERANKERS)
def test_where_nothing_is_found_nothing_is_ranked(reranker: Reranker) -> None:
    plan = ScopePlan(Scope.FACTS, (Method.BM25, Method.COSINE), reranker)
    asked = ScopeQuery(plan, (), np.ones(4, np.float32), 0.0, NONE, 0, 10, 10)
    found = ScopeCandidates({Method.BM25: [], Method.COSINE: []})
    assert RERANKERS[reranker](found, asked) == {}
