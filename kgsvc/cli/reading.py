"""Which files a command takes, and the items of a file: JSON and CSV with messages, episodes or chats (which
chats.py reads), days of Slack, or paragraphs of text."""

from __future__ import annotations

import codecs
import csv
import json
import os
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from io import BufferedReader, BytesIO, RawIOBase, TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

from kgsvc.cli import slack
from kgsvc.cli.chats import NAMESPACE, BadMessage, Chats, Item, PassedOver, Taken, time_of, timestamp
from kgsvc.documents.reading.formats import SUFFIXES
from kgsvc.v1.ingestion_pb2 import StreamEpisodesRequest
from kgsvc.v1.types_pb2 import EpisodeItem, Message, RoleType, Source

ITEMS = frozenset({".json", ".jsonl", ".ndjson", ".csv"})
STDIN = Path("-")
LINE_BYTES = 16 * 1024 * 1024
FILE_BYTES = 256 * 1024 * 1024  # of a file that is one JSON value, which is read whole


EXAMPLE = "--map content=text,role=author,timestamp=date"
FITS = (
    "is nothing that ingest knows: a message (role_type, content, timestamp), a chat (role and content, or"
    " messages), a conversation of an export (mapping, chat_messages) or an episode (source, body,"
    f" reference_time); --map names other fields, as in {EXAMPLE}"
)


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """Files to take, and how many others the folders hold."""

    items: tuple[Path, ...]  # messages and episodes
    documents: tuple[Path, ...]
    others: tuple[Path, ...]  # named, and of a kind that their names do not tell
    passed_over: int

    @property
    def count(self) -> int:
        """Files to take."""
        return len(self.items) + len(self.documents) + len(self.others)


def find(sources: Sequence[Path]) -> FoundFiles:
    """The files that `sources` name, each once. Hidden files and symbolic links in folders are left alone."""
    named = dict.fromkeys(source for source in sources if not source.is_dir())
    inside = dict.fromkeys(path for source in sources if source.is_dir() for path in _inside(source))
    known = [path for path in [*named, *inside] if _kind(path) is not None]
    return FoundFiles(
        items=tuple(dict.fromkeys(path for path in known if _kind(path) in ITEMS)),
        documents=tuple(dict.fromkeys(path for path in known if _kind(path) in SUFFIXES)),
        others=tuple(path for path in named if _kind(path) is None),
        passed_over=sum(_kind(path) is None for path in inside),
    )


def _kind(path: Path) -> str | None:
    suffix = path.suffix.lower()
    return suffix if suffix in ITEMS or suffix in SUFFIXES else None


def _inside(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):  # the files of a folder before those of its folders
        if slack.is_export(Path(place)):
            folders.clear()
            yield from slack.days(Path(place))
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place, name)
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path


