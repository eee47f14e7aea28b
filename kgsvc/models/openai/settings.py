"""How to reach an OpenAI-compatible server and what to ask of it. Built by the service's configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import urlsplit

from kgsvc.domain.limits import FROM_ZERO, Fixed, Range


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model server and how it is called. Raises ValueError for a base URL that is none."""

    base_url: str = "https://api.openai.com/v1"
    api_key: str = field(default="", repr=False)  # empty: the server asks for none
    timeout_s: float = 60.0  # of one attempt, from sending to the last byte
    max_concurrency: int = 8  # in flight, waiting for an attempt too; from 2 on one is kept for commits
    attempts: int = 4  # of one call, the first included
    backoff_s: Annotated[float, FROM_ZERO] = 0.5  # the longest first pause; doubles with each attempt
    backoff_max_s: Annotated[float, Fixed] = 20.0
    retry_after_max_s: Annotated[float, Fixed] = 30.0  # a longer pause is left to the queue
    response_bytes: Annotated[int, Fixed] = 16 * 1024 * 1024  # a longer answer is refused before it is parsed

    def __post_init__(self) -> None:
        """A key belongs into `api_key`: URLs are shown in logs."""
        parts = urlsplit(self.base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("the model server's base URL must be http(s)://host[:port][/path]")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("the model server's base URL must hold no credentials, query or fragment")


@dataclass(frozen=True, slots=True)
class ChatModel:
    """The model that extracts."""

    model: str = "gpt-4.1-mini"
    max_output_tokens: int = 8_192  # doubled for the repair of a truncated answer
    repair_attempts: Annotated[int, Fixed] = 1
    reflexion_rounds: Annotated[int, Range(0, 3)] = 0  # looks for what an extraction missed, each a call
    two_calls: bool = False  # ask for entities, then for the facts between them: for small models
    context_chars: Annotated[int, Fixed] = 12_000  # of previous episodes in the prompt
    body_chars: int = 60_000  # of an episode in one prompt; a longer one is read in parts
    temperature: Annotated[float | None, FROM_ZERO] = None  # sent only where set: reasoning models refuse it


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """The model that embeds."""

    model: str = "text-embedding-3-small"
    dimension: int = 1_536
    send_dimensions: bool = False  # ask for `dimension` numbers: only models that can shorten accept it
    batch_texts: int = 256  # texts of one call
    batch_chars: Annotated[int, Fixed] = 200_000  # and their length together
