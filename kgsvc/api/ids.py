"""Random uuids for requests and receipts."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable

_AT_ONCE = 256  # one read of the kernel's generator costs as much as making dozens of uuids


class RandomIds:
    """Makes version 4 uuids; `random_bytes` must be unpredictable, since who knows a receipt may read it."""

    def __init__(self, random_bytes: Callable[[int], bytes] = os.urandom) -> None:
        self._random_bytes = random_bytes
        self._left = b""

    def __call__(self) -> str:
        """The next uuid."""
        if not self._left:
            self._left = self._random_bytes(16 * _AT_ONCE)
        taken, self._left = self._left[:16], self._left[16:]
        return str(uuid.UUID(bytes=taken, version=4))
