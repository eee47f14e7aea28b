"""Extraction by a model behind the OpenAI API: one structured call an episode, one repair if need be."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from kgsvc.domain.extraction import Extraction, ExtractionRequest
from kgsvc.domain.limits import Limits
from kgsvc.llm.openai.chat import Chat, Task
from kgsvc.llm.openai.manners import Form
from kgsvc.llm.openai.schema import EXTRACTION, NAME
from kgsvc.llm.openai.validation import validate
from kgsvc.llm.prompts import extraction as prompts
from kgsvc.llm.protocol import Extracted, Operation

_FORM = Form(NAME, EXTRACTION)


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
        messages = prompts.messages(request, self._chat.settings.context_chars)
        task = Task(Operation.EXTRACT, request.episode.group_id, messages, _FORM, self._read)
        extraction, usage = await self._chat.ask(task)
        return Extracted(extraction, usage)

    def _read(self, answer: object) -> Extraction:
        return validate(answer, self._limits)
