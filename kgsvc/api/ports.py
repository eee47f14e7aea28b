"""What the servicers call, as narrowly as they need it; app.py puts the real ones in."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kgsvc.commands.memory import MemoryMessage
from kgsvc.domain.clock import Clock
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.ontology import DEFAULT, Ontology
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.observability.metrics import Metrics
from kgsvc.pipeline.preparing import IntakePressure
from kgsvc.search.graph_results import ScopeAnswer
from kgsvc.search.search import Hit
from kgsvc.search.search_graph import GraphQuery
from kgsvc.stores.protocol import Store


class FactSearch(Protocol):
    """SearchFacts; search.search.SearchFacts is one."""

    async def search(
        self, group_ids: Collection[str], query: str, max_facts: int, center_node_uuid: str | None = None
    ) -> Sequence[Hit]:
        """Hits, best first. Raises StoreUnavailable."""


class Memory(Protocol):
    """GetMemory; commands.memory.GetMemory is one."""

    async def get(
        self,
        group_id: str,
        messages: Iterable[MemoryMessage],
        max_facts: int,
        center_node_uuid: str | None = None,
    ) -> Sequence[Hit]:
        """Hits, best first. Raises LimitExceeded (naming `messages`) and StoreUnavailable."""


class GraphSearch(Protocol):
    """SearchGraph; search.search_graph.SearchGraph is one."""

    async def search(self, query: GraphQuery) -> Sequence[ScopeAnswer]:
        """An answer for each scope. Raises NotFound (naming the field) and StoreUnavailable."""

    async def context(self, query: GraphQuery, found: Sequence[ScopeAnswer], chars: int) -> str:
        """A text of what was found, of at most `chars` characters. Raises StoreUnavailable."""


class Activity(Protocol):
    """The process's one look for changes (design §4); jobs.activity.ActivityWatch is one."""

    @property
    def version(self) -> int:
        """Grows with every change seen."""

    def poke(self) -> None:
        """This process has changed something: look now."""

    async def wait(self, seen: int, timeout_s: float) -> int:
        """The version once it differs from `seen`, at the latest after `timeout_s`."""


@dataclass(frozen=True, slots=True)
class ServiceInfo:
    """What Healthcheck tells beside the store's own answer."""

    version: str
    extractor: str
    embedder: str = ""  # empty: there is none


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Bounds on what one process serves at once. Times in seconds."""

    max_calls: int = 512  # unary calls under way; more are OVERLOADED
    max_call_bytes: int = 256 * 1024 * 1024  # of their requests
    max_streams: int = 1_024
    default_deadline_s: float = 60.0  # of a unary call that brought none
    watch_deadline_s: float = 3_600.0  # of WatchReceipt
    grace_s: float = 10.0  # for calls under way at shutdown
    readiness_s: float = 5.0  # between two looks whether the store answers
    keepalive_s: float = 60.0  # between two pings to a silent client
    min_ping_s: float = 10.0  # clients that ping more often are disconnected
    shared_port: bool = False  # other processes of this service listen there too


@dataclass(frozen=True, slots=True)
class Deps:
    """Everything the server is built from."""

    store: Store
    search: FactSearch
    memory: Memory
    graph: GraphSearch
    activity: Activity
    metrics: Metrics
    clock: Clock
    info: ServiceInfo
    new_id: Callable[[], str]  # request and receipt ids
    rng: random.Random
    embedder: CachingEmbedder | None = None  # of what callers write; None: search is by keyword alone
    pressure: IntakePressure = field(default_factory=IntakePressure)
    limits: Limits = field(default_factory=Limits)
    settings: ServerSettings = field(default_factory=ServerSettings)
    ontology: Ontology = DEFAULT  # of groups that have none of their own
