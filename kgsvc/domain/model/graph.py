"""Canonical types, and which words a fact is found by.

All times are integer milliseconds since the epoch, UTC. What model work cost is here too, since errors count
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kgsvc.domain.model.beliefs import Belief


class Source(StrEnum):
    """What kind of text an episode's body is."""

    TEXT = "text"
    JSON = "json"
    MESSAGE = "message"
    DOCUMENT = "document"  # a chunk of a document


# What is context of other episodes, and what GetEpisodes lists: a document has hundreds of chunks.
TOLD = (Source.TEXT, Source.JSON, Source.MESSAGE)


class RoleType(StrEnum):
    """Who spoke a message."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"


class FactKind(StrEnum):
    """How facts of one relation conflict (docs/design/time.md).

    state: another text for the same source, relation and target supersedes.
    functional: another target supersedes (one employer, one home).
    event: never superseded by another event.
    """

    STATE = "state"
    FUNCTIONAL = "functional"
    EVENT = "event"


class Polarity(StrEnum):
    """What a fact says about its relation: it holds, it ended, it does not hold."""

    ASSERTS = "asserts"
    ENDS = "ends"
    DENIES = "denies"


@dataclass(frozen=True, slots=True)
class Episode:
    """One accepted input; immutable after acceptance."""

    uuid: str
    group_id: str
    body: str
    source: Source
    reference_ms: int
    created_ms: int
    name: str | None = None
    source_description: str | None = None
    role_type: RoleType | None = None
    role: str | None = None
    content_hash: str = ""


@dataclass(frozen=True, slots=True, order=True)
class SummaryPart:
    """A sentence of a summary. `key` says where from: a fact's uuid, or "episode:" and an episode's."""

    start_ms: int
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Rewriting:
    """What a model made of the parts of a summary; no text where they ceased to hold or it made nothing."""

    text: str
    sources: tuple[tuple[str, str], ...]  # keys of the parts that still hold, each with a digest of its words
    made_of: int  # how many parts they were


@dataclass(frozen=True, slots=True)
class Entity:
    """A node.

    `stamps` remembers which evidence ("reference_ms/episode uuid") last set the summary and each
    attribute, so that the result does not depend on arrival order.
    """

    uuid: str
    group_id: str
    name: str
    created_ms: int
    summary: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    source_episode_uuid: str = ""
    updated_ms: int = 0
    stamps: Mapping[str, str] = field(default_factory=dict)
    summary_parts: tuple[SummaryPart, ...] = ()  # what the summary is composed of, and some more; sorted
    rewriting: Rewriting | None = None


EARLIEST_MS = -62_135_596_800_000  # 0001-01-01: the start of what held before, since nobody knows when


@dataclass(frozen=True, slots=True)
class Evidence:
    """One episode's statement behind a fact: its own interval as stated, before any contradiction.

    Ordered as the contradiction policy orders statements: start, then reference time, then
    episode.
    """

    start_ms: int  # valid_at, else the reference time; of an end: when the relation ended
    reference_ms: int
    episode_uuid: str
    stated_valid_ms: int | None = None  # of an end: when it ended, if that was stated
    stated_invalid_ms: int | None = None
    said: str = ""  # its own words, where the fact has others
    says: str = ""  # "": that it holds; ENDED: that it ended; LASTS: that an announced end is called off
    accepted_ms: int = 0  # when its item was accepted; 0: not recorded
    index: int = 0  # of the statement in its episode's extraction
    sequence: int = 0  # of its item, which tells apart what one call brought; 0: not recorded
    weight: float | None = field(default=None, compare=False)  # None: as the fact has it
    # Statements that are no longer kept one by one, and what they weighed together (facts/statements.py).
    thinned: int = field(default=0, compare=False)
    thinned_weight: float = field(default=0.0, compare=False)

    def __lt__(self, other: Evidence) -> bool:
        return self._order < other._order

    @property
    def _order(self) -> tuple[int, int, str, int, str, str]:
        return (self.start_ms, self.reference_ms, self.episode_uuid, self.index, self.says, self.said)

    def row(self) -> list[str | float | None]:
        """As stores keep it: the fields in order, without what is as by default at the end."""
        fields: list[str | float | None] = [
            self.start_ms, self.reference_ms, self.episode_uuid, self.stated_valid_ms, self.stated_invalid_ms,
            self.said, self.says, self.accepted_ms, self.index, self.sequence,
            self.weight, self.thinned, self.thinned_weight,
        ]  # fmt: skip
        while len(fields) > _ALWAYS_KEPT and fields[-1] == _DEFAULTS[len(fields) - 1 - _ALWAYS_KEPT]:
            fields.pop()
        return fields


ENDED = "ended"
LASTS = "lasts"
_ALWAYS_KEPT = 6
_DEFAULTS = ("", 0, 0, 0, None, 0, 0.0)


@dataclass(frozen=True, slots=True, order=True)
class Closure:
    """A finding about a fact from outside its slot, judged once: the fact ceased to hold at `at_ms`.

    Kept on the fact that it is about, so that the slot can be folded anew without asking again.
    """

    at_ms: int
    reference_ms: int  # of the statement that contradicts
    by_fact: str
    by_episode: str
    retracts: bool = False  # it was never true: whatever was stated until then
    moves: bool = False  # what was announced of it until then begins at `at_ms`; it ends nothing

    @property
    def closes(self) -> bool:
        """Whether what it is about held, and ceased to."""
        return not (self.retracts or self.moves)

    def row(self) -> list[str | int | bool]:
        """As stores keep it: what is not so at the end is left out."""
        fields: list[str | int | bool] = [self.at_ms, self.reference_ms, self.by_fact, self.by_episode]
        if self.moves:
            return [*fields, self.retracts, True]
        return [*fields, True] if self.retracts else fields


@dataclass(frozen=True, slots=True)
class Fact:
    """An edge between two entities on two time axes (docs/design/time.md).

    Fact time: `valid_ms`..`invalid_ms`; system time: `created_ms`..`expired_ms`. `valid_ms` is None where
    no start was stated: then `reference_ms` counts (the reference time of its statement, or EARLIEST_MS where
    it had ended by then). `slot` is the conflict key, `fact_key`
    the uniqueness key of §9; both are hashes.
    """

    uuid: str
    group_id: str
    name: str
    fact: str
    source_uuid: str
    target_uuid: str
    source_name: str
    target_name: str
    created_ms: int
    reference_ms: int
    slot: str
    fact_key: str
    valid_ms: int | None = None
    invalid_ms: int | None = None
    expired_ms: int | None = None
    kind: FactKind = FactKind.STATE
    polarity: Polarity = Polarity.ASSERTS
    qualifiers: Mapping[str, str] = field(default_factory=dict)
    keywords: tuple[str, ...] = ()
    weight: float = 1.0
    episodes: tuple[str, ...] = ()  # uuids, by reference time
    evidence: tuple[Evidence, ...] = ()
    expired_by_fact: str | None = None
    expired_by_episode: str | None = None
    expired_reason: str | None = None  # superseded | retracted | updated | merged | withdrawn
    invalid_before_ms: int | None = None  # what invalid_ms was before the expiry
    attributes: Mapping[str, Any] = field(default_factory=dict)
    closures: tuple[Closure, ...] = ()  # sorted
    updated_ms: int | None = None  # when the row last changed; None: never since it was written
    original_fact: str | None = None  # the text that UpdateFact replaced
    update_reason: str | None = None  # its caller's words
    previous_uuid: str | None = None  # the row that it replaced
    retract_reason: str | None = None  # of the caller of RetractFact; None: no caller retracted it
    asserted: bool = False  # by a caller: no model may end it
    beliefs: tuple[Belief, ...] = ()  # former ones, the oldest first (facts/beliefs.py)

    @property
    def start_ms(self) -> int:
        """When the fact began to hold: stated, or else the reference time of its statement."""
        return self.reference_ms if self.valid_ms is None else self.valid_ms

    @property
    def source_episode_uuid(self) -> str:
        """Lineage: the first episode that stated it."""
        return self.episodes[0] if self.episodes else ""


@dataclass(frozen=True, slots=True)
class Mention:
    """An episode mentions an entity (MENTIONS): by which names, in its own spelling, and as which types.

    Further names that were decided with those, as the full name for a short one, are among them. No names at
    all: it is not known which.
    """

    uuid: str
    group_id: str
    episode_uuid: str
    entity_uuid: str
    created_ms: int
    names: tuple[str, ...] = ()
    types: tuple[str, ...] = ()  # specific ones only


@dataclass(frozen=True, slots=True)
class Usage:
    """Answered calls and the tokens that the model server counted. Zero where no model was asked."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Both costs together."""
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )

    def __bool__(self) -> bool:
        """Whether anything was spent."""
        return bool(self.calls or self.prompt_tokens or self.completion_tokens)

    def split(self, parts: int) -> list[Usage]:
        """The cost in parts that are as equal as whole numbers can be, the greater ones first; together they
        are all of it."""
        columns = (_split(whole, parts) for whole in (self.calls, self.prompt_tokens, self.completion_tokens))
        return [Usage(*values) for values in zip(*columns, strict=True)]


