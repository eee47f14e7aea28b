"""Descriptors for server reflection."""

from __future__ import annotations

from typing import Any, cast

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pool import Default, DescriptorPool


def symbols() -> DescriptorPool:
    """The default pool; it also finds the file of a method, which protobuf's own lookup does not."""
    return cast(DescriptorPool, _Symbols(Default()))


class _Symbols:
    def __init__(self, pool: DescriptorPool) -> None:
        self._pool = pool

    def FindFileContainingSymbol(self, symbol: str) -> FileDescriptor:
        """The file that defines `symbol`. Raises KeyError."""
        try:
            return self._pool.FindFileContainingSymbol(symbol)
        except KeyError:
            return self._pool.FindMethodByName(symbol).containing_service.file

    def __getattr__(self, name: str) -> Any:
        """Everything else is the pool's."""
        return getattr(self._pool, name)
