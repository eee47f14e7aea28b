"""Where values come from, and what is said about wrong ones."""

from dataclasses import fields
from pathlib import Path

import pytest

from kgsvc.config import KEYS, ConfigError, Settings, describe, load


def written(folder: Path, text: str) -> Path:
    path = folder / "kgsvc.toml"
    path.write_text(text)
    return path


def problem(environ: dict[str, str] | None = None, file: Path | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        load(file=file, environ=environ or {})
    return str(caught.value)


def test_nothing_given_is_the_defaults() -> None:
    loaded = load(environ={})
    assert loaded.settings == Settings()
    assert loaded.origins == {}


def test_a_flag_beats_the_environment_which_beats_the_file(tmp_path: Path) -> None:
    file = written(
        tmp_path, '[server]\nlisten = "127.0.0.1:1"\nrole = "api"\ngrace_s = 1\n[logging]\nlevel = "debug"'
    )
    environ = {"KGSVC_SERVER_LISTEN": "127.0.0.1:2", "KGSVC_SERVER_ROLE": "worker", "KGSVC_CONFIG": str(file)}
    loaded = load({"server.listen": "127.0.0.1:3", "server.role": None}, environ=environ)
    server = loaded.settings.server
    assert (server.listen, server.role, server.grace_s) == ("127.0.0.1:3", "worker", 1.0)
    assert loaded.settings.logging.level == "debug"
    assert loaded.origins == {
        "server.listen": "flag",
        "server.role": "environment",
        "server.grace_s": str(file),
        "logging.level": str(file),
    }


def test_the_file_named_by_flag_replaces_the_one_named_by_variable(tmp_path: Path) -> None:
    file = written(tmp_path, '[server]\nrole = "api"')
    loaded = load(file=file, environ={"KGSVC_CONFIG": str(tmp_path / "absent.toml")})
    assert loaded.settings.server.role == "api"


@pytest.mark.parametrize(
    ("variable", "text", "value"),
    [
        ("KGSVC_SERVER_INSECURE", "true", True),
        ("KGSVC_SERVER_INSECURE", "0", False),
        ("KGSVC_SERVER_TLS_CERT", "a/b.pem", Path("a/b.pem")),
        ("KGSVC_SERVER_TLS_CERT", "", None),
        ("KGSVC_SERVER_METRICS_LISTEN", "", ""),
        ("KGSVC_SERVER_LISTEN", "[::1]:0", "[::1]:0"),
        ("KGSVC_QUEUE_LEASE_S", "2.5", 2.5),
        ("KGSVC_LIMITS_NAME", "99", 99),
        ("KGSVC_CHAT_TEMPERATURE", "0", 0.0),
        ("KGSVC_RETRIEVAL_DISTANCE_WEIGHT", "0", 0.0),
        ("KGSVC_OPENAI_API_KEY", "", ""),
        ("KGSVC_SERVER_HTTP_ORIGINS", "", ""),
        ("KGSVC_SERVER_HTTP_ORIGINS", "https://a.test http://[::1]:3000", "https://a.test http://[::1]:3000"),
    ],
)
def test_variables_are_read_as_the_type_of_their_field(variable: str, text: str, value: object) -> None:
    key = next(key for key in KEYS.values() if key.variable == variable)
    assert getattr(getattr(load(environ={variable: text}).settings, key.section), key.field) == value


_ORIGINS = "must be origins such as https://app.example or http://localhost:3000, blanks between them"


@pytest.mark.parametrize(
    ("variable", "text", "said"),
    [
        ("KGSVC_SERVER_ROLE", "master", "must be one of api, worker, all, not 'master'"),
        ("KGSVC_SERVER_INSECURE", "perhaps", "must be true or false, not 'perhaps'"),
        ("KGSVC_SERVER_HTTP_ORIGINS", "*", f"{_ORIGINS}, not '*'"),
        ("KGSVC_SERVER_HTTP_ORIGINS", "https://a.test/", f"{_ORIGINS}, not 'https://a.test/'"),
        ("KGSVC_SERVER_HTTP_ORIGINS", "null", f"{_ORIGINS}, not 'null'"),
        ("KGSVC_LIMITS_NAME", "many", "must be a whole number of at least 1, not 'many'"),
        ("KGSVC_LIMITS_NAME", "0", "must be a whole number of at least 1, not '0'"),
        ("KGSVC_QUEUE_LEASE_S", "0", "must be a number above 0, not '0'"),
        ("KGSVC_QUEUE_LEASE_S", "nan", "must be a number above 0, not 'nan'"),
        ("KGSVC_SERVER_GRACE_S", "-1", "must be a number of at least 0, not '-1'"),
        ("KGSVC_RETRIEVAL_DISTANCE_WEIGHT", "1.5", "must be a number of at least 0 and at most 1, not '1.5'"),
        ("KGSVC_SERVER_LISTEN", "50051", "must be HOST:PORT, such as 127.0.0.1:50051, not '50051'"),
        ("KGSVC_SERVER_LISTEN", "::1:50051", "must be HOST:PORT, such as 127.0.0.1:50051, not '::1:50051'"),
        ("KGSVC_SERVER_LISTEN", "a:70000", "must be HOST:PORT, such as 127.0.0.1:50051, not 'a:70000'"),
        ("KGSVC_STORE_NEO4J_USER", "", "must be not empty, not ''"),
    ],
)
def test_a_bad_value_is_named_with_its_problem_and_what_is_allowed(
    variable: str, text: str, said: str
) -> None:
    assert problem({variable: text}) == f"{variable}: {said}"


def test_all_problems_are_named_at_once(tmp_path: Path) -> None:
    file = written(tmp_path, "[server]\nrole = 3\nlisen = 'x'\n[stor]\nkind = 'neo4j'")
    text = problem({"KGSVC_LIMITS_NAME": "x", "KGSVC_SERVER_LISTN": "x"}, file)
    assert "server.role: must be one of api, worker, all, not 3" in text
    assert "unknown server.lisen (did you mean server.listen?)" in text
    assert "unknown table [stor] (did you mean store?)" in text
    assert "KGSVC_LIMITS_NAME: must be" in text
    assert "unknown variable KGSVC_SERVER_LISTN (did you mean KGSVC_SERVER_LISTEN?)" in text


def test_toml_values_keep_their_types(tmp_path: Path) -> None:
    text = problem(file=written(tmp_path, '[limits]\nname = "9"\nquery = true\nrole = 1.5'))
    assert text.count("must be a whole number of at least 1") == 3


@pytest.mark.parametrize("content", ["[server\n", "server = 3\n"])
def test_a_file_that_is_no_configuration_is_named(tmp_path: Path, content: str) -> None:
    text = problem(file=written(tmp_path, content))
    assert "server" in text or "is not TOML" in text


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert "absent.toml cannot be read: No such file" in problem(file=tmp_path / "absent.toml")


def test_variables_that_a_cluster_or_the_tests_set_are_left_alone() -> None:
    environ = {
        "KGSVC_SERVICE_HOST": "10.0.0.1",
        "KGSVC_SERVICE_PORT_GRPC": "50051",
        "KGSVC_PORT": "tcp://10.0.0.1:50051",
        "KGSVC_PORT_50051_TCP_ADDR": "10.0.0.1",
        "KGSVC_SERVER_PORT": "tcp://10.0.0.1:50051",
        "KGSVC_REQUIRE_NEO4J": "1",
    }
    assert load(environ=environ).settings == Settings()
    assert "unknown variable KGSVC_SERVER_PORT" in problem({"KGSVC_SERVER_PORT": "50051"})


def test_commands_read_what_the_clients_read() -> None:
    environ = {
        "KGSVC_SERVER": "memory.example:443",
        "KGSVC_TOKEN": "kgsvc_secret",
        "KGSVC_TLS_CA": "ca.pem",
        "KGSVC_TLS_CERT": "own.pem",
        "KGSVC_TLS_KEY": "key.pem",
        "KGSVC_TLS_NAME": "memory",
    }
    client = load(environ=environ).settings.client
    assert (client.server, client.token, client.tls_ca) == (
        "memory.example:443",
        "kgsvc_secret",
        Path("ca.pem"),
    )
    assert (client.tls_cert, client.tls_key, client.tls_name) == (Path("own.pem"), Path("key.pem"), "memory")
    assert "KGSVC_SERVER: must be HOST:PORT" in problem({"KGSVC_SERVER": "memory"})


def test_a_secret_may_stand_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("geheim\n")
    loaded = load(environ={"KGSVC_STORE_NEO4J_PASSWORD_FILE": str(file), "KGSVC_TOKEN_FILE": ""})
    assert loaded.settings.store.neo4j_password == "geheim"
    assert loaded.origins["store.neo4j_password"] == "environment"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"", "must hold a secret, up to 65536 bytes"),
        (b"x" * 65_537, "must hold a secret, up to 65536 bytes"),
        (b"\xff", "is not UTF-8"),
    ],
)
def test_a_file_without_a_secret_is_named(tmp_path: Path, content: bytes | None, said: str) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    text = problem({"KGSVC_OPENAI_API_KEY_FILE": str(file)})
    assert f"KGSVC_OPENAI_API_KEY_FILE: {file} {said}" in text


