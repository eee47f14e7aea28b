"""AddMessages, AddEpisodes, AddEntityNode: what writes (spec 004 §4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kgsvc.api import answers
from kgsvc.api.attributes import attributes_in
from kgsvc.api.checks import Check
from kgsvc.api.errors import Failure, summary
from kgsvc.api.items_in import episode_item, message_item
from kgsvc.api.ports import Activity
from kgsvc.api.unary import Reply, Unary
from kgsvc.commands.entities import EntityInput, EntityNodes
from kgsvc.commands.intake import Intake, ItemInput
from kgsvc.domain.errors import Conflict
from kgsvc.domain.model.items import Accepted, ItemState, ItemStatus
from kgsvc.observability.metrics import Metrics
from kgsvc.v1 import envelope_pb2, ingestion_pb2

MESSAGES = "AddMessages"
EPISODES = "AddEpisodes"


@dataclass(frozen=True, slots=True)
class ItemsIn:
    """The input of AddMessages and AddEpisodes."""

    group_id: str
    items: tuple[ItemInput, ...]


class Accepting:
    """Operations that take knowledge in."""

    def __init__(self, intake: Intake, entities: EntityNodes, activity: Activity, metrics: Metrics) -> None:
        self._intake = intake
        self._entities = entities
        self._activity = activity
        self._metrics = metrics

    def operations(self) -> Mapping[str, Unary[Any]]:
        """The RPCs by method name."""
        pb = ingestion_pb2
        return {
            MESSAGES: Unary(pb.AddMessagesRequest, pb.AddMessagesResponse, read_messages, self._messages),
            EPISODES: Unary(pb.AddEpisodesRequest, pb.AddEpisodesResponse, read_episodes, self._episodes),
            "AddEntityNode": Unary(
                pb.AddEntityNodeRequest, pb.AddEntityNodeResponse, read_entity, self._entity
            ),
        }

    def stored(self, items: Sequence[ItemStatus]) -> None:
        """Count the new ones and wake whoever waits for work."""
        new = sum(not item.duplicate for item in items)
        if new:
            self._metrics.ingestion_accepted.inc(new)
            self._activity.poke()

    async def _messages(self, wanted: ItemsIn, key: str | None) -> Reply:
        try:
            accepted = await self._intake.accept(MESSAGES, wanted.group_id, wanted.items, key)
        except Conflict as conflict:
            raise _about_messages(conflict) from None
        self.stored(accepted.items)
        output = ingestion_pb2.AddMessagesOutput(
            message=_sentence("message", accepted),
            accepted=len(accepted.items),
            receipt_id=accepted.receipt_id,
            items=map(answers.accepted_item, accepted.items),
        )
        return _accepted_reply(output, accepted)

    async def _episodes(self, wanted: ItemsIn, key: str | None) -> Reply:
        accepted = await self._intake.accept(EPISODES, wanted.group_id, wanted.items, key)
        self.stored(accepted.items)
        output = ingestion_pb2.AddEpisodesOutput(
            receipt_id=accepted.receipt_id,
            accepted=len(accepted.items),
            items=map(answers.accepted_item, accepted.items),
            message=_sentence("episode", accepted),
        )
        return _accepted_reply(output, accepted)

    async def _entity(self, wanted: EntityInput, key: str | None) -> Reply:
        with self._metrics.upsert_conflicts.count_exceptions(Conflict):
            entity = await self._entities.add(wanted, key)
        return Reply(answers.entity_node(entity))


def read_messages(sent: ingestion_pb2.AddMessagesInput, check: Check) -> ItemsIn:
    """The input of AddMessages."""
    group_id = check.fed_group_id("input.group_id", sent.group_id)
    check.count("input.messages", sent.messages, check.limits.items_per_call)
    items = [message_item(check, f"input.messages[{i}].", m) for i, m in _bounded(sent.messages, check)]
    return ItemsIn(group_id, tuple(items))


def read_episodes(sent: ingestion_pb2.AddEpisodesInput, check: Check) -> ItemsIn:
    """The input of AddEpisodes."""
    group_id = check.fed_group_id("input.group_id", sent.group_id)
    check.count("input.items", sent.items, check.limits.items_per_call)
    items = [episode_item(check, f"input.items[{i}].", e) for i, e in _bounded(sent.items, check)]
    return ItemsIn(group_id, tuple(items))


def read_entity(sent: ingestion_pb2.AddEntityNodeInput, check: Check) -> EntityInput:
    """The input of AddEntityNode."""
    attributes = None
    uuid = check.identifier("input.uuid", sent.uuid, check.limits.uuid)
    group_id = check.group_id("input.group_id", sent.group_id)
    name = check.name("input.name", sent.name)
    summary = check.optional_text(sent, "input.", "summary", check.limits.summary)
    if sent.HasField("attributes"):
        attributes = attributes_in(check, "input.attributes", sent.attributes)
    return EntityInput(uuid, group_id, name, summary, attributes)


def _bounded(items: Any, check: Check) -> Any:
    """The items with their positions; of too many the first ones, since the call is refused anyway."""
    return enumerate(items[: check.limits.items_per_call])


def _accepted_reply(output: Any, accepted: Accepted) -> Reply:
    """ACCEPTED, or PARKED when the call sent again what is parked (design §2)."""
    parked = [item.uuid for item in accepted.items if item.duplicate and item.state is ItemState.PARKED]
    if not parked:
        return Reply(output, envelope_pb2.STATUS_ACCEPTED)
    says = f"{len(parked)} of {len(accepted.items)} items were parked earlier; RetryItems starts them again"
    return Reply(output, envelope_pb2.STATUS_PARKED, Failure("PARKED", says, details={"uuids": parked}))


def _about_messages(conflict: Conflict) -> Conflict:
    """The conflict in the words of AddMessages, whose items are called messages."""
    found = [
        replace(v, field=f"messages{v.field.removeprefix('items')}") if v.field.startswith("items[") else v
        for v in conflict.violations
    ]
    return Conflict(summary(found) if found else conflict.message, found)


def _sentence(noun: str, accepted: Accepted) -> str:
    count = len(accepted.items)
    return f"{count} {noun}{'' if count == 1 else 's'} accepted"
