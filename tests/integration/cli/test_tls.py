"""A service behind TLS, and commands that trust its authority and no other; credentials by the command."""

import asyncio
import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.integration.cli.conftest import kgsvc
from tests.support.certificates import Authority
from tests.support.service import Service

WAIT_S = 20.0


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def settings(tmp_path: Path, authority: Authority) -> dict[str, str]:
    """Of a service with a certificate of the authority for its address."""
    cert, key = authority.certificate("server", "127.0.0.1")
    return {
        "store.data_dir": str(tmp_path / "data"),
        "server.tls_cert": str(cert),
        "server.tls_key": str(key),
    }


async def test_the_commands_talk_tls(tmp_path: Path, authority: Authority, settings: dict[str, str]) -> None:
    async with Service(settings, tmp_path) as service:
        trusting = {"client.server": service.address, "client.tls_ca": str(authority.path)}
        assert (await kgsvc("health", settings=trusting)).code == 0
        assert (await kgsvc("ingest", "-", "--group", "g", stdin="Ann.", settings=trusting)).code == 0
        done = await kgsvc("items", "--group", "g", settings=trusting)
        assert (done.code, done.err) == (0, "1 items\n")
        plain = {"client.server": service.address, "client.timeout_s": "5"}
        assert (await kgsvc("health", settings=plain)).code == 1
        assert (await kgsvc("health", settings=plain | {"client.tls": "true"})).code == 1
        said = (tmp_path / "server.out").read_text()
        assert "grpcurl -cacert" in said


@pytest.mark.parametrize("mutual", [False, True])
async def test_health_in_the_service_s_own_environment(
    mutual: bool, tmp_path: Path, authority: Authority, settings: dict[str, str]
) -> None:
    cert, key = authority.certificate("named", "kgsvc.example.org")
    settings |= {"server.tls_cert": str(cert), "server.tls_key": str(key)}
    if mutual:
        settings["server.tls_client_ca"] = str(authority.path)
    async with Service(settings, tmp_path) as service:
        done = await kgsvc("health", settings=settings | {"client.server": service.address})
        assert (done.code, done.out) == (0, f"{service.address} is SERVING\n")


async def test_a_new_certificate_is_shown_without_a_restart(
    tmp_path: Path, authority: Authority, settings: dict[str, str]
) -> None:
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other")
    async with Service(settings, tmp_path) as service:
        trusting = {"client.server": service.address, "client.tls_ca": str(other.path)}
        assert (await kgsvc("health", settings=trusting)).code == 1
        cert, key = other.certificate("server", "127.0.0.1")
        shutil.move(cert, settings["server.tls_cert"])
        await asyncio.sleep(1.2)
        assert (await kgsvc("health", settings=trusting)).code == 1, "key and certificate do not fit together"
        before = trusting | {"client.tls_ca": str(authority.path)}
        assert (await kgsvc("health", settings=before)).code == 0, "the former pair stays in force"
        shutil.move(key, settings["server.tls_key"])
        await until_healthy(trusting)


async def test_a_new_authority_of_clients_is_taken_over_without_a_restart(
    tmp_path: Path, authority: Authority, settings: dict[str, str]
) -> None:
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other")
    trusted = tmp_path / "clients.pem"
    shutil.copy(authority.path, trusted)
    settings |= {"server.tls_client_ca": str(trusted)}
    async with Service(settings, tmp_path) as service:
        here = {"client.server": service.address, "client.tls_ca": str(authority.path)}
        former, later = (
            here | {"client.tls_cert": str(cert), "client.tls_key": str(key)}
            for cert, key in (each.certificate("client", "client.test") for each in (authority, other))
        )
        assert (await kgsvc("health", settings=former)).code == 0
        assert (await kgsvc("health", settings=later)).code == 1
        shutil.copy(other.path, tmp_path / "new.pem")
        (tmp_path / "new.pem").replace(trusted)
        await until_healthy(later)
        assert (await kgsvc("health", settings=former)).code == 1, "its authority is not trusted any more"


