"""What ingestion and retrieval ask of language models: openai/, rules/, local.py, embedding.py answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.model.extraction import Extraction, ExtractionRequest
from kgsvc.domain.model.graph import FREE, Usage
from kgsvc.domain.model.items import ItemWarning
from kgsvc.domain.resolution.decisions import ResolutionRequest, Resolutions
from kgsvc.tracing import NOT_TRACED, ModelSpan

Vectors = NDArray[np.float32]


class Model(Protocol):
    """Anything here that may hold connections to a model server."""

    async def close(self) -> None:
        """Release connections."""


class Operation(StrEnum):
    """What a call of a model is for; meters count them apart."""

    EXTRACT = "extract"
    REFLEXION = "reflexion"
    RESOLVE = "resolve"
    REPAIR = "repair"  # of a rejected answer, whatever it was for
    EMBED = "embed"
    SUMMARISE = "summarise"  # of communities
    REWRITE = "rewrite"  # of summaries of entities
    RERANK = "rerank"  # of what a search found
    ANSWER = "answer"  # to a question


class Meter(Protocol):
    """Counts what calls of models cost and what went wrong with them."""

    def used(self, operation: str, group_id: str, usage: Usage) -> None:
        """An answered call, those with unusable answers included; group_id "": of no group."""

    def calling(self, kind: str, model: str) -> AbstractContextManager[ModelSpan]:
        """Around a request; see Tracer.model_call."""

    def trouble(self, operation: str, kind: str) -> None:
        """An answer that could not be used as it was, or a request refused; kinds: Trouble."""


class Trouble(StrEnum):
    """What goes wrong with a model in the wild; each is counted."""

    REFUSED = "refused"  # the model declines
    TRUNCATED = "truncated"  # the answer broke off at the token limit
    EMPTY = "empty"  # no text in the answer
    MALFORMED = "malformed"  # no JSON, or not of the form that was asked for
    INVALID = "invalid"  # a value beyond a limit or of a wrong kind
    WRONG_IDS = "wrong_ids"  # refs, ids or numbers that were not offered, missing or doubled ones
    UNSUPPORTED = "unsupported"  # the server knows a parameter less: it is asked differently from now on
    TOO_LONG = "too_long"  # more than the model's context holds
    SPLIT = "split"  # an episode's body was divided
    REFLEXION_LOST = "reflexion_lost"  # a look for what was missed gave nothing usable
    # Single values that were put right or left out (docs/types.md has the table).
    EMPTY_VALUE = "empty_value"
    SURROUNDING_BLANKS = "surrounding_blanks"
    OTHER_CASE = "other_case"
    TIME_WITHOUT_ZONE = "time_without_zone"
    NO_SUCH_TIME = "no_such_time"
    INVALID_BEFORE_VALID = "invalid_before_valid"
    OUT_OF_RANGE = "out_of_range"
    NO_NUMBER = "no_number"
    TOO_MANY_KEYWORDS = "too_many_keywords"
    REPEATED = "repeated"
    UNKNOWN_REF = "unknown_ref"
    UNLISTED_NAME = "unlisted_name"
    BEYOND_LIMIT = "beyond_limit"


class Unmetered:
    """A Meter that counts nothing."""

    def used(self, operation: str, group_id: str, usage: Usage) -> None:
        """Nothing."""

    def calling(self, kind: str, model: str) -> AbstractContextManager[ModelSpan]:
        """Nothing."""
        return NOT_TRACED.model_call(kind, model)

    def trouble(self, operation: str, kind: str) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """An extraction, its cost, and what was put right or left out in the answers it was read from."""

    extraction: Extraction
    usage: Usage = FREE
    warnings: tuple[ItemWarning, ...] = ()  # kinds: Trouble


class Extractor(Model, Protocol):
    """Turns episodes into extractions."""

    @property
    def name(self) -> str:
        """For people: "offline" or "openai:<model>"."""

    @property
    def costs_model_calls(self) -> bool:
        """Whether the output is worth storing before the next step begins (docs/ingestion.md)."""

    async def extract(self, requests: Sequence[ExtractionRequest]) -> list[Extracted | Exception]:
        """One result or one StepError for each request, in order; a failing one never fails the others.

        Raises nothing but cancellation. Results are validated (references, limits, SCREAMING_SNAKE_CASE).
        """


@dataclass(frozen=True, slots=True)
class Resolved:
    """The resolutions of a micro-batch and their cost."""

    resolutions: Resolutions
    usage: Usage = FREE


class Resolver(Model, Protocol):
    """Decides what rules cannot: whether two names or two facts mean the same, and what contradicts what."""

    async def resolve(self, request: ResolutionRequest) -> Resolved:
        """One resolution for each question of `request`; one call of the model unless it is very large.

        Raises StepError (ModelUnavailable, ModelOutputInvalid). A request without questions costs nothing.
        """


NAME_CHARS = 80  # of what some summaries have in common
SUMMARY_CHARS = 500


@dataclass(frozen=True, slots=True)
class Gist:
    """What some summaries have in common: a name and one summary."""

    name: str  # at most NAME_CHARS
    summary: str  # at most SUMMARY_CHARS


class Summariser(Model, Protocol):
    """Makes one summary of two, for communities of entities."""

    async def combine(self, group_id: str, first: str, second: str) -> Gist:
        """Both in one, by one call of a model. Raises StepError (ModelUnavailable, ModelOutputInvalid)."""


@dataclass(frozen=True, slots=True)
class Subject:
    """An entity and the facts that its summary is made of, a sentence each, in the order in which they began;
    behind what has an end: when that is."""

    name: str
    types: tuple[str, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Retold:
    """A text for each subject, in their order, "" where there is none, and their cost."""

    texts: tuple[str, ...]
    usage: Usage = FREE


class SummaryWriter(Model, Protocol):
    """Writes short summaries of entities."""

    async def retell(self, group_id: str, subjects: Sequence[Subject], today_ms: int) -> Retold:
        """All in one call of a model, as things are on that day. Raises StepError (ModelUnavailable,
        ModelOutputInvalid)."""


@dataclass(frozen=True, slots=True)
class Rated:
    """For each text, in their order, 0 (nothing to do with the query) to 100 (answers it); and the cost."""

    scores: tuple[int, ...]
    usage: Usage = FREE


class CrossEncoder(Model, Protocol):
    """Says how relevant texts are to a query, reading both together."""

    async def rate(self, query: str, texts: Sequence[str], group_id: str = "") -> Rated:
        """All in one call of a model, whose cost is counted for `group_id`; no texts cost nothing. Raises
        StepError (ModelUnavailable, ModelOutputInvalid)."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and all that its answer may rest on."""

    text: str
    lines: tuple[str, ...]  # of a context; those that can be cited begin with their handle: "[7] "
    as_of_ms: int  # the time that it is about
    group_id: str = ""  # for which the cost is counted; "": of no group


