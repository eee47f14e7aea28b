"""The access file: written for its owner alone, read strictly, changed by one at a time."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from kgsvc.access.file import (
    AccessFileError,
    changing,
    new_certificate,
    new_token,
    parts_of_token,
    read_access_file,
    time_ms,
)
from kgsvc.access.scopes import Right

SCOPES = {"acme/": Right.WRITE, "shared": Right.READ}
NOW_MS = 1_700_000_000_000


def test_what_is_written_is_read_again_and_holds_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "access.json"
    made, token = new_token("app", SCOPES, NOW_MS, NOW_MS + 5_000)
    other = new_certificate("", SCOPES, NOW_MS, None, "spiffe://acme/app")
    with changing(path) as credentials:
        credentials += [made, other]
    assert read_access_file(path) == (made, other)
    assert path.stat().st_mode & 0o777 == 0o600
    number, secret = parts_of_token(token) or ("", "")
    assert (number, made.is_token(secret)) == (made.id, True)
    assert not made.is_token(secret[:-1])
    assert not other.is_token(secret)
    assert secret not in path.read_text()
    assert secret not in repr(made)
    assert [each.name for each in tmp_path.iterdir()] == ["access.json"]


def test_a_change_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "access.json"
    with changing(path) as credentials:
        credentials.append(new_certificate("", SCOPES, NOW_MS, None, "a"))
    before = path.read_bytes()
    with pytest.raises(KeyError), changing(path) as credentials:
        credentials.remove(dict[str, Any]()["absent"])
    assert path.read_bytes() == before


def test_changes_of_many_are_all_there(tmp_path: Path) -> None:
    path = tmp_path / "access.json"

    def add(number: int) -> None:
        with changing(path) as credentials:
            credentials.append(new_certificate("", SCOPES, NOW_MS, None, f"name-{number}"))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {each.certificate for each in read_access_file(path)} == {f"name-{n}" for n in range(8)}


RIGHT: dict[str, Any] = {"id": "a", "scopes": {"g": "read"}, "sha256": "0" * 64}


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({**RIGHT, "id": ""}, "no id"),
        ({**RIGHT, "scope": {}}, "unknown keys: scope"),
        ({**RIGHT, "scopes": {"g": "owner"}}, "a right is one of read, write, admin"),
        ({**RIGHT, "sha256": "secret"}, "either the sha256"),
        ({**RIGHT, "certificate": "a"}, "either the sha256"),
        ({"id": "a", "scopes": {"g": "read"}}, "either the sha256"),
        ({**RIGHT, "expires": "soon"}, "soon"),
        ({**RIGHT, "expires": 5}, "a time is a text"),
        ("text", "no id"),
    ],
)
def test_a_wrong_entry_is_named_and_nothing_of_a_hash_is_shown(
    entry: object, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "access.json"
    path.write_text(json.dumps({"credentials": [RIGHT | {"id": "b"}, entry]}))
    path.chmod(0o600)
    with pytest.raises(AccessFileError, match=says) as caught:
        read_access_file(path)
    assert "credential 2" in str(caught.value)
    assert "0000" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", '{"credentials": 1}', '{"credentials": [%s, %s]}'])
def test_what_no_access_file_is(text: str, tmp_path: Path) -> None:
    path = tmp_path / "access.json"
    path.write_text(text.replace("%s", json.dumps(RIGHT)))
    path.chmod(0o600)
    with pytest.raises(AccessFileError):
        read_access_file(path)
    with pytest.raises(AccessFileError):
        read_access_file(tmp_path / "absent.json")


@pytest.mark.skipif(os.name != "posix", reason="NOT TESTED: there are no such modes here")
def test_a_file_that_others_may_write_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "access.json"
    path.write_text(json.dumps({"credentials": [RIGHT]}))
    path.chmod(0o620)
    with pytest.raises(AccessFileError, match="chmod 600"):
        read_access_file(path)


@pytest.mark.parametrize("token", ["", "kgsvc", "kgsvc_a", "kgsvc_a_", "kgsvc__b", "other_a_b", "a.b.c"])
def test_what_none_of_our_tokens_is(token: str) -> None:
    assert parts_of_token(token) is None


def test_times_without_an_offset_are_utc() -> None:
    assert time_ms("2027-01-31T12:00:00") == time_ms("2027-01-31T12:00:00Z") == 1_801_396_800_000
