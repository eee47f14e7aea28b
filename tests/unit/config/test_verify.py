"""Rules between settings."""

from dataclasses import replace
from pathlib import Path

import pytest

from kgsvc.access.authentication import AccessSettings
from kgsvc.access.file import changing
from kgsvc.config import ConfigError, Models, Server, Settings, StoreSettings
from kgsvc.domain.limits import Limits
from kgsvc.models.openai.settings import Endpoint
from tests.support.certificates import Authority


def problems(settings: Settings) -> str:
    with pytest.raises(ConfigError) as caught:
        settings.verify()
    return str(caught.value)


def test_the_defaults_are_fine() -> None:
    Settings().verify()


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "127.8.8.8:1", "[::1]:1", "localhost:1"])
def test_loopback_needs_nothing(listen: str) -> None:
    Settings(server=Server(listen=listen)).verify()


@pytest.mark.parametrize("listen", ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "example.org:1"])
def test_other_addresses_need_tls_and_credentials_or_the_flag(listen: str, tmp_path: Path) -> None:
    text = problems(Settings(server=Server(listen=listen)))
    assert all(
        part in text for part in (listen, "server.tls_cert", "kgsvc token create --admin", "--insecure")
    )
    Settings(server=Server(listen=listen, insecure=True)).verify()
    cert, key = Authority(tmp_path).certificate("server", "127.0.0.1")
    behind_tls = Server(listen=listen, tls_cert=cert, tls_key=key, tls_client_ca=cert)
    text = problems(Settings(server=behind_tls))
    assert "access.file" in text
    assert "so that nobody listens in" not in text
    access = AccessSettings(file=tmp_path / "access.json")
    with changing(tmp_path / "access.json"):
        pass
    assert "access.file" not in problems(Settings(server=Server(listen=listen), access=access))
    Settings(server=behind_tls, access=access).verify()


def test_what_is_no_certificate_or_access_file_is_told(tmp_path: Path) -> None:
    cert, _ = Authority(tmp_path).certificate("server", "127.0.0.1")
    absent = AccessSettings(file=tmp_path / "absent.json")
    text = problems(Settings(server=Server(tls_cert=cert, tls_key=cert), access=absent))
    assert f"server.tls_cert, server.tls_key: {cert} and {cert} must be PEM files" in text
    assert f"there is no access file {tmp_path / 'absent.json'}" in text


def test_what_of_access_does_not_fit_together(tmp_path: Path) -> None:
    jwt = AccessSettings(jwt_keys="http://issuer.test/keys")
    text = problems(Settings(access=jwt))
    assert all(part in text for part in ("access.jwt_issuer", "access.jwt_audience", "https"))
    assert "access.jwt_keys" in problems(Settings(access=AccessSettings(jwt_issuer="i")))
    several = Settings(server=Server(processes=2), access=AccessSettings(audit=Path("-")))
    assert "access.audit" in problems(several)
    assert "server.tls_client_ca" in problems(Settings(server=Server(tls_client_ca=tmp_path)))


def test_metrics_for_other_machines_need_the_flag() -> None:
    assert "server.metrics_listen" in problems(Settings(server=Server(metrics_listen="0.0.0.0:9464")))
    Settings(server=Server(metrics_listen="0.0.0.0:9464", insecure=True)).verify()
    Settings(server=Server(metrics_listen="")).verify()


def test_certificate_and_key_come_together_and_exist(tmp_path: Path) -> None:
    absent = tmp_path / "absent.pem"
    text = problems(Settings(server=Server(tls_cert=absent)))
    assert "server.tls_cert and server.tls_key must be set together" in text
    assert f"there is no file {absent}" in text


def test_auto_is_openai_once_a_model_server_is_known() -> None:
    assert (Settings().extractor, Settings().embedder) == ("offline", "offline")
    for endpoint in (Endpoint(api_key="k"), Endpoint(base_url="http://127.0.0.1:9/v1")):
        settings = Settings(openai=endpoint)
        assert (settings.extractor, settings.embedder) == ("openai", "openai")
    chosen = Settings(openai=Endpoint(api_key="k"), models=Models("offline", "none"))
    assert (chosen.extractor, chosen.embedder) == ("offline", "none")


def test_openai_needs_a_server() -> None:
    text = problems(Settings(models=Models(extractor="openai")))
    assert text == "models.extractor is openai, which needs openai.api_key or openai.base_url"


def test_a_local_model_needs_its_folder(tmp_path: Path) -> None:
    assert "needs models.local_path" in problems(Settings(models=Models(embedder="local")))
    absent = Models(embedder="local", local_path=tmp_path / "absent")
    assert f"there is no folder {absent.local_path}" in problems(Settings(models=absent))
    here = Settings(models=Models(embedder="local", local_path=tmp_path))
    here.verify()
    assert here.embedder == "local"


@pytest.mark.parametrize("uri", ["http://a", "bolt://", "bolt:", "bolt://[", "neo4j"])
def test_the_neo4j_uri_is_one(uri: str) -> None:
    store = StoreSettings(kind="neo4j", neo4j_uri=uri)
    assert "store.neo4j_uri" in problems(Settings(store=store))
    Settings(store=replace(store, kind="embedded")).verify()


def test_the_neo4j_uri_holds_no_credentials() -> None:
    text = problems(Settings(store=StoreSettings(kind="neo4j", neo4j_uri="bolt://me:geheim@host")))
    assert "no credentials" in text
    assert "geheim" not in text


@pytest.mark.parametrize(
    "limits",
    [
        Limits(body_bytes=5 * 1024 * 1024),
        Limits(max_facts_default=200),
        Limits(response_bytes=4 * 1024 * 1024),
    ],
)
def test_limits_fit_together(limits: Limits) -> None:
    assert "limits." in problems(Settings(limits=limits))
