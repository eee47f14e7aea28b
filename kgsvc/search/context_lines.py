"""The lines of a context, and what each one tells of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from kgsvc.domain.model.communities import Community
from kgsvc.domain.model.graph import Entity, Episode, Fact

Thing = Fact | Episode | Entity | Community
MARK = "- "  # before what is told
HANDLE_CHARS = len("[9999] ")  # no context has more lines
END_CHARS = len("\n")


@dataclass(frozen=True, slots=True)
class Line:
    """One line. Of a heading `of` is None."""

    text: str
    of: Thing | None = None


def told(lines: Sequence[Line]) -> str:
    """The lines as a text for people and for models that cite nothing."""
    return "\n".join(line.text if line.of is None else f"{MARK}{line.text}" for line in lines)


def numbered(lines: Sequence[Line]) -> list[str]:
    """The lines with the handles by which they are cited: "[1] ...", "[2] ..."."""
    handles = count(1)
    return [line.text if line.of is None else f"[{next(handles)}] {line.text}" for line in lines]


def citable(lines: Sequence[Line]) -> list[Line]:
    """What is told, in the order of the handles: the first one has the handle 1."""
    return [line for line in lines if line.of is not None]
