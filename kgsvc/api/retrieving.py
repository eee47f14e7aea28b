"""SearchFacts, GetMemory, GetEntityEdge, GetEpisodes (spec 004 §4.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgsvc.api import answers
from kgsvc.api.checks import Check
from kgsvc.api.items_in import ROLE_TYPES
from kgsvc.api.ports import FactSearch, Memory
from kgsvc.api.unary import Reply, Unary
from kgsvc.commands import episodes as episode_pages
from kgsvc.commands import lookup
from kgsvc.commands.facts import cited
from kgsvc.commands.memory import MemoryMessage
from kgsvc.domain.clock import Clock
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.graph import RoleType
from kgsvc.observability.metrics import Metrics
from kgsvc.search.search import Hit, require_center
from kgsvc.stores.protocol import ReadStore
from kgsvc.v1 import retrieval_pb2, types_pb2

_TOKEN_CHARS = 4_096


@dataclass(frozen=True, slots=True)
class SearchInput:
    """The input of SearchFacts."""

    group_ids: tuple[str, ...]
    query: str
    max_facts: int
    center: str | None


@dataclass(frozen=True, slots=True)
class MemoryInput:
    """The input of GetMemory."""

    group_id: str
    messages: tuple[MemoryMessage, ...]
    max_facts: int
    center: str | None


@dataclass(frozen=True, slots=True)
class EpisodesInput:
    """The input of GetEpisodes; without page size and token, all at once."""

    group_id: str
    last_n: int
    page_size: int | None
    page_token: str | None


@dataclass(frozen=True, slots=True)
class Named:
    """A thing by uuid, and its group where the caller names it."""

    uuid: str
    group_id: str | None


class Retrieving:
    """Operations that read the graph."""

    def __init__(
        self,
        store: ReadStore,
        search: FactSearch,
        memory: Memory,
        metrics: Metrics,
        clock: Clock,
        limits: Limits,
    ) -> None:
        self._store = store
        self._search = search
        self._memory = memory
        self._metrics = metrics
        self._clock = clock
        self._limits = limits

    def operations(self) -> Mapping[str, Unary[Any]]:
        """The RPCs by method name."""
        pb = retrieval_pb2
        return {
            "SearchFacts": Unary(pb.SearchFactsRequest, pb.SearchFactsResponse, read_search, self._facts),
            "GetMemory": Unary(pb.GetMemoryRequest, pb.GetMemoryResponse, read_memory, self._memories),
            "GetEntityEdge": Unary(pb.GetEntityEdgeRequest, pb.GetEntityEdgeResponse, read_named, self._edge),
            "GetEpisodes": Unary(
                pb.GetEpisodesRequest, pb.GetEpisodesResponse, read_episodes, self._episodes
            ),
        }

    async def _facts(self, wanted: SearchInput, _key: str | None) -> Reply:
        started = self._clock.monotonic()
        await self._require_center(wanted.group_ids, wanted.center)
        hits = await self._search.search(wanted.group_ids, wanted.query, wanted.max_facts, wanted.center)
        self._took(started)
        return Reply(retrieval_pb2.SearchFactsOutput(facts=_results(hits)))

    async def _memories(self, wanted: MemoryInput, _key: str | None) -> Reply:
        started = self._clock.monotonic()
        await self._require_center((wanted.group_id,), wanted.center)
        hits = await self._memory.get(wanted.group_id, wanted.messages, wanted.max_facts, wanted.center)
        self._took(started)
        return Reply(retrieval_pb2.GetMemoryOutput(facts=_results(hits)))

    async def _edge(self, wanted: Named, _key: str | None) -> Reply:
        fact = await lookup.fact(self._store, wanted.uuid, wanted.group_id)
        (found,) = await cited(self._store, fact.group_id, [fact])
        return Reply(answers.cited_fact(found))

    async def _episodes(self, wanted: EpisodesInput, _key: str | None) -> Reply:
        budget = self._limits.response_bytes
        if wanted.page_size is None and wanted.page_token is None:
            page = await episode_pages.all_at_once(self._store, wanted.group_id, wanted.last_n, budget)
        else:
            size = wanted.page_size or wanted.last_n
            page = await episode_pages.one_page(
                self._store, wanted.group_id, wanted.last_n, size, wanted.page_token, budget
            )
        episodes = [answers.episode(each, page.edges.get(each.uuid, ())) for each in page.episodes]
        return Reply(
            retrieval_pb2.GetEpisodesOutput(episodes=episodes, next_page_token=page.next_token or "")
        )

    async def _require_center(self, group_ids: Sequence[str], center: str | None) -> None:
        if center is not None:
            await require_center(self._store, group_ids, center)

    def _took(self, started: float) -> None:
        self._metrics.search_latency.observe((self._clock.monotonic() - started) * 1_000)


def read_search(sent: retrieval_pb2.SearchFactsInput, check: Check) -> SearchInput:
    """The input of SearchFacts."""
    check.count("input.group_ids", sent.group_ids, check.limits.items_per_call)
    bounded = sent.group_ids[: check.limits.items_per_call]
    group_ids = [check.group_id(f"input.group_ids[{i}]", group) for i, group in enumerate(bounded)]
    if not sent.query.strip():
        check.invalid("input.query", "is required")
    query = check.text("input.query", sent.query, check.limits.query)
    return SearchInput(tuple(dict.fromkeys(group_ids)), query, _max_facts(sent, check), _center(sent, check))


def read_memory(sent: retrieval_pb2.GetMemoryInput, check: Check) -> MemoryInput:
    """The input of GetMemory."""
    group_id = check.group_id("input.group_id", sent.group_id)
    check.count("input.messages", sent.messages, check.limits.items_per_call)
    bounded = sent.messages[: check.limits.items_per_call]
    messages = [_memory_message(check, f"input.messages[{i}].", m) for i, m in enumerate(bounded)]
    return MemoryInput(group_id, tuple(messages), _max_facts(sent, check), _center(sent, check))


def read_named(sent: Any, check: Check) -> Named:
    """A thing by uuid."""
    uuid = check.identifier("input.uuid", sent.uuid, check.limits.uuid)
    group_id = check.group_id("input.group_id", sent.group_id) if sent.HasField("group_id") else None
    return Named(uuid, group_id)


def read_episodes(sent: retrieval_pb2.GetEpisodesInput, check: Check) -> EpisodesInput:
    """The input of GetEpisodes."""
    group_id = check.group_id("input.group_id", sent.group_id)
    bound = check.limits.last_n_bound
    if sent.HasField("last_n"):
        check.number("input.last_n", sent.last_n, bound)
    else:
        check.invalid("input.last_n", "is required")
    page_size = None
    if sent.HasField("page_size"):
        page_size = check.number("input.page_size", sent.page_size, bound)
    token = check.optional_identifier(sent, "input.", "page_token", _TOKEN_CHARS)
    return EpisodesInput(group_id, sent.last_n, page_size, token)


def _memory_message(check: Check, path: str, message: types_pb2.MemoryMessage) -> MemoryMessage:
    check.time(message, path, "timestamp")
    return MemoryMessage(
        role_type=check.enum(f"{path}role_type", message.role_type, ROLE_TYPES, RoleType.USER),
        content=check.body(f"{path}content", message.content),
        role=check.optional_text(message, path, "role", check.limits.role),
    )


def _max_facts(sent: retrieval_pb2.SearchFactsInput | retrieval_pb2.GetMemoryInput, check: Check) -> int:
    if not sent.HasField("max_facts"):
        return check.limits.max_facts_default
    return check.number("input.max_facts", sent.max_facts, check.limits.max_facts_bound)


def _center(sent: retrieval_pb2.SearchFactsInput | retrieval_pb2.GetMemoryInput, check: Check) -> str | None:
    return check.optional_identifier(sent, "input.", "center_node_uuid", check.limits.uuid)


def _results(hits: Sequence[Hit]) -> list[types_pb2.FactResult]:
    return [answers.fact_result(hit.fact, hit.score) for hit in hits]
