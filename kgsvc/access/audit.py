"""The audit: a line of JSON for every write, deletion and administrative call, and for what was denied.

It says who did what to which groups and things, and with which outcome; never what was written. Lines are
appended and never changed; whoever reads the file rotates it, by copying and truncating it.
"""

from __future__ import annotations

import getpass
import json
import logging
import queue
import sys
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from kgsvc.domain.errors import KgError

log = logging.getLogger(__name__)

STDOUT = Path("-")


class AuditError(KgError):
    """The audit cannot be written."""


class Audit:
    """Appends lines without making the caller wait for the disk. None is lost if it is closed at the end."""

    def __init__(self, path: Path) -> None:
        """Raises AuditError when the file cannot be opened."""
        self._stream: TextIO = sys.stdout
        if path != STDOUT:
            try:
                self._stream = path.open("a", encoding="utf-8")
            except OSError as error:
                raise AuditError(f"access.audit: {path} cannot be written: {error.strerror}") from error
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="audit", daemon=True)
        self._writer.start()

    def note(self, entry: Mapping[str, Any]) -> None:
        """Write one line."""
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        kept = {name: value for name, value in entry.items() if value is not None}
        self._lines.put(json.dumps({"ts": stamp, **kept}, ensure_ascii=False))

    def close(self) -> None:
        """Write what is queued and stop."""
        self._lines.put(None)
        self._writer.join()
        if self._stream is not sys.stdout:
            self._stream.close()

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                self._stream.write(f"{line}\n")
                self._stream.flush()
            except OSError as error:  # a full disk, say: what comes after it is free again is written
                log.error("the audit cannot be written: %s", error.strerror)


def note_command(
    path: Path | None, operation: str, groups: Sequence[str], credential: str | None = None
) -> None:
    """Note what a command changed on this machine where the service notes calls, if that is a file. Raises
    AuditError."""
    if path is None or path == STDOUT:
        return
    try:
        audit = Audit(path)
    except AuditError as error:
        raise AuditError(f"done, but: {error}") from error
    who = f"{getpass.getuser()} on this machine"
    audit.note(
        {"who": who, "operation": operation, "groups": groups, "credential": credential, "outcome": "success"}
    )
    audit.close()
