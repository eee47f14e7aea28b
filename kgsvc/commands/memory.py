"""GetMemory (spec 004 §4.3.4): a query composed from messages, then SearchFacts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kgsvc.domain.errors import LimitExceeded, Violation
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.graph import RoleType
from kgsvc.search.search import Hit, SearchFacts


@dataclass(frozen=True, slots=True)
class MemoryMessage:
    """A message as far as it shapes the query; its timestamp does not."""

    role_type: RoleType
    content: str
    role: str | None = None


class GetMemory:
    """What is known about a conversation."""

    def __init__(self, search: SearchFacts, limits: Limits) -> None:
        self._search = search
        self._limits = limits

    async def get(
        self,
        group_id: str,
        messages: Iterable[MemoryMessage],
        max_facts: int,
        center_node_uuid: str | None = None,
        now_ms: int | None = None,
    ) -> list[Hit]:
        """The hits of SearchFacts for the composed query.

        Raises LimitExceeded when that query is longer than Limits.query, and StoreUnavailable.
        """
        query = compose(messages)
        if len(query) > self._limits.query:
            says = f"compose a query of {len(query)} characters, at most {self._limits.query} are allowed"
            raise LimitExceeded(f"messages {says}", [Violation("messages", says)])
        return await self._search.search([group_id], query, max_facts, center_node_uuid, now_ms)


def compose(messages: Iterable[MemoryMessage]) -> str:
    """Spec 004, Appendix A: one line `<role_type>(<role or empty>): <content>` a message, in order."""
    return "".join(f"{m.role_type.value}({m.role or ''}): {m.content}\n" for m in messages)
