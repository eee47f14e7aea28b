"""The client for programs that block."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial, update_wrapper
from threading import Condition, Thread
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

import grpc

from kgsvc_client import operations, values
from kgsvc_client.base import BaseClient, Following, Sending
from kgsvc_client.connection import Attempts
from kgsvc_client.errors import KgsvcError
from kgsvc_client.items import Addable, Converter
from kgsvc_client.operations import Call, Load, Pages, Pause, Scope, Steps
from kgsvc_client.window import request

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(build: Callable[Concatenate[Scope, P], Steps[T]]) -> Callable[Concatenate[Any, P], T]:
    def method(self: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = self.client.run(build(self.scope, *args, **kwargs))
        return result

    return update_wrapper(method, build)  # type: ignore[return-value]


def _listing(build: Callable[Concatenate[Scope, P], Pages[T]]) -> Callable[Concatenate[Any, P], Iterator[T]]:
    def method(self: Any, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        pages, token = build(self.scope, *args, **kwargs), None
        while token != "":
            entries, token = pages.read(self.client.call(pages.call(token)))
            yield from entries

    return update_wrapper(method, build)  # type: ignore[return-value]


class Client(BaseClient):
    __doc__ = BaseClient.__doc__
    _grpc: ClassVar[Any] = grpc
    health = _blocking(operations.health)
    groups = _listing(operations.groups)

    def group(self, group_id: str) -> Group:
        """The memory of a tenant."""
        return Group(self, group_id)

    def close(self) -> None:
        """End the channel and all calls."""
        self._channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, steps: Steps[T]) -> T:
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
                    answer = self.call(step)
                case Pause():
                    time.sleep(step.seconds)
                case Load():
                    answer = step.path.read_bytes(), step.path.stat().st_mtime

    def call(self, step: Call) -> Any:
        """The output of a call, after as many attempts as it takes. Raises KgsvcError."""
        attempts, sent = self.attempts(step), self.request(step)
        while True:
            try:
                return self._attempt(step, sent, attempts)
            except grpc.RpcError as failure:
                time.sleep(attempts.pause_s(self.error(failure, sent)))

    def _attempt(self, step: Call, sent: Any, attempts: Attempts) -> Any:
        answered = self.begin(step, sent, attempts)
        if step.take is None:
            return answered.output
        for answer in answered:
            attempts.progressed(1 if step.once_begun else None)
            step.take(answer)
        return None


class Group:
    """The memory of a tenant."""

    def __init__(self, client: Client, group_id: str) -> None:
        self.client = client
        self.id = group_id
        self.scope = Scope(group_id, client.scope.timeout_s, client.scope.runtime)

    add = _blocking(operations.add)
    wait = _blocking(operations.wait_for)
    search = _blocking(operations.search)
    context = _blocking(operations.context)
    ask = _blocking(operations.ask)
    history = _blocking(operations.history)
    entity = _blocking(operations.entity)
    forget = _blocking(operations.forget)
    add_document = _blocking(operations.add_document)
    document = _blocking(operations.document)
    documents = _listing(operations.documents)
    episodes = _listing(operations.episodes)
    items = _listing(operations.items)

    def stream(self, items: Iterable[Addable], *, time: datetime | None = None) -> values.Report:
        """Send any number of items, and return when each is stored or refused. At most 1,024 items and 8 MiB
        are on their way: `items` is read no faster. Where the connection breaks, what was not answered is
        sent again. Raises KgsvcError when the service refuses the stream, or answers nothing for the client's
        timeout; then all that was read from `items` is stored but for the last 1,024."""
        return _Stream(self).run(items, Converter(time or self.scope.now()))

    def follow(self, cursor: str | None = None) -> Iterator[values.Changes]:
        """What is in the group, and then every change of it, without end, over broken connections; `cursor`
        is that of the last changes that were dealt with. Raises KgsvcError when the service refuses it, or is
        away for ten minutes."""
        following = Following(self.client, self.id, cursor)
        while True:
            stream = following.begin()
            try:
                for answer in stream:
                    yield following.told(answer)
            except grpc.RpcError as failure:
                time.sleep(following.pause_s(failure))
            finally:
                stream.cancel()


class _Stream:
    """One run of `stream`: the caller's thread reads the items, another one talks to the service."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._client = group.client
        self._sending = Sending(group.client)
        self._window = self._sending.window
        self._changed = Condition()
        self._call: Any = None
        self._over = False

    def run(self, items: Iterable[Addable], converter: Converter) -> values.Report:
        worker = Thread(target=self._work, daemon=True)
        worker.start()
        try:
            for item in items:
                if (sent := converter.sent(item)) is not None:
                    self._until(lambda: self._window.has_room)
                    self._change(partial(self._window.put, request(self._group.id, sent)))
            self._change(self._window.close)
            self._until(lambda: self._window.done)
            return self._window.report
        finally:
            self._change(self._stop)
            worker.join()

    def _change(self, change: Callable[[], None]) -> None:
        with self._changed:
            change()
            self._changed.notify_all()

    def _stop(self) -> None:
        self._over = True
        if self._call is not None:
            self._call.cancel()

    def _until(self, reached: Callable[[], bool]) -> None:
        """Wait. Raises KgsvcError when the stream failed, or nothing was answered for too long."""
        with self._changed:
            while not reached():
                if self._sending.failed is not None:
                    raise self._sending.failed
                if not self._changed.wait_for(self._sending.moved(reached), self._client.scope.timeout_s):
                    raise self._sending.stalled()

    def _work(self) -> None:
        """One stream after the other, until everything is answered."""
        while not self._over:
            failure: KgsvcError | None = None
            try:
                self._exchange()
            except grpc.RpcError as status:
                failure = self._client.error(status)
            except KgsvcError as error:
                failure = error
            with self._changed:
                pause = self._sending.pause_s(failure)
                self._changed.notify_all()
                if pause is None:
                    return
                self._changed.wait_for(lambda: self._over, pause)

    def _exchange(self) -> None:
        """One stream until its end."""
        ended: list[bool] = []
        with self._changed:
            self._window.reopened()
            if self._over:
                return
            metadata = self._client.metadata
            self._call = self._client.ingestion.StreamEpisodes(self._requests(ended), metadata=metadata)
        try:
            for answer in self._call:
                self._change(partial(self._window.answer, answer))
        finally:
            self._change(partial(ended.append, True))
            self._call.cancel()

    def _requests(self, ended: list[bool]) -> Iterator[Any]:
        """What this stream sends; gRPC takes it in a thread of its own."""
        window = self._window
        while True:
            with self._changed:
                self._changed.wait_for(lambda: ended or window.sends or window.ends)
                if ended or not window.sends:
                    return
                sent = window.next()
            yield sent
