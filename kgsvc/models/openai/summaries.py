"""Summaries of entities by a model behind the OpenAI API: one structured call for several entities."""

from __future__ import annotations

from collections.abc import Sequence

from kgsvc.models.openai import values
from kgsvc.models.openai.chat import Chat, Task
from kgsvc.models.openai.manners import Form
from kgsvc.models.openai.validation import Rejected, arrays, structure
from kgsvc.models.openai.values import Bad
from kgsvc.models.prompts import community as community_prompts
from kgsvc.models.prompts import summaries as prompts
from kgsvc.models.protocol import Gist, Operation, Retold, Subject, Trouble

_READ_CHARS = 4_000  # of one text, before it is cut
_MEMBER = structure(id={"type": "integer"}, summary={"type": "string"})
_ENTITY_FORM = Form("entity_summaries", structure(summaries=arrays(_MEMBER)))


class OpenAISummaryWriter:
    """A SummaryWriter (models/protocol.py) on an OpenAI-compatible server."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    async def retell(self, group_id: str, subjects: Sequence[Subject]) -> Retold:
        """See SummaryWriter. A rejected answer is not asked for again: there are the entities' own words."""

        def read(answer: object) -> tuple[str, ...]:
            return read_texts(answer, len(subjects))

        said = prompts.messages(subjects)
        task = Task(Operation.REWRITE, group_id, said, _ENTITY_FORM, read, repaired=False)
        texts, usage = await self._chat.ask(task)
        return Retold(texts, usage)

    async def close(self) -> None:
        """Close the chat's connections."""
        await self._chat.close()


def read_texts(answer: object, count: int) -> tuple[str, ...]:
    """The texts by their ids, "" for those left out or not fit to be told: these cost no other its text.
    Raises Rejected: another form, ids not asked for, or given twice."""
    try:
        given = values.fields(answer, frozenset({"summaries"}), frozenset())
        found: dict[int, str] = {}
        for member in values.listed(given["summaries"], "summaries", count):
            each = values.fields(member, frozenset({"id", "summary"}), frozenset())
            id = each["id"]
            if isinstance(id, bool) or not isinstance(id, int) or id not in range(count) or id in found:
                raise Rejected("an id was not asked for, or is given twice", kind=Trouble.WRONG_IDS)
            found[id] = _text(each["summary"])
    except Bad as bad:
        raise Rejected(f"{bad.field} {bad.problem}") from None
    return tuple(found.get(id, "") for id in range(count))


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise Bad("summary", "is not a string")
    try:
        return values.text(given, "summary", _READ_CHARS)
    except Bad:  # too long, or characters that no text has
        return ""


_COMMUNITY_FORM = Form("community", structure(name={"type": "string"}, summary={"type": "string"}))


class OpenAISummariser:
    """A Summariser (models/protocol.py) on an OpenAI-compatible server."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    async def combine(self, group_id: str, first: str, second: str) -> Gist:
        """See Summariser. A rejected answer is not asked for again: builds have a summary without it."""
        said = community_prompts.messages(first, second)
        task = Task(Operation.SUMMARISE, group_id, said, _COMMUNITY_FORM, read_gist, repaired=False)
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
            values.visible(given["name"], "name", community_prompts.NAME_CHARS),
            values.visible(given["summary"], "summary", community_prompts.SUMMARY_CHARS),
        )
    except Bad as bad:
        raise Rejected(f"{bad.field} {bad.problem}") from None
