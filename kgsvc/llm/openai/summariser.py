"""Summaries of communities by a model behind the OpenAI API: one structured call for two summaries."""

from __future__ import annotations

from kgsvc.llm.openai import values
from kgsvc.llm.openai.chat import Chat, Task
from kgsvc.llm.openai.manners import Form
from kgsvc.llm.openai.schema import structure
from kgsvc.llm.openai.validation import Rejected
from kgsvc.llm.openai.values import Bad
from kgsvc.llm.prompts import communities as prompts
from kgsvc.llm.protocol import Gist, Operation

_FORM = Form("community", structure(name={"type": "string"}, summary={"type": "string"}))


class OpenAISummariser:
    """A Summariser (llm/protocol.py) on an OpenAI-compatible server."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    async def combine(self, group_id: str, first: str, second: str) -> Gist:
        """See Summariser. A rejected answer is not asked for again: builds have a summary without it."""
        said = prompts.messages(first, second)
        task = Task(Operation.SUMMARISE, group_id, said, _FORM, read_gist, repaired=False)
        gist, _usage = await self._chat.ask(task)
        return gist

    async def close(self) -> None:
        """Close the chat's connections."""
        await self._chat.close()


def read_gist(answer: object) -> Gist:
    """Name and summary, within their lengths. Raises Rejected."""
    try:
        given = values.fields(answer, frozenset({"name", "summary"}), frozenset())
        return Gist(
            values.visible(given["name"], "name", prompts.NAME_CHARS),
            values.visible(given["summary"], "summary", prompts.SUMMARY_CHARS),
        )
    except Bad as bad:
        raise Rejected(f"{bad.field} {bad.problem}") from None
