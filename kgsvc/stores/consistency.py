"""What lets a caller read its own writes where copies of a store answer: tokens, and which reads may lag.

A token names everything that a process had written or read. It is opaque to callers. A store that is one
copy gives none, and has nothing to wait for.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from kgsvc.domain.errors import BadToken
from kgsvc.domain.model.keys import digest

TOKEN = "kgsvc-consistency-token"  # in the metadata of calls and in trailers
TOKEN_CHARS = 4_096  # that a token may have: more would not fit beside what else a call's metadata hold
# Whether what is read here may come from a copy that follows the one that is written.
may_lag: ContextVar[bool] = ContextVar("may_lag", default=False)


@contextmanager
def from_the_leader() -> Iterator[None]:
    """What is read inside must be the latest, whoever asks."""
    before = may_lag.set(False)
    try:
        yield
    finally:
        may_lag.reset(before)


_SHAPE = re.compile(r"[0-9a-f]{16}\.[A-Za-z0-9_-]*")
_SEPARATOR = "\n"


class ConsistencyStore(Protocol):
    """Tokens."""

    def consistency_token(self) -> str:
        """Names at least all that calls of this process, finished by now, have written and read. Empty: the
        store is one copy."""

    async def catch_up(self, token: str) -> None:
        """From here on this process reads no state older than the token names. BadToken; WriteNotSeen: no
        copy got so far in time."""


def encoded(bookmarks: Collection[str]) -> str:
    """A token of an engine's own bookmarks. With a key of the store's digests nobody else can make one."""
    held = _SEPARATOR.join(sorted(bookmarks))
    packed = base64.urlsafe_b64encode(held.encode("ascii")).decode().rstrip("=")
    return f"{_seal(held)}.{packed}"


def decoded(token: str) -> frozenset[str]:
    """The bookmarks of a token. Raises BadToken."""
    if len(token) > TOKEN_CHARS:
        raise BadToken(f"has {len(token)} characters, at most {TOKEN_CHARS} are read")
    if not _SHAPE.fullmatch(token):
        raise BadToken("is no token of this service")
    seal, _, packed = token.partition(".")
    try:
        held = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)).decode("ascii")
    except ValueError:
        raise BadToken("is no token of this service") from None
    if seal != _seal(held):
        raise BadToken("is no token of this service, or was changed")
    return frozenset(filter(None, held.split(_SEPARATOR)))


def _seal(held: str) -> str:
    return digest("consistency token", held)[:16]


class OneCopy:
    """ConsistencyStore of a store that is one copy."""

    def consistency_token(self) -> str:
        """None is needed."""
        return ""

    async def catch_up(self, token: str) -> None:
        """There is nothing to wait for; the token may be of a store that had copies. BadToken."""
        decoded(token)
