"""What commands share: the parts of a process, finding a thing by its uuid, page tokens, repeated writes."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from kgsvc.access.quotas import QuotaSettings
from kgsvc.access.scopes import current_caller
from kgsvc.commands.ledger import Ledger
from kgsvc.domain.errors import (
    Conflict,
    EmbedderUnavailable,
    InvalidArgument,
    LeaseLost,
    NotFound,
    Overloaded,
    RevisionChanged,
    StepError,
    Violation,
)
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.delta import Claim, GraphDelta, GroupHead, Guard
from kgsvc.domain.model.erasures import Erasure
from kgsvc.jobs.activity import ActivityWatch
from kgsvc.jobs.modes import ModeWatch
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.observability.logs import found_in
from kgsvc.observability.metrics import Metrics
from kgsvc.pipeline.pressure import IntakePressure
from kgsvc.runtime import Clock, RandomIds
from kgsvc.stores.protocol import Store

P = ParamSpec("P")
T = TypeVar("T")
_TRIES = 20
_PAUSE_CAP_S = 0.1
_RETRY_AFTER_MS = 500


@dataclass(frozen=True, slots=True)
class Core:
    """What all parts of one process share."""

    store: Store
    clock: Clock
    rng: random.Random
    limits: Limits
    metrics: Metrics
    activity: ActivityWatch
    embedder: CachingEmbedder | None = None  # of what is written; None: search goes by keywords alone
    pressure: IntakePressure = field(default_factory=IntakePressure)
    ledger: Ledger | None = None  # of erasures
    quotas: QuotaSettings = field(default_factory=QuotaSettings)
    modes: ModeWatch = field(default_factory=ModeWatch)
    needs_model: bool = False  # whether items cannot be worked on without a model server
    new_id: Callable[[], str] = field(default_factory=RandomIds)  # of requests, receipts and builds

    def system_ms(self, head: GroupHead) -> int:
        """The system time of the group's next change: later than every change before it."""
        return max(self.clock.now_ms(), head.last_ms + 1)

    async def begin_erasures(self, parts: Sequence[Erasure]) -> None:
        """Write erasures down before anything is removed. Raises StoreUnavailable."""
        if self.ledger is not None:
            await asyncio.to_thread(self.ledger.append, parts)
        await self.store.begin_erasures(parts)

    @property
    def space(self) -> str:
        """The space of `vectors`; empty without an embedder."""
        return self.embedder.space if self.embedder else ""

    async def vectors(self, group_id: str, texts: Mapping[str, str]) -> dict[str, bytes]:
        """Vectors of texts by uuid; none without an embedder. Raises EmbedderUnavailable."""
        if self.embedder is None or not texts:
            return {}
        try:
            vectors = await self.embedder.vectors(set(texts.values()), group_id)
        except StepError as error:
            raise EmbedderUnavailable("a text could not be embedded; nothing was written") from error
        return {uuid: vectors[text] for uuid, text in texts.items()}

    def claim(self, operation: str, key: str | None, input_hash: str) -> Claim | None:
        """What an idempotency key stands for: another call with it must have the same input."""
        if key is None:
            return None
        return Claim(operation, key, input_hash, self.clock.now_ms(), self.limits.dedup_window_ms)

    async def apply(self, delta: GraphDelta, head: GroupHead) -> GroupHead:
        """Apply a change that was planned at `head`; the group's record after it. Raises RevisionChanged,
        LeaseLost, Conflict (another input with the key of the claim), StoreUnavailable."""
        return await self.store.apply(delta, Guard(head.rev, head.epoch))


def until_applied(
    command: Callable[Concatenate[Core, P], Awaitable[T]],
) -> Callable[Concatenate[Core, P], Awaitable[T]]:
    """A command that reads, plans and applies, repeated with jittered pauses until no other write overtakes
    it. Raises Overloaded when every attempt was overtaken."""

    @wraps(command)
    async def repeated(core: Core, /, *args: P.args, **kwargs: P.kwargs) -> T:
        for number in range(_TRIES):
            try:
                return await command(core, *args, **kwargs)
            except (RevisionChanged, LeaseLost):  # LeaseLost: the group was deleted meanwhile
                await asyncio.sleep(core.rng.uniform(0, min(_PAUSE_CAP_S, 0.001 * 2**number)))
        raise Overloaded("other writes to the group came first each time", _RETRY_AFTER_MS)

    return repeated


class Grouped(Protocol):
    """What belongs to a group."""

    @property
    def group_id(self) -> str:
        """The tenant."""


G = TypeVar("G", bound=Grouped)


def the_one(rows: Sequence[G], what: str) -> G | None:
    """The only row with a uuid, or None. Rows of groups that the caller may not read are not there. Raises
    Conflict when several groups have one, PermissionDenied where the caller may only read it."""
    caller = current_caller.get()
    seen = [row for row in rows if caller.sees(row.group_id)]
    if len(seen) > 1:
        problem = f"several groups have {what} with this uuid; give its group_id"
        raise Conflict(problem, [Violation("group_id", problem)])
    found_in(row.group_id for row in seen)
    caller.require(row.group_id for row in seen)
    return seen[0] if seen else None


def no_entities(fields: Iterable[str]) -> NotFound:
    """The error for fields that name no entity of the group."""
    problem = "names no entity of the group"
    violations = [Violation(field, problem) for field in fields]
    return NotFound(f"{violations[0].field} {problem}", violations)


def page_token(*parts: Any) -> str:
    """An opaque token for the next page."""
    return base64.urlsafe_b64encode(json.dumps(parts, separators=(",", ":")).encode()).decode()


def parts_of(token: str) -> list[Any]:
    """The parts of a `page_token`; empty for any other text."""
    try:
        parts = json.loads(base64.b64decode(token, altchars=b"-_", validate=True))
        for part in parts:
            str(part).encode()  # a lone surrogate, which no store takes, raises ValueError
    except (ValueError, TypeError, binascii.Error, RecursionError):
        return []
    return parts if isinstance(parts, list) else []


def wrong_token(problem: str = "is not a page token of this listing") -> InvalidArgument:
    """The error for a page token that cannot be used."""
    return InvalidArgument(f"page_token: {problem}", [Violation("page_token", problem)])