def test_a_secret_is_set_once(tmp_path: Path) -> None:
    environ = {"KGSVC_TOKEN": "geheim", "KGSVC_TOKEN_FILE": str(tmp_path / "token")}
    text = problem(environ)
    assert "KGSVC_TOKEN_FILE: KGSVC_TOKEN is set, too" in text
    assert "geheim" not in text


def test_only_a_secret_may_stand_in_a_file() -> None:
    assert "unknown variable KGSVC_STORE_KIND_FILE" in problem({"KGSVC_STORE_KIND_FILE": "kind"})


def test_the_attempts_are_set_once() -> None:
    assert load(environ={"KGSVC_LIMITS_ATTEMPTS_PER_STEP": "3"}).settings.limits.attempts_per_step == 3
    assert "queue.attempts_per_step" not in KEYS


def test_every_field_of_every_section_is_a_key_with_its_own_variable() -> None:
    assert {key.section for key in KEYS.values()} == {field.name for field in fields(Settings)}
    assert len({key.variable for key in KEYS.values()}) == len(KEYS)


def test_secrets_are_never_shown() -> None:
    environ = {"KGSVC_OPENAI_API_KEY": "sk-geheim", "KGSVC_STORE_NEO4J_PASSWORD": "geheim"}
    settings = load(environ=environ).settings
    shown = dict(describe(settings))
    assert (shown["openai.api_key"], shown["store.neo4j_password"]) == ("(set)", "(set)")
    assert "geheim" not in repr(settings) + repr(shown)
    assert dict(describe(Settings()))["openai.api_key"] == "(not set)"


def test_a_bad_secret_is_not_repeated(tmp_path: Path) -> None:
    assert problem(file=written(tmp_path, "[openai]\napi_key = 424242")) == "openai.api_key: must be text"


def test_credentials_in_a_base_url_are_refused_and_not_repeated() -> None:
    text = problem({"KGSVC_OPENAI_BASE_URL": "http://me:geheim@example.org/v1"})
    assert text.startswith("openai: ")
    assert "geheim" not in text


def test_a_fixed_field_is_no_setting() -> None:
    assert "queue.micro_batch" not in KEYS
    assert "unknown variable KGSVC_QUEUE_MICRO_BATCH" in problem({"KGSVC_QUEUE_MICRO_BATCH": "1"})
