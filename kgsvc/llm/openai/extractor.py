"""Extraction by a model behind the OpenAI API: one structured call an episode, one repair if need be."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from openai import AsyncOpenAI

from kgsvc.domain.errors import ModelOutputInvalid
from kgsvc.domain.extraction import Extraction, ExtractionRequest
from kgsvc.domain.limits import Limits
from kgsvc.llm.openai.answers import Answer, read_answer, total
from kgsvc.llm.openai.schema import RESPONSE_FORMAT
from kgsvc.llm.openai.settings import ChatModel
from kgsvc.llm.openai.transport import RawResponse, Transport
from kgsvc.llm.openai.validation import Rejected, decode, validate
from kgsvc.llm.prompts import extraction as prompts
from kgsvc.llm.protocol import Extracted, Usage

_QUOTED_CHARS = 32_000  # a longer rejected answer is not shown to the model again
_REASONS = 3
_CUT_OFF = "it broke off at the token limit: be briefer, and keep to what matters"


class OpenAIExtractor:
    """An Extractor (llm/protocol.py) on an OpenAI-compatible server."""

    def __init__(self, transport: Transport, settings: ChatModel, limits: Limits) -> None:
        self._transport = transport
        self._settings = settings
        self._limits = limits
        self._spent = Usage()

    @property
    def name(self) -> str:
        """ "openai:<model>"."""
        return f"openai:{self._settings.model}"

    @property
    def costs_model_calls(self) -> bool:
        """Always."""
        return True

    @property
    def spent(self) -> Usage:
        """All answered calls so far, those of failed extractions included."""
        return self._spent

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
        """Close the transport's connections."""
        await self._transport.close()

    async def _extract(self, request: ExtractionRequest) -> Extracted:
        asked: list[dict[str, str]] = prompts.messages(request, self._settings.context_chars)
        messages, max_tokens, usage = asked, self._settings.max_output_tokens, Usage()
        problems: Sequence[str] = ()
        for _ in range(1 + self._settings.repair_attempts):
            answer = await self._ask(messages, max_tokens)
            usage = total(usage, answer.usage)
            try:
                return Extracted(self._read(answer), usage)
            except Rejected as rejected:
                problems = rejected.problems
            max_tokens *= 2 if answer.truncated else 1
            messages = [*asked, *_quoted(answer), prompts.repair(problems)]
        raise ModelOutputInvalid(f"the model's answer was rejected: {'; '.join(problems[:_REASONS])}")

    async def _ask(self, messages: list[dict[str, str]], max_tokens: int) -> Answer:
        parameters: dict[str, Any] = {
            "model": self._settings.model,
            "messages": messages,
            "response_format": RESPONSE_FORMAT,
            "max_completion_tokens": max_tokens,
        }
        if self._settings.temperature is not None:
            parameters["temperature"] = self._settings.temperature

        async def send(client: AsyncOpenAI) -> RawResponse:
            response: RawResponse = await client.chat.completions.with_raw_response.create(**parameters)
            return response

        answer = read_answer(await self._transport.call(send))
        self._spent = total(self._spent, answer.usage)
        return answer

    def _read(self, answer: Answer) -> Extraction:
        if answer.refused:
            raise ModelOutputInvalid("the model refused to extract from this episode")
        if answer.truncated:
            raise Rejected(_CUT_OFF)
        if answer.text is None:
            raise Rejected("the model server's reply held no text")
        return validate(decode(answer.text), self._limits)


def _quoted(answer: Answer) -> list[dict[str, str]]:
    """The rejected answer, so that the places named in it can be found; not a truncated or huge one."""
    if answer.text is None or answer.truncated or len(answer.text) > _QUOTED_CHARS:
        return []
    sendable = answer.text.encode("utf-8", "replace").decode()
    return [{"role": "assistant", "content": sendable}]
