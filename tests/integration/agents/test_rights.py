"""Whose rights a call has: those of its token over HTTP, else those of the command."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from kgsvc.access.file import changing, new_token
from kgsvc.access.scopes import scopes_of
from tests.support.agents import TRANSPORTS, agent, caller, over_http
from tests.support.certificates import Authority
from tests.support.service import Service

GROUP = "acme/team"
HOUR_MS = 3_600_000
GRANTS = {"owner": {"acme/": "admin"}, "reader": {"acme/": "read"}, "foreign": {"acme2/": "admin"}}
READS, WRITES = {"query": "Where does Ann work?"}, {"text": "Ann works at Acme."}


@dataclass(frozen=True, slots=True)
class Guarded:
    """A service that asks for credentials, and tokens by what they grant."""

    settings: Mapping[str, str]  # of a client without a token
    tokens: Mapping[str, str]

    def of(self, name: str) -> dict[str, str]:
        """The settings of a command with a token."""
        return {**self.settings, "client.token": self.tokens[name]}


def tokens_of(access: Path) -> dict[str, str]:
    """The access file, and its tokens by name."""
    made, now_ms = {}, int(time.time() * 1_000)
    with changing(access) as credentials:
        for name, grants in GRANTS.items():
            credential, made[name] = new_token(name, scopes_of(grants), now_ms, now_ms + HOUR_MS)
            credentials.append(credential)
    return made


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Guarded]:
    authority, access = Authority(tmp_path), tmp_path / "access.json"
    cert, key = authority.certificate("server", "127.0.0.1")
    tokens = await asyncio.to_thread(tokens_of, access)
    settings = {
        "store.data_dir": str(tmp_path / "data"),
        "server.tls_cert": str(cert),
        "server.tls_key": str(key),
        "access.file": str(access),
    }
    async with Service(settings, tmp_path) as service:
        yield Guarded({"client.server": service.address, "client.tls_ca": str(authority.path)}, tokens)


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_the_command_s_own_token_counts(transport: str, guarded: Guarded, tmp_path: Path) -> None:
    async with agent(transport, GROUP, guarded.of("owner"), tmp_path) as owner:
        assert "Ann works at Acme." in await owner("remember", **WRITES)
    async with agent(transport, GROUP, guarded.of("reader"), tmp_path) as reader:
        assert "Ann works at Acme." in await reader("recall", **READS)
        refused = await reader("remember", text="Bea works at Acme.")
        assert refused.failed
        assert refused.startswith("PERMISSION_DENIED: ")
        assert (await reader("forget", kind="episode", id="x")).startswith("PERMISSION_DENIED: ")
        assert "Bea" not in await reader("recall", query="Who works at Acme?")
    async with agent(transport, GROUP, guarded.of("foreign"), tmp_path) as foreign:
        assert (await foreign("recall", **READS)).startswith("PERMISSION_DENIED: ")


async def test_over_http_each_caller_has_its_own_rights(guarded: Guarded, tmp_path: Path) -> None:
    async with over_http(GROUP, guarded.of("reader"), tmp_path) as url:
        async with caller(url, guarded.tokens["owner"]) as owner:
            assert not (await owner("remember", **WRITES)).failed
        async with caller(url) as unnamed:
            assert "Ann works at Acme." in await unnamed("recall", **READS)
            assert (await unnamed("remember", text="Bea.")).startswith("PERMISSION_DENIED: ")
        async with caller(url, guarded.tokens["foreign"]) as foreign:
            assert (await foreign("recall", **READS)).startswith("PERMISSION_DENIED: ")
        async with caller(url, "kgsvc_made_up") as unknown:
            told = await unknown("recall", **READS)
            assert told.failed
            assert told.startswith("UNAUTHENTICATED: ")


async def test_without_any_token_nothing_is_done(guarded: Guarded, tmp_path: Path) -> None:
    async with over_http(GROUP, guarded.settings, tmp_path) as url, caller(url) as unnamed:
        assert (await unnamed("recall", **READS)).startswith("UNAUTHENTICATED: ")
    told = "".join(path.read_text() for path in (tmp_path / "mcp.out", tmp_path / "mcp.err"))
    assert not any(token in told for token in guarded.tokens.values())


async def test_tokens_of_callers_are_not_sent_on_where_others_could_read_them(tmp_path: Path) -> None:
    settings = {"client.server": "kgsvc.example.org:50051"}
    async with over_http(GROUP, settings, tmp_path) as url, caller(url, "kgsvc_secret") as named:
        told = await named("recall", **READS)
    assert told == "UNAUTHENTICATED: the token would travel to the service readable by all"
