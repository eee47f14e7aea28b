"""The envelope around a chat model's answer: text, why it ended, what it cost. Nothing in it is trusted."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from kgsvc.llm.protocol import Usage

_TOKENS_MAX = 10**9


@dataclass(frozen=True, slots=True)
class Answer:
    """One completion. `text` is None when the envelope was not that of a chat completion."""

    text: str | None
    usage: Usage
    truncated: bool = False
    refused: bool = False


def read_answer(body: bytes) -> Answer:
    """The first choice of a chat completion."""
    envelope = as_object(decoded(body))
    usage = read_usage(envelope)
    choices = envelope.get("choices")
    choice = as_object(choices[0]) if isinstance(choices, list) and choices else {}
    message = as_object(choice.get("message"))
    content, reason = message.get("content"), choice.get("finish_reason")
    return Answer(
        text=content if isinstance(content, str) else None,
        usage=usage,
        truncated=reason == "length",
        refused=bool(message.get("refusal")) or reason == "content_filter",
    )


def decoded(body: bytes) -> object:
    """`body` as JSON, or None."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError
        return None


def as_object(value: object) -> dict[str, Any]:
    """`value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def read_usage(envelope: dict[str, Any]) -> Usage:
    """One call and the tokens that the server counted; 0 where it gives no sensible number."""
    given = as_object(envelope.get("usage"))
    return Usage(
        calls=1,
        prompt_tokens=_tokens(given.get("prompt_tokens")),
        completion_tokens=_tokens(given.get("completion_tokens")),
    )


def _tokens(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _TOKENS_MAX:
        return value
    return 0
