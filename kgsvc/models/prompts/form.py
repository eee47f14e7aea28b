"""What every structured call shares: fenced data, the form of the answer in words, the request to repair."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

T = TypeVar("T")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def fenced(name: str, data: Mapping[str, Any]) -> str:
    """`data` as JSON between the marks <name> and </name>. No text inside can write a mark: < and > are
    escaped."""
    encoded = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    safe = encoded.replace("<", "\\u003c").replace(">", "\\u003e")
    return f"<{name}>\n{safe}\n</{name}>"


def chat(rules: str, question: str) -> list[dict[str, str]]:
    """The messages of a chat that begins with these rules and this question."""
    return [{"role": "system", "content": rules}, {"role": "user", "content": question}]


def latest(items: Sequence[T], length: Callable[[T], int], chars: int) -> list[T]:
    """As many of the last items as have together at most `chars` characters."""
    kept: list[T] = []
    for item in reversed(items):
        chars -= length(item)
        if chars < 0:
            break
        kept.append(item)
    return kept[::-1]


def schema_rules(schema: str) -> str:
    """The schema in words, for servers that cannot enforce it."""
    return f"""\
# Form of the answer
Answer with one JSON object and nothing else: no introduction, no explanation, no code fence. It must be
valid against this JSON schema; give every property, null where there is nothing to say and null is allowed:
{schema}
"""


def repair(problems: Sequence[str]) -> dict[str, str]:
    """The message that asks for a better answer; `problems` are our own words."""
    listed = "\n".join(f"- {problem}" for problem in problems)
    again = "Answer once more, with the whole JSON object."
    return {"role": "user", "content": f"That answer could not be accepted:\n{listed}\n{again}"}


def iso(ms: int) -> str:
    """A time as models read it: ISO 8601 in UTC with milliseconds."""
    moment = _EPOCH + timedelta(milliseconds=ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(ms: int) -> str:
    """A time as short as it can be told: its day where it is midnight, without seconds where these are 0."""
    text = iso(ms)
    return text.removesuffix("T00:00:00.000Z").replace(":00.000Z", "Z").replace(".000Z", "Z")


def cut(text: str, chars: int) -> str:
    """The text, or its beginning and a mark where it is longer."""
    return text if len(text) <= chars else f"{text[:chars]}…"


def day(ms: int) -> str:
    """The day of a time in UTC: 2024-05-17."""
    return iso(ms)[:10]


def dated(ms: int) -> str:
    """A time with its weekday, by which a model works out "last Friday"."""
    return f"{_WEEKDAYS[(_EPOCH + timedelta(milliseconds=ms)).weekday()]}, {iso(ms)}"
