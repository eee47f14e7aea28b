"""Log lines: JSON, no secrets, no texts of foreign exceptions."""

import hashlib
import io
import json
import logging

import pytest

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.model.keys import use_key
from kgsvc.observability.logs import JsonFormatter, LogWriter, redact
from kgsvc.observability.metrics import group_label


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("neo4j://neo4j:s3cret@db:7687 refused", "neo4j://***@db:7687 refused"),
        ("bolt+s://u:p@ss/w@host/x and more", "bolt+s://***@host/x and more"),
        ("https://host/path without any", "https://host/path without any"),
        ("mail to someone@example.org", "mail to someone@example.org"),
        ("Authorization: Bearer sk-abcdef0123456789", "Authorization: Bearer ***"),
    ],
)
def test_redact_hides_credentials_and_nothing_else(text: str, expected: str) -> None:
    assert redact(text) == expected


def _record(message: str, error: BaseException | None = None, **extra: object) -> dict[str, object]:
    record = logging.makeLogRecord({"name": "kgsvc.test", "levelname": "INFO", "msg": message, **extra})
    if error is not None:
        record.exc_info = (type(error), error, error.__traceback__)
    line = JsonFormatter().format(record)
    assert "\n" not in line
    parsed: dict[str, object] = json.loads(line)
    return parsed


def test_extra_fields_become_keys_and_absent_ones_are_left_out() -> None:
    line = _record("call", request_id="r1", error_code=None, latency_ms=1.5, target="http://a:b@c")
    assert line["request_id"] == "r1"
    assert line["latency_ms"] == 1.5
    assert line["target"] == "http://***@c"
    assert "error_code" not in line
    assert line["ts"]


@pytest.mark.parametrize("key", [b"", b"k" * 32])
def test_groups_are_called_as_in_metrics_where_that_is_set(key: bytes) -> None:
    use_key(key)
    try:
        for groups in ("acme", ["acme", "globex"], ("acme",)):
            record = logging.makeLogRecord({"msg": "call", "group_id": groups})
            told = json.loads(JsonFormatter(hash_groups=True).format(record))["group_id"]
            assert told == (
                group_label("acme") if groups == "acme" else [group_label(each) for each in groups]
            )
            assert json.loads(JsonFormatter().format(record))["group_id"] == json.loads(json.dumps(groups))
        assert (group_label("acme") == hashlib.sha256(b"acme").hexdigest()[:16]) == (key == b"")
    finally:
        use_key(b"")


def _raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause
    except BaseException as raised:  # noqa: BLE001 - the raised exception is what the test wants
        return raised


def test_text_of_a_foreign_exception_is_not_written_but_its_type_and_position_are() -> None:
    line = _record("failed", _raised(ValueError("the body says hello"), KeyError("secret")))
    described = json.dumps(line["exception"])
    assert "builtins.ValueError" in described
    assert "builtins.KeyError" in described
    assert "_raised" in described
    assert "hello" not in described
    assert "secret" not in described


def test_text_of_an_own_error_is_written_redacted() -> None:
    line = _record("failed", _raised(StoreUnavailable("bolt://neo4j:pw@host:7687 is gone")))
    assert "bolt://***@host:7687 is gone" in json.dumps(line["exception"])


def test_writer_writes_what_was_logged_before_it_is_closed() -> None:
    stream = io.StringIO()
    writer = LogWriter(stream)
    logging.getLogger("kgsvc.some").info("hello %s", "you", extra={"operation": "Ask"})
    writer.close()
    logging.getLogger("kgsvc.some").warning("after closing")
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["message"], line["operation"]) for line in lines] == [("hello you", "Ask")]
