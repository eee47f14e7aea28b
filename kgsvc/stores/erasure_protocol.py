"""What erasures ask of a store; part of stores/protocol.py and under its general promises.

An erasure is written down, then its rows are removed, then the store's files are freed of what the engine
leaves behind rows. Each step may be repeated: whoever finds an erasure that is not over carries it on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from kgsvc.domain.model.erasures import Erasure


class ErasureStore(Protocol):
    """Erasures and their receipts."""

    async def begin_erasures(self, erasures: Sequence[Erasure]) -> None:
        """Write them down, all in one transaction. One that is known is left as it is."""

    async def erasure(self, erasure_id: str) -> list[Erasure]:
        """Its parts by group_id; none if it is not known."""

    async def open_erasures(self, limit: int) -> list[Erasure]:
        """Parts that are not completed, the oldest first."""

    async def erasures_since(self, asked_ms: int) -> list[Erasure]:
        """Parts that were asked for at this time or later and whose rows are removed."""

    async def ended_facts(self, group_id: str, before_ms: int, limit: int) -> list[str]:
        """Facts that had ceased to hold, or were replaced or withdrawn, before this time: whichever was
        first; the longest ago first."""

    async def removed(self, erasure_id: str, group_id: str, counts: Mapping[str, int]) -> None:
        """Note that the rows of a part are gone, if that was not noted; these counts are added to those of
        changes that said that the erasure goes on. `delete_group`, `apply` and `remove_document` note what
        they remove themselves, in the transaction that puts the rows out of sight."""

    async def free_erased(self, now_ms: int) -> int:
        """Remove what deleted groups still have, free the store's own files of what removed rows left in
        them, then note as completed the parts whose rows were removed before it began; how many.
        StoreUnavailable: other processes read on for too long; try again."""
