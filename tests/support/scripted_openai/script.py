"""What the scripted server is told: outcomes, faults that come before the regular answers, a table."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kgsvc.models.prompts import extraction, resolution
from kgsvc.models.prompts.retrieval import ANSWER_MARK, RELEVANCE_MARK
from kgsvc.models.prompts.summaries import ENTITIES_MARK
from tests.support.scripted_openai.replies import all_new, answer, ratings

Kind = Literal["answer", "says", "body", "truncated", "refused", "status", "hang", "stall", "cut", "drop"]
Endpoint = Literal["chat", "embeddings"]


@dataclass(frozen=True, slots=True)
class Request:
    """One call of the model, as received."""

    endpoint: Endpoint
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    text: str  # the body of the current episode, or the texts to embed

    @property
    def is_repair(self) -> bool:
        """Whether an earlier answer was rejected."""
        return "could not be accepted" in self._last and len(self.body["messages"]) > 2

    @property
    def is_reflexion(self) -> bool:
        """Whether it is asked what an extraction missed."""
        return len(self.body.get("messages", [])) > 2 and not self.is_repair

    @property
    def resolution(self) -> Mapping[str, Any] | None:
        """The questions of a resolution, None where something else is asked."""
        return fenced_data(self.body, resolution.MARK)

    @property
    def retelling(self) -> Mapping[str, Any] | None:
        """The entities whose summaries are asked for, None where something else is."""
        return fenced_data(self.body, ENTITIES_MARK)

    @property
    def relevance(self) -> Mapping[str, Any] | None:
        """The query and the passages that are to be rated, None where something else is asked."""
        return fenced_data(self.body, RELEVANCE_MARK)

    @property
    def question(self) -> Mapping[str, Any] | None:
        """The question that is to be answered and its context, None where something else is asked."""
        return fenced_data(self.body, ANSWER_MARK)

    @property
    def _last(self) -> str:
        messages = self.body.get("messages", [])
        return str(messages[-1]["content"]) if messages else ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ends. `value` is the extraction, the text of the message or the whole body."""

    kind: Kind
    value: Any = None
    code: int = 200
    error_code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


Script = Callable[[Request], "Outcome | Mapping[str, Any] | None"]


def says(text: str) -> Outcome:
    """A completion with this text, whatever it is."""
    return Outcome("says", text)


def reply_body(text: str) -> Outcome:
    """HTTP 200 with this body instead of a completion."""
    return Outcome("body", text)


def truncated() -> Outcome:
    """The regular answer, broken off in the middle at the token limit."""
    return Outcome("truncated")


def refused(reason: str = "I cannot help with that.") -> Outcome:
    """The model declines."""
    return Outcome("refused", reason)


def status(code: int, error_code: str | None = None, said: str | None = None, **headers: str) -> Outcome:
    """An HTTP error that says `said`; header names are given with _ for -."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Outcome("status", said, code=code, error_code=error_code, headers=named)


def rate_limited(retry_after: str | None = None) -> Outcome:
    """HTTP 429, with Retry-After if given."""
    return status(429, "rate_limit_exceeded", **({"retry_after": retry_after} if retry_after else {}))


def hanging() -> Outcome:
    """No reply until the server is released (then the regular one) or the client goes away."""
    return Outcome("hang")


def stalling(text: str) -> Outcome:
    """A streamed text, of which nothing more comes behind the first half until the client goes away."""
    return Outcome("stall", text)


def cut_off(text: str) -> Outcome:
    """A streamed text whose connection breaks behind the first half."""
    return Outcome("cut", text)


def dropped() -> Outcome:
    """The connection is closed without a reply."""
    return Outcome("drop")


@dataclass(slots=True)
class Fault:
    """An outcome that replaces the regular answer of matching calls, `times` times (None: always)."""

    outcome: Outcome
    match: str = ""
    endpoint: Endpoint = "chat"
    times: int | None = 1

    def applies(self, request: Request) -> bool:
        """Whether it is this fault's turn."""
        return self.times != 0 and request.endpoint == self.endpoint and self.match in request.text

    def take(self) -> Outcome:
        """The outcome, used once more."""
        if self.times is not None:
            self.times -= 1
        return self.outcome


@dataclass(slots=True)
class Plan:
    """Faults first, then the script, then the first entry of the table whose key occurs in the text."""

    faults: list[Fault] = field(default_factory=list)
    script: Script | None = None
    table: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def outcome(self, request: Request) -> Outcome:
        """What happens to `request`; uses a fault up."""
        for fault in self.faults:
            if fault.applies(request):
                return fault.take()
        return self.regular(request)

    def regular(self, request: Request) -> Outcome:
        """What happens when nothing goes wrong."""
        scripted = self.script(request) if self.script else None
        if isinstance(scripted, Outcome):
            return scripted
        if scripted is None and request.resolution is not None:
            scripted = all_new(request.resolution)
        if scripted is None and request.retelling is not None:
            scripted = {"summaries": []}
        if scripted is None and request.relevance is not None:
            scripted = ratings([0] * len(request.relevance["passages"]))
        if scripted is None:
            found = (value for key, value in self.table.items() if key in request.text)
            scripted = next(found, answer())
        return Outcome("answer", scripted)


def fenced_data(body: Mapping[str, Any], mark: str) -> Mapping[str, Any] | None:
    """The object that a prompt holds between the marks, None where it holds none."""
    for message in body.get("messages", []):
        _, opened, rest = message["content"].partition(f"<{mark}>\n")
        if opened and message["role"] == "user":
            data: Mapping[str, Any] = json.loads(rest.partition(f"\n</{mark}>")[0])
            return data
    return None


def episode_text(body: Mapping[str, Any]) -> str:
    """The current episode's body out of the fenced data of a prompt; else all the user said."""
    data = fenced_data(body, extraction.MARK)
    if data is not None:
        return str(data["body"])
    return "\n".join(m["content"] for m in body.get("messages", []) if m["role"] == "user")
