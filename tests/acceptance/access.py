"""Servers that want to know who calls, and callers with credentials of every kind."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import grpc
import pytest

from kgsvc import app, backends
from kgsvc.access import authentication
from kgsvc.access.file import changing, new_certificate, new_token
from kgsvc.access.scopes import scopes_of
from kgsvc.api.calls import current_call
from kgsvc.config import load
from tests.acceptance.issuer import Issuer
from tests.support.certificates import Authority
from tests.support.client import CALL_S, Client
from tests.support.service import DEFAULTS
from tests.support.witness import WITNESS

Proof: TypeAlias = Literal["token", "certificate", "jwt"]
GROUP = "acme/team"
HOUR_MS = 3_600_000
# By kind: what it grants, and for how long.
GRANTS: Mapping[str, tuple[dict[str, str], int]] = {
    "admin": ({"*": "admin"}, HOUR_MS),
    "tenant": ({"acme/": "admin"}, HOUR_MS),
    "foreign": ({"acme2/": "admin", "acme": "admin", "acme/team2": "admin"}, HOUR_MS),
    "read-only": ({"acme/": "read", "acme2/": "admin"}, HOUR_MS),
    "only-reads": ({"acme/": "read"}, HOUR_MS),
    "expired": ({"*": "admin"}, -HOUR_MS),
}


class Watched:
    """A store that remembers which of its methods calls have touched; background work is not counted."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.touched: list[str] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if callable(found) and current_call.get(None) is not None:
            self.touched.append(name)
        return found


@dataclass
class Guarded:
    """A running server, and the credentials that it knows by kind."""

    address: str
    authority: Authority
    access_file: Path
    store: Watched
    by: Proof
    metrics_address: str = ""
    http_url: str = ""
    tokens: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)  # of credentials in the access file
    pairs: dict[str, tuple[Path, Path]] = field(default_factory=dict)
    issuer: Issuer | None = None

    @property
    def mutual(self) -> bool:
        """Whether nobody connects without a certificate."""
        return self.by == "certificate"

    def client(self, kind: str | None) -> Client:
        """A caller with a credential: a certificate where the server wants one, else a token."""
        trusted = self.authority.path.read_bytes()
        if self.mutual:
            cert, key = self.pairs[kind or "unknown"]
            return Client(
                self.address, grpc.ssl_channel_credentials(trusted, key.read_bytes(), cert.read_bytes())
            )
        made = grpc.ssl_channel_credentials(trusted)
        if kind is not None:
            token = self.tokens.get(kind, kind)
            made = grpc.composite_channel_credentials(made, grpc.access_token_call_credentials(token))
        return Client(self.address, made)

    async def taken_over(self, kind: str) -> None:
        """Wait until the server knows a credential that was added while it runs."""
        async with asyncio.timeout(CALL_S), self.client(kind) as client:
            while True:
                try:
                    await client.ask("Healthcheck")
                except grpc.aio.AioRpcError as error:
                    if error.code() is not grpc.StatusCode.UNAUTHENTICATED:
                        raise
                    await asyncio.sleep(0.01)
                else:
                    return

    async def revoke(self, kind: str) -> None:
        """As `kgsvc token revoke`; of a JWT the issuer takes its key back."""
        if self.issuer is not None:
            await asyncio.to_thread(self.issuer.revoke, kind)
            return

        def change() -> None:
            with changing(self.access_file) as credentials:
                credentials[:] = [each for each in credentials if each.id != self.ids[kind]]

        await asyncio.to_thread(change)

    async def add(self, kind: str, scopes: dict[str, str], lasts_ms: int) -> None:
        """As `kgsvc token create`, of both kinds; or a JWT, each of a key of its own."""
        now_ms = time.time_ns() // 1_000_000
        if self.issuer is not None:
            self.knows(kind, await asyncio.to_thread(self.issuer.token, kind, scopes, now_ms + lasts_ms))
            return
        granted, until = scopes_of(scopes), now_ms + lasts_ms
        if self.mutual:
            made = new_certificate(kind, granted, now_ms, until, f"{kind}.test")
            self.pairs[kind] = self.authority.certificate(kind, f"{kind}.test")
        else:
            made, token = new_token(kind, granted, now_ms, until)
            self.knows(kind, token)

        def change() -> None:
            with changing(self.access_file) as credentials:
                credentials.append(made)

        await asyncio.to_thread(change)
        self.ids[kind] = made.id

    def forge(self) -> None:
        """A token that looks like the administrator's and is not."""
        if self.issuer is not None:
            self.knows("forged", self.issuer.forged("admin"))
        elif not self.mutual:
            number = self.tokens["admin"].split("_", 2)[1]
            self.knows("forged", f"kgsvc_{number}_{'x' * 43}")

    def knows(self, kind: str, token: str) -> None:
        """Remember a token, which no output may hold."""
        self.tokens[kind] = token
        if WITNESS is not None:
            WITNESS.secrets.add(token)


@asynccontextmanager
async def guarded(folder: Path, by: Proof, **settings: str) -> AsyncIterator[Guarded]:
    """A server on the running loop, over an embedded store, with TLS, or mutual TLS for certificates."""
    authority = Authority(folder)
    cert, key = authority.certificate("server", "127.0.0.1")
    wanted = {
        **DEFAULTS,
        "store.data_dir": str(folder / "data"),
        "server.tls_cert": str(cert),
        "server.tls_key": str(key),
        "access.reload_s": "0.02",
        "access.audit": str(folder / "audit.jsonl"),
    }
    if WITNESS is not None:
        WITNESS.watch(folder / "audit.jsonl")
    made = Guarded("", authority, folder / "access.json", Watched(None), by)
    if made.mutual:
        wanted["server.tls_client_ca"] = str(authority.path)
    if by == "jwt":
        made.issuer = Issuer(folder / "keys.json")
        wanted |= made.issuer.settings
    else:
        wanted["access.file"] = str(made.access_file)
    wanted |= {name.replace("__", "."): value for name, value in settings.items()}
    made.pairs["unknown"] = authority.certificate("unknown", "unknown.test")
    for kind, (scopes, lasts_ms) in GRANTS.items():
        await made.add(kind, scopes, lasts_ms)
    made.forge()
    open_store: Callable[[Any], Any] = backends.open_store

    async def watched(loaded: Any) -> Watched:
        made.store = Watched(await open_store(loaded))
        return made.store

    environ = {f"KGSVC_{name.replace('.', '_').upper()}": value for name, value in wanted.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "open_store", watched)
        patch.setattr(authentication, "_AT_ONCE", 10_000)  # tests present many wrong credentials
        async with app.running(load(environ=environ).settings) as service:
            assert service.address is not None
            made.address, made.metrics_address = service.address, service.metrics_address or ""
            made.http_url = service.http_address or ""
            yield made
