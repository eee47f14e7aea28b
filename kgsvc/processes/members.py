"""Which processes there are, and the settings of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from kgsvc.config import Settings


@dataclass(frozen=True, slots=True)
class Member:
    """One of the processes."""

    name: str  # its role and a number
    settings: Settings = field(repr=False)


def members(settings: Settings, listen: str) -> tuple[Member, ...]:
    """`server.processes` of them, answering calls on `listen`."""
    made: list[Member] = []
    numbers: Counter[str] = Counter()
    for role in _roles(settings):
        numbers[role] += 1
        # Read by the parent alone, which shows all together.
        metrics_listen = "127.0.0.1:0" if settings.server.metrics_listen else ""
        server = replace(settings.server, role=role, listen=listen, metrics_listen=metrics_listen)
        made.append(Member(f"{role}-{numbers[role]}", replace(settings, server=server)))
    return tuple(made)


def _roles(settings: Settings) -> Iterator[Literal["api", "worker"]]:
    """Role all: the larger half answers calls, the others ingest."""
    count, role = settings.server.processes, settings.server.role
    answering = (count + 1) // 2
    for n in range(count):
        if role == "all":
            yield "api" if n < answering else "worker"
        else:
            yield role
