"""Calls to an OpenAI-compatible server: one client, bounded concurrency, bounded patience.

The `openai` package sends; its own retries are off, since tenacity's are the ones that know our clock, our
randomness and our bounds. A call keeps its place among the `max_concurrency` while it waits for its next
attempt: a server that limits the rate is thereby asked less, not more.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any, Protocol

import openai
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from kgsvc.domain.errors import ModelOutputInvalid
from kgsvc.llm.openai.failures import Failure, classify
from kgsvc.llm.openai.settings import Endpoint


class RawResponse(Protocol):
    """An answer before anything of it is believed."""

    @property
    def content(self) -> bytes:
        """The body."""


Call = Callable[[openai.AsyncOpenAI], Awaitable[RawResponse]]


class _AttemptFailed(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure.error))
        self.failure = failure


class Transport:
    """One model server. Extractor and embedder may share it; a search's query should not queue behind
    extractions, so give the embedder its own."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
        wall_clock_s: Callable[[], float] = time.time,
    ) -> None:
        self._endpoint = endpoint
        self._sleep = sleep
        self._rng = rng or random.Random()
        self._wall_clock_s = wall_clock_s
        self._slots = asyncio.Semaphore(endpoint.max_concurrency)
        self._patient = asyncio.Semaphore(max(1, endpoint.max_concurrency - 1))
        self._client = openai.AsyncOpenAI(
            base_url=endpoint.base_url,
            api_key=endpoint.api_key or "none",
            timeout=endpoint.timeout_s,
            max_retries=0,
            # Whatever account the environment names is not meant for this server.
            default_headers={"OpenAI-Organization": openai.omit, "OpenAI-Project": openai.omit},  # type: ignore[dict-item]
        )

    async def call(self, send: Call, *, patient: bool = False) -> bytes:
        """The body of a successful answer to `send`. Patient calls leave one place to the others, who thus
        need not stand behind all that has queued.

        Raises ModelUnavailable after the last attempt (with the pause that the server asked for), StepError
        when the server refuses the request as such, ModelOutputInvalid when the answer is too large.
        """
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self._endpoint.attempts),
            wait=self._pause_s,
            retry=retry_if_exception(self._worth_another),
            sleep=self._sleep,
            reraise=True,
        )
        async with self._patient if patient else nullcontext(), self._slots:
            try:
                return await retrying(self._attempt, send)
            except _AttemptFailed as failed:
                raise failed.failure.error from None

    async def close(self) -> None:
        """Close the connections; closing twice is harmless."""
        await self._client.close()

    async def _attempt(self, send: Call) -> bytes:
        try:
            async with asyncio.timeout(self._endpoint.timeout_s):
                response = await send(self._client)
        except (openai.OpenAIError, TimeoutError) as error:
            # The original quotes the server's body: it goes no further, not even as a cause.
            raise _AttemptFailed(classify(error, self._wall_clock_s())) from None
        if len(response.content) > self._endpoint.response_bytes:
            raise ModelOutputInvalid(
                f"the model server's answer is larger than {self._endpoint.response_bytes} bytes"
            )
        return response.content

    def _worth_another(self, error: BaseException) -> bool:
        if not isinstance(error, _AttemptFailed) or not error.failure.retryable:
            return False
        return (error.failure.retry_after_s or 0.0) <= self._endpoint.retry_after_max_s

    def _pause_s(self, state: RetryCallState) -> float:
        """What the server asked for, and on top a random share of an exponentially growing span."""
        span = min(self._endpoint.backoff_max_s, self._endpoint.backoff_s * 2 ** (state.attempt_number - 1))
        error: Any = state.outcome.exception() if state.outcome else None
        asked = error.failure.retry_after_s if isinstance(error, _AttemptFailed) else None
        return (asked or 0.0) + self._rng.uniform(0.0, span)
