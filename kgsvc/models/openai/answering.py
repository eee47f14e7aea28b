"""Answers to questions, as a chat model writes them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from kgsvc.models.openai.chat import THOUGHT, ChatUser
from kgsvc.models.prompts.retrieval import UNKNOWN, answer_messages
from kgsvc.models.protocol import Operation, Question, Written

_THINKING = ("<think>", "<thinking>")
_DRESS = "*_`\"' \t\r\n"  # what models put around a word
_BEHIND = _DRESS + ".:"


class OpenAIAnswerer(ChatUser):
    """An Answerer (models/protocol.py) on an OpenAI-compatible server."""

    async def answer(self, question: Question) -> AsyncGenerator[str | Written, None]:
        """See Answerer."""
        messages = answer_messages(question.text, question.lines, question.as_of_ms)
        opening, end = Opening(), Written(known=True)
        async with aclosing(self._chat.write(Operation.ANSWER, question.group_id, messages)) as pieces:
            async for piece in pieces:
                if text := opening.feed(piece.text or ""):
                    yield text
                end = replace(end, truncated=piece.truncated, usage=piece.usage)
        if text := opening.finish():
            yield text
        yield replace(end, known=opening.known)


class Opening:
    """The beginning of an answer, held back until it is known what it is: thoughts, which are dropped, the
    word that says that nothing is known, or the answer itself."""

    def __init__(self) -> None:
        self.known = True
        self._held: str | None = ""  # None: the answer itself has begun

    def feed(self, piece: str) -> str:
        """What of the answer can be told now."""
        if self._held is None:
            return piece
        self._held += piece
        return self._told(last=False)

    def finish(self) -> str:
        """What was still held back."""
        return "" if self._held is None else self._told(last=True)

    def _told(self, *, last: bool) -> str:
        text = THOUGHT.sub("", self._held or "", count=1).lstrip()
        if text.startswith(_THINKING):
            return ""  # a thought without an end is no answer
        bare = text.lstrip(_DRESS)
        if bare.startswith(UNKNOWN):
            self.known = False
            text = bare = bare.removeprefix(UNKNOWN).lstrip(_BEHIND)
        waits = not bare or any(each.startswith(bare) for each in (*_THINKING, UNKNOWN))
        if waits and not last:
            return ""
        self._held = None
        return text
