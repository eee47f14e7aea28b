"""Things by bare uuid (design §2): looked up in the groups a caller may see, never guessed between two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from kgsvc.domain.errors import Conflict, NotFound, Violation
from kgsvc.domain.model.graph import Entity, Fact
from kgsvc.stores.protocol import GraphStore, ReadStore

_MERGES = 100  # that are followed one after another


class Grouped(Protocol):
    """Anything that belongs to a group."""

    @property
    def group_id(self) -> str:
        """The tenant."""


T = TypeVar("T", bound=Grouped)


def the_one(found: Sequence[T], what: str) -> T | None:
    """The thing found, or None. Raises Conflict when several groups have one of this uuid."""
    if len(found) > 1:
        says = f"several groups have {what} with this uuid; name the one meant"
        raise Conflict(says, [Violation("group_id", says)])
    return found[0] if found else None


async def fact(store: GraphStore, uuid: str, group_id: str | None) -> Fact:
    """The fact with this uuid, expired ones too. Raises NotFound, Conflict, StoreUnavailable."""
    found = the_one(await store.fact(uuid, group_id), "a fact")
    if found is None:
        raise NotFound("there is no fact with this uuid")
    return found


async def entity(store: ReadStore, uuid: str, group_id: str | None) -> Entity:
    """The entity with this uuid, or the one that it was merged into. Raises NotFound, Conflict,
    StoreUnavailable."""
    for _ in range(_MERGES):
        found = the_one(await store.entity(uuid, group_id), "an entity")
        if found is not None:
            return found
        record = the_one(await store.merged(uuid, group_id), "an entity")
        if record is None:
            break
        uuid, group_id = record.kept_uuid, record.group_id
    raise NotFound("there is no entity with this uuid")
