"""What filling in vectors asks of a store; part of stores/protocol.py and under its general promises.

A fill is a durable record of a group in which something may lack a vector of a space. Whoever works on it
holds its lease. Once the group was looked through, the last `tidy` removes the record. What a deleted group
had is gone, and a lease on it is lost.

A group has one space in use, that of its first vectors; searches see vectors of this space alone. Where a
fill is in another space, vectors of that one are kept beside those in use, whoever writes them, until
`switch_space` puts them into use all at once; `tidy` then removes the former ones.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from kgsvc.domain.model.fills import Filled, FillLease, FillWork, Reembedding


class FillStore(Protocol):
    """Fills and their leases."""

    async def begin_fill(self, group_id: str, now_ms: int) -> None:
        """Record a fill, in the space of whoever claims it first. Where one is under way, its lease is lost:
        it goes on from its place and comes to what was written before this call. Nothing for an unknown
        group."""

    async def begin_fills(self, space: str, now_ms: int) -> int:
        """Record a fill in `space`, from the beginning, for every group with content that has another space
        in use or a fill in another one, whose lease is lost. What was told while there was no embedder has no
        space, and stays so. How many."""

    async def open_fills(self, now_ms: int, limit: int, space: str = "") -> list[FillWork]:
        """Fills that are not put off beyond `now_ms`, the longest waiting first; with `space` those alone
        that are in it or in none yet."""

    async def claim_fill(self, seen: FillWork, owner_id: str, space: str = "") -> FillLease | None:
        """Take the lease if the record still is as `seen`: new token = token + 1, one attempt more unless it
        is the owner's own already; None when somebody was faster. A fill in no space yet is in `space`."""

    async def renew_fill(self, lease: FillLease) -> bool:
        """Move the renewal counter; False when the lease is no longer held."""

    async def release_fill(self, lease: FillLease, next_ms: int) -> None:
        """Give the fill up for somebody else, from `next_ms` on, the attempt taken back. Nothing if it is not
        held."""

    async def fill(self, lease: FillLease, filled: Filled, now_ms: int) -> None:
        """Keep the vectors of what still has none of the space and has not changed since `filled.place` or
        `filled.facts_rev`, and go on from there. Episodes are those that searches find. Takes a revision if
        there are any, and counts what they cost; but not while the group goes over: then searches do not see
        them. The attempts count from here. LeaseLost."""

    async def lacking(self, lease: FillLease, uuids: Collection[str]) -> set[str]:
        """Which of these entities, facts, episodes and communities have no vector of the lease's space."""

    async def switch_space(self, lease: FillLease) -> bool:
        """Put the lease's space into use, in one transaction; False: something after the lease's place lacks
        a vector of it, and nothing was done. LeaseLost."""

    async def tidy(self, lease: FillLease, limit: int) -> bool:
        """Bring up to `limit` vectors beside into their place, or remove them where they are of a space that
        is not in use; False: there are none left, and the fill is over. LeaseLost."""

    async def reembeddings(self, group_ids: Collection[str] | None = None) -> list[Reembedding]:
        """Those of these groups, or of all, that are on their way to another space, by name."""
