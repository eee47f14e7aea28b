"""Ask: an answer that a model makes of what a search finds, and its citations.

A handle that names a line becomes the number of a citation; one that names nothing is taken out and counted.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from kgsvc.domain.errors import AnswererUnavailable, ModelUnavailable, StepError
from kgsvc.domain.model.graph import FREE, Usage
from kgsvc.models.protocol import Answerer, Question, Written
from kgsvc.search.context.lines import HANDLE_CHARS, ContextLine, citable, numbered
from kgsvc.search.engine import Engine
from kgsvc.search.results import GraphQuery, ScopeAnswer

_HANDLE = re.compile(r"\s{0,20}\[\s*\d[\d\s,;–-]*\]")  # models write ranges with any dash
_MAYBE = re.compile(r"\s{0,20}(?:\[[\d\s,;–-]{0,60})?\Z")  # where a handle may have begun
_NUMBER = re.compile(r"\d+")
_DIGITS = 6  # more are no handle
_HIGH = re.compile("[\ud800-\udbff]\\Z")  # half a character, whose other half may follow
NOT_KNOWN = "Not known."  # where nothing was found, or the model has no more to say


@dataclass(frozen=True, slots=True)
class Cited:
    """A line that an answer cites, by its number there, and the places of the number, half-open."""

    number: int  # from 1
    line: ContextLine
    places: list[tuple[int, int]] = field(default_factory=list)


class CitationReader:
    """Reads an answer as it is written. `told` is all of it that was given out, `cited` what it cites."""

    def __init__(self, lines: Sequence[ContextLine]) -> None:
        self._lines = lines  # in the order of their handles
        self._cited: dict[int, Cited] = {}  # by handle
        self._held = ""
        self._parts: list[str] = []
        self._chars = 0
        self.dropped = 0

    def feed(self, piece: str) -> str:
        """What can be told now: all but what may be the beginning of a handle."""
        self._held += piece
        tail = _HIGH.search(self._held) or _MAYBE.search(self._held)
        at = len(self._held) if tail is None else tail.start()
        ready, self._held = self._held[:at], self._held[at:]
        return self._read(ready)

    def finish(self) -> str:
        """What was held back, without blanks at the end."""
        rest, self._held = self._held.rstrip(), ""
        return self._read(rest)

    @property
    def told(self) -> str:
        """The answer as far as it was told."""
        return "".join(self._parts)

    @property
    def cited(self) -> list[Cited]:
        """In the order of their numbers."""
        return list(self._cited.values())

    def _read(self, text: str) -> str:
        """The text with numbers in the place of handles."""
        first, end = len(self._parts), 0
        for match in _HANDLE.finditer(text):
            self._tell(text[end : match.start()])
            self._cite(match.group())
            end = match.end()
        self._tell(text[end:])
        return "".join(self._parts[first:])

    def _cite(self, written: str) -> None:
        """Tell a number for each handle that names a line, behind the blanks that stood before them."""
        blanks = written[: len(written) - len(written.lstrip())]
        for digits in _NUMBER.findall(written):
            handle = int(digits) if len(digits) <= _DIGITS else 0
            if not 1 <= handle <= len(self._lines):
                self.dropped += 1
                continue
            self._tell(blanks)
            blanks = ""
            cited = self._cited.get(handle)
            if cited is None:
                cited = self._cited[handle] = Cited(len(self._cited) + 1, self._lines[handle - 1])
            mark = f"[{cited.number}]"
            cited.places.append((self._chars, self._chars + len(mark)))
            self._tell(mark)

    def _tell(self, text: str) -> None:
        """Give out a text; halves of characters, which no message can hold, are put together or replaced."""
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if whole:
            self._parts.append(whole)
            self._chars += len(whole)


@dataclass(frozen=True, slots=True)
class Ground:
    """What an answer may rest on: what a search found, and the lines of the context made of it."""

    found: Sequence[ScopeAnswer]
    lines: Sequence[ContextLine]

    @property
    def text(self) -> str:
        """The context as a model is shown it, with handles."""
        return "\n".join(numbered(self.lines))


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer and what it cites."""

    text: str
    known: bool  # False: the context does not hold it, or it cites nothing
    cited: Sequence[Cited] = ()
    dropped: int = 0  # citations of what there is not
    truncated: bool = False
    usage: Usage = FREE


async def ground(search: Engine, query: GraphQuery, chars: int) -> Ground:
    """A context of at most `chars` characters, handles included. Raises NotFound (of the center),
    StoreUnavailable."""
    searched = await search.search_for_context(query)
    return Ground(searched.answers, await search.context(searched, chars, HANDLE_CHARS))


async def answered(
    answerer: Answerer, query: GraphQuery, on: Ground, now_ms: int
) -> AsyncGenerator[str | Answer, None]:
    """The answer piece by piece, then as a whole. Nothing found costs no call of the model. Closing it ends
    the call. Raises AnswererUnavailable."""
    lines = citable(on.lines)
    if not lines:
        yield NOT_KNOWN
        yield Answer(NOT_KNOWN, known=False)
        return
    group_id = query.group_ids[0] if len(query.group_ids) == 1 else ""
    question = Question(query.text, tuple(numbered(on.lines)), query.filters.at_ms(now_ms), group_id)
    reader, end = CitationReader(lines), Written(known=True)
    try:
        async with aclosing(answerer.answer(question)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Written):
                    end = piece
                elif text := reader.feed(piece):
                    yield text
    except StepError as error:
        pause_ms = error.retry_after_ms if isinstance(error, ModelUnavailable) else None
        raise AnswererUnavailable(f"there is no answer: {error}", pause_ms) from error
    if text := reader.finish():
        yield text
    if not reader.told:
        if end.known:
            raise AnswererUnavailable("there is no answer: the model wrote nothing")
        yield NOT_KNOWN
    known = end.known and bool(reader.cited)
    yield Answer(reader.told or NOT_KNOWN, known, reader.cited, reader.dropped, end.truncated, end.usage)
