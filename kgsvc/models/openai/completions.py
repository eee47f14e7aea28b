"""Reading the envelopes of chat completions, whole or as they are written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from kgsvc.domain.model.graph import FREE, Usage

_TOKENS_MAX = 10**9


@dataclass(frozen=True, slots=True)
class Completion:
    """One completion, or a piece of one. `text` is None where the envelope holds none."""

    text: str | None
    usage: Usage
    truncated: bool = False
    refused: bool = False
    ended: bool = True


def read_answer(body: bytes) -> Completion:
    """The first choice of a chat completion."""
    envelope = as_object(decoded(body))
    return _first_choice(envelope, "message", read_usage(envelope))


def read_piece(event: object) -> Completion:
    """What one event of a streamed completion adds: some text, or none, and how it ends if it does. Usage is
    free where the event tells none."""
    envelope = as_object(event)
    usage = read_usage(envelope) if as_object(envelope.get("usage")) else FREE
    return _first_choice(envelope, "delta", usage)


def _first_choice(envelope: dict[str, Any], part: str, usage: Usage) -> Completion:
    choices = envelope.get("choices")
    choice = as_object(choices[0]) if isinstance(choices, list) and choices else {}
    written = as_object(choice.get(part))
    content, reason = written.get("content"), choice.get("finish_reason")
    return Completion(
        text=content if isinstance(content, str) else None,
        usage=usage,
        truncated=reason == "length",
        refused=bool(written.get("refusal")) or reason == "content_filter",
        ended=isinstance(reason, str),
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
