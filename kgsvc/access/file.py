"""The access file: tokens and certificates with their scopes, as JSON.

A token is `kgsvc_ID_SECRET`. The file holds the id and the SHA-256 of the secret, which is 256 random bits:
nobody finds it by guessing, so no slow hash is needed (which would let strangers burn our processor time).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kgsvc.access.scopes import Principal, Scopes, scopes_of
from kgsvc.domain.errors import KgError

_PREFIX = "kgsvc"
_ID_BYTES, _SECRET_BYTES = 6, 32
_PRIVATE = 0o600
_LOCK_S = 5.0
_KEYS = {"id", "name", "scopes", "sha256", "certificate", "expires", "created"}


class AccessFileError(KgError):
    """The access file cannot be used; the text says why, and holds nothing of a credential."""


@dataclass(frozen=True, slots=True)
class Credential:
    """A token (`sha256` of its secret) or a client certificate (a name in it), and what it grants. Times in
    milliseconds since the epoch."""

    id: str
    name: str
    scopes: Scopes
    created_ms: int
    expires_ms: int | None = None
    sha256: str | None = None
    certificate: str | None = None

    @property
    def principal(self) -> Principal:
        """Who presents it."""
        return Principal(self.name or self.id, self.scopes, self.id, self.expires_ms)

    def is_token(self, secret: str) -> bool:
        """Whether `secret` is that of this token; takes the same time wherever the two differ."""
        return self.sha256 is not None and hmac.compare_digest(self.sha256, _sha256(secret))


def parts_of_token(token: str) -> tuple[str, str] | None:
    """Id and secret of a text that looks like one of our tokens."""
    prefix, _, rest = token.partition("_")
    number, _, secret = rest.partition("_")
    return (number, secret) if prefix == _PREFIX and number and secret else None


def new_token(name: str, scopes: Scopes, created_ms: int, expires_ms: int | None) -> tuple[Credential, str]:
    """A credential, and its token, which is kept nowhere."""
    number, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
    kept = Credential(number, name, scopes, created_ms, expires_ms, sha256=_sha256(secret))
    return kept, f"{_PREFIX}_{number}_{secret}"


def new_certificate(
    name: str, scopes: Scopes, created_ms: int, expires_ms: int | None, certificate: str
) -> Credential:
    """A credential for whoever has a client certificate with this name."""
    number = secrets.token_hex(_ID_BYTES)
    return Credential(number, name, scopes, created_ms, expires_ms, certificate=certificate)


def read_access_file(path: Path) -> tuple[Credential, ...]:
    """What the file holds. Raises AccessFileError; also when other users may write it."""
    try:
        with path.open(encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            raw = json.load(file)
    except FileNotFoundError:
        text = f"there is no access file {path}: `kgsvc token create --admin` makes one"
        raise AccessFileError(text) from None
    except OSError as error:
        raise AccessFileError(f"the access file {path} cannot be read: {error.strerror}") from error
    except ValueError:
        raise AccessFileError(f"the access file {path} is not JSON") from None
    if os.name == "posix" and mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise AccessFileError(f"the access file {path} may be written by others: chmod 600 {path}")
    if not isinstance(raw, dict) or not isinstance(raw.get("credentials"), list):
        raise AccessFileError(f"the access file {path} has no list of credentials")
    found = [_credential(path, number, entry) for number, entry in enumerate(raw["credentials"])]
    proofs = [each.id for each in found] + [each.certificate for each in found if each.certificate]
    if len(set(proofs)) < len(proofs):
        raise AccessFileError(f"the access file {path} names an id or a certificate twice")
    return tuple(found)


@contextmanager
def changing(path: Path) -> Iterator[list[Credential]]:
    """The credentials of the file, to be changed in the block and then written, all or nothing, for its owner
    alone. Changes of two processes come one after the other. A file that is not there is empty. Raises
    AccessFileError."""
    with _locked(path):
        credentials = list(read_access_file(path)) if path.exists() else []
        yield credentials
        _write(path, credentials)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock = path.with_name(f"{path.name}.lock")
    until = time.monotonic() + _LOCK_S
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _PRIVATE))
            break
        except FileExistsError:
            if time.monotonic() > until:
                text = f"{lock} is there: another change is under way, or one was killed; remove it then"
                raise AccessFileError(text) from None
            time.sleep(0.02)
        except OSError as error:
            raise AccessFileError(f"{lock} cannot be written: {error.strerror}") from error
    try:
        yield
    finally:
        lock.unlink()


def _write(path: Path, credentials: Sequence[Credential]) -> None:
    text = json.dumps({"credentials": [_entry(each) for each in credentials]}, indent=2, ensure_ascii=False)
    beside = path.with_name(f"{path.name}.new")
    try:
        with os.fdopen(os.open(beside, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, _PRIVATE), "w") as file:
            os.chmod(beside, _PRIVATE)
            file.write(f"{text}\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        raise AccessFileError(f"{path} cannot be written: {error.strerror}") from error


def _entry(credential: Credential) -> dict[str, Any]:
    proof = {"sha256": credential.sha256, "certificate": credential.certificate}
    times = {"created": credential.created_ms, "expires": credential.expires_ms}
    return {
        "id": credential.id,
        "name": credential.name,
        "scopes": {pattern: right.name.lower() for pattern, right in credential.scopes.items()},
        **{name: value for name, value in proof.items() if value is not None},
        **{name: time_text(ms) for name, ms in times.items() if ms is not None},
    }


def _credential(path: Path, number: int, entry: Any) -> Credential:
    try:
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str) or not entry["id"]:
            raise ValueError("it has no id")
        if unknown := entry.keys() - _KEYS:
            raise ValueError(f"it has unknown keys: {', '.join(sorted(unknown))}")
        sha256, certificate = entry.get("sha256"), entry.get("certificate")
        if not (_is_sha256(sha256) and certificate is None) and not (
            sha256 is None and isinstance(certificate, str) and certificate
        ):
            raise ValueError("it needs either the sha256 of a token or the name in a certificate")
        return Credential(
            id=entry["id"],
            name=str(entry.get("name", "")),
            scopes=scopes_of(entry.get("scopes")),
            created_ms=time_ms(entry["created"]) if "created" in entry else 0,
            expires_ms=time_ms(entry["expires"]) if "expires" in entry else None,
            sha256=sha256,
            certificate=certificate,
        )
    except ValueError as error:
        raise AccessFileError(f"the access file {path}, credential {number + 1}: {error}") from None


def time_text(ms: int) -> str:
    """A time for people."""
    return datetime.fromtimestamp(ms / 1_000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def time_ms(text: object) -> int:
    """The time that a text in ISO 8601 names; UTC where it names no offset. Raises ValueError."""
    if not isinstance(text, str):
        raise ValueError("a time is a text such as 2027-01-31T12:00:00Z")
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1_000)


def _sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _is_sha256(value: object) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")
