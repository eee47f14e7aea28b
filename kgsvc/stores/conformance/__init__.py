"""One suite for every store: plain async functions, one for each promise of stores/protocol.py.

`kgsvc doctor` runs it on a live store in scratch groups, the tests run it on every store. A check may be
run again on the same group id: it never relies on the group having been unknown before.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import ModuleType

from kgsvc.stores.conformance import (
    accept,
    admin,
    changes,
    communities,
    context,
    documents,
    guards,
    history,
    leases,
    quotas,
    receipts,
    search_candidates,
    transitions,
    values,
    writes,
)
from kgsvc.stores.conformance.expectations import ConformanceError
from kgsvc.stores.conformance.samples import NOW, Scratch
from kgsvc.stores.protocol import Store

__all__ = ["Check", "ConformanceError", "checks"]

Body = Callable[[Scratch], Awaitable[None]]
SIBLINGS = ("", "-2", "-3")  # group ids that a check may use beside its own

_AREAS = (
    accept, quotas, receipts, leases, transitions, context, writes, guards, changes, search_candidates,
    history, communities, admin, documents, values,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Check:
    """One promise. `run(store, scratch)` raises AssertionError (mostly ConformanceError) when it is broken.

    Uses only group ids that begin with `scratch`, which must hold nothing, and empties them again.
    """

    name: str
    promise: str
    body: Body

    async def run(self, store: Store, scratch: str) -> None:
        """Try it in the group `scratch` and clean up."""
        try:
            await self.body(Scratch(store, scratch))
        finally:
            used = await store.heads([scratch + suffix for suffix in SIBLINGS])
            for group_id in sorted(used):
                await store.delete_group(group_id, NOW)


def checks() -> list[Check]:
    """Every check, in the order of the protocol. Names are `area.promise_in_words`."""
    return [check for area in _AREAS for check in _of(area)]


def _of(area: ModuleType) -> list[Check]:
    """The public coroutine functions that a module defines: defining one registers it."""
    short = area.__name__.rpartition(".")[2]
    return [
        Check(f"{short}.{name}", (function.__doc__ or name).strip(), function)
        for name, function in vars(area).items()
        if inspect.iscoroutinefunction(function)
        and function.__module__ == area.__name__
        and not name.startswith("_")
    ]
