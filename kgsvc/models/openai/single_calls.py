"""Models that need one structured call for each request, whose rejected answers are not asked for again.

A search has an order without the ratings, and entities and communities have summaries without the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kgsvc.models.openai import values
from kgsvc.models.openai.chat import AnswerForm, ChatTask, ChatUser, T
from kgsvc.models.openai.validation import NUMBER, STRING, Rejected, arrays, structure
from kgsvc.models.openai.values import Bad
from kgsvc.models.prompts.retrieval import BEST, relevance_messages
from kgsvc.models.prompts.summaries import community_messages, entities_messages
from kgsvc.models.protocol import NAME_CHARS, SUMMARY_CHARS, Gist, Operation, Rated, Retold, Subject, Trouble

_SUMMARY_CHARS = 4_000  # a longer summary of an entity is dropped
_RELEVANCE = AnswerForm("relevance", structure(scores=arrays(structure(id=NUMBER, score=NUMBER))))
_SUMMARIES = AnswerForm("entity_summaries", structure(summaries=arrays(structure(id=NUMBER, summary=STRING))))
_COMMUNITY = AnswerForm("community", structure(name=STRING, summary=STRING))


class OpenAICrossEncoder(ChatUser):
    """A CrossEncoder (models/protocol.py) on an OpenAI-compatible server."""

    async def rate(self, query: str, texts: Sequence[str], group_id: str = "") -> Rated:
        """See CrossEncoder."""
        if not texts:
            return Rated(())
        read = partial(read_scores, count=len(texts))
        messages = relevance_messages(query, texts)
        task = ChatTask(Operation.RERANK, group_id, messages, _RELEVANCE, read, repaired=False)
        return Rated(*await self._chat.ask(task))


class OpenAISummaryWriter(ChatUser):
    """A SummaryWriter (models/protocol.py) on an OpenAI-compatible server."""

    async def retell(self, group_id: str, subjects: Sequence[Subject], today_ms: int) -> Retold:
        """See SummaryWriter."""
        read = partial(read_texts, count=len(subjects))
        messages = entities_messages(subjects, today_ms)
        task = ChatTask(Operation.REWRITE, group_id, messages, _SUMMARIES, read, repaired=False)
        return Retold(*await self._chat.ask(task))


class OpenAISummariser(ChatUser):
    """A Summariser (models/protocol.py) on an OpenAI-compatible server."""

    async def combine(self, group_id: str, first: str, second: str) -> Gist:
        """See Summariser."""
        messages = community_messages(first, second)
        task = ChatTask(Operation.SUMMARISE, group_id, messages, _COMMUNITY, read_gist, repaired=False)
        return (await self._chat.ask(task))[0]


def read_scores(answer: object, count: int) -> tuple[int, ...]:
    """The scores by their ids. Raises Rejected: an id is missing, was not asked for or is given twice, a
    score is no whole number from 0 to 100."""
    try:
        scores = _by_id(answer, "scores", "score", count, _score)
    except Bad as bad:
        raise Rejected(f"{bad.field} {bad.problem}", kind=Trouble.MALFORMED) from None
    if len(scores) < count:
        raise Rejected(f"{count - len(scores)} ids are missing", kind=Trouble.WRONG_IDS)
    return tuple(scores[id] for id in range(count))


def read_texts(answer: object, count: int) -> tuple[str, ...]:
    """The texts by their ids; "" for a text that is missing or not usable, which costs no other its text.
    Raises Rejected: another form, ids not asked for, or given twice."""
    try:
        texts = _by_id(answer, "summaries", "summary", count, _summary)
    except Bad as bad:
        raise Rejected(f"{bad.field} {bad.problem}") from None
    return tuple(texts.get(id, "") for id in range(count))


def read_gist(answer: object) -> Gist:
    """Name and summary, within their lengths. Raises Rejected."""
    try:
        given = values.fields(answer, {"name", "summary"})
        return Gist(
            values.visible(given["name"], "name", NAME_CHARS),
            values.visible(given["summary"], "summary", SUMMARY_CHARS),
        )
    except Bad as bad:
        raise Rejected(f"{bad.field} {bad.problem}") from None


def _by_id(answer: object, path: str, field: str, count: int, read: Callable[[Any], T]) -> dict[int, T]:
    """The values of `field` by the ids 0 to `count` - 1. Raises Bad, and Rejected for a wrong id."""
    found: dict[int, T] = {}
    for member in values.listed(values.fields(answer, {path})[path], path, count):
        given = values.fields(member, {"id", field})
        id = given["id"]
        if type(id) is not int or id not in range(count) or id in found:
            raise Rejected("an id was not asked for, or is given twice", kind=Trouble.WRONG_IDS)
        found[id] = read(given[field])
    return found


def _score(given: object) -> int:
    if type(given) is not int or not 0 <= given <= BEST:
        raise Rejected(f"a score is no whole number from 0 to {BEST}", kind=Trouble.INVALID)
    return given


def _summary(given: object) -> str:
    if not isinstance(given, str):
        raise Bad("summary", "is not a string")
    try:
        return values.text(given, "summary", _SUMMARY_CHARS)
    except Bad:  # too long, or with control characters
        return ""
