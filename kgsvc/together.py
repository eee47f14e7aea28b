"""Calls that come at the same time and are answered together, as by one transaction of a store."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from kgsvc.domain.errors import StoreUnavailable

T = TypeVar("T")
R = TypeVar("R")


@dataclass(slots=True)
class _WaitingCall(Generic[T, R]):
    key: str | None
    call: T
    weight: int
    answer: asyncio.Future[R | Exception]


class Together(Generic[T, R]):
    """While `at_once` runs of `work` go on, calls collect for the next; where none does, one begins at once.

    `work` answers each of the calls that it is given, or raises for all of them.
    """

    def __init__(
        self,
        work: Callable[[Sequence[T]], Awaitable[Sequence[R | Exception]]],
        weigh: Callable[[T], int],
        most: int,
        weight: int,
        at_once: int,
    ) -> None:
        self._work = work
        self._weigh = weigh
        self._most = most
        self._weight = weight  # of one run, unless a single call weighs more
        self._at_once = at_once
        self._waiting: deque[_WaitingCall[T, R]] = deque()
        self._running: set[asyncio.Task[None]] = set()

    async def run(self, key: str | None, call: T) -> R | Exception:
        """What became of the call. No run holds two of one key; None is no key. A caller that is
        cancelled before its turn is passed over."""
        entry = _WaitingCall(key, call, self._weigh(call), asyncio.get_running_loop().create_future())
        self._waiting.append(entry)
        if len(self._running) < self._at_once:
            self._running.add(asyncio.create_task(self._serve()))
        return await entry.answer

    async def _serve(self) -> None:
        try:
            while taken := self._take():
                work = asyncio.ensure_future(self._work([each.call for each in taken]))
                await asyncio.wait({work})
                for each, answer in zip(taken, _answers(work, len(taken)), strict=True):
                    if not each.answer.done():
                        each.answer.set_result(answer)
        finally:  # in the step that found nothing: a call that comes next begins another
            if task := asyncio.current_task():
                self._running.discard(task)

    def _take(self) -> list[_WaitingCall[T, R]]:
        taken: list[_WaitingCall[T, R]] = []
        keys: set[str] = set()
        left: list[_WaitingCall[T, R]] = []
        weight = 0
        while self._waiting and len(taken) < self._most:
            each = self._waiting.popleft()
            if each.answer.done():  # cancelled
                continue
            if each.key in keys:
                left.append(each)
                continue
            weight += each.weight
            if taken and weight > self._weight:
                left.append(each)
                break
            taken.append(each)
            if each.key is not None:
                keys.add(each.key)
        self._waiting.extendleft(reversed(left))
        return taken


async def by_halves(
    calls: Sequence[T],
    work: Callable[[Sequence[T]], Awaitable[Sequence[R | Exception]]],
    *refused: type[Exception],
) -> list[R | Exception]:
    """What `work` answers. Where it raises one of `refused`, for all of the calls, it is asked for halves of
    them, so that only those that cannot be answered get the error."""
    try:
        return list(await work(calls))
    except refused as error:
        if len(calls) == 1:
            return [error]
    middle = len(calls) // 2
    return [
        *await by_halves(calls[:middle], work, *refused),
        *await by_halves(calls[middle:], work, *refused),
    ]


def _answers(work: asyncio.Future[Sequence[R | Exception]], count: int) -> Sequence[R | Exception]:
    """One for each call, also when the run failed."""
    if work.cancelled():
        return [StoreUnavailable("what the call waited for was cancelled")] * count
    error = work.exception()
    if isinstance(error, Exception):
        return [error] * count
    return work.result()
