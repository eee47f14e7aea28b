"""GetMemory (spec 004 §4.3.4): a query composed from messages, then SearchFacts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kgsvc.domain.errors import LimitExceeded, Violation
from kgsvc.domain.model.graph import RoleType
from kgsvc.search.engine import Engine
from kgsvc.search.graph_results import Hit


@dataclass(frozen=True, slots=True)
class MemoryMessage:
    """What of a message becomes part of the query."""

    role_type: RoleType
    content: str
    role: str | None = None


async def get_memory(
    search: Engine,
    query_chars: int,
    group_id: str,
    messages: Iterable[MemoryMessage],
    max_facts: int,
    center_node_uuid: str | None = None,
    now_ms: int | None = None,
) -> list[Hit]:
    """The hits of SearchFacts for the query that the messages make.

    Raises LimitExceeded when that query is longer than `query_chars`, and StoreUnavailable.
    """
    query = compose(messages)
    if len(query) > query_chars:
        problem = f"make a query of {len(query)} characters, at most {query_chars} are allowed"
        raise LimitExceeded(f"messages {problem}", [Violation("messages", problem)])
    return await search.facts([group_id], query, max_facts, center_node_uuid, now_ms)


def compose(messages: Iterable[MemoryMessage]) -> str:
    """Spec 004, Appendix A: one line `<role_type>(<role or empty>): <content>` a message, in order."""
    return "".join(f"{m.role_type.value}({m.role or ''}): {m.content}\n" for m in messages)
