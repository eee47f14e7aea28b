"""What can be added, and how it is sent: chat messages, texts, JSON, documents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from google.protobuf.timestamp_pb2 import Timestamp

from kgsvc_client.v1 import types_pb2

_ROLES = {
    "user": types_pb2.ROLE_TYPE_USER,
    "assistant": types_pb2.ROLE_TYPE_ASSISTANT,
    "system": types_pb2.ROLE_TYPE_SYSTEM,
}
_SILENT = ("system", "developer", "tool", "function")  # of chats: instructions, and what programs answered
_STEP = timedelta(milliseconds=1)  # between items that tell no time: they keep their order


@dataclass(frozen=True, slots=True)
class Message:
    """What somebody said. `name` is who it was; `role` is user, assistant or system."""

    content: str
    role: str = "user"
    name: str | None = None
    time: datetime | None = None
    uuid: str | None = None
    source_description: str | None = None
    source_url: str | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """A text, or anything that is JSON, and when what it says was the case."""

    body: Any
    name: str | None = None
    time: datetime | None = None
    uuid: str | None = None
    source_description: str | None = None
    source_url: str | None = None


# Text is a note; a mapping is a message of a chat as the OpenAI API takes it.
Addable: TypeAlias = "str | Mapping[str, Any] | Message | Note"
Sent: TypeAlias = "types_pb2.Message | types_pb2.EpisodeItem"


def timestamp(time: datetime) -> Timestamp:
    """As the contract carries times. Raises ValueError for one without a zone."""
    if time.tzinfo is None:
        raise ValueError(f"{time} has no time zone: use datetime(..., tzinfo=...) or .astimezone()")
    made = Timestamp()
    made.FromDatetime(time.astimezone(UTC))
    return made


class Converter:
    """Makes items of what callers have. `time` is that of the first which tells none."""

    def __init__(self, time: datetime) -> None:
        self._time = time

    def sent(self, given: Addable) -> Sent | None:
        """As it is sent; None: nobody said it (instructions, output of tools, empty messages). Raises
        ValueError, TypeError."""
        match given:
            case str():
                return self._note(Note(given))
            case Note():
                return self._note(given)
            case Message():
                return self._message(given)
            case Mapping():
                said = _of_chat(given)
                return None if said is None else self._message(said)
        raise TypeError(f"{type(given).__name__} cannot be added: give text, a message of a chat or a Note")

    def _at(self, time: datetime | None) -> Timestamp:
        if time is not None:
            return timestamp(time)
        time, self._time = self._time, self._time + _STEP
        return timestamp(time)

    def _message(self, said: Message) -> types_pb2.Message:
        if said.role not in _ROLES:
            raise ValueError(f"role must be one of {', '.join(_ROLES)}")
        return types_pb2.Message(
            uuid=said.uuid,
            role_type=_ROLES[said.role],
            role=said.name,
            content=said.content,
            timestamp=self._at(said.time),
            source_description=said.source_description,
            source_url=said.source_url,
        )

    def _note(self, note: Note) -> types_pb2.EpisodeItem:
        is_text = isinstance(note.body, str)
        return types_pb2.EpisodeItem(
            uuid=note.uuid,
            name=note.name,
            source=types_pb2.SOURCE_TEXT if is_text else types_pb2.SOURCE_JSON,
            body=note.body if is_text else json.dumps(note.body, ensure_ascii=False),
            reference_time=self._at(note.time),
            source_description=note.source_description,
            source_url=note.source_url,
        )


def _of_chat(given: Mapping[str, Any]) -> Message | None:
    """`{"role": ..., "content": text or parts}`, with `name` and `timestamp` if they are there."""
    if "role" not in given:
        raise ValueError(
            'a mapping must be a message of a chat: {"role": ..., "content": ...}; else use Note'
        )
    content = "\n".join(_texts(given.get("content"))).strip()
    if given["role"] in _SILENT or not content:
        return None
    time = given.get("timestamp")
    if isinstance(time, str):
        time = datetime.fromisoformat(time)
    elif isinstance(time, int | float):
        time = datetime.fromtimestamp(time, UTC)
    return Message(content, given["role"], given.get("name"), time, given.get("uuid"))


def _texts(content: Any) -> Iterator[str]:
    """The texts of a content: of several parts those that are text."""
    if isinstance(content, str):
        yield content
        return
    for part in content or ():
        if isinstance(part, str):
            yield part
        elif part.get("type") in {"text", "input_text", "output_text"}:
            yield part["text"]
