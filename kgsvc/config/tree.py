"""The settings tree: a frozen dataclass a section. A field says itself what it may be (domain/limits.py)."""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from kgsvc.access.audit import STDOUT
from kgsvc.access.authentication import AccessSettings
from kgsvc.access.quotas import QuotaSettings
from kgsvc.access.retention import RetentionSettings
from kgsvc.communities.builder import CommunitySettings
from kgsvc.documents.chunking import Chunking, chunker_named
from kgsvc.documents.reading.formats import ReadingLimits
from kgsvc.domain.errors import KgError
from kgsvc.domain.limits import FROM_ZERO, Limits, Range
from kgsvc.jobs.dispatcher import QueueSettings
from kgsvc.models.openai.settings import ChatModel, EmbeddingModel, Endpoint
from kgsvc.observability.settings import Tracing
from kgsvc.search.settings import SearchSettings


def split_address(text: str) -> tuple[str, int]:
    """Host and port of HOST:PORT or [IPv6]:PORT. Raises ValueError saying what it must be."""
    host, _, port = text.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not bare or (":" in bare and bare is host) or not re.fullmatch(r"\d{1,5}", port) or int(port) > 65_535:
        raise ValueError("HOST:PORT, such as 127.0.0.1:50051")
    return bare, int(port)


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach an address HOST:PORT."""
    host, _ = split_address(address)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


_ORIGIN = re.compile(r"https?://(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:\d{1,5})?")


def split_origins(text: str) -> tuple[str, ...]:
    """The origins in a text, blanks between them, as browsers write them. Raises ValueError saying what they
    must be."""
    found = tuple(text.split())
    if not all(_ORIGIN.fullmatch(each) for each in found):
        raise ValueError("origins such as https://app.example or http://localhost:3000, blanks between them")
    return found


@dataclass(frozen=True, slots=True)
class Address:
    """Marks a text that must be HOST:PORT, or may be empty where it is `optional`."""

    optional: bool = False


class Origins:
    """Marks a text that holds origins of pages, or may be empty."""


class ConfigError(KgError):
    """Settings that cannot be used; the text names each key, its problem and what is allowed."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where the service listens and how it behaves towards its callers."""

    listen: Annotated[str, Address()] = "127.0.0.1:50051"  # port 0: any free one
    # The contract as JSON over HTTP, and gRPC-Web; empty: none.
    http_listen: Annotated[str, Address(optional=True)] = ""
    http_origins: Annotated[str, Origins] = ""  # whose pages may read answers there; empty: none but its own
    metrics_listen: Annotated[str, Address(optional=True)] = "127.0.0.1:9464"  # Prometheus; empty: none
    health_listen: Annotated[str, Address(optional=True)] = ""  # grpc.health.v1 of workers; empty: none
    metrics_groups: Annotated[int, FROM_ZERO] = (
        50  # groups with a metric label of their own; others share one
    )
    role: Literal["api", "worker", "all"] = "all"
    # That serve as one. With role all, the larger half answers calls and the others ingest. 0: as many as
    # suit the machine (kgsvc.processes.suited).
    processes: Annotated[int, Range(0, 256)] = 0
    grace_s: Annotated[float, FROM_ZERO] = 20.0  # for running calls at shutdown
    tls_cert: Path | None = None  # PEM files; both or none
    tls_key: Path | None = None
    tls_client_ca: Path | None = None  # PEM file: nobody connects without a certificate of this authority
    insecure: bool = False  # allow an address that other machines reach without TLS or without credentials
    max_concurrent_rpcs: int = 1_000
    deadline_s: float = 60.0  # of a unary call whose client set none
    ontology_file: Path | None = None  # YAML: the types of groups that have no ontology of their own


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where the graph and the queue live."""

    kind: Literal["embedded", "neo4j"] = "embedded"
    data_dir: Path = Path("data")  # the embedded store, index files, imports, models
    neo4j_uri: str = "bolt://127.0.0.1:7687"
    neo4j_user: str = "neo4j"
    neo4j_password: str = field(default="", repr=False)
    neo4j_database: str = "neo4j"
    erasure_ledger: Path | None = None  # a file outside of backups, from which erasures are repeated
    digest_key: Path | None = None  # a file outside of backups, which digests and uuids depend on


@dataclass(frozen=True, slots=True)
class Models:
    """Who extracts and who embeds. auto: openai when a key or a base URL is set, else offline."""

    extractor: Literal["auto", "offline", "openai"] = "auto"
    embedder: Literal["auto", "offline", "local", "openai", "none"] = "auto"
    local_path: Path | None = None  # folder of the model that embeds on this machine
    local_model: str = "sentence-transformers/all-MiniLM-L6-v2"  # its name for fastembed


@dataclass(frozen=True, slots=True)
class Logging:
    """What is logged, as JSON lines on standard error. Never message bodies, fact texts or credentials."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    hash_groups: bool = False  # call groups as metrics do


