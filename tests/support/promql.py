"""What queries of alerts and dashboards name: metrics, and the labels that they tell apart."""

from collections.abc import Iterator
from typing import Any

import promql_parser


def selectors(query: str) -> Iterator[tuple[str, set[str]]]:
    """Each metric that a query reads, with the labels that it is filtered and grouped by."""
    yield from _selectors(promql_parser.parse(query), set())


def _selectors(node: Any, grouped: set[str]) -> Iterator[tuple[str, set[str]]]:
    if node is None:
        return
    if isinstance(node, promql_parser.VectorSelector):
        assert node.name is not None
        yield node.name, grouped | {matcher.name for matcher in node.matchers.matchers}
        return
    modifier = getattr(node, "modifier", None)
    if isinstance(node, promql_parser.AggregateExpr) and modifier is not None:
        grouped = grouped | set(modifier.labels)
    for part in ("expr", "lhs", "rhs", "vector_selector", "param"):
        yield from _selectors(getattr(node, part, None), grouped)
    for argument in getattr(node, "args", None) or ():
        yield from _selectors(argument, grouped)
