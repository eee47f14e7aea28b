"""Counting what is asked of a store, around any object whose methods are coroutines."""

from __future__ import annotations

import functools
import inspect
from typing import Any, TypeVar, cast

from kgsvc.observability.metrics import Metrics

T = TypeVar("T")


def counted(target: T, metrics: Metrics) -> T:
    """`target` with each call of a coroutine method counted by its name, and counted again if it raises.

    A call is one step of the store protocol, which is cut so that a step is one exchange with the engine
    where the engine allows it.
    """
    return cast(T, _Counted(target, metrics))


class _Counted:
    def __init__(self, target: object, metrics: Metrics) -> None:
        self._target = target
        self._metrics = metrics

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not inspect.iscoroutinefunction(found):
            return found
        counted_call = self._count(name, found)
        self.__dict__[name] = counted_call  # the next look-up finds it without coming here
        return counted_call

    def _count(self, name: str, method: Any) -> Any:
        tries = self._metrics.store_round_trips.labels(name)
        failures = self._metrics.store_failures.labels(name)

        @functools.wraps(method)
        async def call(*args: Any, **kwargs: Any) -> Any:
            tries.inc()
            with failures.count_exceptions():
                return await method(*args, **kwargs)

        return call
