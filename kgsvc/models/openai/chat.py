"""Asking a chat model for JSON of a given form: how this server wants to be asked, and what it answers.

Servers know different parameters: what a server refuses is left out of later calls.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Generic, TypeVar

from openai import AsyncOpenAI, AsyncStream

from kgsvc.domain.errors import ModelOutputInvalid, StepError
from kgsvc.domain.model.graph import FREE, Usage
from kgsvc.models.openai.completions import Completion, read_answer, read_piece
from kgsvc.models.openai.settings import ChatModel
from kgsvc.models.openai.transport import Events, RawResponse, RefusedPart, RequestRefused, Transport, Work
from kgsvc.models.openai.validation import Rejected, decode
from kgsvc.models.prompts import form as prompts
from kgsvc.models.protocol import Meter, Operation, Trouble, Unmetered

Message = Mapping[str, str]

_BUDGET_MIN = 512  # tokens; a model that allows fewer cannot extract


class AnswerFormat(StrEnum):
    """How the form of the answer is asked for, the strictest first."""

    SCHEMA = "json_schema"
    OBJECT = "json_object"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The form of an answer: a strict JSON schema and its name."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ServerDialect:
    """Which parameters this server understands. Immutable: calls at the same time may use different ones."""

    format: AnswerFormat = AnswerFormat.SCHEMA
    tokens: str = "max_completion_tokens"
    temperature: bool = True
    budget: int | None = None  # the largest token limit that it accepts
    shows_schema: bool = False  # the prompt shows the schema, to which the server does not keep
    streams_usage: bool = True  # it tells the tokens of streamed answers when asked to
    passing: bool = False  # applies to one request only

    def parameters(
        self, settings: ChatModel, messages: list[Message], form: AnswerForm, budget: int
    ) -> dict[str, Any]:
        """The body of a request for a chat completion."""
        asked = self._basic(settings, self._worded(messages, form), budget)
        if self.format is AnswerFormat.SCHEMA:
            strict = {"name": form.name, "strict": True, "schema": form.schema}
            asked["response_format"] = {"type": "json_schema", "json_schema": strict}
        elif self.format is AnswerFormat.OBJECT:
            asked["response_format"] = {"type": "json_object"}
        return asked

    def streamed(self, settings: ChatModel, messages: list[Message], budget: int) -> dict[str, Any]:
        """The body of a request for a text in no particular form, sent as it is written."""
        asked = self._basic(settings, messages, budget) | {"stream": True}
        return asked | ({"stream_options": {"include_usage": True}} if self.streams_usage else {})

    def _basic(self, settings: ChatModel, messages: list[Message], budget: int) -> dict[str, Any]:
        asked: dict[str, Any] = {"model": settings.model, "messages": messages}
        asked[self.tokens] = budget if self.budget is None else min(budget, self.budget)
        if self.temperature and settings.temperature is not None:
            asked["temperature"] = settings.temperature
        return asked

    def _worded(self, messages: list[Message], form: AnswerForm) -> list[Message]:
        if self.format is AnswerFormat.SCHEMA and not self.shows_schema:
            return messages
        system, *rest = messages
        schema = json.dumps(form.schema, ensure_ascii=False, separators=(",", ":"))
        return [{**system, "content": f"{system['content']}\n{prompts.schema_rules(schema)}"}, *rest]


def adapted(sent: ServerDialect, part: RefusedPart, budget: int) -> ServerDialect | None:
    """How to ask after `sent` was refused because of `part`; None if no other way is known."""
    if part is RefusedPart.FORMAT and sent.format is not AnswerFormat.TEXT:
        return replace(
            sent, format=AnswerFormat.OBJECT if sent.format is AnswerFormat.SCHEMA else AnswerFormat.TEXT
        )
    if part is RefusedPart.TOKENS and sent.tokens != "max_tokens":
        return replace(sent, tokens="max_tokens")
    if part is RefusedPart.TEMPERATURE and sent.temperature:
        return replace(sent, temperature=False)
    if part is RefusedPart.STREAM_USAGE and sent.streams_usage:
        return replace(sent, streams_usage=False)
    if part is RefusedPart.BUDGET:
        asked = budget if sent.budget is None else min(budget, sent.budget)
        return replace(sent, budget=max(_BUDGET_MIN, asked // 2)) if asked > _BUDGET_MIN else None
    return None


T = TypeVar("T")

_ONE_CALL = Usage(calls=1)
_QUOTED_CHARS = 32_000  # a longer rejected answer is not shown to the model again
_REASONS = 3
# Work that no commit and no search waits for.
_PATIENT = frozenset({Operation.EXTRACT, Operation.REFLEXION, Operation.SUMMARISE, Operation.REWRITE})
_CUT_OFF = "it broke off at the token limit: be briefer, and keep to what matters"
THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"\A\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)


class TooLong(StepError):
    """The request or its answer is too long for the model: ask for less at once."""


@dataclass(frozen=True, slots=True)
class ChatTask(Generic[T]):
    """What is asked, and how an answer is read: `read` raises Rejected."""

    operation: Operation
    group_id: str
    messages: Sequence[Message]
    form: AnswerForm
    read: Callable[[object], T]
    repaired: bool = True  # whether a rejected answer is worth another call
    work: Work | None = None  # that the call is a part of


class Chat:
    """A chat model on one server. All who share it also share what it learns about the server."""

    def __init__(self, transport: Transport, settings: ChatModel, meter: Meter | None = None) -> None:
        self.settings = settings
        self.meter = meter or Unmetered()
        self._transport = transport
        self._dialect = ServerDialect()

    async def ask(self, task: ChatTask[T]) -> tuple[T, Usage]:
        """The answer as `task.read` understands it, and what it cost with its repairs.

        Raises StepError with the cost: ModelUnavailable, ModelOutputInvalid when no repair helped, TooLong.
        """
        spent = [FREE]
        try:
            return await self._answered(task, spent), spent[0]
        except StepError as error:
            error.usage = error.usage + spent[0]
            raise

    async def write(
        self, operation: Operation, group_id: str, messages: Sequence[Message]
    ) -> AsyncGenerator[Completion, None]:
        """A text in no particular form, piece by piece as it is written; the last piece has what it cost.
        Closing it ends the call. A call that was begun is counted, whatever became of it.

        Raises StepError: ModelUnavailable, ModelOutputInvalid, TooLong.
        """
        dialect, budget, given = self._dialect, self.settings.max_output_tokens, list(messages)
        while True:
            parameters = dialect.streamed(self.settings, given, budget)
            try:
                async with aclosing(self._pieces(operation, group_id, parameters)) as pieces:
                    async for piece in pieces:
                        self._keep(dialect)
                        yield piece
                return
            except RequestRefused as refusal:
                dialect = self._adapted(operation, refusal, dialect, budget)

    async def _pieces(
        self, operation: Operation, group_id: str, parameters: Mapping[str, Any]
    ) -> AsyncGenerator[Completion, None]:
        usage, ended, truncated, chars = FREE, False, False, 0

        async def opening(client: AsyncOpenAI) -> Events:
            # Its own method for chats would check the type of every event.
            stream = AsyncStream[object]
            return await client.post(
                "/chat/completions", cast_to=object, body=parameters, stream=True, stream_cls=stream
            )

        with self.meter.calling("chat", parameters["model"]) as span:
            try:
                async with aclosing(self._transport.stream(opening, group_id)) as events:
                    async for event in events:
                        piece = read_piece(event)
                        usage = piece.usage or usage or _ONE_CALL
                        ended, truncated = ended or piece.ended, truncated or piece.truncated
                        chars += len(piece.text or "")
                        self._check(operation, piece, chars)
                        yield replace(piece, usage=FREE)
                if not chars:
                    self.meter.trouble(operation, Trouble.EMPTY)
                    raise ModelOutputInvalid("the model server's reply held no text")
                if truncated:
                    self.meter.trouble(operation, Trouble.TRUNCATED)
                yield Completion("", usage, truncated=truncated or not ended)
            finally:
                if usage:
                    self.meter.used(operation, group_id, usage)
                    span.used(usage.prompt_tokens, usage.completion_tokens)

    def _check(self, operation: Operation, piece: Completion, chars: int) -> None:
        if piece.refused:
            self.meter.trouble(operation, Trouble.REFUSED)
            raise ModelOutputInvalid("the model refused to answer")
        if chars > self._transport.response_bytes:
            raise ModelOutputInvalid("the model server's answer has no end")

    async def close(self) -> None:
        """Close the transport's connections."""
        await self._transport.close()

    async def _answered(self, task: ChatTask[T], spent: list[Usage]) -> T:
        budget, messages, rejected = self.settings.max_output_tokens, list(task.messages), Rejected()
        operation = task.operation
        for _ in range(1 + (self.settings.repair_attempts if task.repaired else 0)):
            answer = await self._call(task, operation, messages, budget)
            spent[0] += answer.usage
            try:
                return task.read(decode(self._text(answer)))
            except Rejected as bad:
                rejected = bad
            self._note(task, rejected.kind, answer)
            if rejected.kind is Trouble.BEYOND_LIMIT:
                break
            budget *= 2 if answer.truncated else 1
            messages = [*task.messages, *_quoted(answer), prompts.repair(rejected.problems)]
            operation = Operation.REPAIR
        reasons = "; ".join(rejected.problems[:_REASONS])
        too_long = rejected.kind in {Trouble.TRUNCATED, Trouble.BEYOND_LIMIT}
        kind = TooLong if too_long else ModelOutputInvalid
        raise kind(f"the model's answer was rejected: {reasons}")

    def _text(self, answer: Completion) -> str:
        if answer.truncated:
            raise Rejected(_CUT_OFF, kind=Trouble.TRUNCATED)
        if not answer.text or not answer.text.strip():
            raise Rejected("the model server's reply held no text", kind=Trouble.EMPTY)
        return bare(answer.text)

    def _note(self, task: ChatTask[T], kind: Trouble, answer: Completion) -> None:
        self.meter.trouble(task.operation, kind)
        if kind is Trouble.MALFORMED and answer.text is not None:
            # The server does not keep to the schema: from now on the prompt shows it, too.
            self._dialect = replace(self._dialect, shows_schema=True)

    async def _call(
        self, task: ChatTask[T], operation: Operation, messages: list[Message], budget: int
    ) -> Completion:
        """One answered call; a request that the server does not understand is sent again in another form."""
        dialect = self._dialect
        while True:
            parameters = dialect.parameters(self.settings, messages, task.form, budget)
            try:
                answer = await self._send(task, parameters)
            except RequestRefused as refusal:
                dialect = self._adapted(task.operation, refusal, dialect, budget)
                continue
            self._keep(dialect)
            self.meter.used(operation, task.group_id, answer.usage)
            if answer.refused:
                self.meter.trouble(task.operation, Trouble.REFUSED)
                declined = ModelOutputInvalid("the model refused to answer for this episode")
                declined.usage = answer.usage
                raise declined
            return answer

    def _adapted(
        self, operation: Operation, refusal: RequestRefused, sent: ServerDialect, budget: int
    ) -> ServerDialect:
        """How to ask instead. Raises the refusal, or TooLong, if nothing helps."""
        for part in refusal.parts:
            better = adapted(sent, part, budget)
            if better is not None:
                self.meter.trouble(operation, Trouble.UNSUPPORTED)
                # A budget that was cut for one long request does not hold for others.
                return replace(better, passing=RefusedPart.LENGTH in refusal.parts)
            if part is RefusedPart.LENGTH:
                self.meter.trouble(operation, Trouble.TOO_LONG)
                raise TooLong(str(refusal)) from None
        raise refusal

    def _keep(self, dialect: ServerDialect) -> None:
        """Remember how the call was asked, now that it was answered."""
        known = self._dialect
        if dialect != known and not dialect.passing:
            self._dialect = replace(dialect, shows_schema=dialect.shows_schema or known.shows_schema)

    async def _send(self, task: ChatTask[T], parameters: dict[str, Any]) -> Completion:
        patient = task.operation in _PATIENT

        async def send(client: AsyncOpenAI) -> RawResponse:
            # In extra_body they are sent as they are. As arguments, the client would check every type, which
            # takes a third of the time of a call.
            model: str = parameters["model"]
            create = client.chat.completions.with_raw_response.create
            response: RawResponse = await create(model=model, messages=(), extra_body=parameters)
            return response

        with self.meter.calling("chat", parameters["model"]) as span:
            body = await self._transport.call(send, task.group_id, patient=patient, work=task.work)
            answer = read_answer(body)
            span.used(answer.usage.prompt_tokens, answer.usage.completion_tokens)
            return answer


