"""The lease machine: work that this process claims, keeps leased, tries again and gives back.

One machine for every kind of leased work (groups of items, builds of communities, fills). A kind says what
the store offers, how it is claimed and what is done with it.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

from kgsvc.domain.errors import KgError, LeaseLost, ModelOff, ModelUnavailable, ServiceError, StepError
from kgsvc.domain.limits import FROM_ZERO, Fixed
from kgsvc.domain.model.items import CRASH, FailedItem, ItemState, QueuedItem, Transition
from kgsvc.jobs.activity import ActivityWatch, Signal
from kgsvc.runtime import Clock

log = logging.getLogger(__name__)
_AFTER_FAILURE_S = 1.0
_REST = 20  # times as long as a look took does the next one wait, while work is held
_LONGEST_REST_S = 0.25
_PUT_BACK_MS = 1_000
L = TypeVar("L")  # a lease


def always() -> bool:
    """Of work that nothing holds back, and that is looked for at any time."""
    return True


def nothing() -> None:
    """Of work that cannot hurry."""


def one() -> int:
    """Of work that is done one by one."""
    return 1


async def _not_known(_after_ms: int) -> None:
    return


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """How leased work behaves. Times in seconds unless the name says milliseconds."""

    micro_batch: Annotated[int, Fixed] = 32  # items of one commit
    batch_beside_others: Annotated[int, Fixed] = 32  # the same where other groups are worked on
    batches_ahead: Annotated[int, Fixed] = 3  # micro-batches of one group prepared at the same time
    batch_bytes: Annotated[int, Fixed] = 4 * 1024 * 1024  # of bodies in a micro-batch
    groups_at_once: int = 128  # groups that one process works on at the same time, at most
    items_at_once: Annotated[int, Fixed] = 4_096  # of these groups together, about: fewer if each has many
    batches_a_turn: int = 1  # then a group makes room if others wait for a place
    attempts_per_step: Annotated[int, Fixed] = 5  # N; the limit of that name
    backoff_base_ms: int = 500
    backoff_cap_ms: int = 60_000
    lease_s: float = 5.0  # a lease whose counter stands still for so long has lapsed; moved five times in it
    poll_s: float = 0.1  # between two looks for other processes' changes, jittered
    drain_s: Annotated[float, FROM_ZERO] = 20.0  # for running batches at shutdown


@dataclass(frozen=True, slots=True)
class Offer:
    """Work that may be claimed, or that another process holds."""

    key: str  # what is leased
    group_id: str
    owner_id: str | None  # None: free
    counters: tuple[int, int]  # fencing token and renewals: they move while the owner lives
    work: Any  # as its kind claims it


@dataclass(frozen=True, slots=True)
class LeasedWork(Generic[L]):
    """A kind of work. Its functions raise what the store raises. Times in seconds."""

    name: str  # for the log
    key: str  # what the keys of its offers are, for the log
    at_once: Callable[[], int]  # leases that one process may hold now
    limit: int  # offers that are read at a time
    idle_s: float  # the longest pause between two looks at the offers
    contended_s: float  # the longest pause while something is offered that cannot be claimed yet
    rest_s: float  # the shortest pause
    # Work that is due at a time (now_ms, limit), others' included; what is to be claimed first comes first.
    offers: Callable[[int, int], Awaitable[list[Offer]]]
    # (works, owner_id, now_ms); None: taken by somebody else
    claim: Callable[[Sequence[Any], str, int], Awaitable[Sequence[L | None]]]
    renew: Callable[[Mapping[str, L]], Awaitable[set[str]]]  # by key; the keys of those that are still held
    release: Callable[[L, int], Awaitable[None]]  # (lease, now_ms); nothing if it is not held any more
    # Does the work, or a part of it once the function given says that other work waits; whether the lease is
    # released already. Raises LeaseLost, ServiceError: the work is put down for a moment.
    serve: Callable[[L, Callable[[], bool]], Awaitable[bool]]
    may_begin: Callable[[], bool] = always  # no mode holds it back; what has begun is finished
    waits: Callable[[], bool] = always  # there may be some; else nobody looks
    next_due_ms: Callable[[int], Awaitable[int | None]] = _not_known  # when more is due after this, if known
    woken_by_items: bool = False  # items that change state may bring more of it
    # Such a share of the places is free before more is claimed, while more waits than there are places.
    together: float = 0.0
    hurry: Callable[[], None] = nothing  # the process ends: what is under way is to end soon


class RetryPolicy:
    """Turns failures into transitions."""

    def __init__(self, settings: QueueSettings, rng: random.Random) -> None:
        self._settings = settings
        self._rng = rng

    def delay_ms(self, attempt: int, asked_ms: int | None = None) -> int:
        """How long to wait before trying again after the `attempt`-th failure: doubled each time, up to
        the cap, the last half of it random; not less than a server asked for."""
        settings = self._settings
        full = min(settings.backoff_cap_ms, settings.backoff_base_ms << min(attempt - 1, 20))
        drawn = full // 2 + int(self._rng.random() * (full - full // 2))
        return max(drawn, min(asked_ms or 0, settings.backoff_cap_ms))

    def after(self, failure: FailedItem, now_ms: int) -> Transition:
        """The failure substate with its next attempt, or PARKED with the reason. A model that is switched off
        costs no attempt: the item is ACCEPTED again, with what is known of it so far."""
        item, step, error = failure.item, failure.step, failure.error
        if isinstance(error, ModelOff):
            return _put_back(failure, now_ms)
        attempt = item.attempts.get(step.value, 0) + 1
        parked = attempt >= self._settings.attempts_per_step
        asked = error.retry_after_ms if isinstance(error, ModelUnavailable) else None
        return Transition(
            uuid=item.episode.uuid,
            state=ItemState.PARKED if parked else step.failed,
            now_ms=now_ms,
            step=step,
            attempts=attempt,
            reason=str(error) or type(error).__name__,
            next_ms=0 if parked else now_ms + self.delay_ms(attempt, asked),
            stage=failure.stage,
            keep_stage=failure.stage is None,
            usage=error.usage if failure.usage is None else failure.usage,
        )

    def after_crashes(self, item: QueuedItem, now_ms: int) -> Transition | None:
        """PARKED for an item during which the process died N times while it ran alone."""
        limit = self._settings.attempts_per_step
        if item.attempts.get(CRASH, 0) <= limit:
            return None
        reason = f"the process crashed {limit} times while it worked on this item alone"
        return Transition(item.episode.uuid, ItemState.PARKED, now_ms, reason=reason, keep_stage=True)


def _put_back(failure: FailedItem, now_ms: int) -> Transition:
    return Transition(
        uuid=failure.item.episode.uuid,
        state=ItemState.ACCEPTED,
        now_ms=now_ms,
        next_ms=now_ms + _PUT_BACK_MS,
        stage=failure.stage,
        keep_stage=failure.stage is None,
        usage=failure.error.usage if failure.usage is None else failure.usage,
    )


class LapseWatch:
    """Whether another process's lease has lapsed: its counters stood still for the length of a lease, by this
    process's monotonic clock."""

    def __init__(self, clock: Clock, lease_s: float, owner_id: str) -> None:
        self._clock = clock
        self._lease_s = lease_s
        self._owner_id = owner_id
        self._seen: dict[str, tuple[tuple[int, int], float]] = {}

    def claimable(self, offers: Sequence[Offer]) -> list[Offer]:
        """Those that are free or have lapsed while they were offered, and what this process holds without
        knowing: the answer to a claim or a release was lost. What is not offered is forgotten."""
        now = self._clock.monotonic()
        self._seen = {each.key: self._since(each, now) for each in offers if each.owner_id is not None}
        return [each for each in offers if self._is_free(each, now)]

    def _since(self, offer: Offer, now: float) -> tuple[tuple[int, int], float]:
        counters, since = self._seen.get(offer.key, (offer.counters, now))
        return offer.counters, since if counters == offer.counters else now

    def _is_free(self, offer: Offer, now: float) -> bool:
        return offer.owner_id in (None, self._owner_id) or now - self._seen[offer.key][1] >= self._lease_s


