"""What can be added, and how it is sent: chat messages, texts, JSON, documents."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

_ROLES = ("user", "assistant", "system")
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
Addable: TypeAlias = str | Mapping[str, Any] | Message | Note
Sent: TypeAlias = tuple[str, dict[str, Any]]  # the field of a StreamEpisodesRequest, and the fields in it


def zoned(time: datetime) -> datetime:
    """As the contract carries times. Raises ValueError for one without a zone."""
    if time.tzinfo is None:
        raise ValueError(f"{time} has no time zone: use datetime(..., tzinfo=...) or .astimezone()")
    return time


class Converter:
    """Makes items of what callers have. `time` is that of the first which tells none."""

    def __init__(self, time: datetime) -> None:
        self._time = time

    def sent(self, given: Addable) -> Sent | None:
        """As it is sent; None: nobody said it (instructions, output of tools, empty messages). Raises
        ValueError, TypeError."""
        item = _of_chat(given) if isinstance(given, Mapping) else given
        match item:
            case None:
                return None
            case str() | Note():
                return self._note(Note(item) if isinstance(item, str) else item)
            case Message():
                return self._message(item)
        raise TypeError(f"{type(given).__name__} cannot be added: give text, a message of a chat or a Note")

    def _at(self, time: datetime | None) -> datetime:
        if time is None:
            time, self._time = self._time, self._time + _STEP
        return zoned(time)

    def _message(self, said: Message) -> Sent:
        if said.role not in _ROLES:
            raise ValueError(f"role must be one of {', '.join(_ROLES)}")
        own = {"role_type": f"ROLE_TYPE_{said.role.upper()}", "role": said.name, "content": said.content}
        return "message", own | {"timestamp": self._at(said.time)} | _about(said)

    def _note(self, note: Note) -> Sent:
        is_text = isinstance(note.body, str)
        body = note.body if is_text else json.dumps(note.body, ensure_ascii=False)
        own = {"name": note.name, "source": "SOURCE_TEXT" if is_text else "SOURCE_JSON", "body": body}
        return "episode", own | {"reference_time": self._at(note.time)} | _about(note)


def _about(item: Message | Note) -> dict[str, Any]:
    return {name: getattr(item, name) for name in ("uuid", "source_description", "source_url")}


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
    for part in [content] if isinstance(content, str) else content or ():
        if isinstance(part, str):
            yield part
        elif part.get("type") in {"text", "input_text", "output_text"}:
            yield part["text"]
