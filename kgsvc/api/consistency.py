"""Around every call: the caller's consistency token is awaited, and it is given one when the call has ended.

A token names all that the caller has written and read: whatever process and copy of the store answers it
next shows that too. Operations that only read may be answered by a copy that follows the one that is written.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from kgsvc.access.scopes import Right
from kgsvc.api.access import RIGHTS
from kgsvc.api.calls import Context, Wrapping, current_call
from kgsvc.domain.errors import BadToken
from kgsvc.stores.consistency import TOKEN, ConsistencyStore, may_lag


class ConsistencyInterceptor(Wrapping):
    """Stands inside of those who know the caller and who answer what it raises."""

    def __init__(self, package: str, store: ConsistencyStore) -> None:
        super().__init__()
        self._prefix = f"/{package}."
        self._store = store

    def _wraps(self, method: str) -> bool:
        return method.startswith(self._prefix)

    def _unary(self, behaviour: Any, method: str) -> Any:
        reads = _reads(method)

        async def answer(request: Any, context: Context) -> Any:
            await self._catch_up(context)
            may_lag.set(reads)
            response = await behaviour(request, context)
            self._tell()
            return response

        return answer

    def _streaming(self, behaviour: Any, method: str) -> Any:
        reads = _reads(method)

        async def answer(request: Any, context: Context) -> AsyncIterator[Any]:
            await self._catch_up(context)
            may_lag.set(reads)
            async with aclosing(behaviour(request, context)) as responses:
                async for response in responses:
                    yield response
                    may_lag.set(reads)  # each response may be asked for by another task
            self._tell()

        return answer

    async def _catch_up(self, context: Context) -> None:
        """Raises BadToken, StoreUnavailable."""
        given = [value for key, value in context.invocation_metadata() or () if key == TOKEN]
        if len(given) > 1:
            raise BadToken("is given more than once")
        if given and given[0]:
            await self._store.catch_up(str(given[0]))

    def _tell(self) -> None:
        current_call.get().consistency_token = self._store.consistency_token()


def _reads(method: str) -> bool:
    return RIGHTS[method.rpartition("/")[2]] is Right.READ