@dataclass(frozen=True, slots=True)
class Client:
    """How the commands that talk to a running service reach it."""

    server: Annotated[str, Address()] = "127.0.0.1:50051"
    timeout_s: float = 30.0  # of one call
    token: str = field(default="", repr=False)  # who the commands are
    tls: bool = False
    tls_ca: Path | None = None  # PEM file to trust instead of the system's authorities; implies TLS
    tls_cert: Path | None = None  # PEM files of the commands' own certificate; both or none
    tls_key: Path | None = None
    tls_name: str | None = None  # in the service's certificate, where that is not the address


@dataclass(frozen=True, slots=True)
class Settings:
    """The whole tree."""

    server: Server = field(default_factory=Server)
    store: StoreSettings = field(default_factory=StoreSettings)
    models: Models = field(default_factory=Models)
    openai: Endpoint = field(default_factory=Endpoint)
    chat: ChatModel = field(default_factory=ChatModel)
    embedding: EmbeddingModel = field(default_factory=EmbeddingModel)
    queue: QueueSettings = field(default_factory=QueueSettings)
    retrieval: SearchSettings = field(default_factory=SearchSettings)
    communities: CommunitySettings = field(default_factory=CommunitySettings)
    limits: Limits = field(default_factory=Limits)
    reading: ReadingLimits = field(default_factory=ReadingLimits)
    documents: Chunking = field(default_factory=Chunking)
    logging: Logging = field(default_factory=Logging)
    tracing: Tracing = field(default_factory=Tracing)
    client: Client = field(default_factory=Client)
    access: AccessSettings = field(default_factory=AccessSettings)
    quotas: QuotaSettings = field(default_factory=QuotaSettings)
    retention: RetentionSettings = field(default_factory=RetentionSettings)

    @property
    def extractor(self) -> Literal["offline", "openai"]:
        """The extractor that `auto` stands for."""
        if self.models.extractor == "auto":
            return "openai" if self._model_server_is_set() else "offline"
        return self.models.extractor

    @property
    def embedder(self) -> Literal["offline", "local", "openai", "none"]:
        """The embedder that `auto` stands for."""
        if self.models.embedder == "auto":
            return "openai" if self._model_server_is_set() else "offline"
        return self.models.embedder

    def verify(self) -> None:
        """Check what no field can check alone. Raises ConfigError naming everything that is wrong."""
        problems = [
            *_server_problems(self.server),
            *_access_problems(self.server, self.access),
            *self.access.problems(),
            *_store_problems(self.store),
            *_limit_problems(self.limits),
        ]
        wanted = {"models.extractor": self.extractor, "models.embedder": self.embedder}
        if not self._model_server_is_set():
            problems += [
                f"{key} is openai, which needs openai.api_key or openai.base_url"
                for key, kind in wanted.items()
                if kind == "openai"
            ]
        problems += _local_problems(self.models)
        if self.documents.chunker and chunker_named(self.documents.chunker) is None:
            problems.append(
                f"documents.chunker: no package here has the entry point {self.documents.chunker}"
            )
        if problems:
            raise ConfigError("; ".join(problems))

    def _model_server_is_set(self) -> bool:
        return bool(self.openai.api_key) or self.openai.base_url != Endpoint().base_url


