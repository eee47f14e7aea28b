"""Tokens of what this process has seen of a cluster; catching up with those of others (ConsistencyStore)."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from functools import partial

from neo4j import READ_ACCESS, AsyncDriver, Bookmarks
from neo4j.exceptions import ClientError

from kgsvc.domain.errors import BadToken, StoreUnavailable, WriteNotSeen
from kgsvc.stores.consistency import decoded, encoded
from kgsvc.stores.neo4j.base import Base

_CATCH_UP_S = 10.0  # that a call waits for a server to have what its token names
_AT_ONCE = 8  # such waits: a quarter of the connections, so that others go on
_REMEMBERED = 1_024  # tokens that this process has reached
_NO_BOOKMARK = "Neo.ClientError.Transaction.InvalidBookmark"  # and InvalidBookmarkMixture
_LATE = "Neo.TransientError.Transaction.BookmarkTimeout"
_NOT_SEEN = f"no server of the cluster came to the caller's consistency token within {_CATCH_UP_S:g} s"


class Causality(Base):
    """ConsistencyStore: of a cluster, or of a server that is asked directly and is one copy."""

    def __init__(self, driver: AsyncDriver, database: str, deadline_s: float, patience_s: float) -> None:
        super().__init__(driver, database, deadline_s, patience_s)
        self._token = ""  # the latest
        self._token_of: frozenset[str] = frozenset()  # and of what
        self._reached: OrderedDict[str, None] = OrderedDict()
        self._waits = asyncio.Semaphore(_AT_ONCE)

    def consistency_token(self) -> str:
        if self._seen is not None and self._seen.bookmarks != self._token_of:
            self._token_of = self._seen.bookmarks
            self._token = encoded(self._token_of)
            self._remember(self._token)
        return self._token

    async def catch_up(self, token: str) -> None:
        bookmarks = Bookmarks.from_raw_values(decoded(token))
        if self._seen is None or token in self._reached:
            return
        try:
            async with asyncio.timeout(_CATCH_UP_S), self._waits:
                await self._again(partial(self._reach, bookmarks), _CATCH_UP_S)
        except TimeoutError as error:
            raise WriteNotSeen(_NOT_SEEN) from error
        except StoreUnavailable as error:
            if isinstance(error.__cause__, TimeoutError) or getattr(error.__cause__, "code", None) == _LATE:
                raise WriteNotSeen(_NOT_SEEN) from error
            raise
        self._remember(token)

    async def _reach(self, bookmarks: Bookmarks) -> None:
        """Read something from a server that is as far; its own bookmark then stands for these."""
        try:
            async with self._session(READ_ACCESS, bookmarks) as session:
                await (await session.run("RETURN 1")).consume()
        except ClientError as error:
            if (error.code or "").startswith(_NO_BOOKMARK):
                raise BadToken("is of another store") from error
            raise

    def _remember(self, token: str) -> None:
        self._reached[token] = None
        while len(self._reached) > _REMEMBERED:
            self._reached.popitem(last=False)
