"""The client for asyncio: what kgsvc_client.blocking has, to be awaited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable
from datetime import datetime
from functools import update_wrapper
from pathlib import Path
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

import grpc.aio

from kgsvc_client import operations, values
from kgsvc_client.base import BaseClient, Following, Sending
from kgsvc_client.connection import Attempts
from kgsvc_client.errors import KgsvcError
from kgsvc_client.items import Addable, Converter
from kgsvc_client.operations import Call, Load, Pages, Pause, Scope, Steps
from kgsvc_client.window import request

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(
    build: Callable[Concatenate[Scope, P], Steps[T]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    async def method(self: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = await self.client.run(build(self.scope, *args, **kwargs))
        return result

    return update_wrapper(method, build)  # type: ignore[return-value]


def _listing(
    build: Callable[Concatenate[Scope, P], Pages[T]],
) -> Callable[Concatenate[Any, P], AsyncIterator[T]]:
    async def method(self: Any, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        pages, token = build(self.scope, *args, **kwargs), None
        while token != "":
            entries, token = pages.read(await self.client.call(pages.call(token)))
            for entry in entries:
                yield entry

    return update_wrapper(method, build)  # type: ignore[return-value]


class Client(BaseClient):
    __doc__ = BaseClient.__doc__
    _grpc: ClassVar[Any] = grpc.aio
    health = _awaited(operations.health)
    groups = _listing(operations.groups)

    def group(self, group_id: str) -> Group:
        """The memory of a tenant."""
        return Group(self, group_id)

    async def close(self) -> None:
        """End the channel and all calls."""
        await self._channel.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def run(self, steps: Steps[T]) -> T:
        """Carry out an operation."""
        answer: Any = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as done:
                result: T = done.value
                return result
            match step:
                case Call():
                    answer = await self.call(step)
                case Pause():
                    await asyncio.sleep(step.seconds)
                case Load():
                    answer = await asyncio.to_thread(_load, step.path)

    async def call(self, step: Call) -> Any:
        """The output of a call, after as many attempts as it takes. Raises KgsvcError."""
        attempts, sent = self.attempts(step), self.request(step)
        while True:
            try:
                return await self._attempt(step, sent, attempts)
            except grpc.RpcError as failure:
                await asyncio.sleep(attempts.pause_s(self.error(failure, sent)))

    async def _attempt(self, step: Call, sent: Any, attempts: Attempts) -> Any:
        answered = self.begin(step, sent, attempts)
        if step.take is None:
            return (await answered).output
        async for answer in answered:
            attempts.progressed(1 if step.once_begun else None)
            step.take(answer)
        return None


def _load(path: Path) -> tuple[bytes, float]:
    return path.read_bytes(), path.stat().st_mtime


class Group:
    """The memory of a tenant."""

    def __init__(self, client: Client, group_id: str) -> None:
        self.client = client
        self.id = group_id
        self.scope = Scope(group_id, client.scope.timeout_s, client.scope.runtime)

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
        return await _Stream(self).run(items, Converter(time or self.scope.now()))

    async def follow(self, cursor: str | None = None) -> AsyncIterator[values.Changes]:
        """As kgsvc_client.Group.follow."""
        following = Following(self.client, self.id, cursor)
        while True:
            stream = following.begin()
            try:
                async for answer in stream:
                    yield following.told(answer)
            except grpc.RpcError as failure:
                await asyncio.sleep(following.pause_s(failure))
            finally:
                stream.cancel()


class _Stream:
    """One run of `stream`: the caller's task reads the items, another one talks to the service."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._client = group.client
        self._sending = Sending(group.client)
        self._window = self._sending.window
        self._changed = asyncio.Event()

    async def run(
        self, items: Iterable[Addable] | AsyncIterable[Addable], converter: Converter
    ) -> values.Report:
        worker = asyncio.create_task(self._work())
        try:
            async for item in _each(items):
                if (sent := converter.sent(item)) is not None:
                    await self._until(lambda: self._window.has_room)
                    self._window.put(request(self._group.id, sent))
                    self._changed.set()
            self._window.close()
            self._changed.set()
            await self._until(lambda: self._window.done)
            return self._window.report
        finally:
            worker.cancel()
            await asyncio.wait([worker])

    async def _until(self, reached: Callable[[], bool]) -> None:
        """Wait. Raises KgsvcError when the stream failed, or nothing was answered for too long."""
        while not reached():
            if self._sending.failed is not None:
                raise self._sending.failed
            try:
                async with asyncio.timeout(self._client.scope.timeout_s):
                    await self._change(self._sending.moved(reached))
            except TimeoutError:
                raise self._sending.stalled() from None

    async def _change(self, reached: Callable[[], bool]) -> None:
        while not reached():
            self._changed.clear()
            await self._changed.wait()

    async def _work(self) -> None:
        """One stream after the other, until everything is answered."""
        while True:
            failure: KgsvcError | None = None
            try:
                await self._exchange()
            except grpc.RpcError as status:
                failure = self._client.error(status)
            except KgsvcError as error:
                failure = error
            pause = self._sending.pause_s(failure)
            self._changed.set()
            if pause is None:
                return
            await asyncio.sleep(pause)

    async def _exchange(self) -> None:
        """One stream until its end."""
        self._window.reopened()
        call = self._client.ingestion.StreamEpisodes(metadata=self._client.metadata)
        writer = asyncio.create_task(self._write(call))
        try:
            async for answer in call:
                self._window.answer(answer)
                self._changed.set()
        finally:
            writer.cancel()
            call.cancel()
            await asyncio.gather(writer, return_exceptions=True)

    async def _write(self, call: Any) -> None:
        """What this stream sends; errors show where it is read."""
        while True:
            await self._change(lambda: self._window.sends or self._window.ends)
            if not self._window.sends:
                await call.done_writing()
                return
            await call.write(self._window.next())


async def _each(items: Iterable[Addable] | AsyncIterable[Addable]) -> AsyncIterator[Addable]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
        return
    for item in items:
        yield item
        await asyncio.sleep(0)  # items that are at hand must not hold up the answers
