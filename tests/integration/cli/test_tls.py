"""A service behind TLS, and commands that trust its authority and no other."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.integration.cli.conftest import kgsvc
from tests.support.service import Service


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("NOT TESTED WITH TLS: openssl is not installed")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    words = "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=kgsvc -addext subjectAltName=IP:127.0.0.1"
    command = [openssl, *words.split(), "-out", str(cert), "-keyout", str(key)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return cert, key


async def test_the_commands_talk_tls(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    cert, key = pair
    settings = {
        "store.data_dir": str(tmp_path / "data"),
        "server.tls_cert": str(cert),
        "server.tls_key": str(key),
    }
    async with Service(settings, tmp_path) as service:
        trusting = {"client.server": service.address, "client.tls_ca": str(cert)}
        assert (await kgsvc("health", settings=trusting)).code == 0
        done = await kgsvc("items", "--group", "g", settings=trusting)
        assert (done.code, done.err) == (0, "0 items\n")
        plain = {"client.server": service.address, "client.timeout_s": "5"}
        assert (await kgsvc("health", settings=plain)).code == 1
        assert (await kgsvc("health", settings=plain | {"client.tls": "true"})).code == 1
        said = (tmp_path / "server.out").read_text()
        assert "grpcurl -cacert" in said


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
    assert done.sentence
    missing = {"client.tls_ca": str(tmp_path / "absent.pem")}
    done = await kgsvc("health", settings=missing)
    assert "absent.pem" in done.sentence