def _split(whole: int, parts: int) -> list[int]:
    least, more = divmod(whole, parts)
    return [least + (n < more) for n in range(parts)]


FREE = Usage()


_LABEL = "source_url: "
_ADDRESS = r"(?i:https?)://[^\s,]+(?:,+[^\s,]+)*"  # a comma before a blank ends it
_EMBEDDED = re.compile(rf"source_url:\s*(?P<address>{_ADDRESS})")
_WHOLE = re.compile(_ADDRESS)


@dataclass(frozen=True, slots=True)
class Citation:
    """An episode as a source: everything but its body."""

    episode_uuid: str
    name: str | None
    source: Source
    source_description: str | None
    created_ms: int

    @property
    def source_url(self) -> str | None:
        """The address in its description."""
        return source_url_of(self.source_description)


def is_source_url(text: str) -> bool:
    """Whether `text` is an http or https address that can be told from the description around it: without
    blanks, not ending in a comma."""
    return _WHOLE.fullmatch(text) is not None


def with_source_url(description: str | None, url: str | None) -> str | None:
    """The description that carries the address: there is no field of its own for it."""
    if not url:
        return description
    return f"{description}, {_LABEL}{url}" if description else f"{_LABEL}{url}"


def without_source_url(description: str) -> str:
    """The description without its addresses."""
    return _EMBEDDED.sub("", description).strip(" ,")


def source_url_of(description: str | None) -> str | None:
    """The first address that a description carries, None if it carries none."""
    found = _EMBEDDED.search(description or "")
    return found["address"] if found else None


# A qualifier that carries a content hash, no words (event_qualifiers).
_NO_WORDS = frozenset({"event"})


def keyword_text(fact: Fact) -> str:
    """Everything a fact is found by: its text, the names of both ends, the relation's words, its keywords,
    the values of its qualifiers and those attributes that are plain strings.

    Parts stand on lines of their own, so their terms are those of the parts, together.
    """
    return "\n".join((fact.fact, fact.source_name, fact.target_name, *_beside_text(fact)))


def own_text(fact: Fact) -> str:
    """The keyword text without the names of both ends, which change when an entity is renamed."""
    return "\n".join((fact.fact, *_beside_text(fact)))


def _beside_text(fact: Fact) -> Iterator[str]:
    yield fact.name
    yield from fact.keywords
    yield from (value for key, value in fact.qualifiers.items() if key not in _NO_WORDS)
    yield from (value for value in fact.attributes.values() if isinstance(value, str))
