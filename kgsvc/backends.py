"""The configured store and models: the only place that names concrete ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from kgsvc.config import ConfigError, Settings
from kgsvc.domain.errors import ReadOnly
from kgsvc.domain.model.keys import fingerprint, use_key
from kgsvc.models.embedding import HashingEmbedder
from kgsvc.models.openai.settings import EmbeddingModel
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
from kgsvc.stores.protocol import Store, WholeStore

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

    @property
    def embeds_by_server(self) -> bool:
        """Whether embedding asks a model server."""
        return self.embedder is not None and self.embedder.costs_model_calls

    @property
    def ingests_by_server(self) -> bool:
        """Whether items cannot be worked on without a model server."""
        return self.extractor.costs_model_calls or self.embeds_by_server

    async def close(self) -> None:
        """Close those that hold connections."""
        for model in (self.answerer, self.cross_encoder, self.embedder, self.extractor):
            if model is not None:
                await model.close()


async def open_store(settings: Settings) -> WholeStore:
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
    await use_digest_key(settings)
    check_digest_key(await store.keyed(fingerprint()))


async def require_writable(store: Store) -> None:
    """For what writes to a store beside the service. Raises ReadOnly."""
    if (await store.activity()).modes.read_only:
        raise ReadOnly


async def use_digest_key(settings: Settings) -> None:
    """Let digests of this process depend on the configured key. Raises ConfigError."""
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


def check_digest_key(known: int, where: str = "") -> None:
    """Raises ConfigError, which begins with `where`, if a store with this fingerprint has another key than
    this process."""
    if known != fingerprint():
        begun = "with another key" if known else "without a key, which cannot be added later"
        raise ConfigError(f"{where}store.digest_key: the store was begun {begun}")


def always_on(_begins: bool) -> bool:
    """Models are not switched off."""
    return False


def make_models(
    settings: Settings, meter: Meter | None = None, off: Callable[[bool], bool] = always_on
) -> ModelSet:
    """The configured models; those that ingest share one chat, which adapts to its server. While `off`, no
    server is called (ModelOff)."""
    embedder = make_embedder(settings, meter, off)
    if settings.extractor == "offline":
        return ModelSet(OfflineExtractor(settings.limits), None, embedder)
    from kgsvc.models.openai.answering import OpenAIAnswerer
    from kgsvc.models.openai.chat import Chat
    from kgsvc.models.openai.extractor import OpenAIExtractor
    from kgsvc.models.openai.resolver import OpenAIResolver
    from kgsvc.models.openai.single_calls import OpenAICrossEncoder, OpenAISummariser, OpenAISummaryWriter
    from kgsvc.models.openai.transport import Transport

    def new_chat() -> Chat:
        return Chat(Transport(settings.openai, off=off), settings.chat, meter)

    chat = new_chat()
    return ModelSet(
        OpenAIExtractor(chat, settings.limits),
        OpenAIResolver(chat, settings.limits),
        embedder,
        OpenAISummariser(chat),
        OpenAISummaryWriter(chat),
        # Chats of their own: searches must not queue behind extractions, nor behind answers.
        OpenAICrossEncoder(new_chat()),
        OpenAIAnswerer(new_chat()),
    )


def make_embedder(
    settings: Settings, meter: Meter | None = None, off: Callable[[bool], bool] = always_on
) -> Embedder | None:
    """The configured embedder; None: keywords alone. Raises ConfigError."""
    if settings.embedder == "none":
        return None
    if settings.embedder == "offline":
        return HashingEmbedder()
    if settings.embedder == "local":
        return _local_embedder(settings)
    return _openai_embedder(settings.embedding, settings, meter, off)


def make_former(
    settings: Settings, space: str, meter: Meter | None = None, off: Callable[[bool], bool] = always_on
) -> Embedder | None:
    """The embedder whose vectors are in this space, told by its name; None: it cannot be had. A model server
    is asked only if it is in use still, a local model only if its files are those configured."""
    kind, _, rest = space.partition("-")
    model, _, number = rest.rpartition("-")
    dimension = int(number) if number.isdecimal() else 0
    if kind == "hashing" and dimension >= 8:
        made: Embedder = HashingEmbedder(dimension)
    elif kind == "openai" and dimension and "openai" in (settings.extractor, settings.embedder):
        made = _openai_embedder(
            replace(settings.embedding, model=model, dimension=dimension), settings, meter, off
        )
    elif kind == "local" and settings.models.local_path is not None:
        try:
            made = _local_embedder(settings)
        except ConfigError:  # its library is gone
            return None
    else:
        return None
    return made if made.space == space else None


def _openai_embedder(
    model: EmbeddingModel, settings: Settings, meter: Meter | None, off: Callable[[bool], bool]
) -> Embedder:
    from kgsvc.models.openai.embedder import OpenAIEmbedder
    from kgsvc.models.openai.transport import Transport

    # A transport of its own: a query's embedding must not queue behind extractions.
    return OpenAIEmbedder(Transport(settings.openai, off=off), model, meter)


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