@dataclass(frozen=True, slots=True)
class Record:
    """An item read: where it stood, the request without its group, and how much of the input it took."""

    line: int
    bytes: int
    request: StreamEpisodesRequest
    minted: bool = False  # its uuid was made here from its text


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no item."""

    line: int
    bytes: int
    problem: str


@dataclass(frozen=True, slots=True)
class Silent:
    """Something that nobody said, and is not sent."""

    line: int
    bytes: int


Read = Record | BadLine | Silent


def buffered(source: IO[bytes]) -> BufferedReader:
    """The same input, able to peek."""
    return source if isinstance(source, BufferedReader) else BufferedReader(source)  # type: ignore[arg-type]


def read_json_lines(source: IO[bytes], chats: Chats | None = None) -> Iterator[Read]:
    """The items of each line; blank lines are passed over."""
    blank = 0  # bytes of blank lines, which are counted with the item behind them
    for number, raw in _lines(source):
        if raw is None:
            yield _too_long(number)
        elif not raw.strip():
            blank += len(raw)
        else:
            size, blank = blank + len(raw), 0
            try:
                value = json.loads(raw.decode("utf-8-sig" if number == 1 else "utf-8"))
            except (ValueError, RecursionError) as error:
                yield BadLine(number, size, _problem(error))
            else:
                yield from _read(number, size, _taken(value, chats))


def read_json(source: IO[bytes], chats: Chats | None = None, day: Path | None = None) -> Iterator[Read]:
    """The items of a file that is one JSON array or object, numbered from 1. JSON lines are read as such.
    `day`: the file is a day of a Slack export."""
    raw = source.read(FILE_BYTES + 1)
    if len(raw) > FILE_BYTES:
        yield BadLine(1, len(raw), f"is longer than {FILE_BYTES} bytes: put one object on each line instead")
        return
    try:
        value = json.loads(raw.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            yield from read_json_lines(BytesIO(raw), chats)
        else:
            yield BadLine(1, len(raw), _problem(error))
        return
    except (ValueError, RecursionError) as error:
        yield BadLine(1, len(raw), _problem(error))
        return
    values = value if isinstance(value, list) else [value]
    for number, each in enumerate(values, 1):
        size = len(raw) * number // len(values) - len(raw) * (number - 1) // len(values)
        slacks = day is not None and chats is not None
        taken = slack.read_message(each, day, chats) if slacks else _taken(each, chats)  # type: ignore[arg-type]
        yield from _read(number, size, taken)


def read_csv(source: IO[bytes], chats: Chats) -> Iterator[Read]:
    """The items of a table whose first row names the columns, by their lines. UTF-8, or UTF-16 with a byte
    order mark; commas, semicolons or tabs between the fields."""
    peeked = source if isinstance(source, BufferedReader) else BufferedReader(cast(RawIOBase, source))
    text = TextIOWrapper(peeked, _encoding(peeked.peek(2)), newline="")
    place = peeked.tell if peeked.seekable() else lambda: 0  # of a pipe nobody knows how much is to come
    try:
        first = text.readline()
    except UnicodeDecodeError:
        yield BadLine(1, 0, _ENCODED)
        return
    rows = csv.DictReader(chain([first] if first else [], text), strict=True, delimiter=_separator(first))
    try:
        if rows.fieldnames is None:
            return  # it is empty
        if problem := _unknown(rows.fieldnames, chats.columns):
            yield BadLine(1, 0, problem)
            return
        before = place()
        for row in rows:
            size, before = place() - before, place()
            if None in row or None in row.values():
                problem = f"has {'more' if None in row else 'fewer'} fields than the first line"
                yield BadLine(rows.reader.line_num, size, problem)
                continue
            given = {name: value for name, value in row.items() if value}
            yield from _read(rows.reader.line_num, size, _taken(row if chats.columns else given, chats))
    except UnicodeDecodeError:
        yield BadLine(rows.reader.line_num + 1, 0, _ENCODED)
    except csv.Error as error:
        yield BadLine(rows.reader.line_num, 0, f"is not CSV: {error}; what comes behind it is not read")


_ENCODED = (
    "is not UTF-8; what comes behind it is not read. `iconv -f WINDOWS-1252 -t UTF-8` converts what an"
    " older program wrote"
)
_QUOTED = re.compile(r'"[^"]*"?')


def _encoding(start: bytes) -> str:
    marked = start[:2] in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}
    return "utf-16" if marked else "utf-8-sig"


def _separator(header: str) -> str:
    """What stands between the names of a table's columns: which of these there is most of."""
    bare = _QUOTED.sub("", header)
    return max(",;\t", key=bare.count)


def _unknown(header: Sequence[str], columns: Mapping[str, str]) -> str | None:
    """What is wrong with the names of a table's columns."""
    if missing := [theirs for theirs in columns.values() if theirs not in header]:
        return f"there is no column {missing[0]!r} (--map); there are {', '.join(header)[:400]}"
    if columns or {"content", "body"} & set(header):
        return None
    return f"the columns are {', '.join(header)[:400]}: name what they are, as in {EXAMPLE}"


def _read(line: int, size: int, taken: Iterator[Taken]) -> Iterator[Read]:
    """What a line holds, which counts as read with the first of it."""
    for each in taken:
        match each:
            case Item():
                yield Record(line, size, each.request, each.minted)
            case BadMessage():
                yield BadLine(line, size, each.problem)
            case PassedOver():
                yield Silent(line, size)
        size = 0


def _taken(value: Any, chats: Chats | None) -> Iterator[Taken]:
    """The items of a JSON value or a row."""
    found = chats.read(value) if chats is not None else None
    if found is not None:
        yield from found
        return
    try:
        yield Item(item_of(value))
    except ValueError as error:
        yield BadMessage(_problem(error))