def bare(text: str) -> str:
    """`text` without what models put around JSON: their thoughts before it, a code fence, and, where it holds
    no JSON by itself, words before and after the one object."""
    inner = THOUGHT.sub("", text, count=1).strip()
    fence = _FENCE.match(inner)
    if fence:
        return fence.group(1)
    first, last = inner.find("{"), inner.rfind("}")
    return inner[first : last + 1] if 0 <= first < last and not inner.startswith("[") else inner


async def together(calls: Iterable[Awaitable[T]], usage_of: Callable[[T], Usage]) -> list[T]:
    """The results of calls that run at the same time. Raises the first error, with the cost of all calls."""
    done = await asyncio.gather(*calls, return_exceptions=True)
    answered = [result for result in done if not isinstance(result, BaseException)]
    errors = [result for result in done if isinstance(result, BaseException)]
    if not errors:
        return answered
    if isinstance(errors[0], StepError):
        spent = [*map(usage_of, answered), *(error.usage for error in errors if isinstance(error, StepError))]
        errors[0].usage = sum(spent, FREE)
    raise errors[0]


class ChatUser:
    """Base of the models that ask a chat."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    @property
    def name(self) -> str:
        """For people: "openai:<model>"."""
        return f"openai:{self._chat.settings.model}"

    async def close(self) -> None:
        """Close the chat's connections."""
        await self._chat.close()


def _quoted(answer: Completion) -> list[Message]:
    """The rejected answer, so that the places named in it can be found; not a truncated or huge one."""
    if not answer.text or answer.truncated or len(answer.text) > _QUOTED_CHARS:
        return []
    sendable = answer.text.encode("utf-8", "replace").decode()
    return [{"role": "assistant", "content": sendable}]
