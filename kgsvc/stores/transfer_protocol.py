"""What moving a group between stores asks of a store; part of stores/protocol.py and under its general
promises.

An import is written out of sight: no read of any other part of the store sees a row of it, no worker its
items, until `end_import` makes it the group's content, in one commit.
"""

from __future__ import annotations

from typing import Protocol

from kgsvc.domain.model.delta import GroupHead
from kgsvc.domain.model.moving import ImportEnd, ImportPage, ImportStart, Moved, RowKind


class TransferStore(Protocol):
    """Reading a group whole, page by page, and writing one."""

    async def moving(self, group_id: str, part: RowKind, after: str, limit: int) -> list[Moved]:
        """The first `limit` rows of a kind behind the key `after` ("": from the beginning), by key in the
        order of code points. Each call is a snapshot of its own."""

    async def begin_import(self, start: ImportStart) -> int:
        """How many lines of this import are written: 0 unless it was interrupted. What another import of the
        group had written goes. Conflict: the group has content."""

    async def write_import(self, page: ImportPage) -> None:
        """Write rows that no line before `page.after` had. Nothing if they were written already. Conflict:
        the import is over, or another one has begun."""

    async def end_import(self, end: ImportEnd) -> GroupHead:
        """Put everything in sight. Unfinished items are due, and a fill begins, for what has no vectors.
        Conflict: the group got content meanwhile, or was deleted; then what was written goes."""