def _server_problems(server: Server) -> Iterator[str]:
    if server.processes > 1 and not hasattr(socket, "SO_REUSEPORT"):
        yield "server.processes must be 1 on this system, where processes cannot share a port"
    if (server.tls_cert is None) != (server.tls_key is None):
        yield "server.tls_cert and server.tls_key must be set together"
    if server.tls_client_ca is not None and server.tls_cert is None:
        yield "server.tls_client_ca needs server.tls_cert and server.tls_key"
    for name in ("tls_cert", "tls_key", "tls_client_ca"):
        path = getattr(server, name)
        if path is not None and not path.is_file():
            yield f"server.{name}: there is no file {path}"
    if server.tls_cert is not None and server.tls_key is not None:
        yield from _certificate_problems(server.tls_cert, server.tls_key)
    for name, listen in (("metrics_listen", server.metrics_listen), ("health_listen", server.health_listen)):
        if listen and not server.insecure and not is_loopback(listen):
            yield (
                f"server.{name} is {listen}, which other machines reach without TLS:"
                " set server.insecure = true if something else protects it"
            )


def _certificate_problems(cert: Path, key: Path) -> Iterator[str]:
    if not (cert.is_file() and key.is_file()):
        return  # told already
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password="")
    except OSError as error:  # what ssl finds wrong, too
        why = "PEM files of a certificate and its own key, without a password"
        yield f"server.tls_cert, server.tls_key: {cert} and {key} must be {why} ({error})"


def _access_problems(server: Server, access: AccessSettings) -> Iterator[str]:
    missing = []
    if server.tls_cert is None:
        missing.append("server.tls_cert and server.tls_key, so that nobody listens in")
    if not access.on:
        missing.append(
            "access.file (`kgsvc token create --admin` writes it), so that not everybody may do all"
        )
    for name, listen in (("listen", server.listen), ("http_listen", server.http_listen)):
        if missing and listen and not server.insecure and not is_loopback(listen):
            yield (
                f"server.{name} is {listen}, which other machines reach: set {'; and '.join(missing)};"
                " or server.insecure = true (--insecure) if something else protects it"
            )
    if access.audit == STDOUT and server.processes > 1:
        yield "access.audit must be a file where server.processes is above 1"


def _store_problems(store: StoreSettings) -> Iterator[str]:
    if store.kind != "neo4j":
        return
    try:
        parts = urlsplit(store.neo4j_uri)
        credentials = parts.username is not None or parts.password is not None
    except ValueError:
        yield "store.neo4j_uri is not a URI"
        return
    if (
        parts.scheme not in {"bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc"}
        or not parts.hostname
    ):
        yield "store.neo4j_uri must begin with bolt:// or neo4j:// (or their +s, +ssc forms) and name a host"
    if credentials:
        yield "store.neo4j_uri must hold no credentials: use store.neo4j_user and store.neo4j_password"


def _local_problems(models: Models) -> Iterator[str]:
    if models.embedder != "local":
        return
    if models.local_path is None:
        yield "models.embedder is local, which needs models.local_path: the folder with the model's files"
    elif not models.local_path.is_dir():
        yield f"models.local_path: there is no folder {models.local_path}"


def _limit_problems(limits: Limits) -> Iterator[str]:
    for smaller, larger in (
        ("body_bytes", "payload_bytes"),
        ("attributes_bytes", "payload_bytes"),
        ("max_facts_default", "max_facts_bound"),
        ("dedup_window_ms", "receipt_window_ms"),
    ):
        if getattr(limits, smaller) > getattr(limits, larger):
            yield f"limits.{smaller} must not be above limits.{larger}"
    if limits.response_bytes >= 4 * 1024 * 1024:
        yield "limits.response_bytes must be below 4194304, what clients accept by default"
