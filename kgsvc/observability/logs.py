"""The log: lines as JSON with the context of their call, without secrets, written by a thread of its own."""

from __future__ import annotations

import json
import logging
import logging.handlers
import queue
import re
import traceback
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

from kgsvc.domain.errors import KgError
from kgsvc.domain.model.keys import pseudonym

# Greedy up to the last @ of the word: a password may itself hold @ or /.
_URI_CREDENTIALS = re.compile(r"(?P<scheme>\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^\s\"'<>]*@")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}")
_QUEUE_LINES = 10_000
_GROUP = "group_id"  # the field that holds one or several
_CHATTY = ("httpx", "httpx2", "httpcore", "openai", "neo4j")  # a line for each request, bodies at debug
_OWN_ATTRIBUTES = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


def redact(text: str) -> str:
    """`text` with the credentials of URIs and of authorization headers replaced by asterisks."""
    if "@" in text:
        text = _URI_CREDENTIALS.sub(r"\g<scheme>***@", text)
    return _BEARER.sub(r"\1 ***", text)


_found: ContextVar[list[str] | None] = ContextVar("groups_found", default=None)


def groups_found() -> list[str]:
    """The list that `found_in` fills from now on in this context: for the log line of a call that names a
    thing and no group."""
    groups: list[str] = []
    _found.set(groups)
    return groups


def found_in(group_ids: Iterable[str]) -> None:
    """What the running call named was found in these groups."""
    groups = _found.get()
    if groups is not None:
        groups.extend(group_ids)


class JsonFormatter(logging.Formatter):
    """A record as one JSON object: ts, level, logger, message, the `extra` fields, and the exception.

    Of an exception the types and code positions are written, the text only for the service's own errors:
    a foreign exception may quote what it choked on. With `hash_groups` groups are called as in metrics.
    """

    def __init__(self, hash_groups: bool = False) -> None:
        super().__init__()
        self._hash_groups = hash_groups

    def format(self, record: logging.LogRecord) -> str:
        """One line without a line break in it."""
        line: dict[str, Any] = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": redact(record.getMessage()),
        }
        for key, value in record.__dict__.items():
            if key not in _OWN_ATTRIBUTES and value is not None:
                line[key] = redact(value) if isinstance(value, str) else value
        if self._hash_groups and _GROUP in line:
            line[_GROUP] = _hashed(line[_GROUP])
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = list(_describe(record.exc_info[1]))
        return json.dumps(line, ensure_ascii=False, default=lambda value: type(value).__name__)


def _hashed(groups: str | Iterable[str]) -> str | list[str]:
    return pseudonym(groups) if isinstance(groups, str) else [pseudonym(each) for each in groups]


def _describe(error: BaseException) -> Iterator[str]:
    """The exception and what caused it, innermost last, each with the positions it passed through."""
    seen: BaseException | None = error
    while seen is not None:
        name = f"{type(seen).__module__}.{type(seen).__qualname__}"
        yield f"{name}: {redact(str(seen))}" if isinstance(seen, KgError) else name
        for frame in traceback.extract_tb(seen.__traceback__):
            yield f"  {frame.filename}:{frame.lineno} {frame.name}"
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)


class _Handoff(logging.handlers.QueueHandler):
    """Hands records over as they are; when the writer cannot keep up, lines are lost, not time."""

    def __init__(self, lines: queue.Queue[logging.LogRecord]) -> None:
        super().__init__(lines)
        self._lines = lines

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """The record itself: the queue never leaves the process, and the formatter wants its exception."""
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        """Drop the record if the queue is full."""
        if not self._lines.full():
            super().enqueue(record)


class LogWriter:
    """Sends every logger's records to `stream` as JSON, without blocking who logs. Close it at the end."""

    def __init__(self, stream: TextIO, level: int = logging.INFO, hash_groups: bool = False) -> None:
        output = logging.StreamHandler(stream)
        output.setFormatter(JsonFormatter(hash_groups))
        lines: queue.Queue[logging.LogRecord] = queue.Queue(_QUEUE_LINES)
        self._handler = _Handoff(lines)
        self._listener = logging.handlers.QueueListener(lines, output)
        self._root = logging.getLogger()
        self._root.addHandler(self._handler)
        self._root.setLevel(level)
        for library in _CHATTY:
            logging.getLogger(library).setLevel(max(level, logging.WARNING))
        self._listener.start()

    def close(self) -> None:
        """Write what is queued and stop."""
        self._root.removeHandler(self._handler)
        self._listener.stop()
