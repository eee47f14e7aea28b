"""Where a long text is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsvc.models.openai.extractor import halves, parts


@given(st.text(alphabet="ab \n.。", max_size=300), st.integers(2, 40))
def test_parts_are_bounded_and_lose_nothing_but_white_space(text: str, chars: int) -> None:
    found = parts(text, chars)
    assert all(0 < len(part) <= chars and part.strip() for part in found)
    assert "".join("".join(found).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("One two. Three four.\n\nFive six. Seven.", "One two. Three four.\n\n"),
        ("One two. Three four.\nFive six. Seven eight.", "One two. Three four.\n"),
        ("One two. Three four. Five six. Seven.", "One two. Three four. "),
        ("one two three four five six seven", "one two three four "),
        ("一二三四五六七八九十。一二三四五六七八九十", "一二三四五六七八九十。"),
        ("x" * 40, "x" * 23),
    ],
)
def test_the_best_break_near_the_end_is_taken(text: str, first: str) -> None:
    assert parts(text, 23 if "一" not in text else 14)[0] == first


def test_halves_are_two() -> None:
    assert [len(half) for half in halves("word " * 100)] == [250, 250]
    assert halves(" \n ") == []
