"""Whom newcomers join."""

import pytest

from kgsvc.communities.detection import Ends, newcomers

PLACED = {"a1": "A", "a2": "A", "b1": "B", "b2": "B", "b3": "B"}


@pytest.mark.parametrize(
    ("facts", "joined"),
    [
        ([], {}),
        ([("new", "a1")], {"new": "A"}),
        ([("b1", "new"), ("new", "b2"), ("new", "a1")], {"new": "B"}),
        ([("b1", "new"), ("new", "a1"), ("a1", "new")], {"new": "A"}),  # by facts, not by neighbours
        ([("b1", "new"), ("new", "a1")], {"new": "A"}),  # of equal ones the first
        ([("new", "newer"), ("newer", "newest"), ("new", "b1")], {"new": "B", "newer": "B", "newest": "B"}),
        ([("new", "newer")], {}),
        ([("new", "new")], {}),
        ([("a1", "b1")], {}),  # who has a community keeps it
    ],
)
def test_newcomers_join_most_of_their_neighbours(facts: list[Ends], joined: dict[str, str]) -> None:
    assert newcomers(facts, PLACED) == joined
    assert newcomers([ends[::-1] for ends in facts[::-1]], PLACED) == joined
