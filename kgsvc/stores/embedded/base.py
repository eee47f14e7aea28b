"""What every part of the store stands on: running work on the writer or on a reader, with a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import apsw

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.stores.embedded.readers import Readers
from kgsvc.stores.embedded.writer import Writer

P = ParamSpec("P")
T = TypeVar("T")
_DEADLINE_S = 30.0


class Base:
    """The writer and the readers of an open store."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def _write(
        self, work: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work` in a durable transaction. StoreUnavailable past the deadline: it may still happen."""
        try:
            async with asyncio.timeout(_DEADLINE_S):
                return await self._writer.run(lambda db: work(db, *args, **kwargs))
        except TimeoutError as error:
            raise StoreUnavailable("the embedded store did not write in time") from error

    async def _read(
        self, work: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work` in one snapshot. StoreUnavailable past the deadline."""
        try:
            async with asyncio.timeout(_DEADLINE_S):
                return await self._readers.run(lambda db: work(db, *args, **kwargs))
        except TimeoutError as error:
            raise StoreUnavailable("the embedded store did not read in time") from error
