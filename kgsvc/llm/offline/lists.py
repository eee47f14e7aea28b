"""Word lists written as plain text."""

from __future__ import annotations


def word_list(text: str) -> tuple[str, ...]:
    """The words of `text` in order."""
    return tuple(text.split())


def word_set(text: str) -> frozenset[str]:
    """The words of `text`."""
    return frozenset(text.split())


def name_set(text: str) -> frozenset[str]:
    """The names of `text`, which commas part."""
    return frozenset(" ".join(name.split()) for name in text.split(",")) - {""}
