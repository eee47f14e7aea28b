"""What models cost, and the parts of it."""

import pytest

from kgsvc.domain.model.graph import FREE, Usage


@pytest.mark.parametrize("parts", [1, 2, 3, 16])
def test_parts_are_all_of_it_and_differ_by_one_at_most(parts: int) -> None:
    whole = Usage(1, 1_000, 47)
    split = whole.split(parts)
    assert sum(split, FREE) == whole
    assert len(split) == parts
    for name in ("calls", "prompt_tokens", "completion_tokens"):
        values = [getattr(part, name) for part in split]
        assert values == sorted(values, reverse=True)
        assert values[0] - values[-1] <= 1
