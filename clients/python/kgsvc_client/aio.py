"""The client for asyncio: what kgsvc_client.blocking has, to be awaited."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable
from contextlib import aclosing
from datetime import datetime
from functools import update_wrapper
from typing import Any, ClassVar, Concatenate, Self

import grpc.aio

from kgsvc_client import operations, values
from kgsvc_client.base import BaseClient, Sending
from kgsvc_client.connection import Attempts, Call, T
from kgsvc_client.errors import KgsvcError, error
from kgsvc_client.items import Addable, Converter
from kgsvc_client.operations import P, Pages, Scope, Steps


def _awaited(
    build: Callable[Concatenate[Scope, P], Call[T] | Steps[T]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    async def method(self: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = await self.client.run(build(self, *args, **kwargs))
        return result

    return update_wrapper(method, build)  # type: ignore[return-value]


def _listing(
    build: Callable[Concatenate[Scope, P], Pages[T]],
) -> Callable[Concatenate[Any, P], AsyncIterator[T]]:
    async def method(self: Any, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        pages, token = build(self, *args, **kwargs), None
        while token != "":
            page: Any = await self.client.call(Call(pages.method, {**pages.input, "page_token": token}))
            for entry in getattr(page, pages.field):
                yield pages.view(entry)
            token = page.next_page_token

    return update_wrapper(method, build)  # type: ignore[return-value]


class Client(BaseClient):
    __doc__ = BaseClient.__doc__
    _grpc: ClassVar[Any] = grpc.aio
    health = _awaited(operations.health)
    groups = _listing(operations.groups)

    def group(self, group_id: str) -> "Group":
        """The memory of a tenant."""
        return Group(self, group_id)

    async def close(self) -> None:
        """End the channel and all calls."""
        await self._channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def run(self, operation: Call[T] | Steps[T]) -> T:
        """Carry it out."""
        if isinstance(operation, Call):
            return await self.call(operation)
        answer: Any = None
        while True:
            try:
                step = operation.send(answer)
            except StopIteration as done:
                result: T = done.value
                return result
            match step:
                case Call(streams=False):
                    answer = await self.call(step)
                case Call():
                    async for _ in self.answers(step, self.attempts(step)):
                        pass
                case float():
                    await asyncio.sleep(step)
                case _:
                    answer = await asyncio.to_thread(operations.load, step)

    async def call(self, step: Call[T]) -> T:
        """What becomes of the answer of a call, after as many attempts as it takes. Raises KgsvcError."""
        attempts = self.attempts(step)
        while True:
            try:
                call = self.begin(step, attempts)
                answer = await call
                self.saw(await call.trailing_metadata())
                return step.view(answer.output)
            except grpc.RpcError as failure:
                await asyncio.sleep(attempts.pause_s(self.error(failure, attempts)))

    async def answers(self, step: Call[T], attempts: Attempts) -> AsyncGenerator[T]:
        """What becomes of each answer of a stream, over as many streams as it takes. Raises KgsvcError."""
        while True:
            attempts.stream = self.begin(step, attempts)
            failure = error("BROKEN", "the service ended the stream too early")
            try:
                async for answer in attempts.stream:
                    attempts.progressed()
                    self.saw((), answer)
                    yield step.view(answer)
                if hasattr(attempts.stream, "trailing_metadata"):  # those of interceptors may hide it
                    self.saw(await attempts.stream.trailing_metadata())
                if not step.endless:
                    return
            except grpc.RpcError as status:
                failure = self.error(status, attempts)
            finally:
                attempts.cancel()
            await asyncio.sleep(attempts.pause_s(failure))


class Group(Scope):
    """The memory of a tenant."""

    def __init__(self, client: Client, group_id: str) -> None:
        super().__init__(client.runtime, group_id)
        self.client = client

    add = _awaited(operations.add)
    wait = _awaited(operations.wait_for)
    search = _awaited(operations.search)
    context = _awaited(operations.context)
    ask = _awaited(operations.ask)
    history = _awaited(operations.history)
    entity = _awaited(operations.entity)
    forget = _awaited(operations.forget)
    add_document = _awaited(operations.add_document)
    document = _awaited(operations.document)
    documents = _listing(operations.documents)
    episodes = _listing(operations.episodes)
    items = _listing(operations.items)

    async def stream(
        self, items: Iterable[Addable] | AsyncIterable[Addable], *, time: datetime | None = None
    ) -> values.Report:
        """As kgsvc_client.Group.stream; `items` may also be iterated asynchronously."""
        return await _Stream(self).run(items, Converter(time or self.now()))

    def follow(self, cursor: str | None = None) -> AsyncIterator[values.Changes]:
        """As kgsvc_client.Group.follow."""
        step = operations.follow(self, cursor)
        return self.client.answers(step, self.client.attempts(step))


class _Stream(Sending):
    """The caller's task reads the items, another one the answers; gRPC sends in a task of its own."""

    def __init__(self, group: Group) -> None:
        super().__init__(group)
        self._changed = asyncio.Event()

    async def run(
        self, items: Iterable[Addable] | AsyncIterable[Addable], converter: Converter
    ) -> values.Report:
        """Send all; what became of them. Raises KgsvcError."""
        worker = asyncio.create_task(self._work())
        try:
            async for item in _each(items):
                if (sent := converter.sent(item)) is not None:
                    await self._until(lambda: self._window.has_room)
                    self._window.put(sent)
                    self._changed.set()
            self._window.closed = True
            self._changed.set()
            await self._until(lambda: self._window.done)
            return self._window.report
        finally:
            worker.cancel()
            await asyncio.wait([worker])

    async def _until(self, reached: Callable[[], bool]) -> None:
        """Wait. Raises KgsvcError when the stream failed, or nothing was answered for too long."""
        while not reached():
            try:
                async with asyncio.timeout(self._client.timeout_s):
                    await self._change(self._moved(reached))
            except TimeoutError:
                raise self._stalled() from None

    async def _change(self, reached: Callable[[], bool]) -> None:
        while not reached():
            self._changed.clear()
            await self._changed.wait()

    async def _work(self) -> None:
        """Take the answers until all are there."""
        try:
            async with aclosing(self._client.answers(self._step, self._attempts)) as answers:
                async for _ in answers:
                    if self._window.done:
                        return
        except (KgsvcError, asyncio.InvalidStateError, grpc.aio.UsageError) as failure:
            self._failed = failure
            self._changed.set()

    def _answered(self, answer: Any) -> None:
        self._window.answer(answer)
        self._changed.set()

    async def _requests(self) -> AsyncIterator[Any]:
        number = self._window.reopened()
        while True:
            await self._change(lambda: self._window.moves(number))
            batch = self._window.next(number)
            if not batch:
                return
            for sent in batch:
                yield sent


async def _each(items: Iterable[Addable] | AsyncIterable[Addable]) -> AsyncIterator[Addable]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
        return
    for item in items:
        yield item
        await asyncio.sleep(0)  # items that are at hand must not hold up the answers
