"""Louvain in a process of its own: it computes for seconds, and the server answers meanwhile."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from kgsvc.domain.errors import StepError

log = logging.getLogger(__name__)
_PROGRAM = Path(__file__).with_name("louvain.py")
Ends = tuple[str, str]  # the entities at the ends of a fact


class Detector(Protocol):
    """Finds communities."""

    async def detect(self, facts: Iterable[Ends]) -> list[list[str]]:
        """The communities of all entities at the ends of `facts`, each sorted, the list sorted; an entity is
        in exactly one. Depends on nothing but the facts. Raises StepError."""


class Louvain:
    """A Detector: networkx's Louvain with a fixed seed; the weight between two entities is how many facts
    they share."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s

    async def detect(self, facts: Iterable[Ends]) -> list[list[str]]:
        """See Detector. StepError past the timeout, and when the process fails."""
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