@dataclass(slots=True)
class _Held(Generic[L]):
    lease: L
    task: asyncio.Task[None]


class Dispatcher(Generic[L]):
    """Does one kind of work in this process until `drain`, or until it is cancelled."""

    def __init__(
        self,
        kind: LeasedWork[L],
        activity: ActivityWatch,
        settings: QueueSettings,
        clock: Clock,
        owner_id: str,
    ) -> None:
        self._kind = kind
        self._activity = activity
        self._woken = activity.changes if kind.woken_by_items else activity.work
        self._settings = settings
        self._clock = clock
        self._owner_id = owner_id
        self._lapses = LapseWatch(clock, settings.lease_s, owner_id)
        self._held: dict[str, _Held[L]] = {}
        self._others_wait = False
        self._freed = Signal()
        self._draining = False
        self._running = False
        self._ended = asyncio.Event()

    async def run(self) -> None:
        """Look for work, claim it, renew what is held; after `drain` only finish what has begun."""
        self._running = True
        renewing = asyncio.create_task(self._renew_forever())
        try:
            while not self._draining:
                seen = self._woken.version
                pause_s = await self._look(seen)
                await self._woken.wait(seen, pause_s)
                await self._room()
                await asyncio.sleep(self._kind.rest_s)
            # Still renewing: a lease that lapses now would make suspects of healthy items.
            await self._finish()
        finally:
            await _cancelled([held.task for held in self._held.values()])
            await _cancelled([renewing])
            self._ended.set()

    async def _finish(self) -> None:
        """Wait for what has begun, which hurries when half a lease has passed: others wait for it."""
        left = {held.task for held in self._held.values()}
        hurry_s = min(self._settings.drain_s, self._settings.lease_s / 2)
        for wait_s in (hurry_s, self._settings.drain_s - hurry_s):
            if left:
                _done, left = await asyncio.wait(left, timeout=wait_s)
            self._kind.hurry()

    async def drain(self) -> None:
        """Begin nothing new, finish what has begun within `drain_s`, give the leases back."""
        self._draining = True
        log.info("draining %s: %d under way", self._kind.name, len(self._held))
        self._activity.poke()
        if self._running:
            await self._ended.wait()

    async def _look(self, seen: int) -> float:
        """Claim what may be claimed; how long to wait before the next look, in seconds."""
        kind = self._kind
        if not (kind.may_begin() and kind.waits()):
            self._others_wait = False
            return kind.idle_s
        try:
            began = self._clock.monotonic()
            offers = await kind.offers(self._clock.now_ms(), kind.limit)
            took_s = self._clock.monotonic() - began
            waiting = [offer for offer in offers if offer.key not in self._held]
            able = self._lapses.claimable(waiting)
            claimed = await self._claim(able)
            self._others_wait = len(able) > claimed and len(self._held) >= kind.at_once()
            if claimed < len(waiting):
                return max(self._settings.poll_s, min(kind.contended_s, self._settings.lease_s / 4))
            # What is due now is being worked on here; its end will poke.
            if await self._woken.wait(seen, self._settings.poll_s) == seen:
                return await self._until_due()
            if self._held:  # most of what comes is for them, so a look that takes long is not worth it
                rest_s = min(_REST * took_s, _LONGEST_REST_S)
                await self._freed.wait(self._freed.version, rest_s)
            return 0.0
        except ServiceError as error:
            log.warning("cannot look for %s: %s", kind.name, error)
        except Exception as error:
            log.error("cannot look for %s", kind.name, exc_info=without_text(error))
        return _AFTER_FAILURE_S

    async def _room(self) -> None:
        """While more waits than there are places for, let some become free."""
        kind = self._kind
        try:
            async with asyncio.timeout(kind.contended_s):
                while self._others_wait and self._places() < max(1, kind.together * kind.at_once()):
                    await self._freed.wait(self._freed.version, kind.contended_s)
        except TimeoutError:
            pass

    def _places(self) -> int:
        return self._kind.at_once() - len(self._held)

    async def _until_due(self) -> float:
        due_ms = await self._kind.next_due_ms(self._clock.now_ms())
        if due_ms is None:
            return self._kind.idle_s
        wait_s = (due_ms - self._clock.now_ms()) / 1000
        return min(self._kind.idle_s, max(wait_s, self._settings.poll_s))

    async def _claim(self, offers: Sequence[Offer]) -> int:
        able = offers[: max(0, self._places())]
        if self._draining or not able:
            return 0
        works = [offer.work for offer in able]
        leases = await self._kind.claim(works, self._owner_id, self._clock.now_ms())
        claimed = 0
        for offer, lease in zip(able, leases, strict=True):
            if lease is not None:
                claimed += 1
                task = asyncio.create_task(self._serve(offer, lease))
                self._held[offer.key] = _Held(lease, task)
        return claimed

    async def _serve(self, offer: Offer, lease: L) -> None:
        kind, turn = self._kind, 0

        def make_room() -> bool:
            nonlocal turn
            turn += 1
            held_back = self._draining or not kind.may_begin()
            return held_back or (turn > self._settings.batches_a_turn and self._others_wait)

        named = {"group_id": offer.group_id, kind.key: offer.key}
        released = False
        try:
            released = await kind.serve(lease, make_room)
        except LeaseLost:
            log.info("lease of %s lost", kind.name, extra=named)
        except Exception as error:
            if isinstance(error, KgError):
                log.warning("%s paused: %s", kind.name, error, extra=named)
            else:
                log.error("%s paused", kind.name, exc_info=without_text(error), extra=named)
            await asyncio.sleep(self._settings.backoff_base_ms / 1000)
        finally:
            await self._give_back(offer.key, None if released else lease)

    async def _give_back(self, key: str, lease: L | None) -> None:
        try:
            if lease is not None:
                await asyncio.shield(self._kind.release(lease, self._clock.now_ms()))
        except KgError as error:
            log.warning("release failed, the lease will lapse: %s", type(error).__name__)
        finally:
            self._held.pop(key, None)
            self._freed.set()
            self._activity.poke()

    async def _renew_forever(self) -> None:
        while True:
            await asyncio.sleep(self._settings.lease_s / 5)
            try:
                await self._renew()
            except ServiceError as error:
                log.warning("cannot renew leases of %s: %s", self._kind.name, type(error).__name__)
            except Exception as error:
                log.error("cannot renew leases of %s", self._kind.name, exc_info=without_text(error))

    async def _renew(self) -> None:
        """Renew what is held; what is lost is cancelled."""
        held = dict(self._held)
        if not held:
            return
        alive = await self._kind.renew({key: each.lease for key, each in held.items()})
        for key in held.keys() - alive:
            held[key].task.cancel()


async def _cancelled(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def step_error(error: Exception) -> StepError:
    """The error as a failed step: an unforeseen one by its type only, since its text may quote a body."""
    return error if isinstance(error, StepError) else StepError(f"internal error: {type(error).__name__}")


def without_text(error: Exception) -> StepError:
    """The same traceback under an error that quotes nothing."""
    return step_error(error).with_traceback(error.__traceback__)