def read_text(source: IO[bytes], origin: str, time: datetime) -> Iterator[Read]:
    """One episode a paragraph (text between blank lines), all of the same reference time.

    The uuids come from origin, text and which of several equal paragraphs it is: the same file again is the
    same episodes, whatever time is given with it.
    """
    seen: Counter[str] = Counter()
    for number, size, raw in _paragraphs(source):
        if raw is None:
            yield _too_long(number)
            continue
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            yield BadLine(number, size, _problem(error))
            continue
        seen[text] += 1
        key = json.dumps([origin, text, seen[text], None])  # the last was the time once; uuids stay
        episode = EpisodeItem(
            uuid=str(uuid.uuid5(NAMESPACE, key)),
            source=Source.SOURCE_TEXT,
            body=text,
            reference_time=timestamp(time),
            source_description=origin,
        )
        yield Record(number, size, StreamEpisodesRequest(episode=episode), minted=True)


def _too_long(line: int) -> BadLine:
    return BadLine(line, LINE_BYTES, f"is longer than {LINE_BYTES} bytes")


def item_of(value: Any) -> StreamEpisodesRequest:
    """The request for one JSON value. Raises ValueError naming what is wrong with it."""
    if not isinstance(value, dict):
        raise ValueError("is not a JSON object")
    fields = {name: given for name, given in value.items() if given is not None}
    if _MESSAGE.keys() & fields.keys() - _COMMON.keys():
        return StreamEpisodesRequest(message=Message(**_converted(fields, _MESSAGE, "message")))
    if _EPISODE.keys() & fields.keys() - _COMMON.keys():
        return StreamEpisodesRequest(episode=EpisodeItem(**_converted(fields, _EPISODE, "episode")))
    raise ValueError(FITS)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be text")
    return value


def _one_of(enum: Any, prefix: str) -> Callable[[Any], int]:
    numbers = {name.removeprefix(prefix).lower(): number for name, number in enum.items() if number}

    def convert(value: Any) -> int:
        if not isinstance(value, str) or value not in numbers:
            raise ValueError(f"must be one of {', '.join(numbers)}")
        return int(numbers[value])

    return convert


Fields = dict[str, Callable[[Any], Any]]
_COMMON: Fields = {"uuid": _text, "name": _text, "source_description": _text}
_MESSAGE: Fields = _COMMON | {
    "role_type": _one_of(RoleType, "ROLE_TYPE_"),
    "role": _text,
    "content": _text,
    "timestamp": lambda value: timestamp(time_of(value)),
}
_EPISODE: Fields = _COMMON | {
    "source": _one_of(Source, "SOURCE_"),
    "body": _text,
    "reference_time": lambda value: timestamp(time_of(value)),
}
_REQUIRED = {
    "message": ("role_type", "content", "timestamp"),
    "episode": ("source", "body", "reference_time"),
}


def _converted(given: Mapping[str, Any], known: Fields, kind: str) -> dict[str, Any]:
    problems = [f"{name} is not a field of a {kind}" for name in given if name not in known]
    problems += [f"{name} is missing" for name in _REQUIRED[kind] if name not in given]
    converted = {}
    for name in given.keys() & known.keys():
        try:
            converted[name] = known[name](given[name])
        except ValueError as error:
            problems.append(f"{name} {error}")
    if problems:
        raise ValueError(", ".join(sorted(problems)))
    return converted


def _problem(error: ValueError | RecursionError) -> str:
    match error:
        case RecursionError():
            return "is nested too deeply"
        case UnicodeEncodeError():
            return "holds characters that are no text"
        case UnicodeDecodeError():
            return "is not UTF-8"
        case json.JSONDecodeError():
            return f"is not JSON: {error.msg} at character {error.pos + 1}"
    return "holds a number that is too long" if "integer string conversion" in str(error) else str(error)


def _lines(source: IO[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """Numbered lines; None for one that is too long to be read."""
    number = 0
    while line := source.readline(LINE_BYTES):
        number += 1
        complete = len(line) < LINE_BYTES or line.endswith(b"\n")
        while not complete:
            rest = source.readline(LINE_BYTES)
            complete = rest.endswith(b"\n") or not rest
            line = b""
        yield number, line or None


def _paragraphs(source: IO[bytes]) -> Iterator[tuple[int, int, bytes | None]]:
    """Number of the first line, size and text of each paragraph; no text for a line too long to be read."""
    start, size, lines = 0, 0, list[bytes]()  # the size counts the blank lines before it too
    for number, line in chain(_lines(source), [(0, b"")]):
        size += len(line or b"")
        if line is not None and line.strip():
            start = start or number
            lines.append(line)
            continue
        if start:
            yield start, size, b"".join(lines).strip()
            size = 0
        if line is None:
            yield number, LINE_BYTES, None
        start, lines = 0, []
