"""Models that need one structured call for each request, whose rejected answers are not asked for again.

A search has an order without the ratings, and entities and communities have summaries without the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, TypeVar

from kgsvc.models.openai import values
from kgsvc.models.openai.chat import AnswerForm, ChatTask, ChatUser
from kgsvc.models.openai.validation import NUMBER, STRING, Rejected, arrays, structure
from kgsvc.models.openai.values import BadValue, ExactObject, Read, a_text, visible
from kgsvc.models.prompts.retrieval import BEST, relevance_messages
from kgsvc.models.prompts.summaries import community_messages, entities_messages
from kgsvc.models.protocol import NAME_CHARS, SUMMARY_CHARS, Gist, Operation, Rated, Retold, Subject, Trouble

_SUMMARY_CHARS = 4_000  # a longer summary of an entity is dropped
_RELEVANCE = AnswerForm("relevance", structure(scores=arrays(structure(id=NUMBER, score=NUMBER))))
_SUMMARIES = AnswerForm("entity_summaries", structure(summaries=arrays(structure(id=NUMBER, summary=STRING))))
_COMMUNITY = AnswerForm("community", structure(name=STRING, summary=STRING))
Member = TypeVar("Member", "_Score", "_Summary")


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


class _Score(ExactObject):
    id: Any  # a wrong one is no wrong form
    score: Any


class _Scores(ExactObject):
    scores: list[_Score]


class _Summary(ExactObject):
    id: Any
    summary: str


class _Summaries(ExactObject):
    summaries: list[_Summary]


class _Community(ExactObject):
    name: Annotated[str, a_text(NAME_CHARS, visible)]
    summary: Annotated[str, a_text(SUMMARY_CHARS, visible)]


def read_scores(answer: object, count: int) -> tuple[int, ...]:
    """The scores by their ids. Raises Rejected: an id is missing, was not asked for or is given twice, a
    score is no whole number from 0 to 100."""
    rated = _by_id(_read(_Scores, answer, Trouble.MALFORMED).scores, count, Trouble.MALFORMED)
    if len(rated) < count:
        raise Rejected(f"{count - len(rated)} ids are missing", kind=Trouble.WRONG_IDS)
    scores = [rated[id].score for id in range(count)]
    if not all(type(score) is int and 0 <= score <= BEST for score in scores):
        raise Rejected(f"a score is no whole number from 0 to {BEST}", kind=Trouble.INVALID)
    return tuple(scores)


def read_texts(answer: object, count: int) -> tuple[str, ...]:
    """The texts by their ids; "" for a text that is missing or not usable, which costs no other its text.
    Raises Rejected: another form, ids not asked for, or given twice."""
    told = _by_id(_read(_Summaries, answer).summaries, count)
    return tuple(_usable(told[id].summary) if id in told else "" for id in range(count))


def read_gist(answer: object) -> Gist:
    """Name and summary, within their lengths. Raises Rejected."""
    given = _read(_Community, answer)
    return Gist(given.name, given.summary)


def _read(kind: type[Read], answer: object, trouble: Trouble = Trouble.INVALID) -> Read:
    try:
        return values.read(kind, answer)
    except BadValue as bad:
        raise Rejected(f"{bad.field} {bad.problem}".lstrip(), kind=trouble) from None


def _by_id(members: Sequence[Member], count: int, trouble: Trouble = Trouble.INVALID) -> dict[int, Member]:
    """The members by their ids, 0 to `count` - 1. Raises Rejected."""
    if len(members) > count:
        raise Rejected(f"there are {len(members)} answers to {count} questions", kind=trouble)
    found: dict[int, Member] = {}
    for member in members:
        if type(member.id) is not int or member.id not in range(count) or member.id in found:
            raise Rejected("an id was not asked for, or is given twice", kind=Trouble.WRONG_IDS)
        found[member.id] = member
    return found


def _usable(given: str) -> str:
    try:
        return values.text(given, _SUMMARY_CHARS)
    except BadValue:  # too long, or with control characters
        return ""
