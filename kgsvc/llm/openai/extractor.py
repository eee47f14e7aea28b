"""Extraction by a model behind the OpenAI API: one structured call an episode, as a rule.

More calls are made for the repair of a rejected answer, for reflexion (off by default), and for the parts of
a body that is too long for the model or whose answer would be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kgsvc.domain.errors import StepError
from kgsvc.domain.extraction import Extraction, ExtractionRequest
from kgsvc.domain.limits import Limits
from kgsvc.domain.usage import FREE, Usage
from kgsvc.llm.openai.chat import Chat, Task, TooLong, costing
from kgsvc.llm.openai.manners import Form
from kgsvc.llm.openai.merging import merged
from kgsvc.llm.openai.schema import NAME, extraction
from kgsvc.llm.openai.validation import validate
from kgsvc.llm.prompts import extraction as prompts
from kgsvc.llm.prompts import reflexion
from kgsvc.llm.protocol import Extracted, Operation, Trouble
from kgsvc.llm.splitting import halves, parts

_EARLIER_CHARS = 500  # of the part before, shown with a part
_DIVISIBLE_CHARS = 400  # a shorter part is not divided further
_DIVISIONS = 4  # of one part: at most 16 of it


@dataclass(frozen=True, slots=True)
class _Part:
    """A body, or a part of one; `earlier` is what stands before it, None where it is the whole."""

    request: ExtractionRequest
    earlier: str | None = None
    divisions: int = 0


class OpenAIExtractor:
    """An Extractor (llm/protocol.py) on an OpenAI-compatible server."""

    def __init__(self, chat: Chat, limits: Limits) -> None:
        self._chat = chat
        self._limits = limits

    @property
    def name(self) -> str:
        """ "openai:<model>"."""
        return f"openai:{self._chat.settings.model}"

    @property
    def costs_model_calls(self) -> bool:
        """Always."""
        return True

    async def extract(self, requests: Sequence[ExtractionRequest]) -> list[Extracted | Exception]:
        """One result or StepError for each request, in order (see llm/protocol.py)."""
        done = await asyncio.gather(*map(self._extract, requests), return_exceptions=True)
        results: list[Extracted | Exception] = []
        for result in done:
            if isinstance(result, Extracted | Exception):
                results.append(result)
            else:
                raise result
        return results

    async def close(self) -> None:
        """Close the chat's connections."""
        await self._chat.close()

    async def _extract(self, request: ExtractionRequest) -> Extracted:
        bodies = parts(request.episode.body, self._chat.settings.body_chars) or [request.episode.body]
        whole = _Part(request)
        if len(bodies) == 1:
            return await self._read_part(whole)
        return await self._read_parts(_divided(whole, bodies))

    async def _read_parts(self, divided: Sequence[_Part]) -> Extracted:
        """All parts made one. Raises the first StepError, with what all of them cost."""
        self._chat.meter.trouble(Operation.EXTRACT, Trouble.SPLIT)
        done = await asyncio.gather(*map(self._read_part, divided), return_exceptions=True)
        read = [result for result in done if isinstance(result, Extracted)]
        usage = sum((result.usage for result in read), FREE)
        failed = [result for result in done if isinstance(result, BaseException)]
        if failed:
            raise costing(failed, usage)
        return Extracted(merged((result.extraction for result in read), self._limits), usage)

    async def _read_part(self, part: _Part) -> Extracted:
        try:
            found, usage = await self._ask(part)
        except TooLong as error:
            bodies = halves(part.request.episode.body)
            if part.divisions == _DIVISIONS or len(bodies) < 2 or sum(map(len, bodies)) < _DIVISIBLE_CHARS:
                raise
            try:
                rest = await self._read_parts(_divided(part, bodies))
            except StepError as later:
                later.usage += error.usage
                raise
            return replace(rest, usage=rest.usage + error.usage)
        return await self._reflected(part, found, usage)

    async def _ask(self, part: _Part) -> tuple[Extraction, Usage]:
        group_id, asked = part.request.episode.group_id, self._messages(part)
        return await self._chat.ask(Task(Operation.EXTRACT, group_id, asked, _form(part), self._validated))

    async def _reflected(self, part: _Part, found: Extraction, usage: Usage) -> Extracted:
        """`found` with what the configured number of second looks adds. A look that fails ends them: what was
        found is worth more than what may be missing."""
        for _ in range(self._chat.settings.reflexion_rounds):
            found = merged([found], self._limits)  # for the numbering of its refs
            try:
                more, cost = await self._look_again(part, found)
            except StepError as error:
                self._chat.meter.trouble(Operation.REFLEXION, Trouble.REFLEXION_LOST)
                return Extracted(found, usage + error.usage)
            usage += cost
            known, found = found, merged([found, more], self._limits)
            if (len(known.nodes), len(known.edges)) == (len(found.nodes), len(found.edges)):
                break
        return Extracted(found, usage)

    async def _look_again(self, part: _Part, found: Extraction) -> tuple[Extraction, Usage]:
        known = [{"ref": node.ref, "name": node.name, "type": node.type} for node in found.nodes]

        def read(answer: object) -> Extraction:
            if isinstance(answer, dict) and isinstance(answer.get("nodes"), list):
                answer = {**answer, "nodes": [*known, *answer["nodes"]]}
            return self._validated(answer)

        asked = reflexion.messages(self._messages(part), found)
        group_id = part.request.episode.group_id
        task = Task(Operation.REFLEXION, group_id, asked, _form(part), read, repaired=False)
        return await self._chat.ask(task)

    def _messages(self, part: _Part) -> list[dict[str, str]]:
        return prompts.messages(part.request, self._chat.settings.context_chars, part.earlier)

    def _validated(self, answer: object) -> Extraction:
        return validate(answer, self._limits)


def _form(part: _Part) -> Form:
    return Form(NAME, extraction(part.request.ontology))


def _divided(part: _Part, bodies: Sequence[str]) -> list[_Part]:
    """The parts that these bodies, which together are the part's, become."""
    found: list[_Part] = []
    before = part.earlier or ""
    for each in bodies:
        request = replace(part.request, episode=replace(part.request.episode, body=each))
        found.append(_Part(request, before[-_EARLIER_CHARS:], part.divisions + 1))
        before += each
    return found
