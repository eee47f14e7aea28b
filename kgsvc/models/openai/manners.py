"""What a model server turned out to understand: learned from its refusals, kept while the process lives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from kgsvc.models.openai.settings import ChatModel
from kgsvc.models.prompts import form as prompts

Message = Mapping[str, str]

_BUDGET_MIN = 512  # tokens; a model that allows fewer cannot extract


class About(StrEnum):
    """What a server that refuses a request as such may find wrong with it, in the order of trying."""

    BUDGET = "budget"  # fewer tokens may be asked for
    LENGTH = "length"  # the request does not fit the model's context
    TOKENS = "max_tokens"  # it knows the parameter by its other name
    FORMAT = "response_format"
    TEMPERATURE = "temperature"
    ENCODING = "encoding_format"  # of embeddings


class Format(StrEnum):
    """How the form of the answer is asked for, the strictest first."""

    SCHEMA = "json_schema"
    OBJECT = "json_object"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Form:
    """The form of an answer: a strict JSON schema and its name."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Manners:
    """How this server is asked. Immutable, so that a refusal can be compared with what was sent."""

    format: Format = Format.SCHEMA
    tokens: str = "max_completion_tokens"
    temperature: bool = True
    budget: int | None = None  # the most tokens that it lets be asked for
    shows_schema: bool = False  # it takes the schema and does not keep to it
    passing: bool = False  # good for one request only

    def parameters(
        self, settings: ChatModel, messages: list[Message], form: Form, budget: int
    ) -> dict[str, Any]:
        """The body of a request for a chat completion."""
        asked: dict[str, Any] = {"model": settings.model, "messages": self._worded(messages, form)}
        asked[self.tokens] = budget if self.budget is None else min(budget, self.budget)
        if self.format is Format.SCHEMA:
            strict = {"name": form.name, "strict": True, "schema": form.schema}
            asked["response_format"] = {"type": "json_schema", "json_schema": strict}
        elif self.format is Format.OBJECT:
            asked["response_format"] = {"type": "json_object"}
        if self.temperature and settings.temperature is not None:
            asked["temperature"] = settings.temperature
        return asked

    def _worded(self, messages: list[Message], form: Form) -> list[Message]:
        if self.format is Format.SCHEMA and not self.shows_schema:
            return messages
        system, *rest = messages
        schema = json.dumps(form.schema, ensure_ascii=False, separators=(",", ":"))
        return [{**system, "content": f"{system['content']}\n{prompts.schema_rules(schema)}"}, *rest]


def learned(sent: Manners, about: About, budget: int) -> Manners | None:
    """How to ask after a refusal of what was asked with `sent` for `budget` tokens; None: this is no help."""
    if about is About.FORMAT and sent.format is not Format.TEXT:
        return replace(sent, format=Format.OBJECT if sent.format is Format.SCHEMA else Format.TEXT)
    if about is About.TOKENS and sent.tokens != "max_tokens":
        return replace(sent, tokens="max_tokens")
    if about is About.TEMPERATURE and sent.temperature:
        return replace(sent, temperature=False)
    if about is About.BUDGET:
        asked = budget if sent.budget is None else min(budget, sent.budget)
        return replace(sent, budget=max(_BUDGET_MIN, asked // 2)) if asked > _BUDGET_MIN else None
    return None
