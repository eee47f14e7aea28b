"""Erasures in a file of their own, so that an older backup does not bring back what they took: it is kept
outside of backups, and read when the service starts."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.model.erasures import Erasure, ErasureKind

_FIELDS = ("erasure_id", "group_id", "kind", "asked_ms", "uuid")


class Ledger:
    """A line of JSON for each group of an erasure: ids only, nothing of what was erased."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, parts: Sequence[Erasure]) -> None:
        """Write them down for good. Raises StoreUnavailable: then nothing may be erased."""
        rows = [{name: value for name, value in asdict(part).items() if name in _FIELDS} for part in parts]
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        try:
            number = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(number, text.encode())
                os.fsync(number)
            finally:
                os.close(number)
        except OSError as error:
            raise StoreUnavailable("the ledger of erasures cannot be written") from error

    def read(self) -> list[Erasure]:
        """Every line. A last one that a crash cut short was never answered, and is passed over. Raises
        StoreUnavailable."""
        try:
            lines = self._path.read_text().splitlines() if self._path.exists() else []
        except OSError as error:
            raise StoreUnavailable("the ledger of erasures cannot be read") from error
        return [part for line in lines if (part := _part(line)) is not None]


def _part(line: str) -> Erasure | None:
    try:
        row = json.loads(line)
        return Erasure(**{**row, "kind": ErasureKind(row["kind"])})
    except (ValueError, TypeError, KeyError):
        return None
