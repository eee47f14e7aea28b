"""Resolution by a model behind the OpenAI API: one structured call for a whole micro-batch (design §4)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeVar

from kgsvc.domain.limits import Limits
from kgsvc.domain.resolution_types import FactQuestion, NodeQuestion, ResolutionRequest, Resolutions
from kgsvc.domain.usage import FREE, Usage
from kgsvc.llm.openai.chat import Chat, Task, costing
from kgsvc.llm.openai.manners import Form
from kgsvc.llm.openai.resolutions import schema, validate
from kgsvc.llm.prompts import resolution as prompts
from kgsvc.llm.protocol import Operation, Resolved

QUESTIONS = 60  # nodes, and as many facts, of one call
_CHARS = 40_000  # of the nodes' side of one call, and of the facts' side
_FORM = Form("resolutions", schema(typed=False))
_TYPED_FORM = Form("resolutions", schema(typed=True))

Question = TypeVar("Question", NodeQuestion, FactQuestion)
Part = tuple[tuple[NodeQuestion, ...], tuple[FactQuestion, ...]]


class OpenAIResolver:
    """A Resolver (llm/protocol.py) on an OpenAI-compatible server."""

    def __init__(self, chat: Chat, limits: Limits) -> None:
        self._chat = chat
        self._limits = limits

    @property
    def name(self) -> str:
        """ "openai:<model>"."""
        return f"openai:{self._chat.settings.model}"

    async def resolve(self, request: ResolutionRequest) -> Resolved:
        """See Resolver. More than 60 questions of a kind, or very long ones, take several calls at once."""
        calls = [self._ask(request, nodes, facts) for nodes, facts in _parts(request)]
        done = await asyncio.gather(*calls, return_exceptions=True)
        errors = [result for result in done if isinstance(result, BaseException)]
        answers = [result for result in done if not isinstance(result, BaseException)]
        usage = sum((cost for _, cost in answers), FREE)
        if errors:
            raise costing(errors, usage)
        nodes = {id: found for answer, _ in answers for id, found in answer.nodes.items()}
        facts = {id: found for answer, _ in answers for id, found in answer.facts.items()}
        return Resolved(Resolutions(nodes, facts), usage)

    async def close(self) -> None:
        """Close the chat's connections."""
        await self._chat.close()

    async def _ask(
        self, request: ResolutionRequest, nodes: Sequence[NodeQuestion], facts: Sequence[FactQuestion]
    ) -> tuple[Resolutions, Usage]:
        said = prompts.messages(request, nodes, facts, self._chat.settings.context_chars)

        def read(answer: object) -> Resolutions:
            return validate(answer, nodes, facts, self._limits)

        form = _TYPED_FORM if any(fact.fact_types for fact in facts) else _FORM
        return await self._chat.ask(Task(Operation.RESOLVE, request.group_id, said, form, read))


def _parts(request: ResolutionRequest) -> Iterator[Part]:
    """The questions, in as many calls as their bounds need: one, as a rule."""
    entities = {entity.idx: len(entity.name) + len(entity.summary) for entity in request.entities}
    known = {fact.idx: len(fact.fact) for fact in request.known_facts}

    def node_size(node: NodeQuestion) -> int:
        return len(node.name) + len(node.context) + sum(entities[idx] for idx in node.candidates)

    def fact_size(fact: FactQuestion) -> int:
        return len(fact.fact) + sum(known[idx] for idx in {*fact.duplicates_of, *fact.may_contradict})

    yield from zip_longest(
        _bounded(request.nodes, node_size), _bounded(request.facts, fact_size), fillvalue=()
    )


def _bounded(
    questions: Sequence[Question], size: Callable[[Question], int]
) -> Iterator[tuple[Question, ...]]:
    part: list[Question] = []
    chars = 0
    for question in questions:
        if part and (len(part) == QUESTIONS or chars + size(question) > _CHARS):
            yield tuple(part)
            part, chars = [], 0
        part.append(question)
        chars += size(question)
    if part:
        yield tuple(part)
