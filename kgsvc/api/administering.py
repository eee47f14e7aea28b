"""Healthcheck and the deletes (spec 004 §4.1, §4.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kgsvc.api.checks import Check
from kgsvc.api.ports import Activity, ServiceInfo
from kgsvc.api.retrieving import Named, read_named
from kgsvc.api.unary import Reply, Unary
from kgsvc.commands.deletion import Cascaded, Deletions, clear
from kgsvc.domain.clock import Clock
from kgsvc.stores.protocol import AdminStore
from kgsvc.v1 import admin_pb2

CONTRACT_REVISION = 1


@dataclass(frozen=True, slots=True)
class EpisodeWanted:
    """The input of DeleteEpisode."""

    named: Named
    cascade: bool


class Administering:
    """Operations on the life of the service and its data."""

    def __init__(
        self, store: AdminStore, deletions: Deletions, activity: Activity, clock: Clock, info: ServiceInfo
    ) -> None:
        self._store = store
        self._deletions = deletions
        self._activity = activity
        self._clock = clock
        self._info = info

    def operations(self) -> Mapping[str, Unary[Any]]:
        """The RPCs by method name."""
        pb = admin_pb2
        return {
            "Healthcheck": Unary(
                pb.HealthcheckRequest,
                pb.HealthcheckResponse,
                read_nothing,
                self._health,
                input_required=False,
            ),
            "DeleteEntityEdge": Unary(
                pb.DeleteEntityEdgeRequest, pb.DeleteEntityEdgeResponse, read_named, self._delete_edge
            ),
            "DeleteEpisode": Unary(
                pb.DeleteEpisodeRequest, pb.DeleteEpisodeResponse, read_episode, self._delete_episode
            ),
            "DeleteGroup": Unary(
                pb.DeleteGroupRequest, pb.DeleteGroupResponse, read_group, self._delete_group
            ),
            "ClearAll": Unary(
                pb.ClearAllRequest, pb.ClearAllResponse, read_nothing, self._clear_all, input_required=False
            ),
        }

    async def _health(self, _nothing: None, _key: str | None) -> Reply:
        store = await self._store.info()
        output = admin_pb2.HealthcheckOutput(
            status="healthy",
            contract_revision=CONTRACT_REVISION,
            version=self._info.version,
            store=store.kind,
            extractor=self._info.extractor,
            embedder=self._info.embedder,
        )
        return Reply(output)

    async def _delete_edge(self, wanted: Named, _key: str | None) -> Reply:
        was_there = await self._deletions.fact(wanted.uuid, wanted.group_id)
        return Reply(admin_pb2.DeleteEntityEdgeOutput(message=_says("fact", was_there), success=True))

    async def _delete_episode(self, wanted: EpisodeWanted, _key: str | None) -> Reply:
        uuid, group_id = wanted.named.uuid, wanted.named.group_id
        done: Cascaded | None = None
        if wanted.cascade:
            done = await self._deletions.cascade(uuid, group_id)
            was_there = done is not None
        else:
            was_there = await self._deletions.episode(uuid, group_id)
        self._activity.poke()
        output = admin_pb2.DeleteEpisodeOutput(message=_says("episode", was_there), success=True)
        if done is not None:
            output.facts_removed, output.facts_restored = done.facts_removed, done.facts_restored
            output.entities_removed = done.entities_removed
        return Reply(output)

    async def _delete_group(self, group_id: str, _key: str | None) -> Reply:
        await self._store.delete_group(group_id, self._clock.now_ms())
        self._activity.poke()
        return Reply(admin_pb2.DeleteGroupOutput(message="the group is deleted", success=True))

    async def _clear_all(self, _nothing: None, _key: str | None) -> Reply:
        count = await clear(self._store, self._clock)
        self._activity.poke()
        says = f"{count} {'group' if count == 1 else 'groups'} deleted"
        return Reply(admin_pb2.ClearAllOutput(message=says, success=True))


def read_nothing(_sent: object, _check: Check) -> None:
    """An empty input."""


def read_episode(sent: admin_pb2.DeleteEpisodeInput, check: Check) -> EpisodeWanted:
    """The input of DeleteEpisode."""
    return EpisodeWanted(read_named(sent, check), sent.cascade)


def read_group(sent: admin_pb2.DeleteGroupInput, check: Check) -> str:
    """The input of DeleteGroup."""
    return check.group_id("input.group_id", sent.group_id)


def _says(what: str, was_there: bool) -> str:
    return f"the {what} is deleted" if was_there else f"there was no {what} of this uuid"