@dataclass(frozen=True, slots=True)
class Written:
    """The end of an answer: whether the lines held it, whether it broke off, and what it cost."""

    known: bool
    truncated: bool = False
    usage: Usage = FREE


class Answerer(Model, Protocol):
    """Answers questions from a context, citing its lines by their handles."""

    def answer(self, question: Question) -> AsyncGenerator[str | Written, None]:
        """The answer piece by piece as it is written, by one call of a model, then how it ended. Closing it
        ends the call. Raises StepError (ModelUnavailable, ModelOutputInvalid)."""


class Embedder(Model, Protocol):
    """Turns texts into unit vectors of one space."""

    @property
    def space(self) -> str:
        """Names embedder, model and dimension; vectors of two spaces are never compared."""

    @property
    def dimension(self) -> int:
        """Length of each vector."""

    @property
    def min_cosine(self) -> float:
        """Below this, a cosine says nothing about meaning in this space: no candidate of a search."""

    @property
    def costs_model_calls(self) -> bool:
        """Whether embedding asks a model server."""

    async def embed(self, texts: Sequence[str], group_id: str = "") -> tuple[Vectors, Usage]:
        """Float32 array of shape (len(texts), dimension), rows of length 1 (or all zero for a text with no
        words), and the cost, which is counted for `group_id`. Raises StepError (ModelUnavailable,
        ModelOutputInvalid)."""
