"""A scripted server, and extractors and embedders on it whose pauses are recorded instead of slept."""

import json
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import Extraction, ExtractionRequest
from kgsvc.domain.model.graph import FREE, Episode, Source, Usage
from kgsvc.models.openai.chat import Chat
from kgsvc.models.openai.embedder import OpenAIEmbedder
from kgsvc.models.openai.extractor import OpenAIExtractor
from kgsvc.models.openai.resolver import OpenAIResolver
from kgsvc.models.openai.settings import ChatModel, EmbeddingModel, Endpoint
from kgsvc.models.openai.transport import Transport
from kgsvc.models.protocol import Extracted
from kgsvc.tracing import NOT_TRACED, ModelSpan
from tests.support.scripted_openai import ScriptedOpenAI, answer, edge, node

KEY = "sk-secret-of-the-test"
NOW_S = 1_700_000_000.0
ALICE_BODY = "Alice(user): I work at Acme."
ALICE = answer(
    nodes=[node("n1", "Alice", type="Person"), node("n2", "Acme", type="Organization")],
    edges=[edge("WORKS_AT", "Alice works at Acme.", "n1", "n2", valid_at="2024-05-17T09:30:00Z")],
)


def episode(body: str = ALICE_BODY, **changes: Any) -> Episode:
    """A message of 2024-05-17T09:30:00Z."""
    given: dict[str, Any] = {
        "uuid": "e1",
        "group_id": "g",
        "body": body,
        "source": Source.MESSAGE,
        "reference_ms": 1_715_938_200_000,
        "created_ms": 1_715_938_200_000,
        "role": "Alice",
        **changes,
    }
    return Episode(**given)


def request(body: str = ALICE_BODY, **changes: Any) -> ExtractionRequest:
    """A request without context."""
    return ExtractionRequest(episode(body, **changes))


class Recorder:
    """A Meter that remembers."""

    def __init__(self) -> None:
        self.usages: list[tuple[str, str, Usage]] = []
        self.troubles: list[tuple[str, str]] = []

    def used(self, operation: str, group_id: str, usage: Usage) -> None:
        """See Meter."""
        self.usages.append((operation, group_id, usage))

    def calling(self, kind: str, model: str) -> AbstractContextManager[ModelSpan]:
        """Nothing is recorded."""
        return NOT_TRACED.model_call(kind, model)

    def trouble(self, operation: str, kind: str) -> None:
        """See Meter."""
        self.troubles.append((operation, kind))

    @property
    def operations(self) -> list[str]:
        """What was asked for, in order."""
        return [operation for operation, _, _ in self.usages]

    @property
    def total(self) -> Usage:
        """Everything together."""
        return sum((usage for _, _, usage in self.usages), FREE)


def assert_pinned(name: str, body: Any) -> None:
    """What was sent is word for word what pins/ holds under this name; a changed text takes another."""
    pinned = Path(__file__).parent / "pins" / f"{name}.json"
    assert laid_out(body) + "\n" == pinned.read_text(encoding="utf-8")


def laid_out(value: Any, margin: str = "") -> str:
    """JSON in which whatever fits stands on one line."""
    line, inner = json.dumps(value, ensure_ascii=False), f"{margin} "
    if len(margin + line) <= 100 or not isinstance(value, dict | list):
        return line
    if isinstance(value, list):
        lines = [inner + laid_out(each, inner) for each in value]
    else:
        lines = [f"{inner}{json.dumps(key)}: {laid_out(each, inner)}" for key, each in value.items()]
    return f"{line[0]}\n" + ",\n".join(lines) + f"\n{margin}{line[-1]}"


@dataclass
class Rig:
    """The server and the ways to reach it."""

    model: ScriptedOpenAI
    stack: AsyncExitStack
    pauses: list[float] = field(default_factory=list)
    meter: Recorder = field(default_factory=Recorder)
    off: bool = False  # whether models are switched off
    leaving: Callable[[], bool] = lambda: False  # whether no work is begun

    def transport(self, **changes: Any) -> Transport:
        """A transport with a short timeout, 3 attempts, no jitter and recorded pauses."""
        given: dict[str, Any] = {
            "base_url": self.model.base_url,
            "api_key": KEY,
            "timeout_s": 20.0,
            "attempts": 3,
            "backoff_s": 0.0,
            **changes,
        }

        async def pause(seconds: float) -> None:
            self.pauses.append(seconds)

        made = Transport(
            Endpoint(**given),
            sleep=pause,
            rng=random.Random(7),
            wall_clock_s=lambda: NOW_S,
            off=lambda begins: self.off or (begins and self.leaving()),
        )
        self.stack.push_async_callback(made.close)
        return made

    def extractor(self, settings: ChatModel | None = None, **endpoint: Any) -> OpenAIExtractor:
        """An extractor on the server."""
        return OpenAIExtractor(self.chat(settings, **endpoint), Limits())

    def chat(self, settings: ChatModel | None = None, **endpoint: Any) -> Chat:
        """A chat on the server, metered by `meter`."""
        return Chat(self.transport(**endpoint), settings or ChatModel(model="m"), self.meter)

    def resolver(self, settings: ChatModel | None = None) -> OpenAIResolver:
        """A resolver on the server."""
        return OpenAIResolver(self.chat(settings), Limits())

    def embedder(self, dimension: int = 64, **settings: Any) -> OpenAIEmbedder:
        """An embedder on the server."""
        return OpenAIEmbedder(self.transport(), EmbeddingModel("vec", dimension, **settings), self.meter)

    def embedder_with(self, **endpoint: Any) -> OpenAIEmbedder:
        """An embedder on the server with another endpoint."""
        return OpenAIEmbedder(self.transport(**endpoint), EmbeddingModel("vec", 64))

    async def extract(self, **endpoint: Any) -> Extracted:
        """Extract from Alice's message; what fails is raised."""
        [result] = await self.extractor(**endpoint).extract([request()])
        if isinstance(result, Exception):
            raise result
        return result


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A server that knows Alice's message."""
    async with ScriptedOpenAI(table={"I work at Acme": ALICE}) as model, AsyncExitStack() as stack:
        yield Rig(model, stack)


@pytest.fixture
def alice() -> Callable[[Extraction], None]:
    """Asserts that an extraction is the one of Alice's message, whole."""

    def check(extraction: Extraction) -> None:
        assert [each.name for each in extraction.nodes] == ["Alice", "Acme"]
        [fact] = extraction.edges
        assert (fact.name, fact.source_ref, fact.target_ref) == ("WORKS_AT", "n1", "n2")
        assert fact.valid_ms == 1_715_938_200_000

    return check
