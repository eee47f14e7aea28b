"""The bounds of the service (spec 004 §12 and §18, design §9). One frozen value; config may replace it."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on input. Lengths count code points, sizes count bytes; beyond is LIMIT_EXCEEDED."""

    payload_bytes: int = 4 * MIB  # S
    items_per_call: int = 256  # M
    attempts_per_step: int = 5  # N
    dedup_window_ms: int = 24 * 3600 * 1000  # W
    group_id: int = 128
    uuid: int = 128
    idempotency_key: int = 256
    name: int = 512
    role: int = 256
    query: int = 32_768
    fact: int = 2_048
    reason: int = 1_024
    summary: int = 4_096
    source_description: int = 4_096
    body_bytes: int = MIB
    attributes_bytes: int = 64 * 1024
    max_facts_default: int = 10
    max_facts_bound: int = 100
    context_tokens_default: int = 2_000  # of SearchGraph's context, at 4 characters each
    context_tokens_bound: int = 32_000
    entity_facts_bound: int = 500  # of GetEntityNode
    entity_episodes_bound: int = 100
    history_bound: int = 500  # facts of GetFactHistory
    merge_bound: int = 10_000  # facts and mentions of an entity that is merged into another
    last_n_bound: int = 1_000
    page_size_bound: int = 1_000
    response_bytes: int = 3 * MIB  # under the 4 MiB that gRPC clients accept by default
    previous_episodes: int = 50  # named by an item as its context
    nodes_per_extraction: int = 200
    edges_per_extraction: int = 400
    queue_items: int = 1_000_000  # unfinished items in the store before accepting is refused
    stream_inflight_bytes: int = 8 * MIB
