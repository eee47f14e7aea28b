"""Relevance by a model behind the OpenAI API: one structured call for all candidates of a search."""

from __future__ import annotations

from collections.abc import Sequence

from kgsvc.models.openai import values
from kgsvc.models.openai.chat import Chat, Task
from kgsvc.models.openai.manners import Form
from kgsvc.models.openai.validation import Rejected, arrays, structure
from kgsvc.models.openai.values import Bad
from kgsvc.models.prompts import relevance as prompts
from kgsvc.models.protocol import Operation, Rated, Trouble

_NUMBER = {"type": "integer"}
_FORM = Form("relevance", structure(scores=arrays(structure(id=_NUMBER, score=_NUMBER))))


class OpenAICrossEncoder:
    """A CrossEncoder (models/protocol.py) on an OpenAI-compatible server."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    async def rate(self, query: str, texts: Sequence[str], group_id: str = "") -> Rated:
        """See CrossEncoder. A rejected answer is not asked for again: who searches waits, and there is the
        order without it."""
        if not texts:
            return Rated(())

        def read(answer: object) -> tuple[int, ...]:
            return read_scores(answer, len(texts))

        said = prompts.messages(query, texts)
        scores, usage = await self._chat.ask(
            Task(Operation.RERANK, group_id, said, _FORM, read, repaired=False)
        )
        return Rated(scores, usage)

    async def close(self) -> None:
        """Close the chat's connections."""
        await self._chat.close()


def read_scores(answer: object, count: int) -> tuple[int, ...]:
    """The scores by their ids. Raises Rejected: an id is missing, was not asked for or is given twice, a
    score is no whole number from 0 to 100."""
    found: dict[int, int] = {}
    try:
        given = values.fields(answer, frozenset({"scores"}), frozenset())
        for member in values.listed(given["scores"], "scores", count):
            each = values.fields(member, frozenset({"id", "score"}), frozenset())
            id, score = each["id"], each["score"]
            if type(id) is not int or id not in range(count) or id in found:
                raise Rejected("an id was not asked for, or is given twice", kind=Trouble.WRONG_IDS)
            if type(score) is not int or not 0 <= score <= prompts.BEST:
                raise Rejected(f"a score is no whole number from 0 to {prompts.BEST}", kind=Trouble.INVALID)
            found[id] = score
    except Bad as bad:
        raise Rejected(f"{bad.field} {bad.problem}", kind=Trouble.MALFORMED) from None
    if len(found) < count:
        raise Rejected(f"{count - len(found)} ids are missing", kind=Trouble.WRONG_IDS)
    return tuple(found[id] for id in range(count))
