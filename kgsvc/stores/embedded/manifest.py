"""manifest.json of a backup: what it holds, by which versions and when, each file with its SHA-256."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from kgsvc.domain.errors import KgError

MANIFEST = "manifest.json"
FORMAT, FORMAT_VERSION = "kgsvc-backup", 1
_MOST_BYTES = 16 * 1024 * 1024  # of a manifest that is read
_PIECE = 1024 * 1024


class BackupRefused(KgError):
    """Why a backup is not made or not restored; begins with the name of the file."""


@dataclass(frozen=True, slots=True)
class FileSum:
    """What a file of a backup is known by."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup says of itself. Nothing of what the store holds but numbers of rows."""

    created_at: str  # ISO 8601, UTC: when the moment was that the backup shows
    kgsvc: str  # the version that made it
    sqlite: str
    schema: int
    digest_key: int | None  # fingerprint of the key of digests; 0: none, null: the store was never served
    ledger: bool  # whether erasures were written to a ledger
    files: Mapping[str, FileSum]  # by their place in the backup
    rows: Mapping[str, int]  # of each table


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Put it into the folder, for good. Raises OSError."""
    values = {"format": FORMAT, "version": FORMAT_VERSION, **asdict(manifest)}
    text = json.dumps({**values, "sha256": _sum_of(values)}, indent=2, ensure_ascii=False)
    with owned(folder / MANIFEST) as file:
        file.write(f"{text}\n".encode())
        file.flush()
        os.fsync(file.fileno())


def read_manifest(folder: Path) -> Manifest:
    """Raises BackupRefused, OSError."""
    path = folder / MANIFEST
    if not path.is_file():
        raise BackupRefused(f"{MANIFEST}: there is none in {folder}, so this is no whole backup")
    if path.stat().st_size > _MOST_BYTES:
        raise BackupRefused(f"{MANIFEST}: is too large for one of a backup")
    try:
        values = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or values.pop("format", None) != FORMAT:
        raise BackupRefused(f"{MANIFEST}: is not that of a backup of kgsvc, or is damaged")
    if (version := values.pop("version", None)) != FORMAT_VERSION:
        raise BackupRefused(
            f"{MANIFEST}: the backup has format {version}, this version of kgsvc reads {FORMAT_VERSION}:"
            " restore it with the version that made it, or a newer one"
        )
    stated = values.pop("sha256", None)
    if stated != _sum_of({"format": FORMAT, "version": FORMAT_VERSION, **values}):
        raise BackupRefused(f"{MANIFEST}: is damaged: its content does not have the SHA-256 that it states")
    return _manifest(values)


def sum_of_file(path: Path) -> FileSum:
    """Raises OSError."""
    with path.open("rb") as file:
        return FileSum(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def copy_file(source: Path, target: Path) -> FileSum:
    """Copy a file, readable by its owner only; what was read. Raises OSError."""
    sums, size = hashlib.sha256(), 0
    with source.open("rb") as read, owned(target) as file:
        while piece := read.read(_PIECE):
            sums.update(piece)
            size += file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return FileSum(size, sums.hexdigest())


def owned(path: Path) -> BinaryIO:
    """A new file that only its owner can read, opened to write it. Raises OSError."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def sync_folder(folder: Path) -> None:
    """Its names are on the disk. Raises OSError."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def utc(now_ms: int) -> str:
    """A time as manifests tell it."""
    return datetime.fromtimestamp(now_ms / 1000, UTC).isoformat(timespec="milliseconds")


def _sum_of(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _manifest(values: dict[str, Any]) -> Manifest:
    try:
        files = {name: FileSum(**each) for name, each in values.pop("files").items()}
        manifest = Manifest(files=files, **values)
    except (TypeError, KeyError, AttributeError) as error:
        raise BackupRefused(f"{MANIFEST}: is not that of a backup of kgsvc") from error
    for name in files:
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts or "\\" in name or not place.parts:
            raise BackupRefused(f"{MANIFEST}: names a file outside of the backup")
    return manifest
