"""Messages out of what people have: chats as the OpenAI API takes them, exports of ChatGPT and Claude, and
rows whose columns were named with --map."""

from __future__ import annotations

import json
import math
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from kgsvc.v1.ingestion_pb2 import StreamEpisodesRequest
from kgsvc.v1.types_pb2 import ROLE_TYPE_ASSISTANT, ROLE_TYPE_SYSTEM, ROLE_TYPE_USER, Message, RoleType

NAMESPACE = uuid.UUID("6b677376-6300-4000-8000-746578740000")
MAPPED = ("content", "role", "role_type", "timestamp", "uuid", "name", "source_description")
_SPEAKERS: Mapping[str, RoleType.ValueType] = {
    "user": ROLE_TYPE_USER,
    "human": ROLE_TYPE_USER,
    "assistant": ROLE_TYPE_ASSISTANT,
    "model": ROLE_TYPE_ASSISTANT,
    "system": ROLE_TYPE_SYSTEM,
}
_SILENT = ("system", "developer", "tool", "function")  # instructions, and what programs answered
_ROLES = (*_SPEAKERS, *_SILENT)  # a tuple: what is compared may be unhashable
_TIMES = ("timestamp", "created_at", "create_time", "time")
_STEP = timedelta(milliseconds=1)  # between messages that tell no time: so few that none is in the future
_MS_FROM = 1e11  # a number of seconds from here on would be after the year 5000: it is milliseconds


@dataclass(frozen=True, slots=True)
class Item:
    """An item as it is sent, without its group. `minted`: its uuid was made here from its text."""

    request: StreamEpisodesRequest
    minted: bool = False


@dataclass(frozen=True, slots=True)
class BadMessage:
    """What is wrong with a message."""

    problem: str


@dataclass(frozen=True, slots=True)
class PassedOver:
    """Something that nobody said: instructions, output of tools, notices, empty messages."""


Taken = Item | BadMessage | PassedOver


@dataclass(frozen=True, slots=True)
class Said:
    """A message as it was found. Without a uuid one is made from its text, without a time it comes after the
    one before."""

    content: str
    role_type: RoleType.ValueType = ROLE_TYPE_USER
    role: str | None = None
    time: datetime | None = None
    uuid: str | None = None
    name: str | None = None
    source_description: str | None = None


def time_of(text: str) -> datetime:
    """An ISO 8601 time with a zone. Raises ValueError saying what it must be."""
    try:
        time = datetime.fromisoformat(text)
    except (ValueError, TypeError):
        time = None
    if time is None or time.tzinfo is None:
        raise ValueError("must be an ISO 8601 time with its zone, such as 2025-01-31T09:30:00Z")
    return time


def any_time(value: Any) -> datetime:
    """A time as programs write them: ISO 8601 (UTC where no zone is given), or seconds or milliseconds since
    1970. Raises ValueError saying what it must be."""
    try:
        number = float(value) if not isinstance(value, bool) else math.nan
    except (ValueError, TypeError, OverflowError):
        number = None
    try:
        if number is not None:
            return datetime.fromtimestamp(number if abs(number) < _MS_FROM else number / 1000, UTC)
        time = datetime.fromisoformat(value)
        return time if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, TypeError, OverflowError, OSError):
        raise ValueError(
            "must be an ISO 8601 time, such as 2025-01-31T09:30:00Z, or seconds since 1970"
        ) from None


def timestamp(time: datetime) -> Timestamp:
    """As the contract carries times."""
    made = Timestamp()
    made.FromDatetime(time)
    return made


