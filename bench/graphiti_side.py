"""Graphiti, as a user without wishes of their own runs it, on a model server and an embedder given."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Sequence

from bench.planted import Line
from bench.vocabulary import DIMENSION, MODEL
from kgsvc.models.embedding import HashingEmbedder

os.environ["GRAPHITI_TELEMETRY_ENABLED"] = "false"  # before the first import
os.environ.setdefault("OPENAI_API_KEY", "none")  # its reranker asks for one and is not used
logging.getLogger("neo4j").setLevel(logging.ERROR)  # its queries name what an empty database has not got

with warnings.catch_warnings(action="ignore"):
    from graphiti_core import Graphiti
    from graphiti_core.embedder.client import EmbedderClient
    from graphiti_core.embedder.openai import OpenAIEmbedder, OpenAIEmbedderConfig
    from graphiti_core.llm_client.config import LLMConfig
    from graphiti_core.llm_client.openai_generic_client import OpenAIGenericClient
    from graphiti_core.nodes import EpisodeType


class Hashing(EmbedderClient):
    """The embedder of kgsvc, as Graphiti asks for one."""

    async def create(self, input_data: object) -> list[float]:
        """See EmbedderClient."""
        texts = [str(each) for each in input_data] if isinstance(input_data, list) else [str(input_data)]
        return (await self.create_batch(texts))[0]

    async def create_batch(self, input_data_list: list[str]) -> list[list[float]]:
        """See EmbedderClient."""
        vectors, _ = await HashingEmbedder().embed(input_data_list)
        return [[float(value) for value in vector] for vector in vectors]


def graphiti_on(uri: str, password: str, base_url: str, embedder: str) -> Graphiti:
    """With the model behind `base_url`, and so the embedder ("http"), or hashed words ("offline")."""
    client = OpenAIGenericClient(LLMConfig(api_key="none", model="scripted", base_url=base_url))
    config = OpenAIEmbedderConfig(
        api_key="none", base_url=base_url, embedding_model=MODEL, embedding_dim=DIMENSION
    )
    chosen = OpenAIEmbedder(config) if embedder == "http" else Hashing()
    return Graphiti(uri, "neo4j", password, llm_client=client, embedder=chosen)


async def graphiti_ingests(uri: str, password: str, base_url: str, group: str, lines: Sequence[Line]) -> None:
    """All lines, one after the other."""
    client = OpenAIGenericClient(LLMConfig(api_key="none", model="scripted", base_url=base_url))
    graphiti = Graphiti(uri, "neo4j", password, llm_client=client, embedder=Hashing())
    try:
        await graphiti.build_indices_and_constraints()
        for number, line in enumerate(lines):
            await graphiti.add_episode(
                f"message {number}", line.body, "chat", line.at, EpisodeType.message, group
            )
    finally:
        await graphiti.close()  # type: ignore[no-untyped-call]
