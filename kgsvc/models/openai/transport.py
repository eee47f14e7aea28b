"""What the transport's failures mean for a pipeline step, said without a word of the server's answer."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

import openai
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from kgsvc.domain.errors import ModelOutputInvalid, ModelUnavailable, StepError
from kgsvc.models.openai.manners import About
from kgsvc.models.openai.settings import Endpoint

_REPORTED_MAX_S = 3600.0
_RETRYABLE = frozenset({408, 409, 425, 429})
_REFUSED = {
    401: "the model server refuses the credentials (HTTP 401): check the API key",
    403: "the model server forbids the use of this model or account (HTTP 403)",
    404: "the model server does not know this model or path (HTTP 404): check model and base URL",
}
_REASONS = {
    "context_length_exceeded": "the episode is too long for the model",
    "model_not_found": "the model does not exist",
    "unsupported_parameter": "the model does not know a parameter",
    "unsupported_value": "the model does not accept a parameter's value",
    "invalid_json_schema": "the model does not accept the answer's schema",
}


_FOUND = {
    About.LENGTH: "the episode is too long for the model",
    About.FORMAT: "the model does not know this form of answer",
}
_READ_CHARS = 10_000
_TOO_LONG = (
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "prompt is too long",
)
_TOO_MANY = ("too large", "at most", "less than or equal", "exceeds the maximum", "must be <=")
_FORMAT = ("response_format", "response format", "json_schema", "json_object", "structured output")


class RequestRefused(StepError):
    """The server refuses the request as such; sending it again as it is would change nothing."""

    def __init__(self, message: str, abouts: tuple[About, ...]) -> None:
        super().__init__(message)
        self.abouts = abouts


class Headers(Protocol):
    """What is needed of a response's headers; names are case-insensitive."""

    def get(self, key: str) -> str | None:
        """The header's value, or None."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed attempt: what to raise, whether another attempt makes sense, the pause asked for."""

    error: StepError
    retryable: bool
    retry_after_s: float | None = None


def classify(error: openai.OpenAIError | TimeoutError, now_s: float) -> Failure:
    """What `error` means; `now_s` is the wall clock, for a Retry-After that is a date."""
    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return Failure(ModelUnavailable("the model server did not answer in time"), retryable=True)
    if isinstance(error, openai.APIConnectionError):
        return Failure(ModelUnavailable("the connection to the model server failed"), retryable=True)
    if isinstance(error, openai.APIStatusError):
        return _status(error, now_s)
    return Failure(ModelUnavailable("the call to the model server could not be made"), retryable=False)


def _status(error: openai.APIStatusError, now_s: float) -> Failure:
    status = error.status_code
    pause = retry_after_s(error.response.headers, now_s)
    if error.code == "insufficient_quota":
        return Failure(_unavailable("the model account's quota is used up", pause), False, pause)
    if status == 429:
        return Failure(_unavailable("the model server limits the rate (HTTP 429)", pause), True, pause)
    if status == 501:
        return Failure(_refusal(error), False)
    if status in _RETRYABLE or status >= 500:
        return Failure(_unavailable(f"the model server failed (HTTP {status})", pause), True, pause)
    if status in _REFUSED:
        return Failure(_unavailable(_REFUSED[status], pause), False, pause)
    return Failure(_refusal(error), False)


def _refusal(error: openai.APIStatusError) -> RequestRefused:
    abouts = _abouts(error.response.text[:_READ_CHARS].lower())
    reason = _REASONS.get(error.code or "") or next(
        (_FOUND[about] for about in abouts if about in _FOUND), "it finds the request invalid"
    )
    return RequestRefused(
        f"the model server refuses the request (HTTP {error.status_code}): {reason}", abouts
    )


def _abouts(said: str) -> tuple[About, ...]:
    """What the server may find wrong, read from its words; they are used for nothing else."""
    tokens = "max_tokens" in said or "max_completion_tokens" in said
    too_many, too_long = any(map(said.__contains__, _TOO_MANY)), any(map(said.__contains__, _TOO_LONG))
    found = {
        About.BUDGET: (tokens and too_many) or (too_long and "completion" in said),
        About.LENGTH: too_long,
        About.TOKENS: tokens and not too_many and not too_long,
        About.FORMAT: any(map(said.__contains__, _FORMAT)) and not too_long,
        About.TEMPERATURE: "temperature" in said and not too_long,
        About.ENCODING: ("encoding_format" in said or "base64" in said) and not too_long,
    }
    return tuple(about for about, is_so in found.items() if is_so)


def _unavailable(message: str, pause: float | None) -> ModelUnavailable:
    return ModelUnavailable(message, None if pause is None else round(pause * 1000))


def retry_after_s(headers: Headers, now_s: float) -> float | None:
    """Seconds that the server asks to wait, at most an hour; None when it does not say so legibly."""
    millis = _number(headers.get("retry-after-ms"))
    if millis is not None:
        return _bounded(millis / 1000)
    given = headers.get("retry-after")
    seconds = _number(given)
    if seconds is None and given:
        seconds = _until(given, now_s)
    return None if seconds is None else _bounded(seconds)


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _until(date: str, now_s: float) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now_s
    except (ValueError, OverflowError):
        return None


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), _REPORTED_MAX_S)


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