@dataclass(slots=True)
class Chats:
    """The messages of one file. `start` is the time of the first that tells none."""

    origin: str
    start: datetime
    columns: Mapping[str, str] = field(default_factory=dict)  # ours -> theirs, by --map
    _seen: Counter[tuple[str, str]] = field(default_factory=Counter)

    def read(self, value: Any) -> Iterator[Taken] | None:
        """What a JSON value or a row holds; None: it is none of these."""
        found: Iterator[Taken] | None = None
        if not isinstance(value, dict):
            return None
        if self.columns:
            found = self._one("", lambda: self._mapped(value))
        elif isinstance(value.get("mapping"), dict):
            found = self._conversation(value, _chatgpt_path)
        elif "chat_messages" in value:
            found = self._conversation(value, _claude_messages)
        elif "messages" in value and "content" not in value:
            found = self._listed(value["messages"])
        elif value.get("role_type") is None and value.get("role") in _ROLES and "content" in value:
            found = self._one("", lambda: _openai(value))
        return found

    def item(self, said: Said) -> Item:
        """As it is sent."""
        time, self.start = (said.time, self.start) if said.time else (self.start, self.start + _STEP)
        message = Message(
            uuid=said.uuid or self._mint(said),
            role_type=said.role_type,
            role=said.role,
            content=said.content,
            timestamp=timestamp(time),
            name=said.name,
            source_description=said.source_description,
        )
        return Item(StreamEpisodesRequest(message=message), minted=said.uuid is None)

    def _mint(self, said: Said) -> str:
        """From the file, who says what, and which of several equal messages it is: the same file again is the
        same messages, whatever time is given with it."""
        who = said.role or str(said.role_type)
        self._seen[who, said.content] += 1
        key = json.dumps([self.origin, who, said.content, self._seen[who, said.content]])
        return str(uuid.uuid5(NAMESPACE, key))

    def _one(self, path: str, read: Callable[[], Said | None]) -> Iterator[Taken]:
        """What became of one message; `path` says where it stands in its line."""
        try:
            said = read()
            yield PassedOver() if said is None else self.item(said)
        except ValueError as error:
            problem = "holds characters that are no text" if isinstance(error, UnicodeError) else str(error)
            yield BadMessage(f"{path}: {problem}" if path else problem)

    def _listed(self, messages: Any) -> Iterator[Taken]:
        """`{"messages": [...]}`."""
        if not isinstance(messages, list):
            yield BadMessage("messages must be a list")
            return
        for number, message in enumerate(messages):
            yield from self._one(f"messages[{number}]", lambda message=message: _openai(message))  # type: ignore[misc]

    def _conversation(
        self, value: dict[str, Any], messages: Callable[[dict[str, Any]], Iterator[tuple[str, Any]]]
    ) -> Iterator[Taken]:
        """Of an export, each message with its path, until one that cannot be found."""
        try:
            for path, read in messages(value):
                yield from self._one(path, read)
        except ValueError as error:
            yield BadMessage(str(error))

    def _mapped(self, row: dict[str, Any]) -> Said | None:
        """The columns that --map names. Raises ValueError."""
        given = {ours: row.get(theirs) for ours, theirs in self.columns.items()}
        given = {ours: value for ours, value in given.items() if value not in (None, "")}
        if self.columns["content"] not in row:
            raise ValueError(f"there is no {self.columns['content']} (--map content)")
        if "content" not in given:
            return None
        texts = {
            ours: _text(str(value) if isinstance(value, int | float) else value, self.columns[ours])
            for ours, value in given.items()
            if ours not in {"timestamp", "role_type"}
        }
        role_type = ROLE_TYPE_USER
        if "role_type" in given:
            role_type = _speaker(given["role_type"], self.columns["role_type"])
        time = _time(given["timestamp"], self.columns["timestamp"]) if "timestamp" in given else None
        return Said(role_type=role_type, time=time, **texts)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text")
    return value


def _time(value: Any, name: str) -> datetime:
    try:
        return any_time(value)
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None


def _speaker(value: Any, name: str) -> RoleType.ValueType:
    found = _SPEAKERS.get(value.lower()) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"{name} must be one of {', '.join(_SPEAKERS)}")
    return found


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} must be an object" if name else "must be an object")
    return value


