"""Who runs in bench.beside_graphiti: a model, Graphiti, servers of kgsvc, each a process or two."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.graphiti_process import GraphitiProcess
from bench.model_server import Model
from bench.neo4j_side import Database
from tests.support.client import Client
from tests.support.service import Service

_COLD = {"retrieval.index_bytes": "1", "server.role": "api"}  # keeps no group beside the one searched last

_PAIR = {"server.role": "api", "server.processes": "2"}

_EMBEDDERS = {"http": "openai", "offline": "offline"}  # as kgsvc names them


@dataclass(frozen=True, slots=True)
class Sides:
    """Everybody who runs."""

    graphiti: GraphitiProcess
    warm: Client
    cold: Client
    warm_pid: int
    pair: Service  # two processes on one port; whoever asks it starts it
    model: Model
    database: Database


@asynccontextmanager
async def running(
    database: Database, folder: Path, embedder: str, episodes: int, seed: int
) -> AsyncIterator[Sides]:
    """All processes, on an empty database."""
    async with Model(episodes, seed) as model:
        settings = database.settings | model.settings | {"models.embedder": _EMBEDDERS[embedder]}
        warm = Service(settings, folder, "warm")
        cold = Service(settings | _COLD, folder, "cold")
        pair = Service(settings | _PAIR, folder, "pair")
        graphiti = GraphitiProcess(database.uri, database.password, model.base_url, embedder, episodes, seed)
        async with warm, cold, Client(warm.address) as at_warm, Client(cold.address) as at_cold, graphiti:
            yield Sides(graphiti, at_warm, at_cold, warm.pid, pair, model, database)
