"""Calls of a model server: retries, and what its errors mean. No error quotes the server's answer."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from enum import StrEnum
from functools import partial
from typing import Protocol, TypeVar

import openai
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from kgsvc.domain.errors import ModelOff, ModelOutputInvalid, ModelUnavailable, StepError
from kgsvc.models.openai.settings import Endpoint
from kgsvc.models.openai.turns import FairTurns

_REPORTED_MAX_S = 3600.0
T = TypeVar("T")
S = TypeVar("S")
R = TypeVar("R")
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


class RefusedPart(StrEnum):
    """What a server may find wrong with a request, in the order in which it is mended."""

    BUDGET = "budget"  # fewer tokens may be asked for
    LENGTH = "length"  # the request does not fit the model's context
    TOKENS = "max_tokens"  # it knows only the other name of the parameter
    FORMAT = "response_format"
    TEMPERATURE = "temperature"
    ENCODING = "encoding_format"  # of embeddings
    STREAM_USAGE = "stream_options"  # that asks for the tokens of a streamed answer


_FOUND = {
    RefusedPart.LENGTH: "the episode is too long for the model",
    RefusedPart.FORMAT: "the model does not know this form of answer",
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

    def __init__(self, message: str, parts: tuple[RefusedPart, ...]) -> None:
        super().__init__(message)
        self.parts = parts


class FailedAttempt(Exception):
    """One failed attempt: what to raise, whether another attempt makes sense, the pause asked for."""

    def __init__(self, error: StepError, retryable: bool, retry_after_s: float | None = None) -> None:
        super().__init__(str(error))
        self.error, self.retryable, self.retry_after_s = error, retryable, retry_after_s


def classify(error: openai.OpenAIError | TimeoutError, now_s: float) -> FailedAttempt:
    """What `error` means; `now_s` is the wall clock, for a Retry-After that is a date."""
    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return FailedAttempt(ModelUnavailable("the model server did not answer in time"), True)
    if isinstance(error, openai.APIConnectionError):
        return FailedAttempt(ModelUnavailable("the connection to the model server failed"), True)
    if isinstance(error, openai.APIStatusError):
        return _status(error, now_s)
    return FailedAttempt(ModelUnavailable("the call to the model server could not be made"), False)


def _status(error: openai.APIStatusError, now_s: float) -> FailedAttempt:
    status = error.status_code
    retryable = False
    if error.code == "insufficient_quota":
        message = "the model account's quota is used up"
    elif status == 429:
        message, retryable = "the model server limits the rate (HTTP 429)", True
    elif status in _RETRYABLE or (status >= 500 and status != 501):
        message, retryable = f"the model server failed (HTTP {status})", True
    elif status in _REFUSED:
        message = _REFUSED[status]
    else:
        return FailedAttempt(_refusal(error), False)
    pause = retry_after_s(error.response.headers, now_s)
    unavailable = ModelUnavailable(message, None if pause is None else round(pause * 1000))
    return FailedAttempt(unavailable, retryable, pause)


def _refusal(error: openai.APIStatusError) -> RequestRefused:
    parts = _refused_parts(error.response.text[:_READ_CHARS].lower())
    reason = _REASONS.get(error.code or "") or next(
        (_FOUND[part] for part in parts if part in _FOUND), "it finds the request invalid"
    )
    return RequestRefused(f"the model server refuses the request (HTTP {error.status_code}): {reason}", parts)


def _refused_parts(text: str) -> tuple[RefusedPart, ...]:
    """What the server may find wrong, guessed from the text of its error."""
    tokens = "max_tokens" in text or "max_completion_tokens" in text
    too_many, too_long = any(map(text.__contains__, _TOO_MANY)), any(map(text.__contains__, _TOO_LONG))
    found = {
        RefusedPart.BUDGET: (tokens and too_many) or (too_long and "completion" in text),
        RefusedPart.LENGTH: too_long,
        RefusedPart.TOKENS: tokens and not too_many and not too_long,
        RefusedPart.FORMAT: any(map(text.__contains__, _FORMAT)) and not too_long,
        RefusedPart.TEMPERATURE: "temperature" in text and not too_long,
        RefusedPart.STREAM_USAGE: ("stream_options" in text or "include_usage" in text) and not too_long,
        RefusedPart.ENCODING: ("encoding_format" in text or "base64" in text) and not too_long,
    }
    return tuple(part for part, is_so in found.items() if is_so)


def retry_after_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """Seconds that the server asks to wait, at most an hour; None if it does not."""
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
    """An answer as the client library received it."""

    @property
    def content(self) -> bytes:
        """The body."""


Call = Callable[[openai.AsyncOpenAI], Awaitable[RawResponse]]
Events = openai.AsyncStream[object]  # each a JSON value
Opening = Callable[[openai.AsyncOpenAI], Awaitable[Events]]


def batches(items: Iterable[T], size: Callable[[T], int], most: int, chars: int) -> Iterator[list[T]]:
    """The items in lists of at most `most` items and `chars` characters; a longer item stands alone."""
    batch: list[T] = []
    used = 0
    for item in items:
        if batch and (len(batch) >= most or used + size(item) > chars):
            yield batch
            batch, used = [], 0
        batch.append(item)
        used += size(item)
    if batch:
        yield batch


def never(_begins: bool) -> bool:
    """Models are not switched off."""
    return False


@dataclass(slots=True)
class Work:
    """Calls that belong together, as all those that extract from one item."""

    begun: bool = False  # one was sent: another does not begin it


class Transport:
    """Sends calls to one model server, a bounded number at the same time, which groups share.

    Give what searches a transport of its own, so that it does not wait behind extractions.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
        wall_clock_s: Callable[[], float] = time.time,
        off: Callable[[bool], bool] = never,
    ) -> None:
        """While `off`, of calls that begin an item's work (True) or of the others, nothing is sent; what was
        sent before is answered."""
        self._endpoint = endpoint
        self._off = off
        self._sleep = sleep
        self._rng = rng or random.Random()
        self._wall_clock_s = wall_clock_s
        self._slots = FairTurns(endpoint.max_concurrency)
        self._patient = FairTurns(max(1, endpoint.max_concurrency - 1))
        self._client = openai.AsyncOpenAI(
            base_url=endpoint.base_url,
            api_key=endpoint.api_key or "none",
            timeout=endpoint.timeout_s,
            max_retries=0,
            # The client would send the account that the environment names: it is not meant for this server.
            default_headers={"OpenAI-Organization": openai.omit, "OpenAI-Project": openai.omit},  # type: ignore[dict-item]
        )

    async def call(
        self, send: Call, group_id: str, *, patient: bool = False, work: Work | None = None
    ) -> bytes:
        """The body of a successful answer to `send`. Patient calls leave one slot free for the others, and
        the first of their `work` begins it.

        Raises ModelUnavailable after the last attempt (with the pause that the server asked for), ModelOff
        where the next one was not made, StepError when the server refuses the request as such,
        ModelOutputInvalid when the answer is too large.
        """
        async with self._patient.turn(group_id) if patient else nullcontext(), self._slots.turn(group_id):
            begins = patient and not (work and work.begun)
            if work and not self._off(begins):
                work.begun = True
            return await self._tried(partial(self._attempt, begins=begins), send)

    async def stream(self, opening: Opening, group_id: str) -> AsyncGenerator[object, None]:
        """The events of an answer that is sent as it is written. Only its beginning is tried again; closing
        the generator closes the connection. Once begun, the whole answer has the time of one attempt.

        Raises as `call`.
        """
        async with self._slots.turn(group_id):
            events = await self._tried(partial(self._opened, begins=False), opening)
            ends_s = asyncio.get_running_loop().time() + self._endpoint.timeout_s
            async with events:
                while True:
                    try:
                        async with asyncio.timeout_at(ends_s):
                            event = await anext(events)
                    except StopAsyncIteration:
                        return
                    except ValueError:
                        raise ModelOutputInvalid("the model server's answer is not JSON") from None
                    except (openai.OpenAIError, TimeoutError) as error:
                        raise classify(error, self._wall_clock_s()).error from None
                    yield event

    async def _tried(self, attempt: Callable[[S], Awaitable[R]], send: S) -> R:
        """What an attempt comes to, repeated while that makes sense. Raises StepError."""
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self._endpoint.attempts),
            wait=self._pause_s,
            retry=retry_if_exception(self._worth_another),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return await retrying(attempt, send)
        except FailedAttempt as failed:
            raise failed.error from None

    @property
    def response_bytes(self) -> int:
        """How large an answer may be."""
        return self._endpoint.response_bytes

    async def close(self) -> None:
        """Close the connections; closing twice is harmless."""
        await self._client.close()

    async def _opened(self, send: Callable[[openai.AsyncOpenAI], Awaitable[T]], begins: bool) -> T:
        if self._off(begins):
            raise FailedAttempt(ModelOff(), False)
        try:
            async with asyncio.timeout(self._endpoint.timeout_s):
                return await send(self._client)
        except (openai.OpenAIError, TimeoutError) as error:
            # The original error quotes the server's answer: it is dropped, even as a cause.
            raise classify(error, self._wall_clock_s()) from None

    async def _attempt(self, send: Call, begins: bool) -> bytes:
        response = await self._opened(send, begins)
        if len(response.content) > self._endpoint.response_bytes:
            raise ModelOutputInvalid(
                f"the model server's answer is larger than {self._endpoint.response_bytes} bytes"
            )
        return response.content

    def _worth_another(self, error: BaseException) -> bool:
        if not isinstance(error, FailedAttempt) or not error.retryable:
            return False
        return (error.retry_after_s or 0.0) <= self._endpoint.retry_after_max_s

    def _pause_s(self, state: RetryCallState) -> float:
        """What the server asked for, plus a random share of a span that doubles with each attempt."""
        span = min(self._endpoint.backoff_max_s, self._endpoint.backoff_s * 2 ** (state.attempt_number - 1))
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after_s if isinstance(error, FailedAttempt) else None
        return (asked or 0.0) + self._rng.uniform(0.0, span)
