"""The folder of a Slack export: users.json, lists of channels, and a folder of days for each channel."""

from __future__ import annotations

import html
import json
import re
import uuid
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from kgsvc.cli.chats import NAMESPACE, BadMessage, Chats, PassedOver, Said, Taken, any_time
from kgsvc.cli.options import Failure
from kgsvc.v1.types_pb2 import ROLE_TYPE_ASSISTANT, ROLE_TYPE_USER

_USERS = ("users.json", "org_users.json")
_LISTS = ("channels.json", "groups.json", "dms.json", "mpims.json")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
_SAID = (None, "thread_broadcast", "me_message", "file_share", "file_comment", "bot_message")
_MARK = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")


def is_export(folder: Path) -> bool:
    """Whether a folder is what Slack exports."""
    return _users_file(folder) is not None and any((folder / name).is_file() for name in _LISTS)


def is_day(path: Path) -> bool:
    """Whether a file is a day of a channel in an export."""
    return bool(_DAY.fullmatch(path.name)) and is_export(path.parent.parent)


def _users_file(folder: Path) -> Path | None:
    return next((folder / name for name in _USERS if (folder / name).is_file()), None)


def days(folder: Path) -> Iterator[Path]:
    """The days of every channel, in order."""
    for channel in sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()):
        for path in sorted(channel.iterdir()):
            if _DAY.fullmatch(path.name) and path.is_file() and not path.is_symlink():
                yield path


@cache
def names(folder: Path) -> Mapping[str, str]:
    """The names of an export's users by their ids. Raises Failure."""
    path = _users_file(folder)
    assert path is not None  # it is an export
    try:
        users = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise Failure(f"{path}: is not a list of Slack's users: {type(error).__name__}") from error
    if not isinstance(users, list):
        raise Failure(f"{path}: is not a list of Slack's users")
    return {
        user["id"]: _name(user)
        for user in users
        if isinstance(user, dict) and isinstance(user.get("id"), str)
    }


def _name(user: dict[str, Any]) -> str:
    profile = user["profile"] if isinstance(user.get("profile"), dict) else {}
    given = (profile.get("real_name"), user.get("real_name"), profile.get("display_name"), user.get("name"))
    return next((name for name in given if isinstance(name, str) and name), user["id"])


def read_message(value: Any, path: Path, chats: Chats) -> Iterator[Taken]:
    """A message of a day."""
    try:
        said = _said(value, path)
        yield PassedOver() if said is None else chats.item(said)
    except ValueError as error:
        yield BadMessage(
            "holds characters that are no text" if isinstance(error, UnicodeError) else str(error)
        )


def _said(value: Any, path: Path) -> Said | None:
    if not isinstance(value, dict):
        raise ValueError("is not an object with type, user, text and ts, as Slack writes them")
    text, ts, channel = value.get("text"), value.get("ts"), path.parent.name
    if value.get("type") != "message" or value.get("subtype") not in _SAID or not text:
        return None
    if not isinstance(text, str) or not isinstance(ts, str):
        raise ValueError("text and ts must be texts")
    try:
        time = any_time(ts)
    except ValueError:
        raise ValueError("ts must be seconds since 1970, such as 1735689600.000200") from None
    known = names(path.parent.parent)
    bot = value.get("subtype") == "bot_message" or "user" not in value
    who = value.get("username") if bot else known.get(str(value["user"]), value["user"])
    thread = ", in a thread" if value.get("thread_ts") not in (None, ts) else ""
    return Said(
        plain(text, known),
        ROLE_TYPE_ASSISTANT if bot else ROLE_TYPE_USER,
        who if isinstance(who, str) else None,
        time,
        str(uuid.uuid5(NAMESPACE, json.dumps(["slack", channel, ts, str(value.get("user"))]))),
        source_description=f"Slack #{channel}{thread}",
    )


def plain(text: str, known: Mapping[str, str]) -> str:
    """A text without Slack's marks: people and channels by their names, links by their words and address."""

    def shown(mark: re.Match[str]) -> str:
        target, label = mark.groups()
        match target[0]:
            case "@":
                return known.get(target[1:], label or target[1:])
            case "#":
                return f"#{label or target[1:]}"
            case "!":
                return label or f"@{target[1:].partition('^')[0]}"
        return f"{label} ({target})" if label else target

    return html.unescape(_MARK.sub(shown, text))
