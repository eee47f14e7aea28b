"""Ask (spec 001): what a search finds, and an answer that a model makes of that alone."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from kgsvc.commands.citing import CitationReader, Cited
from kgsvc.domain.errors import AnswererUnavailable, ModelUnavailable, StepError
from kgsvc.domain.model.graph import FREE, Usage
from kgsvc.models.protocol import Answerer, Question, Written
from kgsvc.search.context_talk import HANDLE_CHARS, Line, citable, numbered
from kgsvc.search.engine import Engine
from kgsvc.search.graph_results import GraphQuery, ScopeAnswer

NOT_KNOWN = "Not known."  # where nothing was found, or the model has no more to say


@dataclass(frozen=True, slots=True)
class Ground:
    """What an answer may rest on: what a search found, and the lines of the context made of it."""

    found: Sequence[ScopeAnswer]
    lines: Sequence[Line]

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
    found = await search.search(query)
    return Ground(found, await search.context(query, found, chars, HANDLE_CHARS))


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
