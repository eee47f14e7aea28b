"""The client for programs that block."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import update_wrapper
from threading import Condition, Lock, Thread
from typing import Any, ClassVar, Concatenate, Self

import grpc

from kgsvc_client import operations, values
from kgsvc_client.base import BaseClient, Sending
from kgsvc_client.connection import Attempts, Call, T
from kgsvc_client.errors import KgsvcError, error
from kgsvc_client.items import Addable, Converter
from kgsvc_client.operations import P, Pages, Scope, Steps


def _blocking(build: Callable[Concatenate[Scope, P], Call[T] | Steps[T]]) -> Callable[Concatenate[Any, P], T]:
    def method(self: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = self.client.run(build(self, *args, **kwargs))
        return result

    return update_wrapper(method, build)  # type: ignore[return-value]


def _listing(build: Callable[Concatenate[Scope, P], Pages[T]]) -> Callable[Concatenate[Any, P], Iterator[T]]:
    def method(self: Any, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        pages, token = build(self, *args, **kwargs), None
        while token != "":
            page: Any = self.client.call(Call(pages.method, {**pages.input, "page_token": token}))
            yield from map(pages.view, getattr(page, pages.field))
            token = page.next_page_token

    return update_wrapper(method, build)  # type: ignore[return-value]


class Client(BaseClient):
    __doc__ = BaseClient.__doc__
    _grpc: ClassVar[Any] = grpc
    health = _blocking(operations.health)
    groups = _listing(operations.groups)

    def group(self, group_id: str) -> "Group":
        """The memory of a tenant."""
        return Group(self, group_id)

    def close(self) -> None:
        """End the channel and all calls."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, operation: Call[T] | Steps[T]) -> T:
        """Carry it out."""
        if isinstance(operation, Call):
            return self.call(operation)
        answer: Any = None
        while True:
            try:
                step = operation.send(answer)
            except StopIteration as done:
                result: T = done.value
                return result
            match step:
                case Call(streams=False):
                    answer = self.call(step)
                case Call():
                    deque(self.answers(step, self.attempts(step)), 0)
                case float():
                    time.sleep(step)
                case _:
                    answer = operations.load(step)

    def call(self, step: Call[T]) -> T:
        """What becomes of the answer of a call, after as many attempts as it takes. Raises KgsvcError."""
        attempts = self.attempts(step)
        while True:
            try:
                answer, ended = self.begin(step, attempts)
                self.saw(ended.trailing_metadata())
                return step.view(answer.output)
            except grpc.RpcError as failure:
                time.sleep(attempts.pause_s(self.error(failure, attempts)))

    def answers(
        self, step: Call[T], attempts: Attempts, rest: Callable[[float], object] = time.sleep
    ) -> Iterator[T]:
        """What becomes of each answer of a stream, over as many streams as it takes. Raises KgsvcError."""
        while True:
            attempts.stream = self.begin(step, attempts)
            failure = error("BROKEN", "the service ended the stream too early")
            try:
                for answer in attempts.stream:
                    attempts.progressed()
                    self.saw((), answer)
                    yield step.view(answer)
                if hasattr(attempts.stream, "trailing_metadata"):  # those of interceptors may hide it
                    self.saw(attempts.stream.trailing_metadata())
                if not step.endless:
                    return
            except grpc.RpcError as status:
                failure = self.error(status, attempts)
            finally:
                attempts.cancel()
            rest(attempts.pause_s(failure))


class Group(Scope):
    """The memory of a tenant."""

    def __init__(self, client: Client, group_id: str) -> None:
        super().__init__(client.runtime, group_id)
        self.client = client

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
        timeout; then each item that was read from `items` is stored or refused, but for at most the last
        1,025, which may be stored, too."""
        return _Stream(self).run(items, Converter(time or self.now()))

    def follow(self, cursor: str | None = None) -> Iterator[values.Changes]:
        """What is in the group, and then every change of it, without end, over broken connections; `cursor`
        is that of the last changes that were dealt with. Raises KgsvcError when the service refuses it, or is
        away for ten minutes."""
        step = operations.follow(self, cursor)
        return self.client.answers(step, self.client.attempts(step))


class _Stream(Sending):
    """The caller's thread reads the items, another one the answers; gRPC sends in a thread of its own."""

    def __init__(self, group: Group) -> None:
        super().__init__(group)
        lock = Lock()
        self._room = Condition(lock)  # for the caller
        self._wanted = Condition(lock)  # items to send, or the end
        self._over = False

    def run(self, items: Iterable[Addable], converter: Converter) -> values.Report:
        """Send all; what became of them. Raises KgsvcError."""
        worker = Thread(target=self._work, daemon=True)
        worker.start()
        try:
            for item in items:
                if (sent := converter.sent(item)) is not None:
                    with self._room:
                        self._until(lambda: self._window.has_room)
                        self._window.put(sent)
                        if self._window.sends:
                            self._wanted.notify()
            with self._room:
                self._window.closed = True
                self._wanted.notify()
                self._until(lambda: self._window.done)
            return self._window.report
        finally:
            self._over = True
            with self._wanted:
                self._wanted.notify_all()
            while worker.is_alive() and self._attempts.cancel():
                worker.join(0.1)  # seconds, until a stream may have begun that was not ended

    def _until(self, reached: Callable[[], bool]) -> None:
        """Wait. Raises KgsvcError when the stream failed, or nothing was answered for too long."""
        while not reached():
            if not self._room.wait_for(self._moved(reached), self._client.timeout_s):
                raise self._stalled()

    def _work(self) -> None:
        """Take the answers until all are there."""
        try:
            for _ in self._client.answers(self._step, self._attempts, self._rest):
                if self._window.done:
                    return
        except (KgsvcError, ValueError) as failure:  # the latter where the client is closed
            self._failed = failure
            with self._room:
                self._room.notify()

    def _rest(self, seconds: float) -> None:
        with self._wanted:
            if self._wanted.wait_for(lambda: self._over, seconds):
                raise error("CANCELLED", "the caller has ended the stream")

    def _answered(self, answer: Any) -> None:
        """Wake only who has enough to do."""
        with self._room:
            self._window.answer(answer)
            if self._window.is_half_empty:
                self._room.notify()
            if self._window.sends:
                self._wanted.notify()

    def _requests(self) -> Iterator[Any]:
        with self._wanted:
            number = self._window.reopened()
            self._wanted.notify_all()
        return self._sent(number)

    def _sent(self, number: int) -> Iterator[Any]:
        """What a stream sends; gRPC takes it in a thread of its own."""
        window = self._window
        while True:
            with self._wanted:
                self._wanted.wait_for(lambda: self._over or window.moves(number))
                batch = [] if self._over else window.next(number)
            if not batch:
                return
            yield from batch
