"""WatchGroup: what changes in the graph of a group, for as long as the caller listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any

from kgsvc.api import mapping
from kgsvc.api.checks import RequestCheck
from kgsvc.api.envelope import Outputs, Rpcs, ServerStream
from kgsvc.api.rpc.lasting import Lasting
from kgsvc.commands.core import Core
from kgsvc.commands.following import FollowedChange, Movements, follow, place_of
from kgsvc.domain.model.keys import name_key
from kgsvc.domain.names.namesakes import plain
from kgsvc.runtime import offload
from kgsvc.stores.search_protocol import IndexedEntity, IndexedEpisode
from kgsvc.v1 import retrieval_pb2, types_pb2

_CURSOR_CHARS = 256
_MESSAGE_BYTES = 1024 * 1024  # about; one thing alone may be larger
_TOLD_AT_ONCE = 500  # things made into messages on the event loop
Output = retrieval_pb2.WatchGroupOutput


class FollowingRpcs:
    """The RPC that follows a group."""

    def __init__(self, core: Core, stopping: asyncio.Event, watch_deadline_s: float) -> None:
        self._core = core
        self._stopping = stopping
        self._deadline_s = watch_deadline_s
        self._movements = Movements(core)
        self.rpcs: Rpcs = {"WatchGroup": ServerStream(self._watch_group)}

    def _watch_group(self, sent: retrieval_pb2.WatchGroupInput, check: RequestCheck) -> Outputs:
        """The stream may end with ShuttingDown, StoreUnavailable, and TimeoutError after the longest time of
        a watch; the cursor of its last message leads on."""
        group_id = check.group_id("input.group_id", sent.group_id)
        cursor = check.optional_identifier(sent, "input.", "cursor", _CURSOR_CHARS)
        return lambda: self._watch(group_id, cursor)

    async def _watch(self, group_id: str, cursor: str | None) -> AsyncGenerator[Output, None]:
        place = None if cursor is None else place_of(cursor)
        lasting = Lasting(self._core.clock, self._stopping, self._deadline_s)
        async with aclosing(follow(self._core, self._movements, group_id, place)) as following:
            while True:
                told = await lasting.unless_over(anext(following))
                count = len(told.entities) + len(told.facts) + len(told.episodes)
                for output in await offload(count / _TOLD_AT_ONCE, _outputs, group_id, told):
                    yield output


def _outputs(group_id: str, told: FollowedChange) -> list[Output]:
    """As many messages as it takes. Only the last leads behind all: who was told less is told it again."""
    made, size = [Output(group_id=group_id)], 0
    for field, value in _things(told):
        more = value.ByteSize() if not isinstance(value, str) else len(value)
        if size and size + more > _MESSAGE_BYTES:
            made.append(Output(group_id=group_id))
            size = 0
        getattr(made[-1], field).append(value)
        size += more
    return _placed(made, told)


def _placed(made: list[Output], told: FollowedChange) -> list[Output]:
    for output in made[:-1]:
        output.rev, output.cursor = told.before.rev, told.before.cursor
    made[-1].rev, made[-1].cursor = told.place.rev, told.place.cursor
    made[0].reset, made[-1].current = told.reset, told.current
    return made


def _things(told: FollowedChange) -> Iterator[tuple[str, Any]]:
    for name in ("removed_entities", "removed_facts", "removed_episodes"):
        yield from ((name, uuid) for uuid in getattr(told, name))
    yield from (("entities", _entity(each)) for each in told.entities)
    yield from (("facts", mapping.fact_result(each)) for each in told.facts)
    yield from (("episodes", _episode(each)) for each in told.episodes)


def _entity(indexed: IndexedEntity) -> types_pb2.EntityNode:
    own = name_key(indexed.entity.name)
    aliases = dict.fromkeys(map(plain, indexed.names))
    return mapping.entity_node(indexed.entity, [name for name in aliases if name != own])


def _episode(indexed: IndexedEpisode) -> retrieval_pb2.WatchedEpisode:
    return retrieval_pb2.WatchedEpisode(
        episode=mapping.episode(indexed.episode), entity_uuids=indexed.entities
    )