async def until_healthy(settings: Mapping[str, str]) -> None:
    async with asyncio.timeout(WAIT_S):
        while (await kgsvc("health", settings=settings)).code != 0:
            pass


async def test_credentials_by_the_command(
    tmp_path: Path, authority: Authority, settings: dict[str, str]
) -> None:
    file, audit = tmp_path / "access.json", tmp_path / "audit.jsonl"
    settings |= {"access.file": str(file), "access.audit": str(audit)}
    absent = await kgsvc("serve", settings=settings)
    assert str(file) in absent.sentence
    made = await kgsvc("token", "create", "--write", "acme/", "--name", "app", settings=settings)
    token = made.out.strip()
    (kept,) = json.loads((await kgsvc("token", "list", "--json", settings=settings)).out)["credentials"]
    assert (kept["name"], kept["scopes"]) == ("app", {"acme/": "write"})
    listed = await kgsvc("token", "list", settings=settings)
    assert listed.out == f"{kept['id']}  app  token: write acme/\n"
    async with Service(settings, tmp_path) as service:
        client = {"client.server": service.address, "client.tls_ca": str(authority.path)}
        asked = ("items", "--group", "acme/notes", "--token", token)
        told = ("ingest", "-", "--group", "acme/notes", "--token", token)
        assert (await kgsvc(*told, stdin="Ann.", settings=client)).code == 0
        assert (await kgsvc(*asked, settings=client)).code == 0
        assert (await kgsvc(*asked[:3], settings=client | {"token": token})).code == 0, "KGSVC_TOKEN"
        assert "UNAUTHENTICATED" in (await kgsvc(*asked[:3], settings=client)).sentence
        denied = await kgsvc("items", "--group", "acme2", "--token", token, settings=client)
        assert "PERMISSION_DENIED" in denied.sentence
        assert (await kgsvc("token", "revoke", kept["id"], settings=settings)).code == 0
        async with asyncio.timeout(WAIT_S):
            while "UNAUTHENTICATED" not in (await kgsvc(*asked, settings=client)).err:
                pass
    said = service.errors + (tmp_path / "server.out").read_text() + audit.read_text() + file.read_text()
    assert token.split("_", 2)[2] not in said, "its secret, which may have underscores of its own"
    operations = [json.loads(line)["operation"] for line in audit.read_text().splitlines()]
    assert operations[0] == "token create"
    assert "token revoke" in operations


async def test_a_token_does_not_travel_readable_by_all() -> None:
    remote = {"client.server": "192.0.2.1:50051", "client.token": "kgsvc_a_b"}
    done = await kgsvc("health", settings=remote)
    assert "readable" in done.sentence
    assert "kgsvc_a_b" not in done.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("create",), "say what it may do"),
        (("create", "--read", ""), "say what it may do"),
        (("create", "--admin", "--expires", "soon"), "--expires is"),
    ],
)
async def test_what_a_credential_needs(words: tuple[str, ...], says: str, tmp_path: Path) -> None:
    done = await kgsvc("token", *words, "--file", str(tmp_path / "access.json"))
    assert (done.code, says in done.err) == (2, True)
    assert (await kgsvc("token", "revoke", "a", "--file", str(tmp_path / "absent.json"))).code == 1
    assert "access.file" in (await kgsvc("token", "list")).sentence


async def test_a_certificate_that_is_none_is_a_sentence(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pem"
    broken.write_text("nothing")
    settings = {
        "store.data_dir": str(tmp_path / "data"),
        "server.listen": "127.0.0.1:0",
        "server.metrics_listen": "",
        "server.tls_cert": str(broken),
        "server.tls_key": str(broken),
    }
    done = await kgsvc("serve", settings=settings)
    assert f"server.tls_cert, server.tls_key: {broken} and {broken} must be PEM files" in done.sentence
    missing = {"client.tls_ca": str(tmp_path / "absent.pem")}
    done = await kgsvc("health", settings=missing)
    assert "absent.pem" in done.sentence
