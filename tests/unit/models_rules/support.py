"""Episodes for the offline extractor, and what it finds in them in a form that tests can read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import Extraction, ExtractionRequest
from kgsvc.domain.model.graph import Episode, FactKind, Polarity, RoleType, Source
from kgsvc.models.rules.extractor import extract_one


def ms(year: int, month: int = 1, day: int = 1, hour: int = 0) -> int:
    """Milliseconds since the epoch of a moment in UTC."""
    return int(datetime(year, month, day, hour, tzinfo=UTC).timestamp() * 1000)


NOW = ms(2023, 5, 25, 13)  # a Thursday


@dataclass(frozen=True)
class Said:
    """A fact with names in place of references."""

    name: str
    source: str
    target: str
    fact: str
    kind: FactKind
    polarity: Polarity
    valid_ms: int | None
    invalid_ms: int | None

    @property
    def triple(self) -> tuple[str, str, str]:
        return self.name, self.source, self.target


@dataclass(frozen=True)
class Found:
    """An extraction in readable form."""

    extraction: Extraction

    @property
    def types(self) -> dict[str, str]:
        return {node.name: node.type for node in self.extraction.nodes}

    @property
    def facts(self) -> list[Said]:
        names = {node.ref: node.name for node in self.extraction.nodes}
        return [
            Said(
                edge.name,
                names[edge.source_ref],
                names[edge.target_ref],
                edge.fact,
                edge.kind,
                edge.polarity,
                edge.valid_ms,
                edge.invalid_ms,
            )
            for edge in self.extraction.edges
        ]

    def fact(self, name: str, target: str = "") -> Said:
        """The one fact of a relation (to a target)."""
        found = [f for f in self.facts if f.name == name and target in ("", f.target)]
        assert len(found) == 1, f"{name} {target}: {self.facts}"
        return found[0]

    @property
    def triples(self) -> set[tuple[str, str, str]]:
        return {fact.triple for fact in self.facts}


def message(text: str, speaker: str = "Bob", at: int = NOW) -> Episode:
    """A chat message as AddMessages stores it."""
    return Episode(
        uuid=f"{speaker}-{at}-{len(text)}",
        group_id="g",
        body=f"{speaker}(user): {text}",
        source=Source.MESSAGE,
        reference_ms=at,
        created_ms=at,
        role_type=RoleType.USER,
        role=speaker,
    )


def text_episode(body: str, source: Source = Source.TEXT, name: str | None = None, at: int = NOW) -> Episode:
    """An episode as AddEpisodes stores it."""
    return Episode("t", "g", body, source, at, at, name=name)


def read(episode: Episode, previous: Sequence[Episode] = (), limits: Limits | None = None) -> Found:
    """What the extractor finds in one episode."""
    return Found(extract_one(ExtractionRequest(episode, previous), limits or Limits()).extraction)


def say(text: str, speaker: str = "Bob", at: int = NOW) -> Found:
    """What the extractor finds in one message without context."""
    return read(message(text, speaker, at))


def reply(text: str, speaker: str = "Bob", to: str = "Alice", at: int = NOW) -> Found:
    """The same with somebody to talk to, who said hello before."""
    return read(message(text, speaker, at), [message("Hello!", to, at - 60_000)])
