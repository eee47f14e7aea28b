"""How the queue behaves; built by config."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """Times in seconds unless the name says milliseconds."""

    micro_batch: int = 32  # items of one commit; beyond, more brings little (bench.beside_graphiti)
    batches_ahead: int = 3  # micro-batches of one group whose model work runs at the same time
    batch_bytes: int = 4 * 1024 * 1024  # of bodies in a micro-batch
    groups_at_once: int = 8  # groups that one process works on at the same time
    batches_a_turn: int = 8  # then a group makes room if others wait
    attempts_per_step: int = 5  # N
    backoff_base_ms: int = 500
    backoff_cap_ms: int = 60_000
    lease_s: float = 5.0  # a lease whose counter stands still for so long has lapsed
    poll_s: float = 0.1  # between two looks for other processes' changes, jittered
    drain_s: float = 20.0  # for running batches at shutdown