def _openai(value: Any) -> Said | None:
    """A message as the OpenAI API takes it. Raises ValueError."""
    value = _object(value, "")
    role = value.get("role")
    if role in _SILENT:
        return None
    content = _parts(value.get("content"), "content")
    if not content:
        return None  # a call of a tool
    time = next((_time(value[name], name) for name in _TIMES if value.get(name) is not None), None)
    who = value.get("name")
    return Said(content, _speaker(role, "role"), None if who is None else _text(who, "name"), time)


def _parts(content: Any, name: str) -> str:
    """The text of a content: of several parts those that are text. Raises ValueError."""
    if content is None or isinstance(content, str):
        return (content or "").strip()
    if not isinstance(content, list):
        raise ValueError(f"{name} must be text or a list of parts")
    texts = []
    for number, part in enumerate(content):
        if isinstance(part, str):
            texts.append(part)
            continue
        kind = _object(part, f"{name}[{number}]").get("type")
        if "text" in part and kind in (None, "text", "input_text"):
            texts.append(_text(part["text"], f"{name}[{number}].text"))
    return "\n".join(text.strip() for text in texts if text.strip())


def _chatgpt_path(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The messages from the beginning to `current_node`: branches that were left by an edit are not on it.
    Raises ValueError."""
    nodes, path = value["mapping"], list[str]()
    node, seen = value.get("current_node"), set[str]()
    while node is not None:
        if not isinstance(node, str) or not isinstance(nodes.get(node), dict):
            raise ValueError(f"mapping has no node {str(node)[:80]!r}, which the conversation leads to")
        if node in seen:
            raise ValueError(f"mapping leads from node {node[:80]!r} to itself")
        seen.add(node)
        path.append(node)
        node = nodes[node].get("parent")
    if not path:
        raise ValueError("current_node is missing: the conversation has no end to begin from")
    title = value.get("title")
    began = value.get("create_time")
    for node in reversed(path):
        message = nodes[node].get("message")
        where = f"mapping.{node[:80]}.message"
        if message is not None:
            yield where, lambda message=message: _chatgpt(_object(message, "it"), title, began)


def _chatgpt(message: dict[str, Any], title: Any, began: Any) -> Said | None:
    author = _object(message.get("author"), "author")
    content = _object(message.get("content"), "content")
    hidden = (message.get("metadata") or {}) if isinstance(message.get("metadata"), dict | None) else {}
    to_all = message.get("recipient") in (None, "all")  # else it calls a tool
    spoken = to_all and content.get("content_type") in ("text", "multimodal_text")
    if author.get("role") in _SILENT or hidden.get("is_visually_hidden_from_conversation") or not spoken:
        return None
    parts = content.get("parts")
    if not isinstance(parts, list):
        raise ValueError("content.parts must be a list")
    text = "\n".join(part.strip() for part in parts if isinstance(part, str) and part.strip())
    if not text:
        return None
    when = message.get("create_time")
    return Said(
        text,
        _speaker(author.get("role"), "author.role"),
        time=_time(began if when is None else when, "create_time"),
        uuid=_text(message.get("id"), "id"),
        name=_text(title, "title") if title else None,
        source_description="ChatGPT",
    )


def _claude_messages(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Raises ValueError."""
    messages = value["chat_messages"]
    if not isinstance(messages, list):
        raise ValueError("chat_messages must be a list")
    for number, message in enumerate(messages):
        yield f"chat_messages[{number}]", lambda message=message: _claude(_object(message, "it"), value)


def _claude(message: dict[str, Any], conversation: dict[str, Any]) -> Said | None:
    text = _parts(message.get("content") or message.get("text"), "content") or _parts(
        message.get("text"), "text"
    )
    if not text:
        return None
    name = conversation.get("name")
    return Said(
        text,
        _speaker(message.get("sender"), "sender"),
        time=_time(message.get("created_at") or conversation.get("created_at"), "created_at"),
        uuid=_text(message.get("uuid"), "uuid"),
        name=_text(name, "name") if name else None,
        source_description="Claude",
    )
