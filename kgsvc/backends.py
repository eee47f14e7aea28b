"""The configured store and models: the only place that names concrete ones."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from kgsvc.config import ConfigError, Settings
from kgsvc.domain.model.keys import fingerprint, use_key
from kgsvc.models.embedding import HashingEmbedder
from kgsvc.models.protocol import (
    Answerer,
    CrossEncoder,
    Embedder,
    Extractor,
    Meter,
    Resolver,
    Summariser,
    SummaryWriter,
)
from kgsvc.models.rules.extractor import OfflineExtractor
from kgsvc.stores.protocol import Store

_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class ModelSet:
    """The configured models. None means: without `resolver`, names and facts are resolved by rules alone;
    without `embedder`, search goes by keywords alone; without `summariser` and `writer`, summaries of
    communities and of entities are composed by rules; without `cross_encoder`, no model rates search results;
    without `answerer`, questions are not answered.
    """

    extractor: Extractor
    resolver: Resolver | None
    embedder: Embedder | None
    summariser: Summariser | None = None
    writer: SummaryWriter | None = None
    cross_encoder: CrossEncoder | None = None
    answerer: Answerer | None = None

    async def close(self) -> None:
        """Close those that hold connections."""
        for model in (self.answerer, self.cross_encoder, self.embedder, self.extractor):
            if model is not None:
                await model.close()


async def open_store(settings: Settings) -> Store:
    """The configured store, not yet migrated. Raises StoreUnavailable."""
    store = settings.store
    if store.kind == "neo4j":
        from kgsvc.stores.neo4j import Neo4jStore

        return await Neo4jStore.connect(
            store.neo4j_uri, store.neo4j_user, store.neo4j_password, store.neo4j_database
        )
    from kgsvc.stores.embedded import EmbeddedStore

    return await EmbeddedStore.open(store.data_dir)


async def agree_on_key(settings: Settings, store: Store) -> None:
    """Let digests depend on the configured key, before anything is written to the migrated store. Raises
    ConfigError: the store was begun with another key."""
    path, key = settings.store.digest_key, b""
    if path is not None:
        try:
            key = await asyncio.to_thread(path.read_bytes)
        except OSError as error:
            raise ConfigError(f"store.digest_key: {path} cannot be read: {error.strerror}") from error
        if len(key) < _KEY_BYTES:
            raise ConfigError(
                f"store.digest_key: {path} has {len(key)} bytes, at least {_KEY_BYTES} are needed"
            )
    use_key(key)
    known = await store.keyed(fingerprint())
    if known != fingerprint():
        begun = "with another key" if known else "without a key, which cannot be added later"
        raise ConfigError(f"store.digest_key: the store was begun {begun}")


def make_models(settings: Settings, meter: Meter | None = None) -> ModelSet:
    """The configured models; those that ingest share one chat, which adapts to its server."""
    embedder = make_embedder(settings, meter)
    if settings.extractor == "offline":
        return ModelSet(OfflineExtractor(settings.limits), None, embedder)
    from kgsvc.models.openai.answering import OpenAIAnswerer
    from kgsvc.models.openai.chat import Chat
    from kgsvc.models.openai.extractor import OpenAIExtractor
    from kgsvc.models.openai.resolver import OpenAIResolver
    from kgsvc.models.openai.single_calls import OpenAICrossEncoder, OpenAISummariser, OpenAISummaryWriter
    from kgsvc.models.openai.transport import Transport

    chat = Chat(Transport(settings.openai), settings.chat, meter)
    return ModelSet(
        OpenAIExtractor(chat, settings.limits),
        OpenAIResolver(chat, settings.limits),
        embedder,
        OpenAISummariser(chat),
        OpenAISummaryWriter(chat),
        # Chats of their own: searches must not queue behind extractions, nor behind answers.
        OpenAICrossEncoder(Chat(Transport(settings.openai), settings.chat, meter)),
        OpenAIAnswerer(Chat(Transport(settings.openai), settings.chat, meter)),
    )


def make_embedder(settings: Settings, meter: Meter | None = None) -> Embedder | None:
    """The configured embedder; None: keywords alone. Raises ConfigError."""
    if settings.embedder == "none":
        return None
    if settings.embedder == "offline":
        return HashingEmbedder()
    if settings.embedder == "local":
        return _local_embedder(settings)
    from kgsvc.models.openai.embedder import OpenAIEmbedder
    from kgsvc.models.openai.transport import Transport

    # A transport of its own: a query's embedding must not queue behind extractions.
    return OpenAIEmbedder(Transport(settings.openai), settings.embedding, meter)


def _local_embedder(settings: Settings) -> Embedder:
    try:
        from kgsvc.models.local import LocalEmbedder
    except ModuleNotFoundError as error:
        problem = f"models.embedder is local, which needs the extra kgsvc[local]: there is no {error.name}"
        raise ConfigError(problem) from error
    try:
        return LocalEmbedder(settings.models.local_path or Path(), settings.models.local_model)
    except ValueError as error:
        raise ConfigError(f"models.local_model: {error}") from error
