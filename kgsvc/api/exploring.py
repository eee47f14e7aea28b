"""GetEntityNode and GetFactHistory: one thing with what hangs on it (spec 000)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kgsvc.api import answers
from kgsvc.api.checks import Check
from kgsvc.api.retrieving import Named, read_named
from kgsvc.api.unary import Reply, Unary
from kgsvc.commands import lookup
from kgsvc.commands.entities import Extent, view_of
from kgsvc.commands.facts import history_of
from kgsvc.domain.clock import Clock
from kgsvc.domain.limits import Limits
from kgsvc.stores.protocol import ReadStore
from kgsvc.v1 import retrieval_pb2

_FACTS, _EPISODES = 100, 20  # of an entity, when no number is asked for


@dataclass(frozen=True, slots=True)
class EntityWanted:
    """The input of GetEntityNode."""

    named: Named
    facts: int
    episodes: int
    expired: bool


class Exploring:
    """Operations that read one thing with its surroundings."""

    def __init__(self, store: ReadStore, clock: Clock, limits: Limits) -> None:
        self._store = store
        self._clock = clock
        self._limits = limits

    def operations(self) -> Mapping[str, Unary[Any]]:
        """The RPCs by method name."""
        pb = retrieval_pb2
        return {
            "GetEntityNode": Unary(
                pb.GetEntityNodeRequest, pb.GetEntityNodeResponse, read_entity_node, self._entity
            ),
            "GetFactHistory": Unary(
                pb.GetFactHistoryRequest, pb.GetFactHistoryResponse, read_named, self._history
            ),
        }

    async def _entity(self, wanted: EntityWanted, _key: str | None) -> Reply:
        entity = await lookup.entity(self._store, wanted.named.uuid, wanted.named.group_id)
        now_ms, most = self._clock.now_ms(), self._limits.response_bytes
        extent = Extent(wanted.facts, wanted.episodes, now_ms, not wanted.expired, most)
        return Reply(answers.entity_view(await view_of(self._store, entity, extent)))

    async def _history(self, wanted: Named, _key: str | None) -> Reply:
        fact = await lookup.fact(self._store, wanted.uuid, wanted.group_id)
        facts = await history_of(self._store, fact, self._limits.history_bound)
        return Reply(retrieval_pb2.GetFactHistoryOutput(facts=map(answers.cited_fact, facts)))


def read_entity_node(sent: retrieval_pb2.GetEntityNodeInput, check: Check) -> EntityWanted:
    """The input of GetEntityNode."""
    limits = check.limits
    facts = min(_FACTS, limits.entity_facts_bound)
    if sent.HasField("max_facts"):
        facts = check.number("input.max_facts", sent.max_facts, limits.entity_facts_bound)
    episodes = min(_EPISODES, limits.entity_episodes_bound)
    if sent.HasField("max_episodes"):
        episodes = check.number("input.max_episodes", sent.max_episodes, limits.entity_episodes_bound)
    return EntityWanted(read_named(sent, check), facts, episodes, sent.include_expired)
