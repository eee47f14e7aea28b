"""AddEntityNode (spec 004 §4.2.3 and §9, design §2): a caller creates an entity or updates it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kgsvc.domain.clock import Clock
from kgsvc.domain.delta import Claim, GraphDelta, Guard, NameView
from kgsvc.domain.errors import Conflict, Violation
from kgsvc.domain.forgetting import given_names, names_given
from kgsvc.domain.identity import digest, name_key
from kgsvc.domain.limits import Limits
from kgsvc.domain.model import Entity
from kgsvc.ingestion.contention import Contention
from kgsvc.stores.protocol import GraphStore

OPERATION = "AddEntityNode"
# Sorts behind the stamp of every episode: what a caller set, no extraction changes. A name keeps by the
# earliest stamp instead.
_ASSERTED = "99999999999999999/"
_ASSERTED_NAME = ""


@dataclass(frozen=True, slots=True)
class EntityInput:
    """What a caller says of an entity; None keeps what is there."""

    uuid: str
    group_id: str
    name: str
    summary: str | None = None
    attributes: Mapping[str, Any] | None = None


class EntityNodes:
    """Writes entities on a caller's behalf."""

    def __init__(self, store: GraphStore, limits: Limits, clock: Clock, contention: Contention) -> None:
        self._store = store
        self._limits = limits
        self._clock = clock
        self._contention = contention

    async def add(self, wanted: EntityInput, idempotency_key: str | None = None) -> Entity:
        """The entity as it is afterwards. With a key that is known with the same input nothing is written.

        Raises Conflict (another entity of the group owns the name or had it; the key is known with another
        input), Overloaded (the group is written to without a pause), StoreUnavailable.
        """
        return await self._contention.settle(lambda: self._attempt(wanted, idempotency_key))

    async def _attempt(self, wanted: EntityInput, key: str | None) -> Entity:
        view = await self._store.names(wanted.group_id, [name_key(wanted.name)], [wanted.uuid])
        now_ms = self._clock.now_ms()
        delta = upsert(view, wanted, max(now_ms, view.head.last_ms + 1))
        before = view.by_uuid.get(wanted.uuid)
        if delta is None:
            if key is None:
                return _present(before)
            delta = GraphDelta(wanted.group_id, view.head.last_ms, bumps_rev=False)
        if key is not None:
            delta = replace(delta, claim=self._claim(wanted, key, now_ms))
        head = await self._store.apply(delta, Guard(view.head.rev, view.head.epoch))
        return delta.entities[0] if head.rev != view.head.rev else _present(before)

    def _claim(self, wanted: EntityInput, key: str, now_ms: int) -> Claim:
        values = digest(wanted.uuid, wanted.name, wanted.summary, wanted.attributes)
        return Claim(OPERATION, key, values, now_ms, self._limits.dedup_window_ms)


def upsert(view: NameView, wanted: EntityInput, system_ms: int) -> GraphDelta | None:
    """The change that makes the entity what the caller wants; None when it is that already.

    A new name becomes the entity's name and the old one stays its alias. Raises Conflict when another
    entity owns the name.
    """
    key = name_key(wanted.name)
    owner = view.by_key.get(key)
    if owner is not None and owner.uuid != wanted.uuid:
        raise Conflict("another entity of the group owns this name", [Violation("name", "is taken")])
    before = view.by_uuid.get(wanted.uuid)
    after = _merged(before or _new(wanted, system_ms), wanted)
    if after == before:
        return None
    return GraphDelta(
        group_id=wanted.group_id,
        system_ms=system_ms,
        entities=(replace(after, updated_ms=system_ms),),
        names={} if owner is not None else {key: wanted.uuid},
    )


def _new(wanted: EntityInput, system_ms: int) -> Entity:
    return Entity(wanted.uuid, wanted.group_id, wanted.name, system_ms, labels=("Entity",))


def _merged(entity: Entity, wanted: EntityInput) -> Entity:
    stamps = {**entity.stamps, **names_given(entity), **given_names([wanted.name]), "name": _ASSERTED_NAME}
    summary, attributes, rewriting = entity.summary, entity.attributes, entity.rewriting
    if wanted.summary is not None:
        summary, stamps["summary"], rewriting = wanted.summary, _ASSERTED, None
    if wanted.attributes is not None:
        attributes = dict(wanted.attributes)
        stamps = {part: stamp for part, stamp in stamps.items() if not part.startswith("a.")}
        stamps |= {f"a.{attribute}": _ASSERTED for attribute in attributes}
    return replace(
        entity, name=wanted.name, summary=summary, attributes=attributes, stamps=stamps, rewriting=rewriting
    )


def _present(entity: Entity | None) -> Entity:
    if entity is None:  # its group was deleted between the key's first use and now
        raise Conflict("the idempotency key was used for an entity that is no longer there")
    return entity
