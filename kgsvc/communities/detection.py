"""Which entities belong together: by Louvain for a build; between builds, newcomers join their neighbours.

Louvain runs in a process of its own: it computes for seconds, and the server answers meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from kgsvc.domain.errors import ServiceError, StepError
from kgsvc.domain.model.communities import Behind
from kgsvc.runtime import Clock
from kgsvc.stores.community_protocol import CommunityStore

log = logging.getLogger(__name__)
_PROGRAM = Path(__file__).with_name("louvain.py")
Ends = tuple[str, str]  # the entities at the ends of a fact


class Louvain:
    """networkx's Louvain with a fixed seed; the weight between two entities is how many facts they share."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s

    async def detect(self, facts: Iterable[Ends]) -> list[list[str]]:
        """The communities of all entities at the ends of `facts`, each sorted, the list sorted; an entity is
        in exactly one. Depends on nothing but the facts. Raises StepError past the timeout, and when the
        process fails."""
        nodes, given = await asyncio.to_thread(_encoded, facts)
        if not nodes:
            return []
        answer = await self._run(given)
        return await asyncio.to_thread(_decoded, nodes, answer)

    async def _run(self, given: bytes) -> bytes:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # nothing beside the program is imported in the place of a library
            str(_PROGRAM),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(self._timeout_s):
                answer, complaint = await process.communicate(given)
        except TimeoutError:
            raise StepError(f"finding communities took longer than {self._timeout_s:g} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            # It is given numbers alone, so it cannot quote anybody.
            log.error(
                "finding communities failed", extra={"reason": complaint.decode(errors="replace")[-500:]}
            )
            raise StepError("the process that finds communities failed")
        return answer


def _encoded(facts: Iterable[Ends]) -> tuple[list[str], bytes]:
    """The nodes in order of their numbers, and the input of the program."""
    weights = Counter(tuple(sorted(ends)) for ends in facts)
    nodes = sorted({end for ends in weights for end in ends})
    number = {uuid: n for n, uuid in enumerate(nodes)}
    edges = sorted((number[a], number[b], weight) for (a, b), weight in weights.items() if a != b)
    return nodes, json.dumps({"nodes": len(nodes), "edges": edges}).encode()


def _decoded(nodes: Sequence[str], answer: bytes) -> list[list[str]]:
    found: dict[int, list[str]] = {}
    for uuid, label in zip(nodes, json.loads(answer), strict=True):
        found.setdefault(label, []).append(uuid)
    return sorted(found.values())


_GROUPS_AT_ONCE = 64
_LINKS_A_PAGE = 2_000
_IDLE_S = 2.0
_PAUSE_S = 0.25  # between two looks, however much happens


class ActivityChanges(Protocol):
    """Says when something happened (see jobs.activity.Signal)."""

    @property
    def version(self) -> int:
        """Grows with every change seen."""

    async def wait(self, seen: int, timeout_s: float) -> int:
        """The version once it differs from `seen`, at the latest after `timeout_s`."""


async def _at_once() -> None:
    """Nothing holds it back."""


class Follower:
    """Keeps the communities of every group up to date between builds, each time `may_begin` has returned:
    entities new to a group join the community of most of their neighbours. Names and summaries stay as the
    last build made them."""

    def __init__(
        self,
        store: CommunityStore,
        changes: ActivityChanges,
        clock: Clock,
        may_begin: Callable[[], Awaitable[None]] = _at_once,
    ) -> None:
        self._may_begin = may_begin
        self._store = store
        self._changes = changes
        self._clock = clock

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            await self._may_begin()
            seen = self._changes.version
            try:
                await self.catch_up()
            except (ServiceError, StepError) as error:
                log.warning("communities cannot follow: %s", type(error).__name__)
            await self._changes.wait(seen, _IDLE_S)
            await asyncio.sleep(_PAUSE_S)

    async def catch_up(self) -> None:
        """Follow every group that is behind to its present revision. Raises StoreUnavailable."""
        for behind in await self._store.behind(_GROUPS_AT_ONCE):
            await self._follow(behind)

    async def _follow(self, behind: Behind) -> None:
        """Page by page; another process that follows the same group, or a new build, ends it here."""
        while True:
            now_ms = self._clock.now_ms()
            page = await self._store.links(behind.group_id, now_ms, behind.rev, _LINKS_A_PAGE)
            facts = [(row.source_uuid, row.target_uuid) for row in page.rows if row.current]
            ends = {end for each in facts for end in each}
            placed = await self._store.placements(behind.group_id, ends) if ends else {}
            if not await self._store.join(behind, page.upto_rev, newcomers(facts, placed)) or not page.more:
                return
            behind = Behind(behind.group_id, behind.build_id, page.upto_rev)


def newcomers(facts: Sequence[Ends], placed: Mapping[str, str]) -> dict[str, str]:
    """The communities that entities without one join: that of most of their neighbours, counted by facts; of
    equal ones the first by uuid. Whoever knows only newcomers comes after them."""
    home = dict(placed)
    near: dict[str, Counter[str]] = defaultdict(Counter)
    for source, target in facts:
        if source != target:
            near[source][target] += 1
            near[target][source] += 1
    waiting = sorted(end for end in near if end not in home)
    joined: dict[str, str] = {}
    while found := {uuid: best for uuid in waiting if (best := _best(near[uuid], home)) is not None}:
        home |= found
        joined |= found
        waiting = [uuid for uuid in waiting if uuid not in found]
    return joined


def _best(near: Mapping[str, int], home: Mapping[str, str]) -> str | None:
    votes: Counter[str] = Counter()
    for neighbour, weight in near.items():
        if neighbour in home:
            votes[home[neighbour]] += weight
    return min(votes, key=lambda community: (-votes[community], community)) if votes else None
