"""Assertions of the suite: plain functions that need no test framework and work under `python -O`."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import TypeVar

E = TypeVar("E", bound=BaseException)
T = TypeVar("T")


class ConformanceError(AssertionError):
    """A store broke a sentence of its protocol; the message says which and what was found instead."""


def expect(holds: bool, what: str) -> None:
    """Raise ConformanceError(what) unless `holds`."""
    if not holds:
        raise ConformanceError(what)


def equal(found: object, wanted: object, what: str) -> None:
    """Raise ConformanceError unless both are equal; long values are cut in the message."""
    if found != wanted:
        raise ConformanceError(f"{what}: found {_short(found)}, wanted {_short(wanted)}")


def present(found: T | None, what: str) -> T:
    """`found`, or ConformanceError when it is None."""
    if found is None:
        raise ConformanceError(f"{what}: found nothing")
    return found


def distinct(values: Iterable[object], what: str) -> None:
    """Raise ConformanceError when a value occurs twice."""
    seen = list(values)
    if len(set(seen)) != len(seen):
        raise ConformanceError(f"{what}: {_short(seen)}")


async def refused(kind: type[E], call: Awaitable[object], what: str) -> E:
    """The error of type `kind` that `call` must raise; other errors pass through."""
    try:
        result = await call
    except kind as error:
        return error
    raise ConformanceError(f"{what}: wanted {kind.__name__}, got {_short(result)}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 600 else f"{text[:600]}… ({len(text)} characters)"
